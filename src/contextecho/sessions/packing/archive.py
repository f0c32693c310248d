"""The manifest of a kept session: what `keep` writes, and what reading it again goes by.

The one thing to know: it lies in the folder that holds all files of one state of a
session, each packed under its own name with `.zst` behind it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from contextecho.own_files import refuse_endless

FORMAT: Final = "contextecho.archive/1"
MANIFEST: Final = "manifest.json"
_DEEPEST: Final = 5  # folders between a kept file and its manifest
_LONGEST: Final = 1 << 24  # bytes of a manifest

_Count = Annotated[int, Meta(ge=0)]


class KeptFile(Struct, frozen=True):
    """One file of a kept session, as it was."""

    name: str  # below the manifest's folder, with slashes; `.zst` follows it there
    sha256: str
    bytes: _Count
    packed_bytes: _Count
    modified_ns: int  # since 1970


class Manifest(Struct, frozen=True, kw_only=True):
    """What `manifest.json` says; the session's own file is the first."""

    format: str
    id: str
    source_format: str
    path: str  # where the session's file was
    member: str | None  # of a database: whose rows these are
    kept: str  # when, ISO 8601 in UTC
    files: Annotated[tuple[KeptFile, ...], Meta(min_length=1)]


def default_folder() -> Path:
    """Where sessions are kept unless another folder is named."""
    from platformdirs import user_data_path

    return user_data_path("contextecho", appauthor=False) / "sessions"


def manifest_in(folder: Path) -> Manifest | None:
    """The manifest in this folder; `None` where there is none of ours."""
    path = folder / MANIFEST
    try:
        refuse_endless(path)
        with path.open("rb") as file:
            manifest = msgspec.json.decode(file.read(_LONGEST), type=Manifest)
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return manifest if manifest.format == FORMAT else None


def session_file_in(folder: Path) -> Path | None:
    """The packed file of the session that is kept in this folder; `None` if none is."""
    manifest = manifest_in(folder)
    file = folder / f"{manifest.files[0].name}.zst" if manifest else None
    return file if file is not None and _is_in(file, folder) else None


def kept_with(packed: Path) -> tuple[Path, tuple[Path, ...]]:
    """The folder of the kept session that a file belongs to, and what was kept with it there.

    A file that was not kept has its own folder, and is alone.
    """
    for folder in list(packed.parents)[:_DEEPEST]:
        manifest = manifest_in(folder)
        if manifest is not None:
            named = [folder / f"{file.name}.zst" for file in manifest.files]
            if packed in named:
                others = (file for file in named if file != packed and _is_in(file, folder))
                return folder, tuple(others)
    return packed.parent, ()


def _is_in(file: Path, folder: Path) -> bool:
    if not (file.is_relative_to(folder) and file.is_file()):
        return False
    return ".." not in file.relative_to(folder).parts  # the folder itself may be named so


def written(manifest: Manifest) -> bytes:
    """The manifest as JSON for a human to read too."""
    from contextecho.sessions.building.jsontext import scrub

    plain = scrub(msgspec.to_builtins(manifest))
    return msgspec.json.format(msgspec.json.encode(plain), indent=1) + b"\n"
