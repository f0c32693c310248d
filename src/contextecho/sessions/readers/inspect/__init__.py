"""Reads the logs of Inspect (`inspect_ai`): `.eval`, a zip file, and the one-document `.json`.

The one thing to know: a log holds many samples, each a session of its own, and one
is read without unpacking the others. What each module knows:

    logs      where the samples lie                     samples   what a sample holds
    pieces    what a message says                       events    times, compactions
    converted places that `sessions convert` wrote
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from contextecho.errors import SessionError
from contextecho.sessions.building import jsontext
from contextecho.sessions.model import Session
from contextecho.sessions.packing.zipped import ZIP, first_entry
from contextecho.sessions.readers.inspect.converted import as_converted, is_converted
from contextecho.sessions.readers.inspect.logs import InspectSource, log_at
from contextecho.sessions.readers.inspect.samples import say_sample

NAME: Final = "inspect"
_ENTRIES: Final = re.compile(r"(_journal/start|header|samples/.*_epoch_\d+)\.json")
_KEYS: Final = frozenset({"version", "status", "eval"})


def sniff(head: bytes) -> bool:
    """Whether the file is a zip that begins with a log's entry, or a log's document."""
    if head.startswith(ZIP):
        return _ENTRIES.fullmatch(first_entry(head)) is not None
    text = head.decode("utf-8-sig", "replace").lstrip()
    if not text.startswith("{"):
        return False
    places = dict(jsontext.members(text, 0))
    return places.keys() >= _KEYS and text.startswith("{", places["eval"])


def members(path: Path) -> Sequence[str]:
    """The samples' ids, with `/epoch` where the log holds several epochs; at least one."""
    samples = log_at(path).samples
    if not samples:
        raise SessionError("the log holds no samples", where=str(path))
    return list(samples)


def read_member(path: Path, member: str) -> Session:
    """Index one sample. Raises `SessionError` if no model speaks in it."""
    log = log_at(path)
    sample = log.sample(member)
    conversation = say_sample(sample, log.header)
    session = conversation.session(
        path,
        format=NAME,
        bytes=log.stamp.size,
        source=InspectSource(path, log, member),
        id=sample.name(member),
    )
    if is_converted(sample.metadata):
        return as_converted(session, sample.metadata, sample.messages)
    return session
