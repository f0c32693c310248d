"""What `contextecho plan` says before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from contextecho.cli.main import main
from contextecho.cli.plan import lines
from contextecho.contexts import Arm
from contextecho.engine import estimate_plan
from contextecho.sessions import example_session
from contextecho.stimuli import Battery, Stimulus, StimulusKind
from contextecho.studies import Plan
from store.plans import make_plan


def said(plan: Plan, head: str) -> str:
    """What the plan's line `head` says."""
    (line,) = [one for one in lines(plan, estimate_plan(plan)) if one.startswith(f"  {head} ")]
    return line[13:]


def battery(name: str, kind: StimulusKind, wordings: Sequence[str]) -> Battery:
    stimulus = Stimulus(id="A", category="c", kind=kind, wordings=tuple(wordings))
    return Battery(
        id=name, version="1", licence="CC0-1.0", source="test", sha256="a" * 64, stimuli=(stimulus,)
    )


def test_each_battery_is_said_with_the_wordings_that_it_has() -> None:
    two = battery("two", StimulusKind.PROBE, ["a?", "b?"])
    one = battery("one", StimulusKind.NEGATIVE_CONTROL, ["c?"])
    made = make_plan(batteries=[two], negative_controls=one)
    ten = msgspec.structs.replace(made.study, paraphrases=10)
    assert said(made, "asked") == "two, one, 1 wording each"
    assert (
        said(msgspec.structs.replace(made, study=ten), "asked")
        == "two (2 wordings), one (1 wording)"
    )


def test_what_counts_as_a_unit_of_a_single_position_is_said() -> None:
    """Positions are the units of the interval, the questions where there is one position."""
    assert said(make_plan(positions=1, probes=5), "detects").endswith(
        "(1 position x 5 pairs, whose questions are the units)"
    )
    assert said(make_plan(positions=2, probes=5), "detects").endswith("(2 positions x 5 pairs)")


def test_a_plan_of_stressors_has_no_register_question() -> None:
    made = make_plan(batteries=[battery("s", StimulusKind.STRESSOR, ["a?"])])
    assert said(made, "detects").startswith("no register question in this plan")


def test_a_plan_without_a_contrast_detects_nothing() -> None:
    made = make_plan(arms=[Arm.CONTROL], contrasts=[])
    assert said(made, "detects").startswith("nothing: no contrast")


def test_positions_whose_arms_are_equal_are_not_counted_as_telling() -> None:
    made = make_plan(positions=6, probes=5)
    shown = {cell.arm: cell.prefix for cell in made.cells if cell.position == "P00"}
    cells = tuple(
        msgspec.structs.replace(cell, prefix=shown[Arm.CONTROL]) if cell.position == "P00" else cell
        for cell in made.cells
    )
    equal = msgspec.structs.replace(made, cells=cells)
    assert said(made, "detects").endswith("(6 positions x 5 pairs)")
    assert said(equal, "detects").endswith("(5 of 6 positions x 5 pairs)")
    five = make_plan(positions=5, probes=5)
    assert estimate_plan(equal).detectable_gap == estimate_plan(five).detectable_gap


def test_on_a_narrow_terminal_no_line_is_longer_than_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_plan(notes=("a word " * 30,))
    assert max(map(len, lines(made, estimate_plan(made)))) > 200
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    printed = list(lines(made, estimate_plan(made)))
    assert max(map(len, printed)) <= 80
    assert printed[-1].startswith(" " * 13 + "word a")


@pytest.mark.parametrize(
    ("words", "following"),
    [
        ([], "plan SESSION --target simulated --positions even:12"),
        (
            ["--positions", "compactions"],
            "probe SESSION --target simulated --positions compactions",
        ),
        (["--positions", "even:3"], "probe SESSION --target simulated --positions even:3"),
    ],
)
def test_few_positions_are_answered_by_a_plan_with_more(
    words: list[str],
    following: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The bundled session cut before its first compaction, which stands on its own line."""
    rows = example_session().read_bytes().splitlines(keepends=True)
    first = next(number for number, row in enumerate(rows) if b"compact_boundary" in row)
    path = tmp_path / "short.jsonl"
    path.write_bytes(b"".join(rows[:first]))
    monkeypatch.chdir(tmp_path)
    main(["plan", str(path), "--target", "simulated", *words])
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == f"Next: contextecho {following.replace('SESSION', str(path))}"


@pytest.mark.parametrize(
    ("words", "following"),
    [
        (["--target", "local"], "local install"),
        (["--target", "simulated", "--judge", "local"], "local install"),
        (["--target", "simulated"], "probe {} --target simulated"),
    ],
)
def test_weights_that_are_missing_are_installed_before_a_probe(
    words: list[str],
    following: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: "1")
    monkeypatch.setenv("CONTEXTECHO_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    main(["plan", str(example_session()), *words])
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == f"Next: contextecho {following.format(example_session())}"


def test_a_simulated_target_that_cannot_be_opened_cannot_be_planned(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["plan", str(example_session()), "--target", "simulated/gap=5"])
    assert stop.value.code == 2
    assert "beyond 0 to 3" in capsys.readouterr().err
