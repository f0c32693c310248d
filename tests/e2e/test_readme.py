"""The README's Python example, run as it stands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from conftest import REPOSITORY
from contextecho.sessions import example_session


def test_the_python_example_runs_as_it_stands(tmp_path: Path) -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert len(example.splitlines()) <= 12
    shutil.copy(example_session(), tmp_path / "session.jsonl")
    environment = {"PATH": os.defpath, "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line for line in done.stdout.splitlines() if line.startswith("register ")]
    assert lines, done.stdout
    estimate = float(lines[0].split()[1])
    assert 0.5 < estimate < 1.1  # the example plants a gap of 0.8
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert (tmp_path / "audit").is_dir()
