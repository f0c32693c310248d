"""Files as killed clients, redactors and other programs leave them (formats.md, section 5)."""

from __future__ import annotations

import hashlib
import sys
import tracemalloc
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Speaker, read_session
from sessions.claude_code_lines import (
    assistant,
    call,
    chained,
    line,
    queue,
    record,
    result,
    user,
    write,
)
from sessions.looking import counts, texts
from timing import takes_less_than


def test_two_records_glued_on_one_line_are_both_read(read) -> None:
    glued = line(user("first"))[:-1] + line(assistant("second"))
    session = read(glued, user("third"))
    assert texts(session) == ["first", "second", "third"]
    assert counts(session) == {"broken line, records saved": 1}


def test_a_byte_order_mark_costs_nothing(tmp_path: Path) -> None:
    records = [line(user("é")), line(assistant("ok")), line(user("more"))]
    plain = read_session(write(tmp_path, records))
    marked = read_session(write(tmp_path, [BOM_UTF8 + records[0], *records[1:]]))
    assert (marked.row_turns, list(marked.row_turn_lines)) == (3, [1, 2, 3])
    assert marked.skipped == plain.skipped == ()
    assert texts(marked) == ["é", "ok", "more"]
    rows = list(marked.source.records(1, 3))
    assert [row["type"] for _, row in rows] == ["user", "assistant", "user"]
    assert [turn.time for turn in marked.turns] == [turn.time for turn in plain.turns]


def test_a_whole_record_behind_the_stub_of_a_cut_one_is_saved(read) -> None:
    stub = line(assistant("lost"))[:80]
    session = read(user("a"), stub + line(assistant("saved")), assistant("b"))
    assert texts(session) == ["a", "saved", "b"]
    assert counts(session) == {"broken line, records saved": 1}


def test_a_piece_of_a_cut_record_is_never_taken_for_a_record(read) -> None:
    inner = line(user("inner"))[:-1].replace(b'"sessionId": "s1", ', b"")
    cut = b'{"type": "progress", "sessionId": "s1", "data": {"message": ' + inner + b"\n"
    session = read(user("a"), cut, assistant("b"))
    assert texts(session) == ["a", "b"]
    assert counts(session) == {"broken line": 1}


def test_nul_bytes_before_a_record_do_not_hide_it(read) -> None:
    session = read(user("a"), b"\x00" * 4096 + line(assistant("b")))
    assert texts(session) == ["a", "b"]


def test_a_last_line_that_is_still_being_written_is_counted(read) -> None:
    session = read(user("a"), assistant("b"), line(assistant("c"))[:-20])
    assert texts(session) == ["a", "b"]
    assert counts(session) == {"broken line": 1}


def test_unicode_line_separators_do_not_end_a_line(read) -> None:
    session = read(user("one\u2028two\u2029three\u0085four"), assistant("ok"))
    assert texts(session) == ["one\u2028two\u2029three\u0085four", "ok"]


def test_lone_surrogates_become_replacement_characters(read) -> None:
    raw = line(assistant("cut X here")).replace(b"X", rb"\ud83d")
    session = read(user("a"), raw)
    assert texts(session)[1] == "cut \ufffd here"
    _, row = next(iter(session.source.records(2, 2)))
    assert "\ufffd" in row["message"]["content"][0]["text"]
    assert row["message"]["content"][0]["text"].encode("utf-8")


def test_bytes_that_are_not_utf8_become_replacement_characters(read) -> None:
    session = read(user("a"), line(assistant("caf X")).replace(b"X", b"\xe9"))
    assert texts(session)[1] == "caf \ufffd"


def test_values_that_are_no_records_are_counted_and_passed_over(read) -> None:
    session = read(42, [1], "x", None, {"no": "type"}, user("a"), assistant("b"))
    assert counts(session) == {"not a JSON object": 4, "record without type": 1}


@pytest.mark.parametrize(
    "message",
    ["error", None, 7, [], {"role": "user"}, {"0": "h", "1": "i", "content": None}],
    ids=["string", "null", "number", "list", "no content", "character-indexed"],
)
def test_messages_of_the_wrong_shape_are_counted(read, message: object) -> None:
    session = read(user("a"), assistant("b"), record("user", message=message))
    assert texts(session) == ["a", "b"]
    assert counts(session) == {"message without readable content": 1}


def test_one_odd_field_costs_that_field_and_not_the_record(read) -> None:
    odd = user("kept") | {"isMeta": "no", "version": 3, "toolUseResult": [1, {"a": 2}]}
    session = read(odd, assistant("b"))
    assert texts(session) == ["kept", "b"]
    assert session.turns[0].version is None


def test_bare_strings_in_a_content_list_are_texts(read) -> None:
    session = read(user(["hello"]), assistant("b"))
    assert texts(session) == ["hello", "b"]


def test_unknown_records_and_blocks_are_counted_by_name(read) -> None:
    session = read(
        user("a"),
        assistant("b", {"type": "hologram"}),
        record("hyperlink"),
        record("system", subtype="weather"),
        record("attachment", attachment={"type": "smell"}),
    )
    assert counts(session) == {
        "unknown content block: hologram": 1,
        "unknown record type: hyperlink": 1,
        "client notice": 1,
        "attachment": 1,
    }


def test_a_long_unknown_name_is_shortened(read) -> None:
    session = read(user("a"), assistant("b"), record("x" * 10_000))
    assert max(len(skipped.reason) for skipped in session.skipped) < 100


def test_a_repeated_uuid_is_read_once_and_the_first_wins(read) -> None:
    session = read(user("a", uuid="same"), assistant("b"), user("again", uuid="same"))
    assert texts(session) == ["a", "b"]
    assert counts(session) == {"repeated record": 1}
    assert session.row_turns == 3  # the first paper's count looks at rows alone


def test_a_message_spread_over_interleaved_records_is_one_step(read) -> None:
    session = read(
        user("a"),
        assistant("I look", id="m"),
        assistant(call("t1", "Read"), id="m"),
        user([result("one", "t1")]),
        assistant(call("t2", "Bash"), id="m"),
        user([result("two", "t2")]),
        assistant("done", id="n"),
    )
    assert session.steps == 2
    ours = [turn for turn in session.turns if turn.speaker is Speaker.MODEL]
    assert len({turn.message for turn in ours}) == 2
    assert [t.tool for t in session.turns if t.kind is Kind.TOOL_RESULT] == ["Read", "Bash"]


def test_the_same_block_of_a_message_written_twice_is_read_once(read) -> None:
    session = read(user("a"), assistant("b", id="m"), assistant("b", id="m"))
    assert texts(session) == ["a", "b"]
    assert counts(session) == {"repeated content block": 1}


def test_the_same_message_id_in_another_session_is_another_message(read) -> None:
    session = read(user("a"), assistant("b", id="m"), assistant("c", id="m", sessionId="s2"))
    assert session.steps == 2


def test_a_message_that_a_resume_copies_under_a_new_session_is_read_once(read) -> None:
    thought = {"type": "thinking", "thinking": ""}
    session = read(
        user("a"),
        assistant(thought, id="m"),
        assistant("b", id="m", uuid="one"),
        assistant(thought, id="m", sessionId="s2"),
        assistant("b", id="m", sessionId="s2", uuid="two"),
        user("c", sessionId="s2", parentUuid="two"),
        assistant("d", id="n", sessionId="s2"),
    )
    assert [session.text(turn) for turn in session.turns] == ["a", "", "b", "c", "d"]
    assert session.steps == 2
    assert counts(session) == {"repeated record": 2}


def resumed(**changed: object) -> list[dict[str, object]]:
    """A prompt, a call with its result and an answer; copied under new uuids; and what follows."""

    def told(number: int, session: str) -> list[dict[str, object]]:
        records = [
            user("q1"),
            assistant(call("t"), id="m1"),
            user([result("out", "t")]),
            assistant("r1", id="m2"),
            user("q2"),
            assistant("r2", id="m3"),
        ]
        for at, each in enumerate(records):
            each |= {"uuid": f"{session}-{at}", "sessionId": session}
            each |= {"parentUuid": f"{session}-{at - 1}" if at else None}
            each |= {"timestamp": f"2025-01-01T00:00:0{at}.000Z"} | (changed if number else {})
        return records

    late = {"sessionId": "two", "parentUuid": "two-5"}
    after = [user("q3", **late), assistant("r3", **late), user("q4", **late), assistant("r4")]
    after[1]["parentUuid"], after[3]["parentUuid"] = after[0]["uuid"], after[2]["uuid"]
    return [*told(0, "one"), *told(1, "two"), *after]


def test_a_history_that_a_resume_copies_under_new_uuids_is_read_once(read) -> None:
    session = read(*resumed())
    assert texts(session) == ["q1", "{}", "out", "r1", "q2", "r2", "q3", "r3", "q4", "r4"]
    assert (session.prompts, session.steps) == (4, 5)
    assert counts(session) == {"repeated record": 6}
    # The prompt after the copies was given anew: both hang below one copied answer.
    assert [session.text(turn) for turn in session.turns if turn.abandoned] == ["q3", "r3"]


@pytest.mark.parametrize(
    "changed",
    [
        {"timestamp": "2025-01-02T00:00:00.000Z"},
        {"timestamp": None},
        {"sessionId": "one"},
        {"parentUuid": "elsewhere"},
    ],
)
def test_the_same_words_are_a_copy_only_where_that_is_certain(read, changed) -> None:
    assert read(*resumed(**changed)).prompts == 6


def test_a_copy_below_a_copied_notice_is_still_a_copy(read) -> None:
    """Typed prompts often hang below progress or a notice, which a resume copies too."""

    def told(session: str) -> list[dict[str, Any]]:
        progress = record("progress", data={"type": "hook_progress"})
        records = chained([user("q1"), assistant("r1", id="m1"), progress, user("q2")])
        for at, each in enumerate(records):
            each |= {"sessionId": session, "uuid": f"{session}-{at}"}
            each |= {"parentUuid": f"{session}-{at - 1}" if at else None}
            each |= {"timestamp": f"2025-01-01T00:00:0{at}.000Z"}
        return records

    session = read(*told("one"), *told("two"), assistant("r2", parentUuid="two-3"))
    assert texts(session) == ["q1", "r1", "q2", "r2"]
    assert session.prompts == 2


def test_a_queued_message_that_is_written_again_is_one(read) -> None:
    """The client gives its queue operations no id; the time and the words tell."""
    queued = [queue("enqueue", "stop"), queue("remove")]
    for each in queued:
        each["timestamp"] = "2025-01-01T00:00:01.000Z"
    session = read(user("go"), *queued, *queued, assistant("ok"))
    assert texts(session) == ["go", "stop", "ok"]
    later = [{**queued[0], "timestamp": "2025-01-01T00:00:02.000Z"}, queued[1]]
    assert read(user("go"), *queued, *later, assistant("ok")).prompts == 3


def test_only_messages_without_a_tool_call_are_final(read) -> None:
    session = read(
        user("a"),
        assistant("commentary", id="m"),
        assistant(call(), id="m"),
        user([result("r")]),
        assistant("answer", id="n"),
    )
    said = [(session.text(t), t.final) for t in session.turns if t.kind is Kind.ASSISTANT]
    assert said == [("commentary", False), ("answer", True)]


def test_a_result_that_is_written_again_is_read_once(read) -> None:
    refused = "The user doesn't want to proceed with this tool use. the user said:\nleave it"
    asked, answered = assistant(call(), id="m"), user([result(refused, is_error=True)])
    session = read(
        user("a"),
        asked,
        answered,
        asked | {"uuid": "again-1"},  # 1.0.60 writes all anew for each message of a stream
        answered | {"uuid": "again-2", "parentUuid": "again-1"},
        user("b", parentUuid="again-2"),
        assistant("c"),
    )
    assert texts(session) == ["a", "{}", refused, "leave it", "b", "c"]
    assert (session.prompts, session.steps) == (3, 2)
    assert counts(session) == {"repeated content block": 1, "repeated record": 1}


def test_a_tool_that_the_provider_ran_is_a_call_with_its_result(read) -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1"}
    session = read(
        user("a"),
        assistant(search, id="m"),
        assistant(found | {"content": [{"type": "web_search_result", "url": "u"}]}, id="m"),
        assistant("found it", id="m"),
    )
    _, call_turn, result_turn, answer = session.turns
    assert (call_turn.kind, call_turn.tool, call_turn.call_id) == (
        Kind.TOOL_CALL,
        "web_search",
        "s1",
    )
    assert (result_turn.kind, result_turn.speaker) == (Kind.TOOL_RESULT, Speaker.TOOL)
    assert (result_turn.tool, result_turn.call_id, result_turn.model) == ("web_search", "s1", None)
    assert (session.text(answer), answer.message) == ("found it", call_turn.message)
    assert (session.steps, session.skipped) == (1, ())


def test_synthetic_texts_api_errors_and_blanks_are_no_steps(read) -> None:
    session = read(
        user("a"),
        assistant("No response requested.", model="<synthetic>"),
        assistant("API Error: 500", isApiErrorMessage=True),
        assistant("  \n"),
        assistant("real"),
    )
    assert session.steps == 1
    assert session.models == ("claude-x",)
    assert counts(session) == {
        "synthetic assistant text": 1,
        "API error shown as assistant text": 1,
        "message with nothing but blanks": 1,
    }


def test_thinking_without_text_stays_as_not_recorded(read) -> None:
    session = read(user("a"), assistant({"type": "thinking", "thinking": "", "signature": "x"}))
    assert session.turns[1].kind is Kind.THINKING
    assert session.turns[1].chars == 0
    assert session.steps == 1


def test_arguments_of_a_call_come_back_as_written(read) -> None:
    session = read(user("a"), assistant(call(command="ls", depth=2)), user([result("r")]))
    (content,) = session.contents([session.turns[1]])
    assert content.arguments == {"command": "ls", "depth": 2}
    assert content.text == '{"command": "ls", "depth": 2}'
    assert session.turns[2].tool == "Bash"


def test_pictures_in_a_tool_result_are_counted_not_loaded(read) -> None:
    picture = {"type": "image", "source": {"type": "base64", "data": "A" * 1000}}
    session = read(
        user("a"), assistant(call()), user([result([{"type": "text", "text": "see"}, picture])])
    )
    (content,) = session.contents([session.turns[-1]])
    assert (content.text, content.images) == ("see", 1)


@pytest.mark.parametrize("cut", [0, 9])  # bytes of the last line that are not written yet
def test_a_file_that_grows_is_read_as_it_was(tmp_path: Path, cut: int) -> None:
    path = write(tmp_path, [user("a"), assistant("b"), user("c")])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - cut])
    session, before = read_session(path), read_session(path)
    with path.open("ab") as file:
        file.write(whole[len(whole) - cut :] + line(user("more")))
    texts = [content.text for content in session.contents(session.turns)]
    assert texts == (["a", "b"] if cut else ["a", "b", "c"])
    assert [number for number, _ in session.source.records(1, 9)] == ([1, 2] if cut else [1, 2, 3])
    assert session.sha256 == hashlib.sha256(whole[: len(whole) - cut]).hexdigest()
    path.write_bytes(b"x" + path.read_bytes()[1:])
    with pytest.raises(SessionError, match="changed"):
        before.text(before.turns[0])


def shrink(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes() + line(user("more")))
    other.replace(path)


def write_over(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"b"', b'"x"') + line(user("more")))


@pytest.mark.parametrize("change", [shrink, replace, write_over])
def test_a_file_that_was_not_only_appended_to_is_refused(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    path = write(tmp_path, [user("a"), assistant("b")])
    session = read_session(path)
    change(path)
    with pytest.raises(SessionError, match="changed while it was in use"):
        session.text(session.turns[0])
    with pytest.raises(SessionError, match="changed while it was in use"):
        assert session.sha256


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"\n\n  \n", "is empty"),
        (b"hello\n", "not a session"),
        (b"\x00\x01\x02\xff" * 100, "binary"),
        (line({"type": "summary", "summary": "x", "leafUuid": "y"}), "no conversation"),
        (line(user("only me")), "no conversation: 1 prompt,"),
        (line(user("x", isSidechain=True)) + line(assistant("y", isSidechain=True)), "sub-agent"),
    ],
)
def test_what_is_no_conversation_is_refused_in_one_line(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    with pytest.raises(SessionError, match=reason) as caught:
        read_session(write(tmp_path, [data]))
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_missing_files_and_directories_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="no such file"):
        read_session(tmp_path / "missing.jsonl")
    with pytest.raises(SessionError, match="directory"):
        read_session(tmp_path)


def test_raw_rows_are_given_by_physical_line(read) -> None:
    session = read(user("a"), b"\n", 42, assistant("b"), b"{broken\n", user("c"))
    rows = [(n, row["type"]) for n, row in session.source.records(1, 99)]
    assert rows == [(1, "user"), (4, "assistant"), (6, "user")]
    assert [n for n, _ in session.source.records(2, 4)] == [4]
    assert list(session.row_turn_lines) == [1, 4, 6]


def test_the_index_keeps_a_small_fraction_of_the_file(tmp_path: Path) -> None:
    records = [user("a")]
    for _ in range(400):
        records.append(record("progress", data={"fullOutput": "x" * 20_000}))
        records.append(assistant("y" * 3_000))
        records.append(user([result("z" * 20_000)]))
    path = write(tmp_path, records)
    tracemalloc.start()
    session = read_session(path)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert session.bytes > 16_000_000
    assert kept < session.bytes / 40
    assert peak < session.bytes  # buffers of a few MB, whatever the size of the file


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("1970-01-01T00:00:10.500Z", 10.5),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-01T00:00:07", 7.0),  # without a zone: UTC, wherever this runs
        ("yesterday", None),
        (12, None),
    ],
)
def test_times_are_seconds_in_utc(read, written: object, seconds: float | None) -> None:
    session = read(user("a", timestamp=written), assistant("b"))
    assert session.turns[0].time == seconds
    assert session.prompts == 1


@pytest.mark.parametrize(
    ("content", "chars", "text"),
    [
        ("plain", 5, "plain"),
        ('a\n"b"', 8, 'a\n"b"'),  # as written: a\\n\\"b\\"
        ("é→", 5, "é→"),  # two bytes and three
        ("", 0, ""),
        (None, 0, ""),
        (7, 0, ""),
        ([{"type": "text", "text": "é"}, {"type": "image", "source": {"data": "A" * 99}}], 1, "é"),
        (["bare", {"type": "text", "text": "x"}, 3], 6, "bare\nx"),
    ],
)
def test_a_result_that_is_one_string_is_measured_as_written(
    read, content: object, chars: int, text: str
) -> None:
    session = read(user("a"), assistant(call()), user([result(content)]))
    turn = session.turns[2]
    assert (turn.kind, turn.chars, session.text(turn)) == (Kind.TOOL_RESULT, chars, text)


def test_a_result_with_bytes_that_are_no_text_is_shown_with_marks_for_them(read) -> None:
    rows = line(user([result("abc")])).replace(b"abc", b"a\xffc")
    session = read(user("a"), assistant(call()), rows)
    assert texts(session)[2] == "a\ufffdc"
    assert session.skipped == ()


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(b'{"type":"a","b":[' * 900 + b"1," * 200_000, id="nested beginnings"),
        pytest.param(b"{}" * 200_000, id="glued objects"),
        pytest.param(b"\0{" * 200_000, id="beginnings behind NUL bytes"),
    ],
)
def test_a_long_broken_line_costs_no_more_than_its_length(read, tail: bytes) -> None:
    """12 s and 16 s each when every beginning, or every record, cost the whole line."""
    with takes_less_than(6):
        session = read(user("go"), assistant("ok"), tail + b"\n")
    assert session.prompts == 1


def test_of_a_broken_line_of_very_many_records_the_first_are_saved(
    monkeypatch: pytest.MonkeyPatch, read
) -> None:
    monkeypatch.setattr("contextecho.sessions.building.jsontext._MOST_SAVED", 3)
    glued = [line(user(str(number))).rstrip() for number in range(9)]
    for between in (b"", b"\0"):
        session = read(between.join(glued) + b"\n", assistant("ok"))
        assert texts(session) == ["0", "1", "2", "ok"]
        assert counts(session) == {"broken line, records saved": 1}


def test_a_blank_line_costs_next_to_nothing(read) -> None:
    """15 microseconds each when it was tried as JSON like any other line, twice."""

    def calls(lines: bytes) -> int:
        seen = 0

        def count(*_: object) -> None:
            nonlocal seen
            seen += 1

        sys.setprofile(count)
        try:
            read(user("go"), lines, assistant("ok"))
        finally:
            sys.setprofile(None)
        return seen

    assert 3 * calls(b"\n" * 1_000) < calls(b"x\n" * 1_000)


def test_records_glued_behind_letters_of_several_bytes_are_found_by_their_bytes(read) -> None:
    first, second = user("gr\u00fc\u00df dich \U0001f600"), user("\u65e5\u672c")
    glued = line(first).rstrip() + b"7" + line(second).rstrip() + b'{"cut": "\xff'
    session = read(glued + line(user("last")), assistant("ok"))
    assert texts(session) == ["gr\u00fc\u00df dich \U0001f600", "\u65e5\u672c", "last", "ok"]


def test_what_stands_beside_a_result_that_is_written_again_is_not_lost(read) -> None:
    session = read(
        user("a"),
        assistant(call(), id="m"),
        user([result("r")], uuid="one"),
        user([result("r"), {"type": "text", "text": "typed meanwhile"}], uuid="two"),
        assistant("b", id="n"),
    )
    human = [session.text(turn) for turn in session.turns if turn.speaker is Speaker.HUMAN]
    assert human == ["a", "typed meanwhile"]
