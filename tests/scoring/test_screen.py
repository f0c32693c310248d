"""The passive screen: counts against an independent pass over the raw lines, and its verdict."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from contextecho.scoring import Screen, measure_features, screen_session
from contextecho.sessions import read_session
from sessions import codex_lines as codex

PLAIN = "The parser reads the file and gives back a list. Nothing else was changed, so tests pass."
WARM = "I love this one — for me it is the best part. I think it sings — I really enjoy it."


def _chat(tmp_path: Path, replies: Iterable[dict[str, Any]]) -> Screen:
    """The screen of a chat file with these assistant messages, a prompt before each."""
    lines: list[dict[str, Any]] = []
    for number, reply in enumerate(replies):
        lines += [{"role": "user", "content": f"Task {number}"}, {"role": "assistant", **reply}]
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return screen_session(read_session(path))


def _rows(path: Path) -> list[dict[str, Any]]:
    rows = []
    for line in path.read_bytes().split(b"\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


def _count_texts(path: Path) -> dict[str, int]:
    """Messages with visible text by whether they call a tool, counted from the raw rows."""
    texts: dict[str, bool] = {}
    calls: set[str] = set()
    for row in _rows(path):
        message = row.get("message")
        if (
            row.get("type") != "assistant"
            or row.get("isSidechain")
            or not isinstance(message, dict)
        ):
            continue
        if message.get("model") == "<synthetic>" or row.get("isApiErrorMessage"):
            continue
        for part in message.get("content") or []:
            if part["type"] == "text" and part["text"].strip():
                texts[message["id"]] = True
            if part["type"] == "tool_use":
                calls.add(message["id"])
    commentary = sum(message in calls for message in texts)
    return {"final": len(texts) - commentary, "commentary": commentary}


@pytest.mark.parametrize(
    "name",
    [
        "entire-cd95adddad32-0",
        "cipherbox-e89fb6a2d646-0",
        "cipherbox-c644f3afc869-1",
        "obra-large-conversation",
        "entire-72a8d8fdb8-0",
        "packmind-74e4f052ad-1",
    ],
)
def test_texts_of_each_voice_equal_a_count_over_the_raw_rows(shared: Path, name: str) -> None:
    path = shared / "sessions" / "claude-code" / f"{name}.jsonl"
    screen = screen_session(read_session(path))
    assert {voice.value: n for voice, n in screen.texts.items()} == _count_texts(path)


def test_windows_hold_every_text_once_and_never_reach_over_a_compaction(shared: Path) -> None:
    path = shared / "sessions" / "claude-code" / "entire-cd95adddad32-0.jsonl"
    screen = screen_session(read_session(path))
    assert screen.compactions == 3
    assert {w.segment for w in screen.windows} == {0, 1, 2, 3}
    for voice, texts in screen.texts.items():
        assert sum(w.voices[voice].texts for w in screen.windows) == texts
    steps = [(w.first_step, w.last_step) for w in screen.windows]
    assert all(before[1] < after[0] for before, after in pairwise(steps))


def test_a_windows_means_are_those_of_its_texts(tmp_path: Path) -> None:
    screen = _chat(tmp_path, [{"content": PLAIN}, {"content": WARM}])
    (window,) = screen.windows
    means = window.voices["final"].means  # type: ignore[index]
    assert means is not None
    both = [measure_features(PLAIN), measure_features(WARM)]
    assert means.em_dashes == pytest.approx(sum(f.em_dashes for f in both) / 2)
    assert means.log_length == pytest.approx(sum(f.log_length for f in both) / 2)


def test_a_session_whose_voice_changes_is_worth_probing(tmp_path: Path) -> None:
    mixed = [{"content": WARM if i in (3, 7) or (i > 15 and i % 5) else PLAIN} for i in range(45)]
    screen = _chat(tmp_path, mixed)
    assert screen.outlook == "worth probing"
    notable = {s.feature for s in screen.shifts if s.notable}
    assert {"experiential", "em_dashes"} <= notable
    shift = next(s for s in screen.shifts if s.feature == "em_dashes")
    assert (shift.n_early, shift.n_late) == (15, 15)
    assert (shift.early, shift.late) == pytest.approx((4 / 15, 2 * 12 / 15))


def test_complete_separation_is_worth_probing_too(tmp_path: Path) -> None:
    screen = _chat(tmp_path, [{"content": PLAIN}] * 15 + [{"content": WARM}] * 15)
    assert screen.outlook == "worth probing"


def test_a_session_whose_voice_stays_is_quiet(tmp_path: Path) -> None:
    texts = [PLAIN + " Done." * (i % 4) for i in range(60)]
    screen = _chat(tmp_path, [{"content": text} for text in texts])
    assert screen.outlook == "nothing stands out"


def test_a_short_session_is_too_short_to_tell(tmp_path: Path) -> None:
    screen = _chat(tmp_path, [{"content": WARM}] * 23)
    assert screen.outlook == "too short to tell"
    assert screen.shifts == ()


def test_early_answers_are_never_compared_with_late_commentary(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}
    finals = [{"content": PLAIN}] * 30
    commentary = [{"content": WARM, "tool_calls": [call]}] * 30
    screen = _chat(tmp_path, finals + commentary)
    assert screen.texts == {"final": 30, "commentary": 30}
    assert screen.outlook == "nothing stands out"


def test_a_message_that_says_both_is_a_commentary_and_an_answer(tmp_path: Path) -> None:
    """Codex declares for each text of a response which of them it is."""
    said = [*codex.answer("Looking.", "commentary"), *codex.answer("Done.", "final_answer")]
    session = codex.read(tmp_path, codex.meta(), codex.typed("go"), said)
    assert session.steps == 1
    assert screen_session(session).texts == {"final": 1, "commentary": 1}


def test_a_change_of_model_is_no_change_of_voice(tmp_path: Path) -> None:
    one, other = {"content": PLAIN, "model": "m-1"}, {"content": WARM, "model": "m-2"}
    screen = _chat(tmp_path, [one] * 30 + [other] * 27)
    assert screen.outlook == "nothing stands out"
    assert [(s.conditions.model, s.texts["final"]) for s in screen.strata] == [
        ("m-1", 30),
        ("m-2", 27),
    ]
    assert {(s.n_early, s.n_late, s.strata) for s in screen.shifts} == {(19, 19, 2)}
    assert any("the model changes once, first at step 31" in line for line in screen.confounders)


def test_a_voice_that_changes_under_equal_conditions_is_seen_beside_a_change_of_model(
    tmp_path: Path,
) -> None:
    drifting = [{"content": text, "model": "m-1"} for text in [PLAIN] * 20 + [WARM] * 20]
    screen = _chat(tmp_path, [*drifting, *([{"content": WARM, "model": "m-2"}] * 5)])
    assert screen.outlook == "worth probing"
    assert [stratum.compared for stratum in screen.strata] == [("final",), ()]
    assert {(s.n_early, s.n_late, s.strata) for s in screen.shifts} == {(13, 13, 1)}


def test_a_change_of_language_is_named(tmp_path: Path) -> None:
    chinese = "解析器读取文件并返回一个列表，其他部分没有改变。"
    screen = _chat(tmp_path, [{"content": PLAIN}] * 10 + [{"content": chinese}] * 10)
    assert any("the language changes" in line for line in screen.confounders)


def test_a_change_of_client_version_and_a_pause_are_named(shared: Path) -> None:
    path = shared / "sessions" / "claude-code" / "entire-995ebed6e4-2-glued-line.jsonl"
    lines = screen_session(read_session(path)).confounders
    assert any(
        "client version changes once" in line and "2.1.7 to 2.1.12" in line for line in lines
    )
    assert "1 pause of more than six hours" in lines


def test_that_tasks_change_is_named_wherever_there_is_more_than_one_prompt(tmp_path: Path) -> None:
    assert "tasks change" in _chat(tmp_path, [{"content": PLAIN}] * 2).confounders[0]
    assert _chat(tmp_path, [{"content": PLAIN}]).confounders == ()


def test_a_change_of_model_is_named_though_only_one_of_them_spoke(shared: Path) -> None:
    # By grep of the turn_context records: luna comes first, gpt-5.5 next; others answer nothing.
    path = shared / "sessions" / "codex" / "agent-sessions-small.jsonl"
    screen = screen_session(read_session(path))
    assert sum(screen.texts.values()) == 1
    (line,) = (line for line in screen.confounders if "model" in line)
    assert line == "the model changes 2 times, first at step 5: gpt-5.6-luna to gpt-5.5"


def test_a_continuation_is_no_compaction_of_this_session(shared: Path) -> None:
    path = shared / "sessions" / "gemini" / "gemini-cli-agent-teams-history.json"
    screen = screen_session(read_session(path))
    assert screen.compactions == 0
    assert not any("compaction" in line for line in screen.confounders)
    assert "it begins with the summary of a conversation that it does not hold" in (
        screen.confounders
    )


def test_it_calls_itself_a_screen_and_never_a_diagnosis(tmp_path: Path) -> None:
    assert _chat(tmp_path, [{"content": PLAIN}]).label == "a screen, never a diagnosis"
