"""Loading: a valid file is taken as it stands; anything else is one line naming file and key."""

from __future__ import annotations

import hashlib
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from contextecho.errors import DataError
from contextecho.stimuli import Battery, StimulusKind, load_battery
from contextecho.stimuli.source import parse_source

DATA = files("contextecho.stimuli") / "data"


def battery_file(folder: Path, **changes: Any) -> Path:
    """A small valid battery of the user's own, with some keys changed or (None) left out."""
    content: dict[str, Any] = {
        "id": "mine",
        "version": "1",
        "licence": "CC0-1.0",
        "source": "me",
        "kind": "probe",
        "stimuli": [
            {"id": "A1", "category": "taste", "wordings": ["Tea?", "Is it tea?"]},
            {"id": "A2", "category": "taste", "wordings": ["Rain?", "Is it rain?"]},
        ],
    }
    content.update(changes)
    kept = {key: value for key, value in content.items() if value is not None}
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(kept, allow_unicode=True))
    return path


def refusal(path: Path | str) -> str:
    with pytest.raises(DataError) as caught:
        load_battery(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_users_file_is_taken_by_path(tmp_path: Path) -> None:
    battery = load_battery(battery_file(tmp_path, framing="One thing:"))
    assert [s.id for s in battery.stimuli] == ["A1", "A2"]
    assert battery.stimuli[0].kind is StimulusKind.PROBE
    assert battery.ask(battery.stimuli[0], 1) == "One thing:\n\nIs it tea?"


def test_a_refusal_names_a_file_on_this_machine_that_shows_the_form(tmp_path: Path) -> None:
    said = refusal(battery_file(tmp_path, licence=None))
    shown = said.rpartition("compare with the bundled ")[2].removesuffix(")")
    assert parse_source(Path(shown).read_bytes(), shown).stimuli


def test_a_battery_without_framing_asks_the_bare_wording(tmp_path: Path) -> None:
    battery = load_battery(battery_file(tmp_path))
    assert battery.ask(battery.stimuli[1], 0) == "Rain?"


def test_hash_of_a_file_that_takes_from_none_is_that_of_its_bytes(tmp_path: Path) -> None:
    path = battery_file(tmp_path)
    assert load_battery(path).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    bundled = (DATA / "identity25.yaml").read_bytes()
    assert load_battery("identity25").sha256 == hashlib.sha256(bundled).hexdigest()


def test_hash_of_a_file_that_takes_texts_covers_those_texts() -> None:
    both = (DATA / "coding-self.yaml").read_bytes() + (DATA / "identity25.yaml").read_bytes()
    assert load_battery("coding-self").sha256 == hashlib.sha256(both).hexdigest()


def test_a_users_file_may_select_probes_and_leave_out_the_framing(tmp_path: Path) -> None:
    chosen = {"from": "identity25", "stimuli": ["R03", "C01"]}
    bare = load_battery(battery_file(tmp_path, kind=None, stimuli=None, select=chosen))
    assert [s.id for s in bare.stimuli] == ["R03", "C01"]
    assert bare.framing is None


def test_a_path_object_is_a_path_even_if_a_battery_has_its_name(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "identity25")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"id": "coding-self"}, "bundled battery"),
        ({"id": "a|b"}, "$.id"),
        ({"version": 1}, "$.version"),
        ({"licence": None}, "licence"),
        ({"kind": "riddle"}, "$.kind"),
        ({"kind": None}, "`kind`"),
        ({"wordings": 10}, "wordings"),
        ({"framing": "\x1b[31mred"}, "$.framing"),
        ({"framing": {"from": "stressors"}}, "framing"),
        ({"framing": {"from": "nowhere"}}, 'no bundled battery "nowhere"'),
        ({"select": {"from": "identity25", "stimuli": ["C01"]}}, "either `stimuli` or `select`"),
        ({"stimuli": None}, "either `stimuli` or `select`"),
        ({"stimuli": [{"id": "A", "category": "c", "wordings": []}]}, "$.stimuli[0].wordings"),
        ({"stimuli": [{"id": "A", "category": "c", "wordings": [" a"]}]}, "wordings[0]"),
        ({"stimuli": [{"id": "A", "category": "c", "wordings": ["a\nb"]}]}, "wordings[0]"),
        ({"stimuli": [{"id": "A", "category": "c", "wordings": ["a", True]}]}, "wordings[1]"),
        (
            {"stimuli": [{"id": "A", "category": "c", "wordings": ["a"], "check": "S1"}]},
            "no stressor",
        ),
        (
            {
                "kind": "stressor",
                "stimuli": [{"id": "A", "category": "c", "wordings": ["a"], "check": "S9"}],
            },
            "$.stimuli[0].check`, use S1, S2, S3, S4",
        ),
        ({"kind": "quiz"}, "$.kind`, use probe, stressor, negative_control"),
        (
            {"stimuli": [{"id": "A", "category": "c", "wordings": ["Who?", "who"]}]},
            '"who" stands twice',
        ),
        (
            {
                "stimuli": [
                    {"id": "A", "category": "c", "wordings": ["a"]},
                    {"id": "A", "category": "c", "wordings": ["b"]},
                ]
            },
            'id "A" stands twice',
        ),
        (
            {
                "stimuli": [
                    {"id": "A", "category": "c", "wordings": ["a", "b"]},
                    {"id": "B", "category": "c", "wordings": ["d"]},
                ]
            },
            "B has 1 wordings, A has 2",
        ),
    ],
)
def test_an_invalid_file_is_refused_by_name_and_key(
    tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    path = battery_file(tmp_path, **changes)
    message = refusal(path)
    assert message.startswith(f"{path}: ")
    assert says in message


def test_a_selection_of_an_unknown_stimulus_is_refused(tmp_path: Path) -> None:
    chosen = {"from": "identity25", "stimuli": ["C01", "Z99"]}
    path = battery_file(tmp_path, kind=None, stimuli=None, select=chosen)
    assert 'no stimulus "Z99" in "identity25"' in refusal(path)


def test_an_unknown_name_lists_the_known_ones() -> None:
    message = refusal("identity-25")
    assert "coding-self, identity25, negative-controls, s2, stressors" in message


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is not a battery"),
        (b"\x00\xff\x00\xff", "not UTF-8"),
        (b"id: [unclosed", "not YAML at line 1"),
        (b"id: a\nversion: b\nid: c\n", "'id' stands twice"),
        (b"- just\n- a list\n", "is not a battery"),
        (b"when: 2024-13-45\n", "not YAML"),
        (b"? [a]\n: b\n", "not YAML"),
        (b"!!python/object/apply:os.system [ls]\n", "not YAML"),
        (b"[\n" * 5000, "not YAML"),
    ],
)
def test_a_file_that_is_no_battery_is_refused_in_one_line(
    tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "odd.yaml"
    path.write_bytes(content)
    assert says in refusal(path)


@pytest.mark.parametrize("key", ["wordings", "answers", "framing"])
def test_half_of_a_character_is_refused_like_a_control_character(tmp_path: Path, key: str) -> None:
    text = battery_file(tmp_path, framing="Half").read_text()
    half = '"Half \\uD800"'
    spelt = {
        "wordings": text.replace("Tea?", half),
        "answers": text.replace("- category", f"- answers: [{half}]\n  category", 1),
        "framing": text.replace("framing: Half", f"framing: {half}"),
    }[key]
    (tmp_path / "mine.yaml").write_text(spelt)
    assert key in refusal(tmp_path / "mine.yaml")


@pytest.mark.parametrize("name", [os.fsdecode(b"caf\xe9.yaml"), "a\u202eb.yaml"])
def test_a_file_name_that_a_plan_cannot_hold_or_show_is_refused(tmp_path: Path, name: str) -> None:
    path = battery_file(tmp_path).rename(tmp_path / name)
    assert "rename it" in refusal(path)


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    assert "no such file" in refusal(str(tmp_path / "absent.yaml"))
    assert "is a directory" in refusal(str(tmp_path))


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_bytes_are_more_than_a_battery_or_a_refusal(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(content)
    refusal(path)


WORDS = st.text("abcdefghijklmnopqrstuvwxyz' ,", min_size=1, max_size=30).map(str.strip)


@given(st.lists(WORDS.filter(lambda w: any(map(str.isalpha, w))), min_size=1, max_size=6))
def test_wordings_arrive_unchanged_or_one_of_them_repeats(
    tmp_path_factory: pytest.TempPathFactory, wordings: list[str]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    path = battery_file(folder, stimuli=[{"id": "A", "category": "c", "wordings": wordings}])
    spoken = ["".join(filter(str.isalpha, wording)) for wording in wordings]
    if len(set(spoken)) == len(spoken):
        battery: Battery = load_battery(path)
        assert list(battery.stimuli[0].wordings) == wordings
    else:
        assert "stands twice" in refusal(path)
