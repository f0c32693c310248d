"""The fault drill, small: `make drill` is the same with 20,000 cells and ten kills."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DRILL = Path(__file__).parents[2] / "benchmarks" / "drill.py"


@pytest.mark.slow
def test_a_store_filled_under_faults_and_kills_equals_a_calm_one():
    words = ("--cells", "600", "--kills", "2", "--seed", "3")
    done = subprocess.run(
        [sys.executable, str(DRILL), *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = dict(re.findall(r"^  (\S.*?)  +(.*)$", done.stdout, flags=re.MULTILINE))
    assert (told["kills"], told["replies lost"], told["replies duplicated"]) == ("2", "0", "0")
    assert told["store equal"] == "yes"
    assert told["faults"].count(",") >= 3  # it was no calm day
