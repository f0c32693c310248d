"""Finding sessions on a machine, and what the client will delete."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from contextecho.cli.main import main
from contextecho.errors import SessionError
from contextecho.sessions import (
    discover,
    keep_session,
    look_inside,
    newest_session,
    read_session,
    retention_warning,
    session_roots,
    survey,
    walk,
)
from contextecho.sessions.building.jsontext import BROKEN, line_values
from contextecho.sessions.finding.roots import CLIENTS, find_roots, homes_seen_from_wsl
from contextecho.sessions.packing.zstandard import zstd
from sessions.claude_code_lines import assistant, line, user
from timing import least

SESSION = line(user("a")) + line(assistant("b"))
SUB_AGENT = line(user("a", isSidechain=True)) + line(assistant("b", isSidechain=True))


def put(path: Path, data: bytes, modified: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (modified, modified))
    return path


def chat(words: str) -> dict[str, object]:
    said = [{"role": "user", "content": words}, {"role": "assistant", "content": words}]
    return {"messages": said}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    projects = home / ".claude" / "projects" / "-work"
    put(projects / "old.jsonl", SESSION, 1_000)
    put(projects / "new.jsonl", SESSION, 2_000)
    put(projects / "empty.jsonl", b"", 3_000)
    put(projects / "agent-1.jsonl", SUB_AGENT, 4_000)
    put(projects / "new" / "subagents" / "agent-2.jsonl", SUB_AGENT, 5_000)
    put(projects / "notes.json", b'{"a": 1}', 6_000)
    put(home / ".config" / "claude" / "projects" / "-x" / "third.jsonl", SESSION, 1_500)
    return home


def test_both_default_roots_are_searched_newest_first(home: Path) -> None:
    found = discover(env={"HOME": str(home)})
    assert [session.path.stem for session in found] == ["new", "third", "old"]
    assert found[0].format == "claude-code"
    assert found[0].bytes == len(SESSION)
    assert found[0].modified == 2_000


def test_a_session_is_found_with_its_counts(tmp_path: Path) -> None:
    # Two prompts; one message that calls a tool and speaks, one final answer, one without text.
    records = [user("a"), assistant("I look.", {"type": "tool_use", "id": "t", "name": "Bash"})]
    records += [assistant("Done.", model="claude-y"), user("b"), assistant("")]
    put(tmp_path / "s.jsonl", b"".join(map(line, records)), 1_000)
    (found,) = discover([tmp_path])
    summary = found.summary
    assert (summary.prompts, summary.steps, summary.row_turns) == (2, 2, 5)
    assert (summary.final_texts, summary.commentary_texts) == (1, 1)
    assert (summary.compactions, summary.id, summary.error) == (0, "s1", None)
    assert summary.models == ("claude-x", "claude-y")


def test_sub_agents_are_told_by_name_and_content_and_counted(home: Path) -> None:
    projects = home / ".claude" / "projects"
    put(projects / "agent-sessions-are-fun.jsonl", SESSION, 9_000)
    put(projects / "agent-mixed.jsonl", SUB_AGENT + SESSION, 8_000)  # as clients of 1.0 wrote
    found = survey(env={"HOME": str(home)})
    assert found.sub_agents == 2
    names = [session.path.name for session in found.sessions]
    assert names[:2] == ["agent-sessions-are-fun.jsonl", "agent-mixed.jsonl"]


@pytest.mark.parametrize("folder", ["my-subagents-lab", "subagents/-work", "x.subagents"])
def test_a_folder_that_is_named_after_sub_agents_hides_no_session(
    tmp_path: Path, folder: str
) -> None:
    """The client's folder of them is the one that the file lies in, and has their name alone."""
    warming_up = line(assistant("x" * 70_000, isSidechain=True))  # clients 2.0.0 to 2.0.27
    path = put(tmp_path / folder / "s.jsonl", warming_up + SESSION, 1_000)
    inside = put(tmp_path / "s" / "subagents" / "s.jsonl", 2 * warming_up + SESSION, 1_000)
    found = survey([tmp_path])
    assert ([session.path for session in found.sessions], found.sub_agents) == ([path], 1)
    assert look_inside(inside, lambda session: session.steps, is_named=True).sessions


def test_the_config_variable_may_name_several_folders(home: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        put(tmp_path / name / "projects" / "p" / f"{name}.jsonl", SESSION, 9_000)
    env = {"CLAUDE_CONFIG_DIR": f"{tmp_path / 'one'}, {tmp_path / 'two'}", "HOME": str(home)}
    assert session_roots(env) == (
        tmp_path / "one",
        tmp_path / "two",
        home / ".claude",
        home / ".config" / "claude",
    )
    assert {session.path.stem for session in discover(env=env)} >= {"one", "two", "new"}


# As each client documents it (docs/sessions.md), written out by hand.
PLACES = [
    ({}, ".codex/sessions/2026/01/02/rollout-1.jsonl"),
    ({}, ".codex/archived_sessions/rollout-2.jsonl"),
    ({"CODEX_HOME": "{}/c"}, "c/sessions/rollout-3.jsonl"),
    ({}, ".gemini/tmp/0ab1/chats/session-1.json"),
    ({"GEMINI_CLI_HOME": "{}/g"}, "g/.gemini/tmp/0ab1/chats/session-1.json"),
    ({}, ".local/share/opencode/storage/session/p/ses_1.json"),
    ({"XDG_DATA_HOME": "{}/data"}, "data/opencode/opencode.db"),
    ({"XDG_DATA_HOME": "{}/data"}, "data/opencode/opencode-beta.db"),
    ({"OPENCODE_DB": "{}/mine.db"}, "mine.db"),
    ({}, ".copilot/session-state/1/events.jsonl"),
    ({"COPILOT_HOME": "{}/co"}, "co/history-session-state/1.json"),
    ({}, ".pi/agent/sessions/--work--/1.jsonl"),
    ({"PI_CODING_AGENT_DIR": "{}/pi"}, "pi/sessions/--work--/1.jsonl"),
    ({"PI_CODING_AGENT_SESSION_DIR": "{}/s"}, "s/--work--/1.jsonl"),
    ({}, ".openhands/conversations/1/events/event-0.json"),
    ({"OPENHANDS_CONVERSATIONS_DIR": "{}/oh"}, "oh/1/events/event-0.json"),
    ({"OPENHANDS_PERSISTENCE_DIR": "{}/p"}, "p/sessions/1.json"),
]


@pytest.mark.parametrize(("variables", "place"), PLACES, ids=[place for _, place in PLACES])
def test_every_client_is_looked_for_where_it_keeps_its_sessions(
    tmp_path: Path, variables: dict[str, str], place: str
) -> None:
    put(tmp_path / place, json.dumps(chat("x")).encode(), 1_000)
    env = {name: value.format(tmp_path) for name, value in variables.items()}
    assert [found.path for found in discover(env=env | {"HOME": str(tmp_path)})] == [
        tmp_path / place
    ]


def test_each_client_of_the_table_has_a_place_above() -> None:
    variables = {name for used, _ in PLACES for name in used} | {"CLAUDE_CONFIG_DIR"}
    known = {name for client in CLIENTS for name, _ in client.variables}
    assert known | {name for client in CLIENTS for name in client.direct} == variables


def test_from_wsl_the_homes_of_windows_users_are_searched_too(tmp_path: Path) -> None:
    users = tmp_path / "Users"
    put(users / "ann" / ".codex" / "sessions" / "1.jsonl", b"", 1)
    kernel = tmp_path / "version"
    kernel.write_text("Linux version 5.15.153.1-microsoft-standard-WSL2")
    assert homes_seen_from_wsl({}, kernel=kernel, users=users) == (users / "ann",)
    kernel.write_text("Linux version 6.1.0-18-amd64 (builder@example.org)")
    assert homes_seen_from_wsl({}, kernel=kernel, users=users) == ()
    here = {"WSL_DISTRO_NAME": "Debian"}
    assert homes_seen_from_wsl(here, kernel=kernel, users=users) == (users / "ann",)
    assert homes_seen_from_wsl(here, kernel=kernel, users=tmp_path / "gone") == ()
    roots = find_roots({}, tmp_path / "home", windows_homes=(users / "ann",))
    assert [(root.client, root.holds) for root in roots] == [
        ("Codex CLI", (users / "ann" / ".codex" / "sessions",))
    ]


def test_on_windows_the_profile_is_the_home(home: Path) -> None:
    assert session_roots({"USERPROFILE": str(home)})[0] == home / ".claude"


def test_roots_that_do_not_exist_are_left_out(tmp_path: Path) -> None:
    assert session_roots({"CLAUDE_CONFIG_DIR": "/nowhere"}, home=tmp_path) == ()
    assert retention_warning({}, home=tmp_path) is None


def test_a_folder_reached_twice_is_listed_once(home: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(home / ".claude"), "HOME": str(home)}
    assert len(discover(env=env)) == 3
    (home / "link").symlink_to(home / ".claude" / "projects")
    assert len(discover([home / "link", home, home / ".claude"])) == 3


def test_files_are_told_by_content_and_not_by_name(tmp_path: Path) -> None:
    put(tmp_path / "chat.json", b'[{"role":"user","content":"x"}]', 1)
    put(tmp_path / "other.jsonl", b"not json\n", 1)
    assert [(s.path.name, s.format) for s in discover([tmp_path])] == [("chat.json", "chat")]


def test_each_conversation_in_a_file_is_a_session_and_the_newest_stands_first(
    tmp_path: Path,
) -> None:
    put(tmp_path / "many.jsonl", b"".join(line(chat(w)) for w in ("a", "b", "c")), 1_000)
    put(tmp_path / "one.jsonl", line(chat("a")), 2_000)
    names = [found.name for found in discover([tmp_path])]
    assert names == [f"{tmp_path}/one.jsonl", *(f"{tmp_path}/many.jsonl#{n}" for n in (1, 2, 3))]


def test_a_data_set_too_large_to_be_read_for_each_member_is_listed_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = line(chat("a")) * 50
    put(tmp_path / "many.jsonl", data, 1_000)
    monkeypatch.setattr("contextecho.sessions.finding.inside._MOST_REREAD", 50 * len(data) - 1)
    (found,) = discover([tmp_path])
    assert found.summary.error == "holds 50 sessions, too many to read each"


@pytest.mark.parametrize("before", [b"", b"\n", b"\xef\xbb\xbf \r\n"])
@pytest.mark.parametrize("pack", [bytes, zstd.compress, gzip.compress])
def test_how_large_a_data_set_is_is_told_by_what_it_unpacks_to(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: bytes,
    pack: Callable[[bytes], bytes],
) -> None:
    data = before + line(chat("a")) * 50
    path = tmp_path / "many.jsonl"
    path.write_bytes(pack(data))
    monkeypatch.setattr("contextecho.sessions.finding.inside._MOST_REREAD", 50 * len(data))
    assert len(look_inside(path, lambda session: session.steps).sessions) == 50
    monkeypatch.setattr("contextecho.sessions.finding.inside._MOST_REREAD", 50 * len(data) - 1)
    assert "too many to read each" in str(look_inside(path, lambda session: session.steps).error)


def test_files_that_look_like_sessions_and_are_none_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "good.jsonl", line(chat("a")), 1_000)
    put(tmp_path / "foreign.jsonl", b'{"display": "x"}\n', 1_000)
    put(tmp_path / "cut.json", b'[{"role": "user", "content": "Hel', 1_000)
    put(tmp_path / "settings-1.json", b'{"a": /* why */ 1}', 1_000)
    put(tmp_path / "whole.json", b'{"role": 1}', 1_000)
    (tmp_path / "empty.jsonl").touch()
    foreign = "not a session in any format this version reads"
    for _ in range(2):  # read, and remembered
        found = survey([tmp_path])
        assert len(found.sessions) == 1
        assert {error.where: error.what for error in found.strangers} == {
            f"{tmp_path}/cut.json": f"a JSON document that was cut or is damaged, and {foreign}",
            f"{tmp_path}/foreign.jsonl": foreign,
        }
        assert found.unread == ()
    main(["sessions", "list", str(tmp_path)])
    assert (
        "2 files that could be a session left out, in no known format: "
        f"{tmp_path}/cut.json, {tmp_path}/foreign.jsonl\n"
    ) in capsys.readouterr().err


def test_what_holds_no_session_of_its_own_is_not_opened(tmp_path: Path) -> None:
    chat_bytes = json.dumps(chat("x")).encode()
    for name in (
        "node_modules/a/b.json",
        ".git/x.json",
        "package-lock.json",
        "a.txt",
        "x.tar.gz",
        "x.db",
    ):
        put(tmp_path / name, chat_bytes, 1)
    put(tmp_path / "storage" / "message" / "s" / "m.json", chat_bytes, 1)
    (tmp_path / "storage" / "session").mkdir()
    kept = {"a.traj", "b.eval", "c.jsonl.zst", "d.json.gz", "opencode.db", "opencode.db.zst"}
    for name in kept:
        put(tmp_path / name, chat_bytes, 1)
    assert {Path(file.path).name for file in walk([tmp_path]).files} == kept
    named = walk([tmp_path / "x.db", tmp_path / "node_modules"]).files
    assert [Path(file.path).name for file in named] == ["x.db", "b.json"], "what is named is met"


def test_the_thirty_days_are_said_unless_the_setting_says_otherwise(home: Path) -> None:
    assert "30 days" in (retention_warning({}, home=home) or "")
    settings = home / ".claude" / "settings.json"
    settings.write_text('{"cleanupPeriodDays": 365}')
    assert "365 days" in (retention_warning({}, home=home) or "")
    settings.write_text("{broken")
    assert "30 days" in (retention_warning({}, home=home) or "")


def test_a_pipe_where_settings_are_is_not_waited_for(home: Path) -> None:
    os.mkfifo(home / ".claude" / "settings.json")
    assert "30 days" in (retention_warning({}, home=home) or "")


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_a_pipe_where_a_manifest_is_is_not_waited_for(
    tmp_path: Path, packed: Callable[[bytes], bytes]
) -> None:
    os.mkfifo(tmp_path / "manifest.json")
    path = put(tmp_path / "a.jsonl.gz", packed(SESSION), 1_000)
    (found,) = discover([tmp_path])
    assert (found.path, found.summary.steps) == (path, 1)


def test_the_thirty_days_are_claude_codes_alone(tmp_path: Path) -> None:
    (tmp_path / ".codex" / "sessions").mkdir(parents=True)
    assert retention_warning({}, home=tmp_path) is None


def test_what_cannot_be_read_is_named_and_hides_nothing_else(home: Path) -> None:
    folder = home / ".claude" / "projects"
    (folder / "loop.jsonl").symlink_to("loop.jsonl")
    (folder / "broken.jsonl").symlink_to("nowhere")
    (folder / "up").symlink_to(folder)
    os.mkfifo(folder / "pipe.jsonl")
    unread: list[str] = []
    found = discover([folder, home / "gone"], on_unread=lambda error: unread.append(str(error)))
    assert [session.path.stem for session in found] == ["new", "old"]
    assert unread == [f"{folder}/loop.jsonl: cannot be read: too many levels of symbolic links"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_and_folders_that_are_refused_are_named(home: Path) -> None:
    projects = home / ".claude" / "projects"
    (projects / "-work" / "new.jsonl").chmod(0)
    put(projects / "closed" / "s.jsonl", SESSION, 1)
    (projects / "closed").chmod(0)
    found = survey([projects])
    (projects / "closed").chmod(0o700)
    assert [session.path.stem for session in found.sessions] == ["old"]
    assert [error.what for error in found.unread] == ["cannot be read: permission denied"] * 2


def test_a_refusal_is_named_and_not_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    projects = home / ".claude" / "projects"

    def refused(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr("contextecho.sessions.finding.inside.open_file", refused)
        found = survey([projects])
    assert found.sessions == ()
    assert [error.what for error in found.unread] == ["cannot be read: permission denied"] * 3
    assert len(survey([projects]).sessions) == 2


def test_a_file_that_vanishes_between_walk_and_reading_is_passed_over(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(path: Path) -> None:
        raise FileNotFoundError(2, "No such file or directory", str(path))

    monkeypatch.setattr("contextecho.sessions.finding.inside.open_file", gone)
    found = survey([home])
    assert (found.sessions, found.unread) == ((), ())


def test_a_client_folder_of_an_unknown_user_is_no_folder(tmp_path: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": "~nobody-of-this-name/x", "HOME": str(tmp_path)}
    assert discover(env=env) == []


def test_the_latest_is_the_newest_that_can_be_read(home: Path) -> None:
    env = {"HOME": str(home)}
    put(home / ".claude" / "projects" / "bare.jsonl", line(user("a")), 9_000)
    newest = newest_session(env)
    assert newest is not None
    assert newest.path.stem == "new"
    assert newest_session({"HOME": str(home / "gone")}) is None


def test_what_holds_no_conversation_stands_last_and_the_latest_first(tmp_path: Path) -> None:
    """Of two that were used at once the one that was written last."""
    projects = tmp_path / ".claude" / "projects"
    late = 2_000_000_000
    put(projects / "a.jsonl", SESSION, late)
    put(projects / "b.jsonl", SESSION, late + 10)
    put(projects / "bare.jsonl", line(user("a")), late + 20)
    env = {"HOME": str(tmp_path)}
    found = survey(env=env).sessions
    assert [session.path.stem for session in found] == ["b", "a", "bare"]
    assert found[0].last_used == found[1].last_used < late
    newest = newest_session(env)
    assert newest is not None
    assert newest.path == found[0].path


def test_a_text_in_utf16_is_told_as_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(chat("a")), encoding="utf-16")
    with pytest.raises(SessionError, match=r"is text in UTF-16 \(save it as UTF-8\)"):
        read_session(path)


def test_a_lock_file_and_installed_packages_cost_next_to_nothing(tmp_path: Path) -> None:
    """Ten thousand files that are none of a client's, against the stat of each (three times)."""
    modules = tmp_path / "node_modules"
    modules.mkdir()
    paths = [modules / f"{n}.json" for n in range(10_000)]
    for path in paths:
        path.write_bytes(b"{}")
    (tmp_path / "package-lock.json").write_bytes(b'{"a": [' + b"1, " * 1_000_000 + b"1]}")
    assert discover([tmp_path]) == []
    looking = least(lambda: discover([tmp_path]))
    assert looking < 3 * least(lambda: [path.stat() for path in paths])


@pytest.mark.parametrize("pack", ["gzip", "zstd"])
def test_what_was_packed_is_found_like_what_was_not(tmp_path: Path, pack: str) -> None:
    many = b"".join(line(chat(word)) for word in "ab")
    if pack == "gzip":
        put(tmp_path / "one.jsonl.gz", gzip.compress(SESSION), 2_000)
        put(tmp_path / "two.jsonl.gz", gzip.compress(many), 1_000)
    else:
        put(tmp_path / "one.jsonl.zst", zstd.compress(SESSION), 2_000)
        put(tmp_path / "two.jsonl.zst", zstd.compress(many), 1_000)
    one, first, second = discover([tmp_path])
    assert (one.format, one.summary.steps) == ("claude-code", 1)
    assert [first.summary.member, second.summary.member] == ["1", "2"]
    assert read_session(second.name).name == second.name


@pytest.mark.parametrize(
    ("name", "data", "format"),
    [
        ("a.jsonl.gz", gzip.compress(SESSION)[:-20], "gzip"),
        ("a.json.zst", zstd.compress(SESSION)[:-20], "zstd"),
    ],
)
def test_what_cannot_be_unpacked_is_listed_with_the_reason(
    tmp_path: Path, name: str, data: bytes, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = put(tmp_path / name, data, 1_000)
    (found,) = discover([tmp_path])
    assert (found.path, found.format) == (path, format)
    assert found.summary.error == "is damaged and cannot be unpacked: it was cut"
    with pytest.raises(SystemExit):
        main(["scan", str(tmp_path)])
    assert f"{path}: is damaged" in capsys.readouterr().err


def test_a_kept_session_that_was_cut_is_listed_as_what_it_was(tmp_path: Path) -> None:
    put(tmp_path / "s.jsonl", SESSION, 1_000)
    path = keep_session(read_session(tmp_path / "s.jsonl"), tmp_path / "kept").path
    path.write_bytes(path.read_bytes()[:-20])
    (found,) = discover([tmp_path / "kept"])
    assert (found.path, found.format) == (path, "claude-code")
    assert found.summary.error == "is damaged and cannot be unpacked: it was cut"


def test_the_lines_of_another_programs_document_are_not_decoded_one_by_one() -> None:
    """A lock file of 26 MB took a minute: nearly all of it for lines like `"v": 1,`."""
    document = {"packages": {f"p{n}": {"v": n} for n in range(5_000)}}
    lines = json.dumps(document, indent=1).encode()
    assert list(line_values(lines)) == [BROKEN], "the first line alone begins an object"


def test_a_file_that_ends_in_the_middle_is_said_to_be_cut(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = json.dumps([{"role": role, "content": "a"} for role in ("user", "assistant")])
    put(tmp_path / "cut.json", whole[:-1].encode() + b', {"role": "us', 1_000)
    put(tmp_path / "whole.json", whole.encode(), 1_000)
    said = "cut: the file ends in the middle"
    for command in (["sessions", "list"], ["scan"]):
        main([*command, str(tmp_path)])
        lines = [line for line in capsys.readouterr().out.splitlines() if said in line]
        assert len(lines) == 1
        assert "cut.json" in lines[0]
        main([*command, str(tmp_path), "--json"])
        rows = json.loads(capsys.readouterr().out)["sessions"]
        assert {Path(row["path"]).name: row["is_cut"] for row in rows} == {
            "cut.json": True,
            "whole.json": False,
        }
    main(["scan", str(tmp_path / "cut.json")])
    assert said in capsys.readouterr().out
    main(["scan", str(tmp_path), "-o", "-", "--format", "md"])
    assert "1 file that ends in the middle: cut.json." in capsys.readouterr().out


def test_a_session_without_times_is_dated_by_its_file_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = 1_767_225_600.0  # 2026-01-01, after the session's turns
    last = assistant("b", timestamp="2025-12-31T00:00:00Z")
    put(tmp_path / "timed.jsonl", line(user("a")) + line(last), written)
    put(tmp_path / "untimed.json", json.dumps(chat("a")).encode(), written)
    main(["sessions", "list", str(tmp_path)])
    rows = [row.split("\t") for row in capsys.readouterr().out.splitlines()[1:]]
    assert {Path(row[-1]).name: row[0].endswith(" (file)") for row in rows} == {
        "timed.jsonl": False,
        "untimed.json": True,
    }
    main(["sessions", "list", str(tmp_path), "--json"])
    document = json.loads(capsys.readouterr().out)["sessions"]
    dated = {Path(row["path"]).name: (row["dated_by"], row["last_used"]) for row in document}
    by_name = {Path(row["path"]).name: row for row in document}
    assert dated == {
        "timed.jsonl": ("turns", by_name["timed.jsonl"]["last_time"]),
        "untimed.json": ("file", by_name["untimed.json"]["modified"]),
    }
