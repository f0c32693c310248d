"""The embedded model."""

from __future__ import annotations
