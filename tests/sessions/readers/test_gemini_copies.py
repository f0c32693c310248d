"""Chats in which the client wrote messages down again: each is said once.

The client here is a small model of the real one, after its source: what is said is
recorded line by line; when it changes what the model is shown, it records the remaining
turns anew, in newer versions with neighbours of one role as one, and says which
messages are shown now: by `$set` with `messages` (until about 0.60), or by `$patch` and,
where only the end is taken away, `$rewindTo` (after).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count, groupby
from pathlib import Path
from typing import Any

import pytest

from contextecho.sessions import CompactionKind, Kind, Session, Speaker, read_session

Content = dict[str, Any]
MASK = "<tool_output_masked>\nshort\n</tool_output_masked>"
ENVIRONMENT = "<session_context>\nThis is the Gemini CLI.\n</session_context>"


class Client:
    """Writes the log of a chat as the real client does."""

    def __init__(self, form: str, merged: bool) -> None:
        self.form, self.merged = form, merged
        self.lines: list[Any] = [{"sessionId": "s", "projectHash": "h"}]
        self.recorded: dict[str, Content] = {}  # in order: what the client takes for the chat
        self.history: list[tuple[str, Content]] = []
        self._ids = (f"m{n}" for n in count())
        self.sync([("environment", _content("user", {"text": ENVIRONMENT}))])

    def record(self, type: str, content: Any, **fields: Any) -> str:
        id = next(self._ids)
        self.recorded[id] = {"id": id, "type": type, "content": content, **fields}
        self.lines += [self.recorded[id], {"$set": {"lastUpdated": "now"}}]
        return id

    def prompt(self, text: str) -> None:
        id = self.record("user", [{"text": text}])
        self.history.append((id, _content("user", {"text": text})))

    def reply(self, text: str) -> None:
        cleaned = text.replace("\u200b", "").strip()
        id = self.record("gemini", cleaned, model="gemini-x", tokens=None, thoughts=[])
        self.history.append((id, _content("model", {"text": text})))

    def tool(self, name: str) -> None:
        response = {"functionResponse": {"id": name, "name": "ls", "response": {"output": "long"}}}
        call = {"id": name, "name": "ls", "args": {}, "status": "success", "result": [response]}
        id = self.record("gemini", "", model="gemini-x", tokens=None)
        self.recorded[id] = self.recorded[id] | {"toolCalls": [call]}
        self.lines.append(self.recorded[id])
        self.history.append((id, _content("model", {"functionCall": {"id": name, "name": "ls"}})))
        self.history.append((self.record("user", [response]), _content("user", response)))

    def turn(self, text: str) -> None:
        self.prompt(text)
        self.tool(f"call {text}")
        self.reply(f"{text}, done\u200b\n")

    def contents(self) -> list[Content]:
        turns = [content for _, content in self.history]
        if not self.merged:
            return turns
        runs = groupby(turns, key=lambda content: str(content["role"]))
        return [_content(role, *(p for c in run for p in c["parts"])) for role, run in runs]

    def rewrite(self, contents: Sequence[Content]) -> None:
        """Record turns anew and show these."""
        kinds = {"user": "user", "model": "gemini"}
        turns = [(self.record(kinds[c["role"]], c["parts"]), c) for c in contents]
        self.sync(turns)

    def sync(self, turns: list[tuple[str, Content]]) -> None:
        """Say what is shown now; turns without a record get one here."""
        self.history = turns
        if self.form == "list":
            shown = [
                self.recorded.get(id, _synthetic(id, c)) | {"content": c["parts"]}
                for id, c in turns
            ]
            self.recorded = {message["id"]: message for message in shown}
            self.lines.append({"$set": {"messages": shown}})
            return
        before = list(self.recorded)
        for id, content in turns:
            if id not in self.recorded:
                self.recorded[id] = _synthetic(id, content)
                self.lines.append(self.recorded[id])
        names = [id for id, _ in turns]
        removed = [id for id in before if id not in names]
        added = len(self.recorded) > len(before)
        if removed and not added and before[len(before) - len(removed) :] == removed:
            self.lines.append({"$rewindTo": removed[0]})
        elif removed:
            self.lines.append({"$patch": {"removeIds": removed, "orderIds": names}})
        self.recorded = {id: self.recorded[id] for id in names}

    def compress(self, keep: int) -> None:
        tail = self.contents()[-keep:] if keep else []
        goal = f"{len(self.lines)} lines so far"
        summary = _content("user", {"text": f"<state_snapshot>{goal}</state_snapshot>"})
        answer = _content("model", {"text": "Got it. Thanks for the additional context!"})
        new = [(next(self._ids), content) for content in (summary, answer, *tail)]
        self.sync([("environment", _content("user", {"text": ENVIRONMENT})), *new])
        self.record("info", "Context compressed from 74% to 21%.")

    def mask(self) -> None:
        masked = json.loads(json.dumps(self.contents()).replace('"long"', json.dumps(MASK)))
        self.rewrite(masked)

    def abort(self, prompt: str) -> None:
        """Take the turns from this prompt on back."""
        self.record("info", "Request cancelled.")
        texts = [content["parts"][0].get("text") for _, content in self.history]
        self.sync(self.history[: texts.index(prompt)])


def _content(role: str, *parts: Any) -> Content:
    return {"role": role, "parts": list(parts)}


def _synthetic(id: str, content: Content) -> Content:
    kind = "user" if content["role"] == "user" else "gemini"
    return {"id": id, "type": kind, "content": content["parts"]}


@pytest.fixture(params=["list", "list merged", "patch", "patch merged"])
def client(request: pytest.FixtureRequest) -> Client:
    form, _, merged = request.param.partition(" ")
    return Client(form, bool(merged))


def read(client: Client, folder: Path) -> Session:
    path = folder / "chat.jsonl"
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in client.lines))
    return read_session(path)


def prompts(session: Session, *, abandoned: bool = False) -> list[str]:
    human = [turn for turn in session.turns if turn.speaker is Speaker.HUMAN]
    return [session.text(turn) for turn in human if turn.abandoned is abandoned]


def answers(session: Session) -> list[str]:
    said = [turn for turn in session.turns if turn.kind is Kind.ASSISTANT and turn.model]
    return [session.text(turn) for turn in said]


def test_masking_repeats_nothing(client: Client, tmp_path: Path) -> None:
    client.turn("one")
    client.turn("two")
    client.mask()
    client.turn("three")
    client.mask()
    client.turn("four")
    session = read(client, tmp_path)
    assert prompts(session) == ["one", "two", "three", "four"]
    assert answers(session) == ["one, done", "two, done", "three, done", "four, done"]
    assert (session.steps, session.prompts) == (8, 4)
    results = [turn for turn in session.turns if turn.kind is Kind.TOOL_RESULT]
    assert [session.text(turn) for turn in results] == ["long"] * 4
    micro = [(c.kind, c.cleared) for c in session.compactions]
    assert micro == [
        (CompactionKind.MICRO, ("call one", "call two")),
        (CompactionKind.MICRO, ("call three",)),
    ]


def test_compressions_keep_what_they_record_anew(client: Client, tmp_path: Path) -> None:
    client.turn("one")
    client.prompt("two")
    client.reply("two, done")
    client.compress(2)
    client.prompt("three")
    client.reply("three, done")
    client.compress(2)
    client.turn("four")
    session = read(client, tmp_path)
    assert prompts(session) == ["one", "two", "three", "four"]
    assert (session.steps, session.prompts) == (6, 4)
    kept = [[session.text(session.turns[n]) for n in c.kept] for c in session.compactions]
    assert kept == [["two", "two, done"], ["three", "three, done"]]
    assert [c.kind for c in session.compactions] == [CompactionKind.FULL] * 2
    assert all(c.summary is not None and c.trigger == "auto" for c in session.compactions)


def test_a_summary_written_down_again_is_no_compression(client: Client, tmp_path: Path) -> None:
    client.turn("one")
    client.compress(0)
    client.turn("two")
    client.mask()
    client.turn("three")
    session = read(client, tmp_path)
    assert prompts(session) == ["one", "two", "three"]
    kinds = [(c.kind, c.cleared) for c in session.compactions]
    assert kinds == [(CompactionKind.FULL, ()), (CompactionKind.MICRO, ("call two",))]
    assert [turn.segment for turn in session.turns if turn.speaker is Speaker.HUMAN] == [0, 1, 1]


def test_a_compression_of_everything_takes_nothing_back(client: Client, tmp_path: Path) -> None:
    client.turn("one")
    client.compress(0)
    client.turn("two")
    session = read(client, tmp_path)
    assert (prompts(session), prompts(session, abandoned=True)) == (["one", "two"], [])
    (here,) = session.compactions
    assert here.kept == ()


def test_a_cancelled_turn_is_taken_back(client: Client, tmp_path: Path) -> None:
    client.turn("one")
    client.turn("two")
    client.abort("two")
    client.turn("three")
    session = read(client, tmp_path)
    assert (prompts(session), prompts(session, abandoned=True)) == (["one", "three"], ["two"])


def test_a_declined_call_is_taken_back_by_recording_the_rest_anew(
    client: Client, tmp_path: Path
) -> None:
    client.turn("one")
    before = client.contents()
    client.prompt("two")
    client.tool("declined")
    client.rewrite(before)
    client.turn("three")
    session = read(client, tmp_path)
    assert (prompts(session), prompts(session, abandoned=True)) == (["one", "three"], ["two"])
    assert session.prompts == 3


def test_a_checkpoint_from_before_a_compression_is_no_new_conversation(
    client: Client, tmp_path: Path
) -> None:
    client.turn("one")
    saved = client.contents()
    client.turn("two")
    client.compress(0)
    client.rewrite(saved)
    client.turn("three")
    session = read(client, tmp_path)
    assert prompts(session) == ["one", "two", "three"]


def test_a_rewind_to_a_copy_leaves_what_it_is_the_copy_of(client: Client, tmp_path: Path) -> None:
    client.turn("one")
    client.prompt("two")
    client.reply("two, done")
    client.compress(2)
    client.turn("three")
    copy = next(id for id, c in client.history if c["parts"][-1].get("text") == "two")
    client.lines.append({"$rewindTo": copy})
    client.turn("four")
    session = read(client, tmp_path)
    assert prompts(session) == ["one", "four"]
    assert prompts(session, abandoned=True) == ["two", "three"]


def test_what_a_human_types_twice_is_said_twice(client: Client, tmp_path: Path) -> None:
    client.prompt("yes")
    client.reply("done")
    client.compress(0)
    client.prompt("yes")
    client.reply("done")
    client.prompt("no")
    client.abort("no")
    client.prompt("yes")
    client.reply("done")
    client.mask()
    session = read(client, tmp_path)
    assert prompts(session) == ["yes", "yes", "yes"]
    assert answers(session) == ["done", "done", "done"]
