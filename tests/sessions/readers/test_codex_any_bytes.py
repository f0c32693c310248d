"""Whatever the bytes are: a session, or a `SessionError`, and nothing else."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions import any_bytes
from sessions.codex_lines import (
    answer,
    call,
    context,
    event,
    item,
    meta,
    output,
    task,
    tokens,
    typed,
    uuid_at,
)
from sessions.damage import damaged, json_values
from timing import takes_less_than

COMPACTED = {"type": "compacted", "payload": {"message": "S.", "replacement_history": []}}
LINES = [
    *(meta(100, forked_from_id=uuid_at(0)), meta(0), context(1), task(100), context(100)),
    *typed("# Context from my IDE setup:\n## My request for Codex:\né🎉 fix it"),
    *(item("reasoning", summary=[{"type": "summary_text", "text": "Hm."}]), *answer("Looking.")),
    *(call(), output("Exit code: 1\n"), tokens(90), COMPACTED, tokens(9), *typed("more")),
    *(item("web_search_call", action={"query": "x"}), event("turn_aborted", reason="interrupted")),
    *(*typed("again"), *answer("Done.", "final_answer"), event("thread_rolled_back", num_turns=1)),
]
SEED = b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in LINES)
FIELDS = sorted({key for line in LINES for key in line["payload"]})
KINDS = sorted({line["payload"].get("type", "") for line in LINES})

blocks = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["input_text", "output_text", "input_image", "other"])},
        optional={"text": json_values, "image_url": json_values},
    )
    | json_values,
    max_size=3,
)
line_like = st.builds(
    lambda kind, payload_kind, fields: {"type": kind, "payload": {"type": payload_kind, **fields}},
    st.sampled_from(sorted({str(line["type"]) for line in LINES})),
    st.sampled_from(KINDS),
    st.dictionaries(st.sampled_from(FIELDS), json_values | blocks, max_size=6),
)


check = partial(any_bytes.check, format="codex")


@given(st.binary(max_size=400))
def test_random_bytes(tmp_path: Path, data: bytes) -> None:
    check(tmp_path / "f", data)


@given(damaged([SEED]))
def test_real_lines_with_random_damage(tmp_path: Path, data: bytes) -> None:
    check(tmp_path / "f", data)


@given(st.lists(json_values | line_like, max_size=6))
def test_random_json_among_real_lines(tmp_path: Path, values: list[Any]) -> None:
    lines = SEED.splitlines(keepends=True)
    mixed = [*lines[:5], *(json.dumps(v).encode() + b"\n" for v in values), *lines[5:]]
    check(tmp_path / "f", b"".join(mixed))


@pytest.mark.parametrize("name", ["agentv-34f597b72d-1.jsonl", "agent-sessions-small.jsonl"])
def test_a_real_file_cut_anywhere(shared: Path, tmp_path: Path, name: str) -> None:
    data = (shared / "sessions" / "codex" / name).read_bytes()[:120_000]
    for size in range(0, len(data), 4_999):
        check(tmp_path / "f", data[:size])


def test_nesting_deeper_than_any_parser(tmp_path: Path) -> None:
    check(tmp_path / "f", SEED + b'{"type":"response_item","payload":{"content":' + b"[" * 200_000)
    deep = b"[" * 900 + b"]" * 900
    check(tmp_path / "f", SEED + b'{"type":"response_item","payload":{"action":' + deep + b"}}\n")


def test_long_texts_made_of_beginnings_are_read_in_reasonable_time(tmp_path: Path) -> None:
    """Marks of injected blocks, of exit codes and of pictures, each many times over."""
    texts = [
        *("<environment_context>" * 50_000, "<image " * 150_000, "<skill></skill>" * 20_000),
        *("# AGENTS.md instructions </INSTRUCTIONS " * 20_000, "Chunk ID:\nWall time:" * 50_000),
        '{"output":' + '"metadata":{"exit_code":' * 50_000,
    ]
    lines = [line for text in texts for line in (*typed(text), output(text))]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    with takes_less_than(5):
        check(tmp_path / "f", SEED + data)
