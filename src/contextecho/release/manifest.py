"""The release's own list of its cells, where it has one.

The one thing to know: the list may name a cell whose file is not there, which is a missing
cell and not none; and it may say that a judge's answer could not be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from contextecho.release.flags import Flag
from contextecho.release.reading import FileRead
from contextecho.release.twins import voided
from contextecho.release.walking import Found
from contextecho.store import Finding

_NAME = "MANIFEST.json"


class _Entry(msgspec.Struct):
    path: str
    judge_parse_error: str | bool | None = None


class _Manifest(msgspec.Struct):
    cells: list[_Entry]


def read_manifests(found: Sequence[Found], read: Sequence[FileRead]) -> list[FileRead]:
    """The files as they are after what the manifests of their roots say of them."""
    files = {file.path: its for file, its in zip(found, read, strict=True)}
    for file in [file for file in found if file.below == _NAME]:
        try:
            manifest = msgspec.json.decode(Path(file.file).read_bytes(), type=_Manifest)
        except (msgspec.MsgspecError, UnicodeDecodeError, OSError) as error:
            unread = Finding(flag=Flag.UNREADABLE.value, path=file.path, detail=str(error))
            files[file.path] = _with(files[file.path], [unread])
            continue
        missing = []
        for entry in manifest.cells:
            path = next((path for path in _ways(file, entry.path) if path in files), None)
            if path is None:
                missing.append(Finding(flag=Flag.MISSING_FILE.value, path=entry.path, detail=""))
            elif entry.judge_parse_error:
                files[path] = voided(files[path], Flag.JUDGE_FAILED, str(entry.judge_parse_error))
        files[file.path] = _with(files[file.path], missing)
    return list(files.values())


def _ways(manifest: Found, path: str) -> Iterator[str]:
    """A path of a manifest from the folder that was imported: it may begin with the root."""
    yield f"{manifest.root}/{path}" if manifest.root else path
    yield path
    yield path.partition("/")[2]


def _with(file: FileRead, findings: Sequence[Finding]) -> FileRead:
    return msgspec.structs.replace(file, findings=(*file.findings, *findings))
