"""Fit and check the offline token estimate against the o200k tokenizer (dev-only `rs_bpe`).

    python benchmarks/token_estimate.py FILE...           errors per file and 30,000-character block
    python benchmarks/token_estimate.py --fit FILE...     print data/token_costs.yaml

FILEs are session files (JSONL: the texts of their messages are taken) or plain
prose. Each file weighs the same in the fit, so that one long session does not
decide what a path costs.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import Any

from rs_bpe.bpe import openai

from contextecho.contexts import EstimateCounter
from contextecho.contexts.tokens import PIECE, piece_kind

BPE = openai.o200k_base()
ROW = 16  # lengths told apart
BLOCK = 30_000


def block_text(block: dict[str, Any]) -> str:
    if block.get("type") == "tool_use":
        return json.dumps(block.get("input"), ensure_ascii=False)
    content = block.get("text") or block.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content if isinstance(part, dict))


def texts(path: Path) -> Iterator[str]:
    if path.suffix != ".jsonl":
        yield path.read_text(encoding="utf-8")
        return
    for line in path.read_bytes().split(b"\n"):
        try:
            content = json.loads(line)["message"]["content"]
        except (ValueError, KeyError, TypeError):
            continue
        blocks = content if isinstance(content, list) else [{"text": content}]
        yield from (block_text(b) for b in blocks if isinstance(b, dict))


def fit(documents: list[str]) -> dict[str, list[float]]:
    sums: dict[tuple[str, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for document in documents:
        weight = 1 / len(document)
        for piece in PIECE.findall(document):
            kind = piece_kind(piece)
            if kind:
                entry = sums[kind, min(len(piece), ROW)]
                entry[0] += weight
                entry[1] += weight * BPE.count(piece)
            else:
                for char, run in groupby(piece):
                    length = len(list(run))
                    key = "repeat" if length > 3 else "letter" if char.isalpha() else "symbol"
                    entry = sums[key, 1]
                    entry[0] += weight * length
                    entry[1] += weight * BPE.count(char * length)
    table: dict[str, list[float]] = defaultdict(list)
    for kind, length in sorted(sums):
        row = table[kind]
        row += [row[-1] if row else 1.0] * (length - 1 - len(row))
        weight, tokens = sums[kind, length]
        row.append(round(tokens / weight, 2))
    return dict(table)


def check(names: list[str], documents: list[str]) -> None:
    counter = EstimateCounter()
    counter.count("".join(documents))
    for name, document in zip(names, documents, strict=True):
        blocks = [document[i : i + BLOCK] for i in range(0, len(document), BLOCK)]
        ratios = [counter.count(b) / BPE.count(b) for b in blocks if len(b) > BLOCK // 2]
        ratios = ratios or [counter.count(document) / BPE.count(document)]
        print(
            f"{name[:44]:44} {len(document):>8} chars  mean {mean(ratios) - 1:+.1%}"
            f"  worst block {max(ratios, key=lambda r: abs(r - 1)) - 1:+.1%}"
        )
    block = max(documents, key=len)[:BLOCK]
    start = time.perf_counter()
    for _ in range(20):
        counter.count(block)
    print(f"{(time.perf_counter() - start) / 20 * 1000:.2f} ms for {len(block)} characters")


def main(arguments: list[str]) -> None:
    paths = [Path(a) for a in arguments if a != "--fit"]
    documents = ["\n".join(texts(path)) for path in paths]
    if "--fit" in arguments:
        for kind, row in fit(documents).items():
            print(f"  {kind}: {row}")
    else:
        check([path.name for path in paths], documents)


if __name__ == "__main__":
    main(sys.argv[1:])
