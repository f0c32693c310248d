"""What surrounds a turn: languages told by a person, conditions and pauses as built."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from contextecho.sessions import (
    Conditions,
    Kind,
    Session,
    circumstances,
    circumstances_of,
    read_session,
    tell_apart,
)
from contextecho.sessions.language import language_of
from sessions.claude_code_lines import assistant, user

Read = Callable[..., Session]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("please fix the bug in main.py, and make sure this is tested", "en"),
        ("Kannst du bitte die Tests noch einmal laufen lassen?", "de"),
        ("corrige le bug dans le fichier src/main.rs s'il te plaît", "fr"),
        ("請幫我把這個專案的測試補上", "zh"),
        ("テストを追加してください", "ja"),
        ("можешь добавить тесты для этого модуля?", "ru"),
        # Nothing here is a word of any language.
        ("ok", None),
        ("/review 14", None),
        ("git rebase origin/main && pytest -q tests/test_a.py", None),
        ("```python\nfor item in list_of_items: print(item, 'and so on and on')\n```", None),
        ("", None),
    ],
)
def test_the_language_of_a_prompt_is_told_or_not_guessed(text: str, language: str | None) -> None:
    assert language_of(text) == language


def test_real_prompts_in_chinese_and_english_are_told(shared: Path) -> None:
    """All four prompts of the first file are Chinese, all of the second English, by reading."""
    folder = shared / "sessions" / "claude-code"
    for name, language in (("vct-zh-tw-claude", "zh"), ("entire-72a8d8fdb8-0", "en")):
        session = read_session(folder / f"{name}.jsonl")
        told = {c.conditions.language for c in circumstances_of(session)}
        assert told == {language}


def test_a_short_prompt_leaves_the_language_in_force(read: Read) -> None:
    session = read(
        user("ok"),
        assistant("a"),
        user("Bitte schreibe noch einen Test für diese Funktion."),
        assistant("b"),
        user("ja"),
        assistant("c"),
        user("Now please answer in English again, and fix the test."),
        assistant("d"),
    )
    told = _of_answers(session, lambda c: c.language)
    # Before the first prompt that can be told, its language is taken.
    assert told == ["de", "de", "de", "en"]


def test_prompts_whose_language_cannot_be_told_cost_no_more_than_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "chat.jsonl"
    told: list[str] = []
    monkeypatch.setattr(circumstances, "language_of", lambda text: told.append(text))
    chat = [{"role": "user", "content": "ok"}, {"role": "assistant", "content": "done"}] * 500
    path.write_text("".join(json.dumps(message) + "\n" for message in chat))
    assert {c.conditions.language for c in circumstances_of(read_session(path))} == {None}
    assert len(told) <= 2 * 500  # once for what came before each, once for what comes first


def test_model_and_version_are_those_of_the_answer_itself(read: Read) -> None:
    session = read(
        user("hello there, my friend"),
        assistant("a", model="m-1", version="1"),
        assistant("b", model="m-2", version="2"),
    )
    assert _of_answers(session, lambda c: (c.model, c.version)) == [("m-1", "1"), ("m-2", "2")]


def test_a_mode_that_the_model_is_not_told_of_is_no_condition(read: Read) -> None:
    session = read(
        user("a", permissionMode="default"),
        assistant("b"),
        user("c", permissionMode="acceptEdits"),
        assistant("d"),
        user("e", permissionMode="plan"),
        assistant("f"),
    )
    assert [turn.mode for turn in session.turns[1::2]] == ["default", "acceptEdits", "plan"]
    assert _of_answers(session, lambda c: c.mode) == [None, None, "plan"]


def test_the_gap_is_the_time_since_the_turn_before(read: Read) -> None:
    session = read(
        user("a", timestamp="2026-01-01T00:00:00Z"),
        assistant("b", timestamp=None),
        assistant("c", timestamp="2026-01-01T07:00:30Z"),
    )
    assert [c.gap for c in circumstances_of(session)] == [None, None, 7 * 3600 + 30]


def test_conditions_are_told_apart_by_what_differs() -> None:
    old, new = Conditions(model="m", version="1"), Conditions(model="m", version="2")
    unknown = Conditions(model="m", language="en")
    assert tell_apart([old, new, old]) == {old: "version 1", new: "version 2"}
    assert tell_apart([old]) == {old: "model m"}
    assert tell_apart([new, unknown]) == {
        new: "version 2, language not recorded",
        unknown: "version not recorded, language en",
    }


def _of_answers(session: Session, what: Callable[[Conditions], object]) -> list[object]:
    turns = zip(session.turns, circumstances_of(session), strict=True)
    return [what(c.conditions) for turn, c in turns if turn.kind is Kind.ASSISTANT]
