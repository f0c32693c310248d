"""`make bench`: every benchmark against its peer or floor, one after the other.

Each prints ratios and what they were measured on. The token estimate is a study of its own
(`token_estimate.py`), run by hand; so is the validation of the statistics (`contextecho validate`).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARKS = ("reading.py", "listing.py", "collecting.py", "prefix_economy.py", "local_forks.py")


def main() -> int:
    """Run all; the exit code says whether one failed or missed its target."""
    failed = []
    for name in BENCHMARKS:
        print(f"\n== {name}", flush=True)
        script = Path(__file__).with_name(name)
        if subprocess.run([sys.executable, str(script)], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"\nmissed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
