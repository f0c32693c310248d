"""`python -m contextecho`."""

from __future__ import annotations

from contextecho.cli.main import main

main()
