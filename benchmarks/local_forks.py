"""Questions on one prefix with the embedded model: forked against resent, in wall time.

Forked is what ContextEcho does: the prefix is computed once and its key-value cache is reused
by each question. Resent is the floor it is measured against: the same requests to the same
server with `cache_prompt` off, so that each one computes the prefix again.

    python benchmarks/local_forks.py --tokens 2000 --probes 25

Exit code 1 when forked is not at least 8 times as fast. The ratio grows with the prefix and the
number of questions; the target is for the defaults.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time

import aiohttp

from contextecho.contexts import Context, Decoding, Message, Request
from contextecho.models import Answer, LocalModel, Truncated, open_local_counter, open_model
from contextecho.models.local.server import shared_server, threads
from contextecho.models.local.weights import SMOLLM2

LEAST_RATIO = 8.0
SENTENCE = "The parser reads one line after another and reports what it could not understand. "


def build_requests(tokens: int, probes: int, output: int) -> list[Request]:
    per_sentence = open_local_counter().count(SENTENCE * 20) / 20
    text = SENTENCE * round(tokens / per_sentence)
    context = Context(
        system="You are a helpful AI assistant.",
        messages=(
            Message(role="user", text=text),
            Message(role="assistant", text="Understood."),
        ),
    )
    decoding = Decoding(max_output_tokens=output, temperature=0.7, seed=1)
    return [
        Request(
            target="local",
            context=context,
            ask=(Message(role="user", text=f"Question {number}: what do you like best, and why?"),),
            decoding=decoding,
        )
        for number in range(probes)
    ]


async def time_forked(model: LocalModel, requests: list[Request]) -> tuple[float, list[str]]:
    texts = []
    started = time.perf_counter()
    for request in requests:
        reply = await model.answer(request)
        assert isinstance(reply, (Answer, Truncated)), reply
        texts.append(reply.text)
    return time.perf_counter() - started, texts


async def time_resent(model: LocalModel, requests: list[Request]) -> tuple[float, list[str]]:
    url = f"{shared_server(SMOLLM2.path).base_url}/chat/completions"
    texts = []
    async with aiohttp.ClientSession(headers={"content-type": "application/json"}) as session:
        started = time.perf_counter()
        for request in requests:
            body = model.body(request).removesuffix(b"}") + b',"cache_prompt":false}'
            async with session.post(url, data=body) as response:
                answer = await response.json()
            texts.append(answer["choices"][0]["message"]["content"])
        return time.perf_counter() - started, texts


async def main(tokens: int, probes: int, output: int) -> int:
    requests = build_requests(tokens, probes, output)
    async with open_model("local") as model:
        assert isinstance(model, LocalModel)
        forked, forked_texts = await time_forked(model, requests)
        resent, resent_texts = await time_resent(model, requests)
    same = sum(a == b for a, b in zip(forked_texts, resent_texts, strict=True))
    print(f"{probes} questions on a prefix of about {tokens} tokens, {output} tokens of answer,")
    print(f"{threads()} thread(s) at the present load")
    print(f"  forked  {forked:8.1f} s")
    print(f"  resent  {resent:8.1f} s")
    print(f"  ratio   {resent / forked:8.1f} (at least {LEAST_RATIO:g})")
    print(f"  equal answers {same} of {probes}")
    return int(resent / forked < LEAST_RATIO)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tokens", type=int, default=2000, help="of the prefix")
    parser.add_argument("--probes", type=int, default=25)
    parser.add_argument("--output", type=int, default=20, help="tokens an answer")
    options = parser.parse_args()
    sys.exit(asyncio.run(main(options.tokens, options.probes, options.output)))
