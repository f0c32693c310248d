"""The published prefix, against hashes of the reference's own output and its described flaws."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from contextecho.contexts import (
    EstimateCounter,
    Rendering,
    find_positions,
    load_protocol,
    published_text,
    take_snapshot,
)
from contextecho.errors import UsageError
from contextecho.sessions import Session, read_session
from contexts.made_up import called, result, said, session, user


def test_prefixes_have_the_hashes_of_the_reference_at_all_nine_turns(
    shared: Path, synthetic: Session
) -> None:
    parity = json.loads((shared / "parity" / "reference_outputs.json").read_text())
    expected = parity["prefix_synthetic"]
    assert len(expected["sha256"]) == 9
    for turn, sha256 in expected["sha256"].items():
        text = published_text(synthetic, int(turn))
        assert len(text) == expected["len"][turn]
        assert hashlib.sha256(text.encode()).hexdigest() == sha256, turn


def test_turn_zero_has_no_prefix(synthetic: Session) -> None:
    assert published_text(synthetic, 0) == ""


def test_only_the_tail_is_read(synthetic: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    records = type(synthetic.source).records

    def counting(self: Any, first_line: int, last_line: int) -> Any:
        for line, row in records(self, first_line, last_line):
            read.append(line)
            yield line, row

    monkeypatch.setattr(type(synthetic.source), "records", counting)
    published_text(synthetic, 1100)
    assert len(read) < 200, "30,000 characters are about sixty rows of this file"


def claude_rows(path: Path, *rows: dict[str, Any]) -> Session:
    """A Claude Code file of these rows."""
    envelope = {"sessionId": "s", "version": "2.0.0", "isSidechain": False}
    lines = [
        json.dumps({"uuid": f"u{i}", "timestamp": "2026-01-01T00:00:00Z", **envelope, **row})
        for i, row in enumerate(rows)
    ]
    path.write_text("\n".join(lines) + "\n")
    return read_session(path)


def user_row(content: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}}


def assistant_row(*blocks: dict[str, Any]) -> dict[str, Any]:
    message = {"id": "m", "role": "assistant", "model": "x", "content": list(blocks)}
    return {"type": "assistant", "message": message}


BOUNDARY = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}


def test_blocks_are_cut_at_200_characters_and_thinking_is_dropped(tmp_path: Path) -> None:
    made = claude_rows(
        tmp_path / "s.jsonl",
        user_row("go"),
        assistant_row({"type": "thinking", "thinking": "hm", "signature": ""}),
        assistant_row(
            {"type": "text", "text": "Running."},
            {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "é" * 300}},
        ),
        user_row(
            [
                {
                    "type": "tool_result",
                    "tool_use_id": "t",
                    "content": [
                        {"type": "text", "text": "ab"},
                        {"type": "text", "text": "c" * 300},
                    ],
                }
            ]
        ),
        assistant_row({"type": "text", "text": "Done."}),
    )
    arguments = ('{"command": "' + "\\u00e9" * 300)[:200]
    assert published_text(made, 4) == (
        "--- USER ---\ngo\n\n"
        f"--- ASSISTANT ---\nRunning.\n[tool_use Bash: {arguments}]\n\n"
        f"--- USER ---\n[tool_result: ab{'c' * 198}]\n\n"
        "--- ASSISTANT ---\nDone."
    )


def test_a_summary_in_a_list_is_lost_and_a_row_before_a_summary_doubles_it(tmp_path: Path) -> None:
    in_list = claude_rows(
        tmp_path / "a.jsonl",
        assistant_row({"type": "text", "text": "before"}),
        BOUNDARY,
        user_row([{"type": "text", "text": "Summary: in a list"}]),
        user_row("after"),
    )
    assert published_text(in_list, in_list.row_turns) == "--- USER ---\nafter"
    assert published_text(in_list, 2) == "", "at the summary itself nothing is left"
    late = claude_rows(
        tmp_path / "b.jsonl",
        assistant_row({"type": "text", "text": "before"}),
        BOUNDARY,
        user_row("something else"),
        user_row("Summary: told"),
        user_row("after"),
    )
    text = published_text(late, late.row_turns)
    assert text.startswith("--- COMPACTION SUMMARY (resumed session) ---\nSummary: told\n\n")
    assert text.count("Summary: told") == 2


def test_a_prefix_of_white_space_is_no_prefix(tmp_path: Path) -> None:
    made = claude_rows(
        tmp_path / "s.jsonl",
        user_row("go" + " \n" * 20_000),
        assistant_row({"type": "text", "text": "gone"}),
    )
    (position,) = find_positions(made, "1")
    assert published_text(made, 1).isspace(), "the reference's own tail of 30,000 characters"
    snapshot = take_snapshot(made, position, load_protocol("published"), counter=EstimateCounter())
    assert snapshot.context.messages == ()


def test_other_formats_stand_under_the_same_headers() -> None:
    made = session(
        user("hi"), said("hello"), called("c", command="ls"), result("c", "x"), said("ok")
    )
    assert published_text(made, made.row_turns) == (
        "--- USER ---\nhi\n\n--- ASSISTANT ---\nhello\n\n"
        '--- ASSISTANT ---\n[tool_use Bash: {"command": "ls"}]\n\n'
        "--- USER ---\n[tool_result: x]\n\n--- ASSISTANT ---\nok"
    )


def test_a_snapshot_is_the_prefix_in_one_user_message_and_an_acknowledgement(
    synthetic: Session,
) -> None:
    protocol = load_protocol("published")
    (position,) = find_positions(synthetic, "470")
    snapshot = take_snapshot(synthetic, position, protocol, counter=EstimateCounter())
    prefix, acknowledgement = snapshot.context.messages
    assert (prefix.role, prefix.text) == ("user", published_text(synthetic, 470))
    assert (acknowledgement.role, acknowledgement.text) == ("assistant", protocol.acknowledgement)
    assert snapshot.summary_kept is True
    assert snapshot.dropped_turns == 0


def test_a_hundred_turns_later_the_summary_is_trimmed_off_and_that_is_said(
    synthetic: Session,
) -> None:
    (position,) = find_positions(synthetic, "550")
    snapshot = take_snapshot(
        synthetic, position, load_protocol("published"), counter=EstimateCounter()
    )
    assert snapshot.summary_kept is False
    assert snapshot.dropped_turns > 0


def test_published_has_one_rendering(synthetic: Session) -> None:
    (position,) = find_positions(synthetic, "470")
    with pytest.raises(UsageError, match="published quotes the session"):
        take_snapshot(
            synthetic,
            position,
            load_protocol("published"),
            counter=EstimateCounter(),
            rendering=Rendering.NATIVE,
        )
