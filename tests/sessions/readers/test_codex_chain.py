"""Sessions of Codex that go through several files, in the shapes that 0.171 was seen to write."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from contextecho.cli.main import main
from contextecho.errors import SessionError
from contextecho.sessions import (
    Kind,
    Session,
    convert_session,
    files_of,
    keep_session,
    read_session,
    survey,
)
from contextecho.sessions.packing.zstandard import zstd
from contextecho.sessions.readers.codex import chain
from sessions.codex_lines import (
    BEGAN,
    answer,
    call,
    context,
    entry,
    event,
    meta,
    output,
    task,
    typed,
    uuid_at,
)
from sessions.looking import counts

Lines = list[dict[str, Any]]
HOUR, DAY = 3600, 86400


class Client:
    """Writes rollouts as the client does: numbered lines, in the folder of the day."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.ends: dict[str, tuple[int, int]] = {}  # of each turn: where a history up to it ends
        self.rollout: dict[str, str] = {}  # that each turn was said in
        self.paths: dict[str, Path] = {}  # by rollout

    def write(
        self,
        rollout: str,
        *turns: tuple[str, Lines],
        thread: str = "",
        up_to: str = "",
        **head: Any,
    ) -> Path:
        """A rollout that goes on from the end of the turn `up_to`, with turns of its own."""
        thread = thread or rollout
        number, base = 0, {}
        if up_to:
            number, size = self.ends[up_to]
            place = {"thread_id": self.rollout[up_to], "end_ordinal_exclusive": number}
            base = {"history_base": place | {"end_byte_offset": size}}
        data = b""
        first = meta(id=thread, history_mode="paginated", **base, **head)
        for name, lines in (("", [first, event("thread_settings_applied")]), *turns):
            for line in lines:
                data += json.dumps(line | {"ordinal": number}).encode() + b"\n"
                number += 1
            self.ends[name], self.rollout[name] = (number, len(data)), rollout
        path = self.place(rollout, thread)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.paths[rollout] = path
        return path

    def place(self, rollout: str, thread: str) -> Path:
        milliseconds = int(rollout.replace("-", "")[:12], 16)
        day = BEGAN.fromtimestamp(milliseconds / 1000, BEGAN.tzinfo)
        suffix = "" if rollout == thread else f"_{rollout}"
        name = f"rollout-{day:%Y-%m-%dT%H-%M-%S}-{thread}{suffix}.jsonl"
        return self.home / "sessions" / f"{day:%Y/%m/%d}" / name


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path / ".codex")


def turn(name: str, *between: dict[str, Any]) -> tuple[str, Lines]:
    """A prompt and its answer, as they are numbered and named by the test."""
    asked = event(
        "item_completed",
        item={"type": "UserMessage", "content": [{"type": "text", "text": f"{name}?"}]},
    )
    began, ended = task(), event("task_complete")
    return name, [began, context(), typed(f"{name}?")[0], asked, *between, *answer(name), ended]


P, F, G = uuid_at(0), uuid_at(HOUR, 1), uuid_at(2 * HOUR, 2)
R1, R2, R3 = (uuid_at(n * DAY, n) for n in (1, 2, 3))


def told(session: Session) -> str:
    """What the human and the model said; `~` is before what was taken back."""
    turns = [turn for turn in session.turns if turn.kind in (Kind.USER, Kind.ASSISTANT)]
    texts = session.contents(turns)
    pairs = zip(turns, texts, strict=True)
    return " ".join("~" * turn.abandoned + text.text for turn, text in pairs)


def at_its_place(session: Session) -> bool:
    """Whether each turn's text stands on the line of the file that it is said to."""
    for each, content in zip(session.turns, session.contents(session.turns), strict=True):
        path, line = session.place_of(each.line)
        if content.text not in path.read_text("utf-8").splitlines()[line - 1]:
            return False
    return True


def parent(client: Client) -> Path:
    return client.write(P, turn("p1"), turn("p2"), turn("p3"))


def fork(client: Client, *, up_to: str = "p2", **fields: Any) -> Path:
    return client.write(F, turn("f1"), up_to=up_to, forked_from_id=P, **fields)


def test_a_fork_goes_on_from_the_file_that_it_names(client: Client) -> None:
    first, second = parent(client), fork(client)
    session = read_session(second)
    assert told(session) == "p1? p1 p2? p2 f1? f1"
    assert (session.id, session.forked_from, session.parent) == (F, P, None)
    assert (session.prompts, session.inherited_prompts, session.steps) == (3, 2, 3)
    assert at_its_place(session)
    lines = 2 + 2 * 7  # the metadata and settings, and seven lines a turn
    assert [(file.path, file.first_line) for file in session.files] == [
        (first, 1),
        (second, lines + 1),
    ]
    _, kept = client.ends["p2"]
    whole = first.read_bytes()[:kept] + second.read_bytes()
    assert (session.bytes, session.sha256) == (len(whole), sha256(whole).hexdigest())
    assert not [reason for reason in counts(session) if "missing" in reason]


def test_raw_records_are_those_of_both_files(client: Client) -> None:
    parent(client)
    session = read_session(fork(client))
    heads = [record for _, record in session.source.records(1, 99) if "id" in record["payload"]]
    assert [head["payload"]["id"] for head in heads] == [P, F]
    [(line, record)] = session.source.records(17, 17)
    assert (line, record["ordinal"]) == (17, 16)


def test_what_the_parent_said_later_is_not_the_forks(client: Client) -> None:
    path = parent(client)
    session = read_session(fork(client))
    before, was = session.sha256, told(session)
    path.write_bytes(path.read_bytes() + path.read_bytes()[-300:])
    assert read_session(client.paths[F]).sha256 == before
    assert told(session) == was
    path.write_bytes(path.read_bytes()[1:])
    with pytest.raises(SessionError, match="changed while it was in use"):
        told(session)


def test_a_fork_of_a_fork_goes_through_three_files(client: Client) -> None:
    parent(client)
    client.write(F, turn("f1"), turn("f2"), up_to="p2", forked_from_id=P)
    session = read_session(client.write(G, turn("g1"), up_to="f1", forked_from_id=F))
    assert told(session) == "p1? p1 p2? p2 f1? f1 g1? g1"
    assert (session.forked_from, session.inherited_prompts) == (F, 3)
    assert at_its_place(session)


def test_a_revert_takes_back_what_came_after(client: Client) -> None:
    parent(client)
    session = read_session(client.write(R1, turn("r1"), thread=P, up_to="p1"))
    assert told(session) == "p1? p1 ~p2? ~p2 ~p3? ~p3 r1? r1"
    assert (session.id, session.prompts, session.inherited) == (P, 4, 0)
    assert at_its_place(session)


def test_reverts_one_after_the_other(client: Client) -> None:
    """The second within what came after the first, the third to before it."""
    parent(client)
    client.write(R1, turn("r1"), turn("r2"), thread=P, up_to="p2")
    second = client.write(R2, turn("s1"), thread=P, up_to="r1")
    assert told(read_session(second)) == "p1? p1 p2? p2 ~p3? ~p3 r1? r1 ~r2? ~r2 s1? s1"
    third = read_session(client.write(R3, turn("t1"), thread=P, up_to="p1"))
    taken = "~p2? ~p2 ~p3? ~p3 ~r1? ~r1 ~r2? ~r2 ~s1? ~s1"
    assert told(third) == f"p1? p1 {taken} t1? t1"
    assert at_its_place(third)


def test_a_revert_of_everything_names_no_file(client: Client) -> None:
    parent(client)
    session = read_session(client.write(R1, turn("r1"), thread=P))
    assert told(session) == "~p1? ~p1 ~p2? ~p2 ~p3? ~p3 r1? r1"


def test_a_revert_in_a_fork_reaches_into_what_it_was_forked_from(client: Client) -> None:
    parent(client)
    fork(client)
    session = read_session(client.write(R1, turn("r1"), thread=F, up_to="p1", forked_from_id=P))
    assert told(session) == "p1? p1 ~p2? ~p2 ~f1? ~f1 r1? r1"
    assert (session.id, session.inherited_prompts, session.prompts) == (F, 2, 4)


def test_a_fork_of_a_reverted_session_has_no_more_than_was_kept(client: Client) -> None:
    parent(client)
    client.write(R1, turn("r1"), thread=P, up_to="p1")
    later = uuid_at(2 * DAY, 9)
    session = read_session(client.write(later, turn("f1"), up_to="r1", forked_from_id=P))
    assert told(session) == "p1? p1 r1? r1 f1? f1"
    assert session.inherited_prompts == 2


def test_a_compaction_that_was_taken_back_is_none(client: Client) -> None:
    compacted = entry("compacted", {"message": "We said p1.", "replacement_history": []})
    client.write(P, turn("p1"), ("c", [task(), compacted]), turn("p2"))
    assert len(read_session(client.paths[P]).compactions) == 1
    session = read_session(client.write(R1, turn("r1"), thread=P, up_to="p1"))
    assert session.compactions == ()
    assert counts(session)["compaction of an abandoned branch"] == 1
    assert {turn.segment for turn in session.turns} == {0}


def test_a_compaction_keeps_turns_of_the_file_before(client: Client) -> None:
    parent(client)
    kept = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "p1?"}]}]
    compacted = entry("compacted", {"message": "Short.", "replacement_history": kept})
    session = read_session(
        client.write(F, turn("f1"), ("c", [compacted]), turn("f2"), up_to="p2", forked_from_id=P)
    )
    [event] = session.compactions
    assert [session.text(session.turns[index]) for index in event.kept] == ["p1?"]


def test_a_call_in_one_file_is_answered_in_the_next(client: Client) -> None:
    """A fork of a session at work: its last message was broken off here."""
    asked, begun = call("c1", "exec_command"), turn("p2")[1][:4]
    client.write(P, turn("p1"), ("working", [*begun, *answer("Look."), asked]))
    aborted = event("turn_aborted", turn_id=uuid_at(0), reason="interrupted")
    stopped = ("stopped", [output("aborted by user", "c1"), aborted])
    session = read_session(client.write(F, stopped, turn("f1"), up_to="working", forked_from_id=P))
    [result] = [turn for turn in session.turns if turn.kind is Kind.TOOL_RESULT]
    assert (result.tool, result.call_id) == ("exec_command", "c1")
    assert [turn.kind for turn in session.turns if turn.broken_off] == [
        Kind.ASSISTANT,
        Kind.TOOL_CALL,
    ]


def test_files_are_found_where_the_client_puts_them(client: Client) -> None:
    """Another day's folder, the archive; and one that was packed."""
    path = parent(client)
    later = client.write(R3, turn("f1"), up_to="p2", forked_from_id=P)
    whole = told(read_session(later))
    archive = client.home / "archived_sessions"
    archive.mkdir()
    archived = path.rename(archive / path.name)
    assert told(read_session(later)) == whole
    packed = archived.with_name(f"{path.name}.zst")
    packed.write_bytes(zstd.compress(archived.read_bytes()))
    archived.unlink()
    session = read_session(later)
    assert (told(session), session.files[0].path) == (whole, packed)
    own = later.with_name(f"{later.name}.zst")
    own.write_bytes(zstd.compress(later.read_bytes()))
    later.unlink()
    session = read_session(own)
    assert told(session) == whole
    assert [file.path for file in session.files] == [packed, own]
    assert files_of(session) == {packed, own}


def test_files_that_were_copied_beside_each_other_are_found(client: Client, tmp_path: Path) -> None:
    paths = [parent(client), fork(client)]
    copies = [tmp_path / path.name for path in paths]
    for path, copy in zip(paths, copies, strict=True):
        path.rename(copy)
    assert told(read_session(copies[1])) == "p1? p1 p2? p2 f1? f1"


# What is missing


def lack(path: Path) -> tuple[str, dict[str, int]]:
    session = read_session(path)
    return told(session), {k: v for k, v in counts(session).items() if "missing" in k}


def test_without_the_file_before_it_is_read_alone_and_says_so(client: Client) -> None:
    first, second = parent(client), fork(client)
    first.unlink()
    assert lack(second) == ("f1? f1", {chain.MISSING: 1})
    assert read_session(second).inherited == 0


def test_without_one_in_the_middle_it_begins_behind_that(client: Client) -> None:
    parent(client)
    middle = client.write(R1, turn("r1"), thread=P, up_to="p2")
    last = client.write(R2, turn("s1"), thread=P, up_to="r1")
    middle.unlink()
    assert lack(last) == ("s1? s1", {chain.MISSING: 1})


def test_metadata_behind_the_stub_of_a_line_are_found(client: Client) -> None:
    parent(client)
    path = fork(client)
    path.write_bytes(b'{"timestamp":"2026-' + path.read_bytes())
    assert lack(path) == ("p1? p1 p2? p2 f1? f1", {})


def test_what_was_taken_back_may_be_missing(client: Client) -> None:
    """The last revert goes on from the first file, whatever became of those between."""
    parent(client)
    middle = client.write(R1, turn("r1"), thread=P, up_to="p2")
    client.write(R2, turn("s1"), thread=P, up_to="r1")
    last = client.write(R3, turn("t1"), thread=P, up_to="p2")
    assert told(read_session(last)) == "p1? p1 p2? p2 ~p3? ~p3 ~r1? ~r1 ~s1? ~s1 t1? t1"
    middle.unlink()
    assert lack(last) == ("p1? p1 p2? p2 ~p3? ~p3 ~s1? ~s1 t1? t1", {})


def test_a_file_that_is_not_read_with_another_stays_in_the_list(client: Client) -> None:
    first = parent(client)
    last = client.write(R1, turn("r1"), thread=P, up_to="p2")
    assert [s.path for s in survey([client.home]).sessions] == [last]
    last.write_bytes(last.read_bytes().partition(b"\n")[2])  # without its metadata
    assert {s.path for s in survey([client.home]).sessions} == {first, last}


def test_a_file_before_it_that_was_cut_is_read_as_far_as_it_goes(client: Client) -> None:
    first, second = parent(client), fork(client)
    first.write_bytes(first.read_bytes()[: client.ends["p1"][1]])
    assert lack(second) == ("p1? p1 f1? f1", {chain.SHORT: 1})


@pytest.mark.parametrize("spoil", [lambda path: path.write_bytes(b""), lambda p: p.chmod(0)])
def test_a_file_before_it_that_holds_nothing(client: Client, spoil: Callable[[Path], None]) -> None:
    first, second = parent(client), fork(client)
    data = first.read_bytes()
    spoil(first)
    text, reasons = lack(second)
    readable = first.stat().st_size == len(data)  # whoever is root reads it all the same
    assert text.endswith("f1? f1")
    assert reasons or readable


@pytest.mark.parametrize(
    ("place", "text", "reason"),
    [
        ({}, "f1? f1", chain.MISSING),
        ({"end_byte_offset": "x"}, "f1? f1", chain.MISSING),
        ({"end_byte_offset": -9}, "f1? f1", chain.MISSING),
        ({"end_byte_offset": 0}, "f1? f1", None),
        ({"end_byte_offset": 1 << 40}, "p1? p1 p2? p2 p3? p3 f1? f1", chain.SHORT),
    ],
)
def test_a_place_that_is_none(
    client: Client, place: dict[str, Any], text: str, reason: str | None
) -> None:
    parent(client)
    path = fork(client, up_to="")
    head, _, rest = path.read_bytes().partition(b"\n")
    line = json.loads(head)
    line["payload"]["history_base"] = {"thread_id": P} | place
    path.write_bytes(json.dumps(line).encode() + b"\n" + rest)
    assert lack(path) == (text, {reason: 1} if reason else {})


def test_files_in_a_circle_end(client: Client) -> None:
    client.write(P, turn("p1"))
    client.write(F, turn("f1"), up_to="p1", forked_from_id=P)
    client.write(P, turn("p1"), up_to="f1", forked_from_id=F)
    text, reasons = lack(client.paths[F])
    assert (text[-6:], reasons) == ("f1? f1", {chain.CIRCLE: 1})
    itself = client.write(G, turn("g1"))
    client.write(G, turn("g1"), up_to="g1")
    assert lack(itself) == ("g1? g1", {chain.CIRCLE: 1})


def test_a_chain_that_is_too_deep_is_cut(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "MOST", 3)
    ids = [uuid_at(n, n) for n in range(5)]
    client.write(ids[0], turn("t0"))
    for n, id in enumerate(ids[1:], 1):
        client.write(id, turn(f"t{n}"), up_to=f"t{n - 1}")
    assert lack(client.paths[ids[2]]) == ("t0? t0 t1? t1 t2? t2", {})
    assert lack(client.paths[ids[4]]) == ("t2? t2 t3? t3 t4? t4", {chain.DEEP: 1})


def test_a_fork_of_numbered_lines_without_a_turn_of_its_own_is_refused(client: Client) -> None:
    parent(client)
    with pytest.raises(SessionError, match="holds only another session's history"):
        read_session(client.write(F, up_to="p2", forked_from_id=P))


# In lists, kept, converted


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    """What a command prints, on each of the two streams."""
    with suppress(SystemExit):
        main(list(words))
    out, err = capsys.readouterr()
    return out, err


def test_the_commands_say_what_is_in_which_file(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = parent(client), fork(client)
    shown, _ = run(capsys, "sessions", "show", str(second))
    assert "3 messages that a human wrote: 3 typed; 2 in the session that it goes on from" in shown
    files = [f"1\t{first}", f"17\t{second}"]
    assert [row for row in shown.splitlines() if row in files] == files
    document = json.loads(run(capsys, "sessions", "show", str(second), "--json")[0])
    assert (document["inherited_prompts"], document["prompt_kinds"]["typed"]) == (2, 3)
    assert [file["first_line"] for file in document["files"]] == [1, 17]
    first.unlink()
    checked, _ = run(capsys, "sessions", "check", str(second))
    assert f"{chain.MISSING}\t1\t1" in checked.splitlines()


def test_lists_and_scans_say_what_they_read_with_others(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    parent(client)
    client.write(R1, turn("r1"), thread=P, up_to="p2")
    fork(client)
    listed, said = run(capsys, "sessions", "list", str(client.home), "--json")
    assert (len(json.loads(listed)["sessions"]), json.loads(listed)["continued"]) == (2, 1)
    assert "1 file read with others, in which their sessions go on\n" in said
    assert "1 fork with 2 prompts said in other sessions before\n" in said
    scanned, said = run(capsys, "scan", str(client.home), "--json")
    assert len(json.loads(scanned)["sessions"]) == 2
    assert "1 file read with others, in which their sessions go on\n" in said


def test_a_list_has_a_session_once_and_no_prompt_as_typed_twice(client: Client) -> None:
    parent(client)
    client.write(R1, turn("r1"), thread=P, up_to="p2")
    client.write(R2, turn("s1"), thread=P, up_to="r1")
    later = uuid_at(4 * DAY, 9)
    client.write(later, turn("f1"), up_to="s1", forked_from_id=P)
    found = survey([client.home])
    rows = {s.summary.id: s.summary for s in found.sessions}
    assert (len(found.sessions), found.continued) == (2, 2)
    typed = [(row.prompts or 0) - (row.inherited_prompts or 0) for row in rows.values()]
    assert sum(typed) == 6  # p1, p2, p3, r1, s1, and f1 of the fork
    assert rows[later].inherited_prompts == 4


def test_a_file_that_is_named_is_listed_though_it_goes_on(client: Client) -> None:
    first = parent(client)
    client.write(R1, turn("r1"), thread=P, up_to="p2")
    assert [s.path for s in survey([first]).sessions] == [first]


def test_the_index_knows_no_session_of_several_files(client: Client) -> None:
    """The other file may change, be gone, or come back, while this one does not."""
    first, second = parent(client), fork(client)
    prompts = []
    moved = first.with_suffix(".away")
    for before, after in ((first, first), (first, moved), (moved, first)):
        before.rename(after)
        rows = {s.path: s.summary for s in survey([client.home]).sessions}
        prompts.append(rows[second].prompts)
    assert prompts == [3, 1, 3]


def test_what_is_kept_is_all_of_its_files(client: Client, tmp_path: Path) -> None:
    parent(client)
    later = client.write(R3, turn("f1"), up_to="p2", forked_from_id=P)
    session = read_session(later)
    kept = keep_session(session, tmp_path / "kept")
    assert len(kept.manifest.files) == 2
    was = told(session), session.sha256
    assert survey([tmp_path]).copies == 1
    for path in client.paths.values():
        path.unlink()
    again = read_session(kept.path)
    assert (told(again), again.sha256) == was
    assert [s.path for s in survey([tmp_path]).sessions] == [kept.path]


def test_what_is_converted_reads_back(client: Client, tmp_path: Path) -> None:
    parent(client)
    session = read_session(fork(client))
    again = read_session(convert_session(session, tmp_path / "converted.jsonl"))
    assert told(again) == told(session)
    assert (again.inherited, again.forked_from) == (session.inherited, P)
    assert [turn.line for turn in again.turns] == [turn.line for turn in session.turns]
