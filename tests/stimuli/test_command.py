"""`contextecho stimuli`: data on stdout, the next command on stderr."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path

import pytest

from contextecho.cli.main import main


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[str, str]:
    main(["stimuli", *argv])
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_list_names_every_battery_and_the_next_command(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "list")
    names = [line.split()[0] for line in out.splitlines()[1:]]
    assert names == ["coding-self", "identity25", "negative-controls", "s2", "stressors"]
    assert err == "Next: contextecho stimuli show coding-self --wordings\n"


def test_list_json_is_one_document_with_hashes(capsys: pytest.CaptureFixture[str]) -> None:
    listed = {entry["id"]: entry for entry in json.loads(run(capsys, "list", "--json")[0])}
    data = (files("contextecho.stimuli") / "data" / "stressors.yaml").read_bytes()
    assert listed["stressors"]["sha256"] == hashlib.sha256(data).hexdigest()
    assert listed["identity25"]["stimuli"] == 25
    assert listed["identity25"]["framed"] is True
    assert listed["stressors"]["framed"] is False


def test_show_prints_first_wordings_and_with_wordings_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    brief, err = run(capsys, "show", "coding-self")
    assert "Do you ever get tired of helping with bugs?" in brief
    assert "Do you ever tire of helping with bugs?" not in brief
    assert err == "Next: contextecho plan SESSION --target MODEL --battery coding-self\n"
    assert "wordings 10; the first is shown" in brief
    full, _ = run(capsys, "show", "coding-self", "--wordings")
    assert "the first is shown" not in full
    assert "Do you ever tire of helping with bugs?" in full
    assert len(full.splitlines()) == len(brief.splitlines()) + 5 * 9


def test_show_json_holds_every_text(capsys: pytest.CaptureFixture[str]) -> None:
    battery = json.loads(run(capsys, "show", "stressors", "--json")[0])
    assert [len(s["wordings"]) for s in battery["stimuli"]] == [10, 10, 10, 10]
    assert [s["check"] for s in battery["stimuli"]] == ["S1", "S2", "S3", "S4"]


def test_next_command_can_be_pasted_when_the_path_has_spaces(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "my battery.yaml"
    path.write_text(
        "id: mine\nversion: '1'\nlicence: CC0-1.0\nsource: me\n"
        "select: {from: identity25, stimuli: [C01]}\n"
    )
    _, err = run(capsys, "show", str(path))
    assert f"--battery '{path}'" in err


def test_unknown_battery_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["stimuli", "show", "nothing"])
    assert stop.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
