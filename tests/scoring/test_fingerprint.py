"""The fingerprint map against numpy, scikit-learn and the rules it declares."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from contextecho.contexts import Arm
from contextecho.models import Answer, Refusal
from contextecho.scoring import FingerprintMap, Measure, analyse_run, measure_features
from contextecho.store import Store
from contextecho.studies import Cell
from scoring.runs import collect, make_plan, say, verdicts

OPENINGS = {
    Arm.CONTROL: "I don't have favorites, as an AI. ",
    Arm.SESSION: "Rust — I love it, for me it is the best.\n\nMy pick is Rust — always. ",
    Arm.SCRATCH: "I have no preference. ",
}


def _text(cell: Cell) -> str:
    words = (sum(map(ord, f"{cell.position}{cell.stimulus}{cell.paraphrase}")) * 7) % 23
    drifted = cell.arm is Arm.SESSION and words > 5  # the arms overlap a little
    return OPENINGS[Arm.SESSION if drifted else Arm.CONTROL] + "word " * (words + len(cell.arm))


def _map(store: Store, **options: object) -> FingerprintMap:
    run = collect(store, make_plan(**options), lambda c: say(_text(c)))  # type: ignore[arg-type]
    (found,) = analyse_run(store, run).fingerprints
    return found


def test_components_equal_scikit_learns_up_to_sign(store: Store) -> None:
    plan = make_plan()
    found = _map(store)
    table = np.array([measure_features(_text(cell)).vector for cell in plan.cells])
    fitted = PCA(2).fit(StandardScaler().fit_transform(table))
    assert found.explained == pytest.approx(tuple(fitted.explained_variance_ratio_))
    ours = np.array(list(found.loadings.values()))
    assert np.abs(ours[:, 0]) == pytest.approx(np.abs(fitted.components_[0]), abs=1e-9)
    scores = fitted.transform(StandardScaler().fit_transform(table))[:, 0]
    assert np.abs([p.pc1 for p in found.points]) == pytest.approx(np.abs(scores), abs=1e-9)


def test_the_session_arm_lies_higher_on_the_first_component(store: Store) -> None:
    found = _map(store)
    session = [p.pc1 for p in found.points if p.arm is Arm.SESSION]
    control = [p.pc1 for p in found.points if p.arm is Arm.CONTROL]
    assert np.mean(session) > np.mean(control)


def test_the_separation_is_the_auc_of_session_over_control(store: Store) -> None:
    found = _map(store, arms=(Arm.SCRATCH, Arm.CONTROL, Arm.SESSION))
    two = [p for p in found.points if p.arm is not Arm.SCRATCH]
    expected = roc_auc_score([p.arm is Arm.SESSION for p in two], [p.pc1 for p in two])
    assert found.auc == pytest.approx(expected)
    assert 0.5 < expected < 1
    assert found.auc_interval is not None
    assert found.auc_interval.low < expected < found.auc_interval.high
    assert found.auc_by_chance is not None
    assert 0.5 < found.auc_by_chance < expected
    assert found.auc_note is not None
    assert "only 3 clusters" in found.auc_note
    assert "above 0.5 where nothing differs" in found.auc_note


def test_two_positions_have_a_separation_without_an_interval(store: Store) -> None:
    found = _map(store, positions=2)
    assert found.auc is not None
    assert (found.auc_interval, found.auc_by_chance) == (None, None)
    assert "no interval below 3 clusters" in (found.auc_note or "")


def test_the_judges_label_never_enters_the_components(store: Store) -> None:
    run = collect(store, make_plan(), lambda c: say(_text(c)))
    (without,) = analyse_run(store, run).fingerprints
    verdicts(store, run, lambda c: 0.0 if c.paraphrase else 3.0)
    (judged,) = analyse_run(store, run).fingerprints
    assert [(p.pc1, p.pc2) for p in judged.points] == [(p.pc1, p.pc2) for p in without.points]
    assert without.auc_judge is None


def test_agreement_with_the_judge_is_the_auc_of_drifted_over_assistant(store: Store) -> None:
    run = collect(store, make_plan(), lambda c: say(_text(c)))
    level = {0: 0.0, 1: 1.0, 2: 2.0, 3: 3.0}
    verdicts(store, run, lambda c: level[(int(c.stimulus[-1]) + c.paraphrase) % 4])
    (found,) = analyse_run(store, run).fingerprints
    labels = [p.judge is not None and p.judge <= 1 for p in found.points]
    assert found.auc_judge == pytest.approx(roc_auc_score(labels, [p.pc1 for p in found.points]))


def test_a_target_whose_replies_are_all_alike_has_a_map_without_separation(store: Store) -> None:
    run = collect(store, make_plan(), lambda _: say("The same."))
    (found,) = analyse_run(store, run).fingerprints
    assert found.explained == (0.0, 0.0)
    assert found.auc == 0.5
    assert found.auc_interval is None
    assert found.auc_by_chance == 0.5


def test_replies_without_text_are_counted_and_not_drawn(store: Store) -> None:
    run = collect(
        store, make_plan(), lambda c: Refusal(text="No.") if c.stimulus == "C01" else say(_text(c))
    )
    (found,) = analyse_run(store, run).fingerprints
    assert (found.n, len(found.points), found.dropped) == (48, 48, 12)


def test_too_few_replies_have_no_map_and_the_notes_say_so(store: Store) -> None:
    plan = make_plan(positions=1, paraphrases=1)
    run = collect(store, plan, lambda c: say(_text(c)) if c.arm is Arm.SESSION else None)
    analysis = analyse_run(store, run)
    assert analysis.fingerprints == ()
    assert any("no fingerprint map" in note for note in analysis.notes)


def test_each_target_has_its_own_components(store: Store) -> None:
    def answering(cell: Cell) -> Answer:
        plain = cell.target == "openai/two"
        return say("Plain " + "word " * int(cell.stimulus[-1]) if plain else _text(cell))

    plan = make_plan(targets=("openai/one", "openai/two"))
    one, two = analyse_run(store, collect(store, plan, answering)).fingerprints
    assert (one.target, two.target) == ("openai/one", "openai/two")
    assert one.loadings["em_dashes"] != (0.0, 0.0)
    assert two.loadings["em_dashes"] == pytest.approx((0.0, 0.0))  # constant there


def test_the_fingerprint_contrast_is_the_difference_of_mean_pc1(store: Store) -> None:
    run = collect(store, make_plan(), lambda c: say(_text(c)))
    analysis = analyse_run(store, run)
    points = analysis.fingerprints[0].points
    mean = {
        arm: np.mean([p.pc1 for p in points if p.arm is arm]) for arm in (Arm.CONTROL, Arm.SESSION)
    }
    found = next(
        c for c in analysis.contrasts
        if c.measure is Measure.FINGERPRINT and c.scope == "overall"
    )  # fmt: skip
    assert found.estimate == pytest.approx(mean[Arm.CONTROL] - mean[Arm.SESSION])
