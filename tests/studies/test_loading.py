"""Studies as data: the bundled one, and what a wrong file is told."""

from __future__ import annotations

from codecs import BOM_UTF8
from importlib.resources import files
from pathlib import Path

import pytest

from contextecho.contexts import Arm
from contextecho.errors import DataError
from contextecho.stimuli import load_battery
from contextecho.studies import load_study, study_ids

TRAJECTORY = (files("contextecho.studies") / "catalog" / "trajectory.toml").read_text()


def own(tmp_path: Path, *changes: tuple[str, str]) -> str:
    """The bundled study as the user's own file, with changes."""
    text = TRAJECTORY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "own.toml"
    path.write_text(text)
    return str(path)


def test_trajectory_reports_the_gap_of_definition_1_and_the_anchors_effect() -> None:
    study = load_study("trajectory")
    contrasts = {c.id: (c.minus_from, c.minus) for c in study.contrasts}
    assert contrasts["gap"] == (Arm.CONTROL, Arm.SESSION)
    assert contrasts["restoration"] == (Arm.SESSION_ANCHOR, Arm.SESSION)
    assert contrasts["distance-from-scratch"] == (Arm.SCRATCH, Arm.SESSION)
    assert (study.protocol, study.anchor, study.paraphrases) == ("strict", "A", 10)
    assert "trajectory" in study_ids()


def test_a_users_file_is_a_study(tmp_path: Path) -> None:
    path = own(tmp_path, ('id = "trajectory"', 'id = "mine"'))
    assert load_study(path).id == "mine"


def test_a_byte_order_mark_costs_nothing(tmp_path: Path) -> None:
    path = Path(own(tmp_path))
    path.write_bytes(BOM_UTF8 + path.read_bytes())
    assert load_study(str(path)) == load_study("trajectory")


def test_battery_files_are_looked_for_beside_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent = "version: '1'\nlicence: CC0-1.0\nsource: me\n"
    lent += "select: {from: identity25, stimuli: [C01]}\n"
    (tmp_path / "mine.yaml").write_text("id: mine\n" + lent)
    path = own(
        tmp_path,
        ('batteries = ["coding-self"]', 'batteries = ["mine.yaml", "coding-self"]'),
        ('negative_controls = "negative-controls"', 'negative_controls = "mine.yaml"'),
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    study = load_study(path)
    assert study.batteries == (str(tmp_path / "mine.yaml"), "coding-self")
    assert study.negative_controls == str(tmp_path / "mine.yaml")
    assert load_battery(study.batteries[0]).id == "mine"
    (tmp_path / "own.toml").rename(tmp_path / "elsewhere" / "own.toml")
    assert load_study("own.toml").batteries == ("mine.yaml", "coding-self")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("paraphrases = 10", 'paraphrases = "ten"', r"\$\.paraphrases"),
        ("paraphrases = 10", "paraphrases = 0", "`paraphrases` is 0"),
        ("paraphrases = 10", "paraphrase = 10", "unknown keys: paraphrase"),
        ("replicates = 1\n", "", "replicates"),
        ('"scratch", ', "", "contrasts.distance-from-scratch needs arm scratch"),
        ('"scratch", ', '"floor", ', r"\$\.arms"),
        ('anchor = "A"', "", "`anchor` is missing"),
        ('anchor = "A"', 'anchor = "Z"', '`anchor` is "Z"'),
        ('protocol = "strict"', 'protocol = "loose"', '`protocol` is "loose"'),
        ('anchor_placement = "user"', 'anchor_placement = "top"', r"\$\.anchor_placement"),
        ('minus_from = "control"', 'minus_from = "session"', "contrasts.gap takes arm session"),
        ('id = "restoration"', 'id = "gap"', '`contrasts.id` is "gap" more than once'),
        ('id = "gap"', 'id = "gap"\nsign = 1', "unknown keys: contrasts.sign"),
        ('id = "trajectory"', "id = trajectory", "cannot be read as TOML"),
    ],
)
def test_a_wrong_key_is_one_line_with_file_and_key(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    path = own(tmp_path, (old, new))
    with pytest.raises(DataError, match=said) as refused:
        load_study(path)
    assert str(refused.value).startswith(path)
    assert "\n" not in str(refused.value)


def test_a_study_that_does_not_exist_names_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="studies list"):
        load_study("onset-sweep")
    with pytest.raises(DataError, match="there is no study"):
        load_study(str(tmp_path / "missing.toml"))
    (tmp_path / "binary.toml").write_bytes(b"\xff\x00")
    with pytest.raises(DataError, match="cannot be read as TOML"):
        load_study(str(tmp_path / "binary.toml"))


def test_a_refusal_names_a_file_on_this_machine_that_shows_the_form(tmp_path: Path) -> None:
    with pytest.raises(DataError) as refused:
        load_study(own(tmp_path, ("replicates = 1", "replicates = 0")))
    shown = str(refused.value).rpartition("compare with the bundled ")[2].removesuffix(")")
    assert load_study(shown).id == "trajectory"
