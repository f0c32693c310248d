"""The reply key: what enters it, and that it does not move."""

from __future__ import annotations

import hashlib
import json

from contextecho.contexts import Context, Decoding, Message, Request


def _request(**more: object) -> Request:
    return Request(
        target="openai/gpt-4.1",
        context=Context(system="Be plain.", messages=(Message(role="user", text="Hi."),)),
        ask=(Message(role="user", text="Why?"),),
        decoding=Decoding(max_output_tokens=600, temperature=0.7, seed=42),
        sample=1,
        **more,
    )


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def test_the_key_is_the_hash_of_canonical_json_and_stays_what_stores_hold() -> None:
    user = [{"role": "user", "text": "Hi."}]
    prefix = _canonical({"system": "Be plain.", "messages": user, "tools": []})
    decoding = {"max_output_tokens": 600, "temperature": 0.7, "top_p": None, "seed": 42}
    identity = {
        "target": "openai/gpt-4.1",
        "context": hashlib.sha256(prefix).hexdigest(),
        "ask": [{"role": "user", "text": "Why?"}],
        "decoding": decoding,
        "sample": 1,
        "serving": "",
    }
    assert _request().key == hashlib.sha256(_canonical(identity)).hexdigest()
    assert _request().key == "f28984d6e2f38087daadfd6593c611b5a9c13b25ecf2f29141eccf47dab99de2"


def test_a_schema_enters_the_key_with_the_order_of_its_keys() -> None:
    first = {"properties": {"reason": {}, "score": {}}}
    other = {"properties": {"score": {}, "reason": {}}}
    keys = {_request(schema=schema).key for schema in (None, first, other)}
    assert len(keys) == 3
