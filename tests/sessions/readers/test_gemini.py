"""The Gemini CLI reader: real files against counts by jq and by eye, and built ones.

How the counts of the real files were found:

- prompts: the texts of all messages of the user were printed with jq and read.
- steps: jq counts the messages of the model (in the log, distinct ids), less what the
  comment beside the file says.
- calls, results, thoughts: jq, over the last record of each id.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given

from contextecho.errors import SessionError
from contextecho.sessions import CompactionKind, Kind, Session, Speaker, read_session
from contextecho.sessions.building.jsontext import BROKEN, decode_json
from contextecho.sessions.readers import gemini
from contextecho.sessions.readers.gemini.copies import _cleaned
from contextecho.sessions.readers.gemini.sidechains import sidechains_below
from sessions.any_bytes import check
from sessions.claude_code_lines import check_lengths
from sessions.damage import damaged, odd_values
from sessions.looking import counts, of_kind, reasons, spoken, texts
from timing import growth, takes_less_than

TIME = "2026-05-01T10:00:{:02}.000Z"
SNAPSHOT = "<state_snapshot>\n<overall_goal>ship</overall_goal>\n</state_snapshot>"
CANNED = "Got it. Thanks for the additional context!"


class Known(NamedTuple):
    file: str
    prompts: int
    steps: int
    calls: int
    results: int
    thoughts: int
    finals: int
    first: str
    last: str


TABLE = [
    # 38 messages of the model; number 19 is the rest of 17, told apart by a notice: 37. Of 59
    # thoughts its three stand in message 21 too: 56. Texts without a call: 39 and 44.
    Known(
        "session-bridge-4f17cdc65d-0.json",
        *(4, 37, 40, 40, 56, 2),
        "Extension logo/icon not visible in the extension marketplace",
        "Release version 0.0.2",
    ),
    # 52 messages of the model less the client's canned answer. Of 8 texts of the user, 1 is
    # the environment and 2 the summary. Number 100 answers a call that is not in the file.
    # Texts without a call: 36, 47, 75, 81, 99, 105.
    Known(
        "gemini-cli-agent-teams-history.json",
        *(6, 51, 45, 46, 41, 6),
        "agent teams shouldn't persist, I want it to ask me every boot",
        'We should remove the "Providers: [Antigravity] [Claude Code] [Codex] [Gemini CLI] '
        '[Gemma]" line. It feels duplicative',
    ),
    # 6 ids of the model; line 4 was typed as "/init", line 18 is the client's.
    Known(
        "vct-zh-tw-gemini.jsonl",
        *(2, 6, 12, 12, 7, 1),
        "/init",
        "幫我做一個小修改 請幫我將上面確保執行時要透過 uv run 來執行 避免環境有問題",
    ),
    Known(
        "agent-sessions-jsonl-v040.jsonl",
        *(1, 2, 1, 1, 0, 1),
        "Say hello and list files.",
        "Say hello and list files.",
    ),
]


@pytest.mark.parametrize("known", TABLE, ids=lambda known: known.file)
def test_counts_of_real_files(shared: Path, known: Known) -> None:
    session = read_session(shared / "sessions" / "gemini" / known.file)
    kinds = (Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.THINKING)
    assert session.format == "gemini"
    assert (session.prompts, session.steps) == (known.prompts, known.steps)
    assert tuple(len(of_kind(session, kind)) for kind in kinds) == known[3:6]
    assert sum(turn.final for turn in session.turns) == known.finals
    human = texts(session, speaker=Speaker.HUMAN)
    assert (human[0], human[-1]) == (known.first, known.last)
    check_lengths(session.turns, list(session.contents(session.turns)))
    for name in ("line", "row_turn", "step", "prompt", "segment"):
        values = [getattr(turn, name) for turn in session.turns]
        assert values == sorted(values), name


def test_the_real_chat_names_its_session_models_and_times(shared: Path) -> None:
    session = read_session(shared / "sessions/gemini/vct-zh-tw-gemini.jsonl")
    assert session.id == "0ab84937-9fe7-4284-986a-33c832af0b6a"
    assert session.models == ("gemini-3-flash-preview", "gemini-3.1-pro-preview")
    assert session.turns[0].time == 1776948785.283  # date -u -d 2026-04-23T12:53:05.283Z +%s
    assert {turn.model for turn in session.turns if turn.step == 6} == {
        None,  # the tools' results
        "gemini-3.1-pro-preview",
    }
    assert reasons(session) == {"client notice": (2, 27)}


def test_a_grown_message_has_its_first_place_and_its_last_content(shared: Path) -> None:
    path = shared / "sessions/gemini/vct-zh-tw-gemini.jsonl"
    session = read_session(path)
    turn = next(turn for turn in session.turns if turn.tool == "update_topic")
    assert turn.line == 6  # written again in line 8, with the calls
    lines = path.read_bytes().splitlines(keepends=True)
    assert (turn.span.offset, turn.span.length) == (len(b"".join(lines[:7])), len(lines[7]))


def test_the_real_history_begins_with_a_summary(shared: Path) -> None:
    session = read_session(shared / "sessions/gemini/gemini-cli-agent-teams-history.json")
    (opened,) = session.compactions
    assert (opened.kind, opened.line, opened.summary) == (CompactionKind.CONTINUATION, 2, 1)
    assert session.turns[1].speaker is Speaker.SUMMARISER
    assert session.text(session.turns[1]).startswith("<state_snapshot>")
    assert (session.turns[2].speaker, session.turns[2].final) == (Speaker.HARNESS, False)
    assert session.cwd == "/Users/ntaylormullen/GitHub/gemini-cli2"
    assert sum(turn.is_error for turn in session.turns) == 5  # jq: responses with `error`


def test_a_file_with_only_a_warning_is_no_conversation(shared: Path) -> None:
    with pytest.raises(SessionError, match="holds no conversation: no message of a model"):
        read_session(shared / "sessions/gemini/entire-38b74f08e3-2-warning-only.json")


# Built files


def header(**fields: Any) -> dict[str, Any]:
    return {"sessionId": "s1", "projectHash": "h", "startTime": TIME.format(0), **fields}


def message(id: str, type: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"id": id, "timestamp": TIME.format(1), "type": type, "content": content, **fields}


def user(id: str, *texts: str, **fields: Any) -> dict[str, Any]:
    return message(id, "user", [{"text": text} for text in texts], **fields)


def model(id: str, text: str, **fields: Any) -> dict[str, Any]:
    return message(id, "gemini", text, **{"model": "gemini-x", "tokens": {"total": 1}, **fields})


def call(id: str, output: Any = "ok", status: str = "success") -> dict[str, Any]:
    response = {"functionResponse": {"id": id, "name": "ls", "response": {"output": output}}}
    return {"id": id, "name": "ls", "args": {"dir": "."}, "status": status, "result": [response]}


def as_log(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Session]:
    def _read(*records: Any, path: Path = tmp_path / "session.jsonl") -> Session:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_log(*records))
        session = read_session(path)
        check_lengths(session.turns, list(session.contents(session.turns)))
        return session

    return _read


@pytest.fixture
def read_document(tmp_path: Path) -> Callable[[Any], Session]:
    def _read(document: Any) -> Session:
        path = tmp_path / "document.json"
        path.write_text(json.dumps(document, indent=1))
        return read_session(path)

    return _read


def test_the_same_chat_in_both_forms(
    read: Callable[..., Session], read_document: Callable[[Any], Session]
) -> None:
    messages = [user("u", "hi"), model("m", "look", toolCalls=[call("c")]), model("n", "done")]
    logged, whole = read(header(), *messages), read_document(header(messages=messages))
    assert spoken(logged) == spoken(whole)
    assert [turn.line for turn in logged.turns] == [2, 3, 3, 3, 4]
    assert [turn.line for turn in whole.turns] == [1, 2, 2, 2, 3]  # numbers of messages
    assert [turn.final for turn in whole.turns] == [False] * 4 + [True]
    (result,) = of_kind(whole, Kind.TOOL_RESULT)
    (content,) = whole.contents(of_kind(whole, Kind.TOOL_CALL))
    assert (result.tool, result.call_id, content.arguments) == ("ls", "c", {"dir": "."})


def test_a_document_on_one_line_is_told_from_a_log(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(header(messages=[user("u", "hi"), model("m", "ho")])) + "\n")
    assert [turn.line for turn in read_session(path).turns] == [1, 2]


def test_a_rewind_leaves_its_message_and_all_after_it_behind(read: Callable[..., Session]) -> None:
    session = read(
        *(header(), user("a", "one"), model("b", "1"), user("c", "two"), model("d", "2")),
        *({"$rewindTo": "c"}, user("e", "three"), model("f", "3"), {"$rewindTo": "gone"}),
    )
    assert [turn.abandoned for turn in session.turns] == [False, False, True, True, False, False]
    assert [s.reason for s in session.skipped] == ["rewind to a message that is not there"]
    assert session.prompts == 3


def test_a_message_written_again_after_a_rewind_is_said_again(read: Callable[..., Session]) -> None:
    session = read(
        *(header(), user("a", "one"), model("b", "1"), {"$rewindTo": "a"}),
        *(user("a", "one, better"), model("c", "1!")),
    )
    assert spoken(session) == [
        *(("human", "one"), ("model", "1"), ("human", "one, better"), ("model", "1!"))
    ]


def test_a_list_of_what_is_shown_adds_only_what_is_new(read: Callable[..., Session]) -> None:
    context = user("s", "<session_context>\nThis is the Gemini CLI.\n</session_context>")
    shown = [
        context,
        message("u", "user", [{"text": "hi"}]),
        # the client writes the API's form of the message under the old id, or under a new one
        message("m", "gemini", [{"text": "look"}, {"functionCall": {"id": "c", "name": "ls"}}]),
        message("r", "user", [call("c")["result"][0]]),
        message("new id", "gemini", [{"text": "done"}]),
    ]
    session = read(
        *(header(), {"$set": {"messages": [context]}}, user("u", "hi")),
        *(model("m", "look", toolCalls=[call("c")]), model("n", "done")),
        *({"$set": {"messages": shown, "lastUpdated": TIME.format(9)}}, user("v", "more")),
        model("o", "yes"),
    )
    assert [text for _, text in spoken(session)] == [
        *("<session_context>\nThis is the Gemini CLI.\n</session_context>", "hi", "look"),
        *('{"dir": "."}', "ok", "done", "more", "yes"),
    ]
    assert not any(turn.abandoned for turn in session.turns)
    assert reasons(session) == {"repeated tool result": (6,)}


def test_a_whole_chat_in_such_a_list_is_read(read: Callable[..., Session]) -> None:
    session = read(header(), {"$set": {"messages": [user("u", "héé"), model("m", "hö")]}})
    assert spoken(session) == [("human", "héé"), ("model", "hö")]
    assert [turn.line for turn in session.turns] == [2, 2]


COMPRESSED = "Chat history compressed from 9000 to 1200 tokens."


@pytest.mark.parametrize("told", ["before", "after", "never"])
@pytest.mark.parametrize("form", ["list", "patch"])
def test_a_compression_has_its_summary_its_tokens_and_what_it_kept(
    read: Callable[..., Session], told: str, form: str
) -> None:
    notice = message("i", "info", COMPRESSED)
    summary, canned = user("x", SNAPSHOT), message("y", "gemini", [{"text": CANNED}])
    kept = [user("c", "two"), model("d", "2")]
    change: Sequence[Any] = (
        [{"$set": {"messages": [summary, canned, *kept]}}]
        if form == "list"
        else [summary, canned, {"$patch": {"removeIds": ["a", "b"], "orderIds": ["x", "y"]}}]
    )
    session = read(
        *(header(), user("a", "one"), model("b", "1"), *kept),
        *([notice] if told == "before" else []),
        *change,
        *([notice] if told == "after" else []),
        *(user("e", "three"), model("f", "3")),
    )
    (here,) = session.compactions
    assert here.kind is CompactionKind.FULL
    assert here.summary is not None
    assert session.text(session.turns[here.summary]) == SNAPSHOT
    assert [session.text(session.turns[n]) for n in here.kept] == ["two", "2"]
    tokens = (here.trigger, here.tokens_before, here.tokens_after)
    assert tokens == ((None, None, None) if told == "never" else ("manual", 9000, 1200))
    assert [turn.segment for turn in session.turns] == [0] * 4 + [1] * 4
    assert (session.prompts, session.steps) == (3, 3)
    assert not any(turn.abandoned for turn in session.turns)


def test_a_compression_of_which_only_the_notice_is_kept(read: Callable[..., Session]) -> None:
    notice = (
        "IMPORTANT: This conversation approached the input token limit for gemini-2.5-pro. "
        "A compressed context will be sent for future messages "
        "(compressed from: unknown to 7 tokens)."
    )
    session = read(
        *(header(), user("a", "one"), model("b", "1"), message("i", "info", notice)),
        *(user("c", "two"), model("d", "2"), message("j", "info", COMPRESSED)),
    )
    facts = [(c.line, c.trigger, c.tokens_before, c.tokens_after) for c in session.compactions]
    assert facts == [(4, "auto", None, 7), (7, "manual", 9000, 1200)]


def test_masked_results_are_a_microcompaction(read: Callable[..., Session]) -> None:
    masked = "<tool_output_masked>\nfirst lines\n</tool_output_masked>"
    session = read(
        *(header(), user("u", "hi"), model("m", "", toolCalls=[call("c", "long"), call("d")])),
        {"$set": {"messages": [user("u", "hi"), model("m", "", toolCalls=[call("c", masked)])]}},
        {"$patch": {"updates": [{"id": "m", "toolCalls": [call("c", masked), call("d", masked)]}]}},
        {"$patch": {"id": "u", "content": [{"text": "changed"}]}},
        model("n", "done"),
    )
    facts = [(c.kind, c.line, c.cleared) for c in session.compactions]
    assert facts == [(CompactionKind.MICRO, 4, ("c",)), (CompactionKind.MICRO, 5, ("d",))]
    assert session.text(of_kind(session, Kind.TOOL_RESULT)[0]) == "long"
    assert [s.reason for s in session.skipped] == ["later change of a message"]


def test_a_turn_that_was_rolled_back_is_abandoned(read: Callable[..., Session]) -> None:
    session = read(
        *(header(), user("a", "one"), model("b", "1"), message("w", "warning", "slow")),
        *(user("c", "cancel me"), message("i", "info", "Request cancelled.")),
        {"$set": {"messages": [user("a", "one"), model("b", "1")]}},
        *(user("d", "two"), model("e", "2")),
    )
    abandoned = [session.text(turn) for turn in session.turns if turn.abandoned]
    assert abandoned == ["cancel me"]
    assert reasons(session) == {"client notice": (4, 6)}


def test_a_call_that_a_notice_parts_from_its_answer_is_of_one_message(
    read: Callable[..., Session],
) -> None:
    later = {"subject": "next", "description": "thought", "timestamp": TIME.format(9)}
    session = read(
        *(header(), user("u", "hi"), model("m", "I will look.")),
        message("i", "info", "Request cancelled."),
        message("n", "gemini", "", toolCalls=[call("c", "no", "cancelled")], thoughts=[later]),
        *(user("v", "go on"), model("o", "Done.", thoughts=[later], timestamp=TIME.format(9))),
    )
    assert (session.steps, session.prompts) == (2, 2)
    answers = of_kind(session, Kind.ASSISTANT)
    assert [turn.final for turn in answers] == [False, True]
    assert of_kind(session, Kind.TOOL_CALL)[0].message == answers[0].message
    assert [turn.is_error for turn in of_kind(session, Kind.TOOL_RESULT)] == [True]
    (thought,) = of_kind(session, Kind.THINKING)
    assert (thought.line, session.text(thought)) == (7, "next\nthought")
    assert ("thought of the next message", (5,)) in [(s.reason, s.lines) for s in session.skipped]


def test_a_sub_agents_chat_has_a_parent_and_no_human(
    read: Callable[..., Session], tmp_path: Path
) -> None:
    chats = tmp_path / "chats"
    child = read(
        *(header(sessionId="k1", kind="subagent", directories=["/work"]), user("u", "Find bugs.")),
        *(model("m", "None.", model="gemini-y"), model("m", "None!", model="gemini-y")),
        path=chats / "s1" / "k1.jsonl",
    )
    assert (child.id, child.parent, child.prompts, child.cwd) == ("k1", "s1", 0, "/work")
    assert spoken(child) == [("harness", "Find bugs."), ("model", "None!")]
    main = read(header(), user("u", "hi"), model("m", "ho"), path=chats / "session-1.jsonl")
    assert main.parent is None
    assert [(s.agent_id, s.records, s.models) for s in main.sidechains] == [
        ("k1", 2, ("gemini-y",))
    ]
    loose = read(header(kind="subagent"), model("m", "x"), path=chats / "loose.jsonl")
    assert loose.parent is None


REFERENCED = "\n--- Content from referenced files ---\nContent from @a.py:\nx = 1\n"


@pytest.mark.parametrize(
    ("sent", "words", "client"),
    [
        (user("u", "fix it"), ["fix it"], []),
        (user("u", "see @a.py", REFERENCED + "--- End of content ---"), ["see @a.py"], ["x = 1"]),
        (
            user("u", "see @a.py", REFERENCED, displayContent=[{"text": "see @a.py"}]),
            ["see @a.py"],
            ["x = 1"],
        ),
        (
            user("u", "Analyse all of it.", displayContent=[{"text": "/init"}]),
            ["/init"],
            ["Analyse all of it."],
        ),
        (
            user("u", "go on", displayContent=[{"functionResponse": {"id": "c"}}]),
            [],
            ["go on"],
        ),
        (user("u", "mine", "<hook_context>theirs</hook_context>"), ["mine"], ["theirs"]),
        (user("u", "<hook_context>theirs</hook_context>"), [], ["theirs"]),
        (
            user(
                "u",
                "User steering update:\n<user_input>\nuse uv\n</user_input>\n",
                "Internal instruction: x",
            ),
            ["use uv"],
            ["Internal instruction"],
        ),
        (user("u", "System: Please continue."), [], ["System: Please continue."]),
        (user("u", "Please continue."), [], ["Please continue."]),
        (user("u", "Please continue. And test it."), ["Please continue. And test it."], []),
        (user("u", "[Request cancelled]"), [], ["[Request cancelled]"]),
        (user("u", "I ran the following shell command:\n```sh\nls\n```"), [], ["```sh"]),
        (user("u", "Here is the user's editor context as a JSON object."), [], ["editor"]),
        (user("u", "/stats"), [], ["/stats"]),
        (user("u", "/etc/hosts is wrong"), ["/etc/hosts is wrong"], []),
        (message("u", "user", "a string"), ["a string"], []),
    ],
)
def test_who_spoke_in_what_is_sent_as_the_users(
    read: Callable[..., Session], sent: Any, words: list[str], client: list[str]
) -> None:
    session = read(header(), sent, model("m", "ok"))
    assert texts(session, speaker=Speaker.HUMAN) == words
    assert session.prompts == len(words)
    harness = texts(session, speaker=Speaker.HARNESS)
    assert len(harness) == len(client)
    assert all(part in text for part, text in zip(client, harness, strict=True))


def test_pictures_are_counted_and_never_kept(read: Callable[..., Session]) -> None:
    data = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0"}}
    shot = {"functionResponse": {"id": "c", "response": {"output": "shot"}, "parts": [data]}}
    session = read(
        header(),
        message("u", "user", [data, {"text": "see"}]),
        model("m", "", toolCalls=[call("c") | {"result": [shot, data]}]),
        message("v", "user", [data]),
        message("o", "gemini", [{"text": "made"}, data], model="gemini-x", tokens={}),
    )
    contents = list(session.contents(session.turns))
    assert [content.images for content in contents] == [1, 0, 2, 1, 1]
    assert "iVBOR" not in "".join(content.text for content in contents)
    assert session.prompts == 2


def test_text_made_of_nothing_but_marks_is_read_in_reasonable_time(
    read: Callable[..., Session],
) -> None:
    marks = (
        "<hook_context>",
        "</scratchpad>",
        "--- Content from referenced files ---",
        "<user_input>",
    )
    heads = ("x", "<session_context>", "<scratchpad>", "User steering update: <user_input>")
    with takes_less_than(10):
        for head in (*heads, "<session_context>Workspace Directories:**"):
            for text in (" ", "\n", *marks):
                session = read(header(), user("u", head + text * 50_000 + "y"), model("m", "ok"))
                assert session.steps == 1


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a<!-- b -->c", "ac"),
        ("<!--<!-- b -->-->", "-->"),
        ("<!-->a", "<!-->a"),
        ("a-->b<!--c", "a-->b<!--c"),
        ("\u200ba<!--\ufeff-->\u200f<!--", "a<!--"),
        ("<!--a--\u200b>b", "<!--a-->b"),
    ],
)
def test_what_a_message_is_compared_without(text: str, kept: str) -> None:
    assert _cleaned(text) == kept


def test_the_time_of_a_text_grows_no_faster_than_the_comments_that_it_begins() -> None:
    def clean(text: str) -> None:
        assert _cleaned(text) == text

    assert growth(lambda count: "x --> " + "<!--" * count, clean, 4_000, 16_000) < 8


HISTORY = [
    {"role": "user", "parts": [{"text": "list"}]},
    {
        "role": "model",
        "parts": [
            {"text": "hm", "thought": True},
            {"text": "Let me look."},
            {"functionCall": {"id": "c", "name": "ls", "args": {"dir": "."}}},
        ],
    },
    {"role": "user", "parts": [{"functionResponse": {"id": "c", "response": {"error": "denied"}}}]},
    {"role": "model", "parts": [{"text": "I may "}, {"text": "not."}]},
]


@pytest.mark.parametrize("wrapper", [None, "history", "clientHistory", "contents"])
def test_histories_of_the_api(read_document: Callable[[Any], Session], wrapper: str | None) -> None:
    session = read_document(HISTORY if wrapper is None else {wrapper: HISTORY, "authType": "x"})
    assert spoken(session) == [
        *(("human", "list"), ("model", "hm"), ("model", "Let me look."), ("model", '{"dir": "."}')),
        *(("tool", "denied"), ("model", "I may not.")),
    ]
    result = session.turns[4]
    assert (result.tool, result.call_id, result.is_error) == ("ls", "c", True)
    assert (session.steps, session.prompts, session.turns[-1].final) == (2, 1, True)


def test_neighbours_that_the_client_sends_as_one_are_told_apart(
    read_document: Callable[[Any], Session],
) -> None:
    """A text of the client's ends with its part; a file named with `@` has several parts."""
    context = "<session_context>\nThis is the Gemini CLI.\n</session_context>"
    shell = "I ran the following shell command:\n```sh\nls\n```"
    file = [
        "\n--- Content from referenced files ---",
        "\nContent from @a:\n",
        "\n--- End of content ---",
    ]
    session = read_document(
        [
            {"role": "user", "parts": [{"text": context}, {"text": "first"}]},
            {"role": "model", "parts": [{"text": "One."}]},
            {
                "role": "user",
                "parts": [{"text": t} for t in (shell, "see @a", *file, shell, "third")],
            },
            {"role": "model", "parts": [{"text": "Two."}]},
        ]
    )
    assert texts(session, speaker=Speaker.HUMAN) == ["first", "see @a", "third"]
    assert texts(session, speaker=Speaker.HARNESS) == [context, shell, "".join(file).strip(), shell]
    assert session.prompts == 2  # messages of the API that a human wrote in


@pytest.mark.parametrize(("name", "prompts"), [("ask_user", 2), ("read_file", 1)])
def test_answers_to_the_models_questions_are_the_humans(
    read: Callable[..., Session], name: str, prompts: int
) -> None:
    answers = '{"answers":{"0":"Blue","1":"the dark one"}}'
    asking = call("c1", answers) | {"name": name}
    session = read(user("u1", "go"), model("g1", "", toolCalls=[asking]), model("g2", "OK."))
    words = ["Blue\nthe dark one"] if prompts == 2 else []
    assert (session.prompts, session.steps) == (prompts, 2)
    assert texts(session, speaker=Speaker.HUMAN) == ["go", *words]
    assert texts(session, quoted=True) == words


def test_a_dump_of_a_request_has_the_system_prompt(read_document: Callable[[Any], Session]) -> None:
    instruction = {"parts": [{"text": "Be brief."}]}
    session = read_document({"contents": HISTORY, "systemInstruction": instruction})
    assert session.system == "Be brief."


def test_a_summary_in_the_middle_of_a_history(read_document: Callable[[Any], Session]) -> None:
    summary = {"role": "user", "parts": [{"text": SNAPSHOT}]}
    canned = {"role": "model", "parts": [{"text": CANNED}]}
    session = read_document([*HISTORY, summary, canned, *HISTORY[:1], *HISTORY[3:]])
    (here,) = session.compactions
    assert (here.kind, here.line, here.summary) == (CompactionKind.FULL, 5, 6)
    assert (session.prompts, session.steps) == (2, 3)


def test_a_history_with_a_head_longer_than_what_is_looked_at(tmp_path: Path) -> None:
    long = [{"role": "user", "parts": [{"text": "x" * 90_000}]}, *HISTORY]
    assert gemini.sniff(json.dumps(long, indent=2).encode()[: 1 << 16])


@pytest.mark.parametrize(
    "lines",
    [
        [{"contents": HISTORY}, {"contents": HISTORY}],  # a data set
        [[{"role": "user", "parts": [{"type": "text", "text": "x"}]}]],
        [{"$set": {"x": 1}}],
        [{"id": "a", "type": "user", "content": "x"}],
    ],
)
def test_what_looks_alike_is_not_taken(lines: list[Any]) -> None:
    assert not gemini.sniff(as_log(*lines))


def test_what_is_unknown_is_counted_by_name(read: Callable[..., Session]) -> None:
    session = read(
        *(header(), user("u", "hi"), model("m", "ho"), message("x", "poem", "roses")),
        *({"note": 1}, message("p", "gemini", [{"executableCode": {"code": "1"}}], model="g")),
        {"$set": {"messages": [7, user("u", "hi"), model("m", "ho")]}},
    )
    assert [s.reason for s in session.skipped] == [
        *("unknown record type: poem", "unknown record type: without type", "not a message"),
        "unknown content part: executableCode",
    ]


def test_damage_is_mended_or_counted(tmp_path: Path) -> None:
    path = tmp_path / "damaged.jsonl"
    first, second = as_log(header(), user("u", "hi")), as_log(model("m", "ho"))
    stub = as_log(user("v", "lost"))[:40]
    path.write_bytes(first + stub + second + b"\x00" * 9 + as_log(user("w", "more")) + stub)
    session = read_session(path)
    assert spoken(session) == [("human", "hi"), ("model", "ho"), ("human", "more")]
    assert counts(session) == {
        "broken line, records saved": 2,
        "broken line": 1,
    }


SEEDS = [
    as_log(
        *(header(), {"$set": {"messages": [user("s", "<session_context>")]}}, user("a", "é🎉")),
        *(model("b", "1", toolCalls=[call("c"), call("d", {"k": 1})], thoughts=[{"subject": "s"}])),
        *(user("x", SNAPSHOT), {"$patch": {"removeIds": ["a"], "updates": [{"id": "b"}]}}),
        *({"$set": {"messages": [user("x", SNAPSHOT), model("n", "new")]}}, {"$rewindTo": "x"}),
        model("z", "end"),
    ),
    json.dumps(header(messages=[user("a", "é"), model("b", "ö")]), indent=1).encode(),
    json.dumps(HISTORY, indent=1).encode(),
]


@pytest.mark.parametrize("seed", SEEDS[:2], ids=["log", "document"])
def test_a_value_of_any_type_anywhere_is_no_trouble(tmp_path: Path, seed: bytes) -> None:
    whole = decode_json(seed)
    if whole is not BROKEN:
        for odd in odd_values(whole):
            check(tmp_path / "f", json.dumps(odd, indent=1).encode(), format="gemini")
        return
    lines = seed.splitlines(keepends=True)
    for number, line in enumerate(lines):
        for odd in odd_values(json.loads(line)):
            log = [*lines[:number], as_log(odd), *lines[number + 1 :]]
            check(tmp_path / "f", b"".join(log), format="gemini")


def test_a_pipe_where_a_sub_agent_may_be_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    os.mkfifo(tmp_path / "s" / "a.jsonl")
    assert list(sidechains_below(tmp_path / "main.json", "s")) == []


@given(damaged(SEEDS))
def test_any_damage_gives_a_session_or_a_refusal(tmp_path: Path, data: bytes) -> None:
    check(tmp_path / "f", data, format="gemini")


def test_a_real_file_cut_anywhere_gives_a_session_or_a_refusal(
    shared: Path, tmp_path: Path
) -> None:
    for name in ("vct-zh-tw-gemini.jsonl", "session-bridge-4f17cdc65d-0.json"):
        data = (shared / "sessions" / "gemini" / name).read_bytes()
        for end in range(0, len(data), len(data) // 23):
            check(tmp_path / "f", data[:end], format="gemini")
