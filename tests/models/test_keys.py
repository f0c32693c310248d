"""Where keys come from, and where nothing of them goes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contextecho.errors import ProviderError, UsageError
from contextecho.models import find_provider, open_model, place_of_key
from contextecho.models.keys import read_key

OPENAI = find_provider("openai/gpt-4.1")
GOOGLE = find_provider("google/gemini-2.5-pro")


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory of our own, and no key in the environment."""
    monkeypatch.chdir(tmp_path)
    for variable in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


def write(text: str) -> None:
    Path(".env").write_text(text, encoding="utf-8")


def test_a_key_stands_in_the_working_directorys_env_file() -> None:
    write("# ours\nexport OPENAI_API_KEY='sk-file'  # quoted\nOTHER=1\n")
    assert read_key(OPENAI, None, needed=True) == "sk-file"
    assert place_of_key(OPENAI) == "OPENAI_API_KEY in .env"


def test_the_environment_comes_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write("GEMINI_API_KEY=sk-file")
    monkeypatch.setenv("GOOGLE_API_KEY", "sk-environment")  # the second name of the two
    assert read_key(GOOGLE, None, needed=True) == "sk-environment"
    assert place_of_key(GOOGLE) == "GOOGLE_API_KEY"


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    write("OPENAI_API_KEY=sk-file")
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    assert read_key(OPENAI, None, needed=True) == "sk-file"


def test_a_key_is_taken_as_it_is_written() -> None:
    write("OPENAI_API_KEY=sk-${HOME}-$HOME")
    assert read_key(OPENAI, None, needed=True) == "sk-${HOME}-$HOME"


def test_the_named_variable_is_looked_for_in_the_file_too() -> None:
    write("OPENAI_API_KEY=sk-one\nMINE=sk-two")
    assert read_key(OPENAI, "MINE", needed=True) == "sk-two"


def test_nothing_of_the_file_enters_the_environment() -> None:
    write("OPENAI_API_KEY=sk-file\nUNASKED=sk-other")
    before = dict(os.environ)
    assert open_model("openai/gpt-4.1").id == "openai/gpt-4.1"
    assert dict(os.environ) == before
    child = subprocess.run(
        [sys.executable, "-c", "import os; print(sorted(os.environ))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "OPENAI_API_KEY" not in child.stdout


def test_an_address_is_never_taken_from_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    write("AZURE_OPENAI_ENDPOINT=https://elsewhere.example\nAZURE_OPENAI_API_KEY=sk-file")
    with pytest.raises(UsageError, match="AZURE_OPENAI_ENDPOINT"):
        open_model("azure/gpt-4.1")


def test_a_missing_key_is_asked_for_by_name_and_place() -> None:
    with pytest.raises(ProviderError, match=r"OPENAI_API_KEY, or write it into \.env"):
        open_model("openai/gpt-4.1")


@pytest.mark.parametrize("kept", [b"OPENAI_API_KEY=sk-\xff", b"\xff\xfeO\x00"])
def test_a_file_that_is_no_text_is_refused_unseen(kept: bytes) -> None:
    Path(".env").write_bytes(kept)
    with pytest.raises(UsageError) as caught:
        open_model("openai/gpt-4.1")
    assert "not UTF-8" in str(caught.value)
    assert "sk-" not in str(caught.value)


def test_a_file_that_may_not_be_read_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    write("OPENAI_API_KEY=sk-file")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("dotenv.main.open", refuse, raising=False)
    with pytest.raises(UsageError, match="Permission denied"):
        open_model("openai/gpt-4.1")


def test_a_key_of_several_lines_is_refused_unseen() -> None:
    write('OPENAI_API_KEY="sk-one\nsk-two"')
    with pytest.raises(ProviderError) as caught:
        open_model("openai/gpt-4.1")
    assert "OPENAI_API_KEY in .env" in str(caught.value)
    assert "sk-" not in str(caught.value)


def test_without_a_file_its_reader_is_not_loaded() -> None:
    check = (
        "import sys; from contextecho.models import find_provider, place_of_key;"
        "print(place_of_key(find_provider('openai/x')), 'dotenv' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["None", "False"]
