"""Whatever the bytes are: a session, or a `SessionError`, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.any_bytes import check
from sessions.claude_code_lines import assistant, call, line, queue, record, result, user
from sessions.damage import damaged, json_values
from timing import takes_less_than

SEED = b"".join(
    line(r)
    for r in [
        user("hello"),
        queue("enqueue", "more"),
        assistant("looking", call(command="ls")),
        record("progress", data={"output": "x"}),
        user([result([{"type": "text", "text": "a"}]), {"type": "text", "text": "typed"}]),
        queue("remove"),
        record("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"}),
        user("This session is being continued from a previous conversation", isCompactSummary=True),
        assistant({"type": "thinking", "thinking": "é🎉"}, "done"),
    ]
)
CHAT = json.dumps(
    [{"role": "user", "content": "é"}, {"role": "assistant", "content": [{"type": "text"}]}]
).encode()

FIELDS = ["type", "message", "uuid", "isMeta", "origin", "compactMetadata", "attachment", "content"]
record_like = st.builds(
    lambda kind, fields, message: {"type": kind, "sessionId": "s", **fields, **message},
    st.sampled_from(["user", "assistant", "system", "attachment", "queue-operation", "other"]),
    st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=4),
    st.fixed_dictionaries(
        {},
        optional={
            "message": st.fixed_dictionaries(
                {
                    "role": st.just("user"),
                    "content": json_values
                    | st.lists(
                        st.fixed_dictionaries(
                            {"type": st.sampled_from(["text", "tool_use", "tool_result", "image"])},
                            optional={
                                "text": json_values,
                                "content": json_values,
                                "id": json_values,
                            },
                        ),
                        max_size=3,
                    ),
                }
            )
        },
    ),
)


@given(st.binary(max_size=400))
def test_random_bytes(tmp_path: Path, data: bytes) -> None:
    check(tmp_path / "f", data)


@given(damaged([SEED, CHAT]))
def test_real_lines_with_random_damage(tmp_path: Path, data: bytes) -> None:
    check(tmp_path / "f", data)


@given(st.lists(json_values | record_like, max_size=6))
def test_random_json_among_real_lines(tmp_path: Path, values: list[Any]) -> None:
    lines = SEED.splitlines(keepends=True)
    mixed = [*lines[:3], *(json.dumps(v).encode() + b"\n" for v in values), *lines[3:]]
    check(tmp_path / "f", b"".join(mixed))


def test_nesting_deeper_than_any_parser(tmp_path: Path) -> None:
    check(tmp_path / "f", SEED + b'{"type":"user","message":' + b"[" * 200_000 + b"\n")
    check(tmp_path / "f", b"[" * 200_000)
    check(tmp_path / "f", b'{"messages":' * 50_000)


def test_a_line_of_many_stubs_is_read_in_reasonable_time(tmp_path: Path) -> None:
    stub = b'{"type": "user", "x": '
    with takes_less_than(5):
        check(tmp_path / "f", SEED + stub * 100_000 + b"\n" + line(assistant("end")))


@pytest.mark.parametrize("size", [0, 1, 63, 64, 4095])
def test_zeros(tmp_path: Path, size: int) -> None:
    check(tmp_path / "f", b"\x00" * size)
