"""What a server receives from `contextecho probe` on a real session, on both wire formats.

Each body is answered with its own hash, so that the store says which cell it was sent for.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rs_bpe.bpe import openai as bpe

from e2e.ledger import query
from e2e.terminal import Done, Terminal
from e2e.wire import Shown, read_anthropic, read_openai
from servers.serving import serving

POSITIONS = ("94", "267", "405")  # row turns: before and after compactions, amid tool calls
ARMS = ("scratch", "control", "session", "session+anchor", "control+anchor")
READ = {"openai": read_openai, "anthropic": read_anthropic}
AXES = ("--positions", ",".join(POSITIONS), "--arms", ",".join(ARMS), "--n", "1")


class Sent(NamedTuple):
    """One body, and the cell that it was sent for."""

    position: str
    arm: str
    question: str
    raw: bytes
    body: dict[str, Any]
    shown: Shown


class Probe(NamedTuple):
    """What one run of `probe` sent, in the order of arrival."""

    wire: str
    done: Done
    sent: tuple[Sent, ...]
    calls: int
    broken_rules: tuple[str, ...]
    arrived_before_answer: dict[
        str, int
    ]  # body's hash -> bodies that had come when it was answered

    def by_arm(self, position: str) -> dict[str, list[Sent]]:
        """The bodies of one position by arm; scratch is the same everywhere."""
        found: dict[str, list[Sent]] = defaultdict(list)
        for each in self.sent:
            if each.position == position or each.arm == "scratch":
                found[each.arm].append(each)
        return found

    def one(self, position: str, arm: str) -> Shown:
        """What one arm shows at one position."""
        return self.by_arm(position)[arm][0].shown


def digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


@pytest.fixture(scope="module", params=["openai", "anthropic"])
def probe(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, long_path: Path
) -> Probe:
    wire: str = request.param
    terminal = Terminal(tmp_path_factory.mktemp(wire))
    arrived_before_answer: dict[str, int] = {}

    def answer(body: dict[str, Any]) -> str:
        arrived_before_answer[digest(body)] = len(provider.bodies)
        return digest(body)

    with serving(text=answer, latency=0.02) as provider:
        words = ("probe", long_path, "--target", f"{wire}/x", "--base-url", provider.url, *AXES)
        done = terminal.run(*words, "--quiet")
    cells: dict[str, tuple[str, str, str]] = {}
    for text, position, arm, stimulus in query(
        terminal.folder,
        "SELECT attempt.text, cell.position, cell.arm, cell.stimulus FROM cell"
        " JOIN reply ON reply.key = cell.key JOIN attempt ON attempt.id = reply.attempt",
    ):
        cells[str(text)] = (str(position), str(arm), str(stimulus))
    sent = tuple(
        Sent(*cells[digest(body)], raw, body, READ[wire](json.loads(raw)))
        for raw, body in zip(provider.raw, provider.bodies, strict=True)
    )
    broken = tuple(provider.broken_rules)
    return Probe(wire, done, sent, provider.calls, broken, arrived_before_answer)


@pytest.fixture
def positions(probe: Probe) -> list[str]:
    """The positions' labels."""
    return sorted({each.position for each in probe.sent if each.arm != "scratch"})


def test_every_request_is_sent_once_and_answered(probe: Probe, positions: list[str]) -> None:
    assert (probe.done.code, probe.done.errors) == (0, [])
    assert len(positions) == len(POSITIONS)
    questions = {each.question for each in probe.sent}
    # Four arms at three positions, and scratch once: it is the same request everywhere.
    assert probe.calls == (4 * 3 + 1) * len(questions) == len({each.raw for each in probe.sent})
    for position in positions:
        arms = probe.by_arm(position)
        assert set(arms) == set(ARMS)
        assert all({each.question for each in sent} == questions for sent in arms.values())


def test_no_body_breaks_a_rule_of_its_wire_format(probe: Probe) -> None:
    assert probe.broken_rules == ()


def test_roles_alternate_and_every_call_is_answered_at_once(probe: Probe) -> None:
    for each in probe.sent:
        pieces = (*each.shown.prefix, each.shown.ask)
        assert pieces[0].role == pieces[-1].role == "user"
        assert all(piece.text.strip() for piece in pieces)
        calls = [piece.call for piece in pieces if piece.kind == "call"]
        assert len(calls) == len(set(calls))
        waiting: list[str | None] = []
        for before, after in pairwise(pieces):
            if before.kind == "call":
                waiting.append(before.call)
            if after.kind == "result":
                assert after.call in waiting
                waiting.remove(after.call)
            elif after.kind == "text" and waiting:
                pytest.fail("words come before a call is answered")
            if before.kind == after.kind == "text":
                assert before.role != after.role
        assert waiting == []


def test_turns_alternate_as_the_wire_counts_them(probe: Probe) -> None:
    for each in probe.sent:
        roles = [message["role"] for message in each.body["messages"]]
        if probe.wire == "anthropic":
            assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
        else:
            assert roles[0] == "system"
            turns = [role for role in roles[1:] if role != "tool"]
            # After a tool's result the user may speak, or the assistant goes on.
            assert all(
                a != b or roles[i + 1] == "tool" for i, (a, b) in enumerate(pairwise(roles[1:]), 1)
            )
            assert set(turns) == {"user", "assistant"} or turns == ["user"]


def test_tools_are_declared_where_calls_are_shown_and_never_empty(probe: Probe) -> None:
    with_calls = 0
    for each in probe.sent:
        called = {p.text.split(" ", 1)[0] for p in each.shown.prefix if p.kind == "call"}
        declared = {json.loads(tool)["name"] for tool in each.shown.tools}
        assert called <= declared
        assert ("tools" in each.body) == bool(declared) == ("tool_choice" in each.body)
        with_calls += bool(called)
        if declared:
            assert each.shown.policy == ("none" if probe.wire == "openai" else {"type": "none"})
    assert with_calls > len(probe.sent) / 2


def test_arms_at_one_position_differ_in_their_prefix_only(
    probe: Probe, positions: list[str]
) -> None:
    for position in positions:
        arms = probe.by_arm(position)
        for a, b in combinations(arms.values(), 2):
            asked = {each.question: each.shown for each in b}
            for each in a:
                mine, other = each.shown, asked[each.question]
                assert mine.system == other.system
                assert mine.ask == other.ask
                same = {"prompt_cache_key": None}  # a routing hint, one a prefix
                assert mine.decoding | same == other.decoding | same
                if mine.tools and other.tools:
                    assert mine.policy == other.policy
                    assert len(mine.tools) == len(other.tools)


def test_scratch_shows_nothing_before_the_question(probe: Probe) -> None:
    for each in probe.sent:
        assert (not each.shown.prefix) == (each.arm == "scratch")
        assert each.shown.tools == () or each.arm != "scratch"


def test_the_control_is_the_sessions_shape_with_other_words(
    probe: Probe, positions: list[str]
) -> None:
    for position in positions:
        control, session = (probe.one(position, arm) for arm in ("control", "session"))
        assert len(control.prefix) > 10
        assert [p[:2] for p in control.prefix] == [p[:2] for p in session.prefix]
        same = [
            mine.text
            for mine, theirs in zip(control.prefix, session.prefix, strict=True)
            if mine.text == theirs.text
        ]
        assert len(same) <= 1  # the words with which the protocol itself may open a cut history
        assert not set(control.tools) & set(session.tools)


def test_the_control_has_the_sessions_tokens_within_two_per_cent(
    probe: Probe, positions: list[str], record_property: Any
) -> None:
    o200k = bpe.o200k_base()
    for position in positions:
        control, session = (probe.one(position, arm).words for arm in ("control", "session"))
        ratio = o200k.count(control) / o200k.count(session)
        record_property(f"{position} tokens", round(ratio, 4))
        record_property(f"{position} characters", round(len(control) / len(session), 4))
        assert ratio == pytest.approx(1, abs=0.02)


def test_an_anchored_arm_is_its_arm_and_then_the_anchor(probe: Probe, positions: list[str]) -> None:
    anchors = set()
    for position in positions:
        for arm in ("session", "control"):
            plain, anchored = probe.one(position, arm), probe.one(position, f"{arm}+anchor")
            length = len(plain.prefix)
            assert anchored.prefix[:length] == plain.prefix
            assert anchored.tools == plain.tools
            anchors.add(anchored.prefix[length:])
    (anchor,) = anchors  # one recipe, the same words everywhere
    assert [piece.kind for piece in anchor] == ["text"] * len(anchor)
    assert len(anchor) >= 1


def test_a_prefix_is_the_same_bytes_for_every_question(probe: Probe) -> None:
    opening = {"openai": b'{"role":"user","content":"', "anthropic": b'{"type":"text","text":"'}
    heads: dict[tuple[str, str], set[bytes]] = defaultdict(set)
    for each in probe.sent:
        place = "" if each.arm == "scratch" else each.position
        heads[place, each.arm].add(each.raw[: each.raw.rindex(opening[probe.wire])])
    assert len(heads) == 4 * 3 + 1
    assert all(len(found) == 1 for found in heads.values())
    assert len(set.union(*heads.values())) == len(heads)


def test_a_prefix_is_warmed_by_one_call_before_the_others_follow(probe: Probe) -> None:
    order: dict[str, list[int]] = defaultdict(list)
    for number, each in enumerate(probe.sent):
        order[str(each.shown.prefix)].append(number)
    assert len(order) == 4 * 3 + 1
    for numbers in order.values():
        first, second, *_ = numbers
        assert probe.arrived_before_answer[digest(probe.sent[first].body)] <= second


def test_the_cache_is_told_where_the_prefix_ends(probe: Probe) -> None:
    for each in probe.sent:
        if probe.wire == "openai":
            assert each.body["prompt_cache_key"]
            continue
        blocks = [block for turn in each.body["messages"] for block in turn["content"]]
        marked = [number for number, block in enumerate(blocks) if "cache_control" in block]
        assert "cache_control" in each.body["system"][-1]
        assert marked == ([len(blocks) - 2] if each.shown.prefix else [])


def test_one_cache_key_a_prefix(probe: Probe) -> None:
    if probe.wire == "anthropic":
        pytest.skip("breakpoints instead of keys")
    keys = {(str(e.shown.prefix), e.body["prompt_cache_key"]) for e in probe.sent}
    assert len(keys) == len({key for _, key in keys}) == 4 * 3 + 1


def test_snapshot_prints_what_was_sent(probe: Probe, long_path: Path, terminal: Terminal) -> None:
    done = terminal.run("snapshot", long_path, "--at", POSITIONS[1], "--format", "messages")
    printed = done.json
    (position,) = {e.position for e in probe.sent if e.position.endswith(POSITIONS[1])}
    sent = probe.one(position, "session").prefix
    said = [piece.text for piece in sent if piece.kind != "call"]
    assert [message["text"] for message in printed if message.get("text")] == said
    assert [call["id"] for message in printed for call in message.get("tool_calls", [])] == [
        piece.call for piece in sent if piece.kind == "call"
    ]
