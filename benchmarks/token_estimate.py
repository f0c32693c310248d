"""Fit and check the offline token estimate against the o200k tokenizer (dev-only `rs_bpe`).

    python benchmarks/token_estimate.py FILE...           errors per file and 30,000-character block
    python benchmarks/token_estimate.py --fit FILE...     tokens per character by kind
    python benchmarks/token_estimate.py --build           write data/vocabulary.bin to stdout

FILEs are session files (JSONL: the texts of their messages are taken) or plain
prose. Each file weighs the same in the fit, so that no long session decides alone.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

from rs_bpe.bpe import openai

from contextecho.contexts import EstimateCounter
from contextecho.contexts.tokens import PIECE, piece_kind
from contextecho.contexts.vocabulary import build_filter, is_one_token

BPE = openai.o200k_base()
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


def fit(documents: list[str]) -> dict[str, float]:
    """Tokens per character by kind, over the longer pieces that are no single token."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for document in documents:
        for piece in PIECE.findall(document):
            kind = piece_kind(piece)
            word = kind in ("letters", "capitals")
            if piece[0].isdigit() or is_one_token(piece) or (word and len(piece) < 10):
                continue
            sums[kind][0] += len(piece) / len(document)
            sums[kind][1] += BPE.count(piece) / len(document)
    return {kind: round(tokens / chars, 3) for kind, (chars, tokens) in sorted(sums.items())}


def single_tokens() -> Iterator[str]:
    """The pieces that o200k holds as one token (its ordinary tokens are 0..199997)."""
    for token in range(199_998):
        piece = BPE.decode([token])
        if piece and PIECE.fullmatch(piece):
            yield piece


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
    paths = [Path(a) for a in arguments if not a.startswith("--")]
    documents = ["\n".join(texts(path)) for path in paths]
    if "--build" in arguments:
        sys.stdout.buffer.write(build_filter(single_tokens()))
    elif "--fit" in arguments:
        for kind, cost in fit(documents).items():
            print(f"  {kind}: {cost}")
    else:
        check([path.name for path in paths], documents)


if __name__ == "__main__":
    main(sys.argv[1:])
