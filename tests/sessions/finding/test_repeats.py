"""History that a client copied into another file is counted once; counts are by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commandline import exit_code
from contextecho.api import scan
from contextecho.reports import render_scan
from contextecho.scoring import screen_all
from contextecho.sessions import Summary, read_session, repeats_among, survey
from sessions.claude_code_lines import assistant, chained, line, queue, user

Records = list[dict[str, Any]]


def said(*prompts: str, **fields: Any) -> Records:
    """Each prompt with an answer."""
    return [row for prompt in prompts for row in (user(prompt, **fields), assistant("b", **fields))]


def copied(records: Sequence[Mapping[str, Any]], **fields: Any) -> Records:
    """The same records under another session's id."""
    return [{**row, "sessionId": "s2", **fields} for row in records]


def write(folder: Path, **files: Records) -> None:
    for name, records in files.items():
        (folder / f"{name}.jsonl").write_bytes(b"".join(map(line, chained(records))))


def counted(folder: Path) -> dict[str, tuple[int | None, int | None]]:
    """By file, its prompts and how many of them it inherits."""
    found = survey([folder]).sessions
    return {each.path.stem: (each.summary.prompts, each.inherited_prompts) for each in found}


def repeats(folder: Path) -> dict[str, dict[str, int]]:
    """By file, whose prompts it repeats."""
    return {
        Path(screen.path).stem: {Path(r.session).stem: r.prompts for r in screen.repeats}
        for screen in screen_all([folder]).screens
        if screen.repeats
    }


def test_a_resume_that_copied_the_history_inherits_it(tmp_path: Path) -> None:
    first = said("1", "2", "3")
    write(tmp_path, z=first, a=copied(first) + said("4", "5"))
    assert counted(tmp_path) == {"z": (3, 0), "a": (5, 3)}
    assert counted(tmp_path / "a.jsonl") == {"a": (5, 0)}  # nobody else holds it
    assert repeats(tmp_path) == {"a": {"z": 3}}


def test_a_fork_in_the_middle_inherits_what_was_before_it(tmp_path: Path) -> None:
    start, on, fork = said("1", "2"), said("3", "4"), said("other")
    write(tmp_path, session=start + on, fork=copied(start) + fork)
    assert counted(tmp_path) == {"session": (4, 0), "fork": (3, 2)}  # 5 were typed
    assert repeats(tmp_path) == {"fork": {"session": 2}}


def test_of_a_copy_of_a_copy_each_prompt_is_of_the_session_it_was_typed_in(tmp_path: Path) -> None:
    one = said("1", "2")
    two = copied(one) + said("3")
    write(tmp_path, one=one, two=two, three=copied(two, sessionId="s3") + said("4"))
    assert counted(tmp_path) == {"one": (2, 0), "two": (3, 2), "three": (4, 3)}
    assert repeats(tmp_path) == {"two": {"one": 2}, "three": {"one": 2, "two": 1}}


def test_several_resumes_of_one_session_each_inherit_it(tmp_path: Path) -> None:
    first = said("1", "2")
    write(tmp_path, a=first, b=copied(first) + said("3"), c=copied(first) + said("4", "5"))
    assert counted(tmp_path) == {"a": (2, 0), "b": (3, 2), "c": (4, 2)}


def test_a_copy_of_the_end_alone_inherits_that(tmp_path: Path) -> None:
    """As a fork after a compaction has it: what was before is not copied."""
    before, after = said("1", "2", "3"), said("4", "5")
    write(tmp_path, session=before + after, fork=copied(after) + said("6"))
    assert counted(tmp_path) == {"session": (5, 0), "fork": (3, 2)}


def test_the_same_words_under_new_ids_are_not_taken_for_a_copy(tmp_path: Path) -> None:
    first = said("1", "2")
    write(tmp_path, a=first, b=[{**row, "uuid": f"n{row['uuid']}"} for row in copied(first)])
    assert counted(tmp_path) == {"a": (2, 0), "b": (2, 0)}
    assert repeats(tmp_path) == {}


def test_one_that_says_it_is_a_fork_is_the_later_one_though_it_ended_first(tmp_path: Path) -> None:
    start = said("1", "2")
    told = {"forkedFrom": {"sessionId": "s1", "messageUuid": start[-1]["uuid"]}}
    fork = copied(start, **told) + said("other", sessionId="s2")
    write(tmp_path, fork=fork, session=start + said("3"))
    assert counted(tmp_path) == {"session": (3, 0), "fork": (3, 2)}


def test_the_index_says_the_same_and_holds_no_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXTECHO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("contextecho.sessions.finding.index._SETTLED_NS", -60_000_000_000)
    first = said("1", "2", uuid=None)
    first = [{**row, "uuid": f"record-number-{n}"} for n, row in enumerate(first)]
    write(tmp_path, a=first, b=copied(first))
    expected = {"a": (2, 0), "b": (2, 2)}
    assert counted(tmp_path) == expected
    kept = (tmp_path / "cache" / "sessions.msgpack").read_bytes()
    assert b"b.jsonl" in kept
    assert b"record-number" not in kept
    monkeypatch.delattr("contextecho.sessions.finding.summarising.summarise")  # reads nothing
    assert counted(tmp_path) == expected


def test_without_any_times_each_prompt_is_counted_once_all_the_same(tmp_path: Path) -> None:
    first = said("1", "2", timestamp=None)
    write(tmp_path, a=first, b=copied(first))
    assert counted(tmp_path) == {"a": (2, 0), "b": (2, 2)}


def test_a_message_of_the_queue_has_no_id_and_is_known_by_its_time_and_place(
    tmp_path: Path,
) -> None:
    at = {"timestamp": "2026-01-01T00:30:00Z"}
    first = [
        *said("1"),
        queue("enqueue", "meanwhile") | at,
        queue("remove", "meanwhile") | at,
        *said("2"),
    ]
    later = {"timestamp": "2026-01-01T00:40:00Z"}
    own = [queue("enqueue", "meanwhile") | later, queue("remove", "meanwhile") | later]
    write(tmp_path, a=first, b=copied(first) + own + said("3"))
    assert counted(tmp_path) == {"a": (3, 0), "b": (5, 3)}


def test_messages_of_the_queue_one_after_another_have_ids_of_one_length(tmp_path: Path) -> None:
    """An id that held the one before it would make of 20,000 messages 2.5 GB."""
    at = {"timestamp": "2026-01-01T00:30:00Z"}
    queued = [queue("enqueue", f"{n:02}") | at for n in range(50)]
    write(tmp_path, a=said("1") + queued + [queue("remove")] * 50)
    ids = [id for id in read_session(tmp_path / "a.jsonl").prompt_ids[1:] if id is not None]
    assert len(set(ids)) == 50
    assert max(map(len, ids)) - min(map(len, ids)) <= 1


def test_ids_are_in_the_order_of_the_prompts_that_stay(tmp_path: Path) -> None:
    first = user("typed")
    twice = [queue("enqueue", "x"), queue("remove", "x"), user("x"), assistant("b")]
    write(tmp_path, a=[first, assistant("b"), *twice])
    session = read_session(tmp_path / "a.jsonl")
    assert session.prompts == 2
    assert session.prompt_ids == (first["uuid"], twice[2]["uuid"])


def test_a_list_says_how_many_and_a_program_can_add_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = said("1", "2", "3")
    write(tmp_path, a=first, b=copied(first) + said("4", "5"), c=copied(first) + said("6"))
    assert exit_code("sessions", "list", tmp_path, "--json") == 0
    out, err = capsys.readouterr()
    rows = json.loads(out)["sessions"]
    assert sum(row["prompts"] - row["inherited_prompts"] for row in rows) == 6
    assert "2 forks with 6 prompts said in other sessions before\n" in err


def test_a_scan_says_which_session_repeats_how_much_of_which(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = [row for n in range(40) for row in (user("Go."), assistant("Done. " * (1 + n // 20)))]
    write(tmp_path, a=first, b=copied(first) + said("41"))
    assert exit_code("scan", tmp_path) == 0
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    told = f"of its 41 prompts, 40 from {a}"
    assert f"repeats\t{b}: {told}\n" in capsys.readouterr().out
    screened = scan(tmp_path)
    for report in (render_scan(screened, "md"), render_scan(screened, "html")):
        assert "may be one finding, not two." in report
        assert "41 prompts (40 from an earlier session)" in report
    alone = render_scan(scan(b), "md")
    assert "may be one finding" not in alone
    assert "41 prompts, " in alone


def test_a_name_of_two_lines_is_told_on_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = said("1")
    write(tmp_path, a=first, **{"b\nc": copied(first) + said("2")})
    (tmp_path / "d\ne.jsonl").write_text("{}")
    exit_code("scan", tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert f"repeats\t{tmp_path}/b c.jsonl: of its 2 prompts, 1 from {tmp_path}/a.jsonl" in lines
    assert [one for one in lines if one.startswith(f"not read\t{tmp_path}/d e.jsonl: ")]


def test_of_the_real_files_only_two_made_by_hand_from_one_pattern_share_prompts(
    shared: Path,
) -> None:
    found = survey([shared / "sessions"]).sessions
    inherited = {each.path.stem: each.repeated for each in found if each.repeated}
    assert inherited == {"dag_resume": 3}  # a, c and f are users' in `dag_within_fork` too


@given(st.lists(st.lists(st.integers(0, 9), unique=True, max_size=6), max_size=6))
def test_what_is_not_inherited_adds_up_to_the_prompts_that_there_are(ids: list[list[int]]) -> None:
    marks = [b"".join(id.to_bytes(8, "little") for id in each) for each in ids]
    found = repeats_among([Summary("x", first_time=1.0, marks=each) for each in marks])
    inherited = sum(sum(each.values()) for each in found.values())
    assert sum(map(len, ids)) - inherited == len({id for each in ids for id in each})
    assert all(other < number for number, each in found.items() for other in each)
