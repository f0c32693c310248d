"""Record the bundled example session: run the script's tools for real, write Claude Code rows.

    python examples/scripted_agent/record.py OUTPUT.jsonl

The script (`script.yaml`) is data; this program builds the toy repository it
names in a temporary folder, runs every tool call there, and writes what a
Claude Code session file would hold: one row per content block, tool results as
user rows, compaction boundaries and summaries. Times, ids and commits are
fixed, so a second recording gives the same bytes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
HOME = "/home/dev/tidebook"  # what the session calls the repository
SESSION = "5e55101e-0000-4000-8000-00000000tide".replace("tide", "71de")
VERSION = "2.1.40"
MODEL = "scripted-agent-1"
START = datetime(2026, 9, 14, 8, 30, tzinfo=UTC)
GIT = {
    "GIT_AUTHOR_NAME": "Dev",
    "GIT_AUTHOR_EMAIL": "dev@example.invalid",
    "GIT_COMMITTER_NAME": "Dev",
    "GIT_COMMITTER_EMAIL": "dev@example.invalid",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "PYTHONDONTWRITEBYTECODE": "1",
}


class Toolbox:
    """The tools of the scripted agent; each really acts on the repository."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.commits = 0

    def bash(self, command: str) -> str:
        """Run a shell command in the repository."""
        when = f"{1_789_000_000 + 60 * self.commits} +0000"
        self.commits += "git commit" in command
        run = subprocess.run(
            ["bash", "-c", command],
            cwd=self.root,
            env={**os.environ, **GIT, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when},
            capture_output=True,
            text=True,
            check=False,
        )
        return (run.stdout + run.stderr).replace(str(self.root), HOME).rstrip("\n")

    def read(self, path: str) -> str:
        """The file with numbered lines."""
        lines = (self.root / path).read_text().splitlines()
        return "\n".join(f"{n:5}\t{line}" for n, line in enumerate(lines, 1))

    def write(self, path: str, content: str) -> str:
        """Write a whole file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        return f"Wrote {len(content.splitlines())} lines to {HOME}/{path}."

    def edit(self, path: str, old: str, new: str) -> str:
        """Replace exactly one occurrence; a script that does not fit is an error."""
        file = self.root / path
        text = file.read_text()
        if text.count(old) != 1:
            raise SystemExit(
                f"script.yaml: {path} holds the old text {text.count(old)} times:\n{old}"
            )
        file.write_text(text.replace(old, new))
        return f"Edited {HOME}/{path}."


class Recorder:
    """Writes rows with running ids, parents and times."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.now = START
        self.messages = 0
        self.calls = 0

    def row(self, kind: str, seconds: float, **fields: Any) -> dict[str, Any]:
        """Append one row in the client's envelope."""
        self.now += timedelta(seconds=seconds)
        parent = self.rows[-1]["uuid"] if self.rows else None
        record = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": HOME,
            "sessionId": SESSION,
            "version": VERSION,
            "gitBranch": "main",
            "type": kind,
            **fields,
            "uuid": str(uuid.UUID(int=len(self.rows) + 1, version=4)),
            "timestamp": self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        self.rows.append(record)
        return record

    def human(self, text: str) -> None:
        """A prompt typed by the human."""
        self.row("user", 95, message={"role": "user", "content": text})

    def interrupted(self) -> None:
        """The client's note that the human stopped the agent."""
        note = [{"type": "text", "text": "[Request interrupted by user]"}]
        self.row("user", 20, message={"role": "user", "content": note})

    def assistant(self, blocks: list[dict[str, Any]]) -> None:
        """One message of the agent: one row per content block, all under one message id."""
        self.messages += 1
        for block in blocks:
            message = {
                "id": f"msg_scripted_{self.messages:04}",
                "type": "message",
                "role": "assistant",
                "model": MODEL,
                "content": [block],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 0, "output_tokens": len(str(block)) // 4},
            }
            self.row("assistant", 4, message=message, requestId=f"req_scripted_{self.messages:04}")

    def result(self, call_id: str, text: str) -> None:
        """What a tool answered."""
        block = {"tool_use_id": call_id, "type": "tool_result", "content": text}
        self.row("user", 1, message={"role": "user", "content": [block]})

    def compaction(self, trigger: str, tokens: list[int], summary: str) -> None:
        """A boundary and the summary that replaces what came before."""
        metadata = {"trigger": trigger, "preTokens": tokens[0], "postTokens": tokens[1]}
        boundary = self.row(
            "system",
            30,
            subtype="compact_boundary",
            content="Conversation compacted",
            isMeta=False,
            level="info",
            compactMetadata=metadata,
        )
        boundary["logicalParentUuid"], boundary["parentUuid"] = boundary["parentUuid"], None
        self.row(
            "user",
            1,
            message={"role": "user", "content": summary},
            isCompactSummary=True,
            isVisibleInTranscriptOnly=True,
        )


def tool_call(step: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The Claude Code tool name of a script step and its input."""
    if "bash" in step:
        return "Bash", {"command": step["bash"].rstrip("\n")}
    if "read" in step:
        return "Read", {"file_path": f"{HOME}/{step['read']}"}
    if "write" in step:
        spec = step["write"]
        return "Write", {"file_path": f"{HOME}/{spec['path']}", "content": spec["content"]}
    spec = step["edit"]
    return "Edit", {
        "file_path": f"{HOME}/{spec['path']}",
        "old_string": spec["old"],
        "new_string": spec["new"],
    }


def run_tool(tools: Toolbox, step: Mapping[str, Any]) -> str:
    """Run a script step for real."""
    for name in ("bash", "read"):
        if name in step:
            return str(getattr(tools, name)(step[name]))
    name = "write" if "write" in step else "edit"
    return str(getattr(tools, name)(**step[name]))


def play(task: Mapping[str, Any], tools: Toolbox, recorder: Recorder) -> None:
    """One task: the prompt, every step with its real result, the final answer."""
    if "compact" in task:
        recorder.compaction(task["compact"], task["tokens"], task["summary"].rstrip("\n"))
        return
    if task.get("interrupt"):
        recorder.interrupted()
        return
    recorder.human(task["prompt"])
    for step in task["steps"]:
        recorder.calls += 1
        call_id = f"toolu_scripted_{recorder.calls:04}"
        name, arguments = tool_call(step)
        said = [{"type": "text", "text": step["say"]}] if "say" in step else []
        recorder.assistant(
            [*said, {"type": "tool_use", "id": call_id, "name": name, "input": arguments}]
        )
        recorder.result(call_id, run_tool(tools, step))
    recorder.assistant([{"type": "text", "text": task["final"].rstrip("\n")}])


def toy_repository(root: Path, files: Mapping[str, str]) -> Toolbox:
    """Write the files of the toy repository and commit them."""
    tools = Toolbox(root)
    for path, content in files.items():
        tools.write(path, content)
    tools.bash("git init -q -b main && git add -A && git commit -qm 'Begin tidebook'")
    return tools


def record(script: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All rows of the session."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tidebook"
        root.mkdir()
        tools = toy_repository(root, script["repository"])
        recorder = Recorder()
        for task in script["tasks"]:
            play(task, tools, recorder)
        yield from recorder.rows


def main() -> None:
    """Record the script beside this file into the path named on the command line."""
    output = Path(sys.argv[1])
    script = yaml.safe_load((HERE / "script.yaml").read_text())
    rows = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in record(script)]
    output.write_text("\n".join(rows) + "\n", encoding="utf-8")
    print(f"{len(rows)} rows in {output}", file=sys.stderr)


if __name__ == "__main__":
    main()
