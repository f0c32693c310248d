"""What `reading.py` compares, one contender a process: `reading_contenders.py NAME FILE`.

The one thing to know: each imports only what it needs, because the whole process is
measured. Printed as JSON: what was done, and the seconds that it took without the imports.
"""

# ruff: noqa: PTH123  (pathlib is an import that not all of them need)

from __future__ import annotations

import sys
from time import perf_counter

Done = tuple[str, float]


def loads_list(path: str) -> Done:
    """All records in a list, as a reader without an index must keep them."""
    import json

    began = perf_counter()
    with open(path, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return f"{len(records)} records in a list", perf_counter() - began


def orjson_pass(path: str) -> Done:
    """Every record parsed and let go: the floor for whoever looks at every byte."""
    import orjson

    began = perf_counter()
    with open(path, "rb") as file:
        parsed = sum(orjson.loads(line) is not None for line in file)
    return f"{parsed} records parsed", perf_counter() - began


def typed_pass(path: str) -> Done:
    """Every record decoded as our reader decodes it, and let go: what remains is our own work."""
    from contextecho.sessions.readers.claude_code.records import decode_record

    began = perf_counter()
    with open(path, "rb") as file:
        decoded = sum(decode_record(line) is not None for line in file)
    return f"{decoded} records decoded", perf_counter() - began


def contextecho(path: str) -> Done:
    """Ours: the session indexed, and twelve snapshots under the strict protocol, evenly spaced."""
    from contextecho.contexts import EstimateCounter, find_positions, load_protocol, take_snapshot
    from contextecho.sessions import read_session

    began = perf_counter()
    session = read_session(path)
    protocol, counter = load_protocol("strict"), EstimateCounter()
    snapshots = [
        take_snapshot(session, position, protocol, counter=counter)
        for position in find_positions(session, "even:12")
    ]
    seconds = perf_counter() - began
    chars = sum(snapshot.chars for snapshot in snapshots) // len(snapshots)
    turns = len(session.turns)
    return f"{turns} turns, {len(snapshots)} snapshots of {chars} characters", seconds


CONTENDERS = {
    "json.loads list": loads_list,
    "orjson pass": orjson_pass,
    "typed pass": typed_pass,
    "contextecho": contextecho,
}


if __name__ == "__main__":
    did, seconds = CONTENDERS[sys.argv[1]](sys.argv[2])
    print(f"{seconds} {did}")
