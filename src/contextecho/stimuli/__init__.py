"""What the model is asked: batteries as data files, with their hashes."""

from __future__ import annotations

from contextecho.stimuli.model import Battery, Stimulus, StimulusKind

__all__ = ["Battery", "Stimulus", "StimulusKind"]
