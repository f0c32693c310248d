"""What the model is asked: batteries as data files, with their hashes."""

from __future__ import annotations

from contextecho.stimuli.battery import battery_ids, load_battery
from contextecho.stimuli.model import Battery, Stimulus, StimulusKind

__all__ = ["Battery", "Stimulus", "StimulusKind", "battery_ids", "load_battery"]
