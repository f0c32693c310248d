"""What `contextecho validate` prints."""

from __future__ import annotations

import msgspec
import pytest

from contextecho.cli.main import main


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    main(["validate", "--studies", "20", "--world", "plain", *words])
    return capsys.readouterr().out


def test_the_tables_name_their_studies_and_seed(capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys, "--seed", "5")
    assert shown.startswith("20 simulated studies a setting, seed 5.\n")
    head = next(line for line in shown.splitlines() if line.startswith("| estimator"))
    assert [cell.strip() for cell in head.strip("|").split("|")][:5] == [
        "estimator", "positions", "bias at 0", "covers at 0", "finds at 0",
    ]  # fmt: skip
    widths = {len(line) for line in shown.splitlines() if line.startswith("|")}
    assert len(widths) == 1
    assert "- 12 positions: the default interval covers" in shown


def test_json_has_every_record_and_is_the_same_in_several_processes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one, two = (said(capsys, "--json", "--processes", n) for n in ("1", "2"))
    assert one == two
    document = msgspec.json.decode(one)
    assert (document["seed"], document["studies"]) == (42, 20)
    settings = {(r["gap"], r["clusters"]) for r in document["records"]}
    assert len(settings) == 12
    default = next(r for r in document["records"] if r["estimator"] == "cluster-t")
    assert default["coverage"].keys() == {"value", "error"}
    assert default["truth"] == pytest.approx(0.0, abs=1e-9)


def test_an_unknown_world_is_named_with_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["validate", "--world", "flat"])
    assert stop.value.code == 2
    assert "no world is called 'flat'" in (error := capsys.readouterr().err)
    assert "sampled probes" in error
