"""Our reading and writing of Inspect's logs against `inspect_ai` itself.

It brings some eighty packages, so it is no dependency of the tests: without it they are
skipped (`pip install inspect-ai` runs them, here last with 0.3.285).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from contextecho.sessions import (
    CompactionKind,
    Kind,
    convert_session,
    example_session,
    read_session,
)
from contextecho.sessions.reading import members_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("inspect_ai") is None, reason="inspect_ai is not installed"),
]

# In a process of its own: the library takes over signals, loops and the terminal.
RUN = """
import sys
import tiktoken
from datetime import datetime, timezone

class Words:
    def encode(self, text, **_):
        return text.split()

tiktoken.get_encoding = lambda name: Words()  # the real one is downloaded

from inspect_ai import Task, eval
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.event import CompactionEvent
from inspect_ai.log import write_eval_log
from inspect_ai.model import (ChatCompletionChoice, ChatMessageAssistant, ChatMessageSystem,
    ChatMessageUser, ContentReasoning, ContentText, ModelOutput, get_model)
from inspect_ai.tool import ToolCall, ToolError, tool

@tool
def add():
    async def execute(x: int, y: int):
        '''Add.

        Args:
          x: one
          y: other
        '''
        if x == 99:
            raise ToolError("no 99")
        return str(x + y)
    return execute

def outputs():
    call = ToolCall(id="c1", function="add", arguments={"x": 1, "y": 2})
    content = [ContentReasoning(reasoning="I think."), ContentText(text="I add.")]
    message = ChatMessageAssistant(content=content, tool_calls=[call], source="generate")
    yield ModelOutput(model="mockllm/model", choices=[ChatCompletionChoice(message=message)])
    yield ModelOutput.for_tool_call("mockllm/model", "add", {"x": 99, "y": 0})
    yield ModelOutput.from_content("mockllm/model", "word " * 100)
    yield ModelOutput.for_tool_call("mockllm/model", "submit", {"answer": "3"})

given = [ChatMessageSystem(content="Be good."), ChatMessageUser(content="Add 1 and 2.")]
task = Task(
    dataset=[
        Sample(id="one", input=given),
        Sample(id=2, input="And now?"),
    ],
    solver=react(prompt="You are an agent.", tools=[add()]),
    epochs=2,
)
for format in ("eval", "json"):
    said = [output for _ in range(4) for output in outputs()]
    model = get_model("mockllm/model", custom_outputs=said)
    where = {"log_dir": sys.argv[1], "log_format": format}
    (log,) = eval(task, model=model, display="none", max_samples=1, **where)
    assert log.status == "success", log.error
    sample = log.samples[0]
    place = next(i for i, e in enumerate(sample.events) if e.event == "model") + 1
    sample.events.insert(place, CompactionEvent(type="summary", tokens_before=9, tokens_after=3,
        metadata={"trigger": "threshold"}, timestamp=datetime.now(timezone.utc)))
    sample.messages.append(ChatMessageUser(content="[SUMMARY]", metadata={"summary": True}))
    write_eval_log(log, f"{sys.argv[1]}/compacted.{format}", format)
"""

READ = """
import json, sys
from inspect_ai.log import read_eval_log, read_eval_log_sample, read_eval_log_sample_summaries
log = read_eval_log(sys.argv[1])
(sample,) = log.samples
assert read_eval_log_sample(sys.argv[1], id=sample.id, epoch=1).messages == sample.messages
(summary,) = read_eval_log_sample_summaries(sys.argv[1])
print(json.dumps({
    "status": log.status, "model": log.eval.model, "count": summary.message_count,
    "messages": [[m.role, m.source, m.text, len(getattr(m, "tool_calls", None) or [])]
        for m in sample.messages],
    "events": [[e.event, e.type, e.tokens_before] for e in sample.events],
    "abandoned": len(sample.metadata["contextecho"]["abandoned"]),
}))
"""


def python(program: str, *words: object) -> str:
    command = [sys.executable, "-c", program, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    python(RUN, folder)
    return folder


@pytest.mark.parametrize("format", ["eval", "json"])
def test_logs_of_the_library_are_read_as_they_were_run(logs: Path, format: str) -> None:
    (path,) = (p for p in logs.glob(f"*.{format}") if p.stem != "compacted")
    assert sorted(map(str, members_of(path))) == ["2/1", "2/2", "one/1", "one/2"]
    session = read_session(f"{path}#one/1")
    # The four outputs above; a call of `submit` ends the loop and becomes text.
    assert (session.prompts, session.steps, session.models) == (1, 4, ("mockllm/model",))
    assert session.system is not None
    assert session.system.startswith("You are an agent.")
    assert session.system.endswith("Be good.")
    kinds = Counter((turn.kind.value, turn.speaker.value) for turn in session.turns)
    assert kinds == {
        ("user", "human"): 1,
        ("user", "harness"): 1,
        ("thinking", "model"): 1,
        ("assistant", "model"): 4,
        ("tool_call", "model"): 2,
        ("tool_result", "tool"): 2,
    }
    assert session.text(session.turns[0]) == "Add 1 and 2."
    error = next(turn for turn in session.turns if turn.is_error)
    assert session.text(error) == "no 99"
    assert all(turn.time for turn in session.turns if turn.kind is not Kind.USER)
    assert session.skipped == ()


@pytest.mark.parametrize("format", ["eval", "json"])
def test_a_compaction_of_the_library_is_found(logs: Path, format: str) -> None:
    path = logs / f"compacted.{format}"
    session = read_session(f"{path}#{members_of(path)[0]}")
    (compaction,) = session.compactions
    assert (compaction.kind, compaction.tokens_before) == (CompactionKind.FULL, 9)
    assert compaction.summary == len(session.turns) - 1


@pytest.mark.parametrize("name", ["session.eval", "session.json"])
def test_the_library_opens_what_convert_writes(tmp_path: Path, name: str) -> None:
    session = read_session(example_session())
    found = json.loads(python(READ, convert_session(session, tmp_path / name, to="inspect")))
    assert (found["status"], found["model"]) == ("success", session.models[0])
    roles = Counter(role for role, *_ in found["messages"])
    assert roles["assistant"] == session.steps
    assert roles["tool"] == sum(turn.kind is Kind.TOOL_RESULT for turn in session.turns)
    calls = sum(calls for *_, calls in found["messages"])
    assert calls == sum(turn.kind is Kind.TOOL_CALL for turn in session.turns)
    typed = [
        text for role, source, text, _ in found["messages"] if (role, source) == ("user", "input")
    ]
    humans = [turn for turn in session.turns if turn.speaker == "human"]
    assert typed == [session.text(turn) for turn in humans]
    assert found["count"] == len(found["messages"])
    assert len(found["events"]) == len(session.compactions)
