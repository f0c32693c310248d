"""What claude-code-log makes of files: run by a Python that has it, for `agreement.py`.

One JSON line for each path given. Counted are its entries after its own removal of duplicates,
sub-agents' left out; the token sums are its own.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path

from claude_code_log.converter import (
    compute_project_aggregates,
    deduplicate_messages,
    load_transcript,
)

SUMS = ("input", "output", "cache_creation", "cache_read")


def main() -> None:
    for path in map(Path, sys.argv[1:]):
        with contextlib.redirect_stdout(io.StringIO()):
            entries = deduplicate_messages(load_transcript(path, silent=True))
        entries = [entry for entry in entries if not getattr(entry, "isSidechain", False)]
        said = [entry.message.id for entry in entries if entry.type == "assistant"]
        totals = compute_project_aggregates(entries)
        sums = {name: totals[f"total_{name}_tokens"] for name in SUMS}
        print(json.dumps({"messages": len(set(said)), **sums}))


if __name__ == "__main__":
    main()
