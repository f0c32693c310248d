"""What an answer means: the judge, compliance, the fingerprint, contrasts, the screen."""

from __future__ import annotations
