"""The rooms keep to their doors (that they only import downwards is import-linter's to say)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import contextecho

ROOT = Path(contextecho.__file__).parent
ROOMS = {door.parent.name for door in ROOT.glob("*/__init__.py")} - {"cli"}  # has no door


def imported(file: Path) -> Iterator[str]:
    """The modules of ours from which a file imports names."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("contextecho."):
            yield node.module or ""


def test_no_room_reaches_behind_another_rooms_door() -> None:
    behind = []
    for file in ROOT.rglob("*.py"):
        own = file.relative_to(ROOT).parts[0]
        for module in imported(file):
            _, room, *inside = module.split(".")
            if inside and room in ROOMS - {own}:
                behind.append(f"{file.relative_to(ROOT)}: {module}")
    assert len(ROOMS) == 14
    assert behind == []
