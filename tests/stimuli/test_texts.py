"""The bundled texts, against the paper and against the rules a paraphrase has to keep."""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files
from pathlib import Path

import pytest

from contextecho.stimuli import Battery, Stimulus, StimulusKind, battery_ids, load_battery

IDENTITY = load_battery("identity25")
CODING = load_battery("coding-self")
CONTROLS = load_battery("negative-controls")
STRESSORS = load_battery("stressors")
WITH_OWN_TEXTS = [IDENTITY, CONTROLS, STRESSORS]
QUESTIONS = [*IDENTITY.stimuli, *CONTROLS.stimuli]
EVERYTHING = [s for battery in WITH_OWN_TEXTS for s in battery.stimuli]


def named(stimulus: Stimulus) -> str:
    return stimulus.id


def squeezed(text: str) -> str:
    """Case, punctuation and contractions of "is" and "are" do not make another wording."""
    text = text.lower().replace("’", "'")
    text = re.sub(r"\b(what|that|who|it|how|where)'s\b", r"\1 is", text)
    text = re.sub(r"\b(you|we)'re\b", r"\1 are", text)
    return " ".join(re.findall(r"[a-z0-9]+", text))


def paper_text(shared: Path) -> str:
    text = (shared / "papers" / "contextecho.txt").read_text()
    return text.replace("’", "'").replace("$", "")


def test_five_batteries_are_bundled() -> None:
    assert battery_ids() == ("coding-self", "identity25", "negative-controls", "s2", "stressors")


def test_first_wordings_are_the_papers_probes_in_the_papers_order(shared: Path) -> None:
    appendix = paper_text(shared).split("Appendix C The 25-probe")[1].split("Appendix D")[0]
    quoted = re.findall(r"\b([IOEPRC]\d\d) “([^”]+)”", appendix)
    assert len(quoted) == 25
    assert [(s.id, s.wordings[0]) for s in IDENTITY.stimuli] == quoted


def test_negative_controls_are_the_papers(shared: Path) -> None:
    appendix = paper_text(shared).split("Appendix J")[1].split("Appendix K")[0]
    assert [s.wordings[0] for s in CONTROLS.stimuli] == re.findall(r"“([^”]+\?)”", appendix)[:5]


def test_list_of_probes_has_the_published_hash() -> None:
    listing = "\n".join(f"{s.id}\t{s.category}\t{s.wordings[0]}" for s in IDENTITY.stimuli)
    assert hashlib.sha256(listing.encode()).hexdigest().startswith("892b67c1")


def test_framing_is_the_published_one(shared: Path) -> None:
    framing = IDENTITY.framing
    assert framing is not None
    assert len(framing) == 101
    assert hashlib.sha256(framing.encode()).hexdigest().startswith("10bd4945")
    assert f"“{framing}”" in paper_text(shared)


def test_first_wordings_of_the_stressors_are_the_published_ones(shared: Path) -> None:
    section = (shared / "reference.md").read_text().split("### 1.4")[1]
    published = re.findall(r"^(S[1-4]) (?:\(e11\) )?`(.+)`$", section, re.MULTILINE)
    assert [(s.id, s.wordings[0]) for s in STRESSORS.stimuli] == published


def test_only_the_first_wording_of_s2_is_from_the_reference(shared: Path) -> None:
    section = (shared / "reference.md").read_text().split("S2 wordings v00")[1].split("S3/S4")[0]
    theirs = {squeezed(t) for t in re.findall(r"^ \d `(.+)`$", section, re.MULTILINE)}
    assert len(theirs) == 10
    ours = {squeezed(t) for t in STRESSORS.stimuli[1].wordings}
    assert ours & theirs == {squeezed(STRESSORS.stimuli[1].wordings[0])}


def test_categories_have_the_papers_sizes() -> None:
    sizes: dict[str, int] = {}
    for stimulus in IDENTITY.stimuli:
        sizes[stimulus.category] = sizes.get(stimulus.category, 0) + 1
    assert sizes == {
        "identity": 4,
        "experience": 8,
        "preference": 4,
        "relational": 4,
        "coding_self": 5,
    }


def test_coding_self_is_the_last_five_probes_of_the_suite_with_its_framing() -> None:
    assert CODING.stimuli == IDENTITY.stimuli[-5:]
    assert CODING.framing == CONTROLS.framing == IDENTITY.framing
    assert STRESSORS.framing is None


@pytest.mark.parametrize("stimulus", EVERYTHING, ids=named)
def test_each_stimulus_has_ten_wordings(stimulus: Stimulus) -> None:
    assert len(stimulus.wordings) == 10


def test_no_wording_is_repeated_anywhere() -> None:
    wordings = [squeezed(w) for s in EVERYTHING for w in s.wordings]
    assert sorted(w for w in wordings if wordings.count(w) > 1) == []


@pytest.mark.parametrize("stimulus", QUESTIONS, ids=named)
def test_questions_stay_questions_and_the_one_request_a_request(stimulus: Stimulus) -> None:
    mark = stimulus.wordings[0][-1]
    assert [w for w in stimulus.wordings if not w.endswith(mark)] == []
    assert [w for w in stimulus.wordings if len(re.findall(r"[.?!]", w)) != 1] == []


@pytest.mark.parametrize("stimulus", EVERYTHING, ids=named)
def test_wordings_are_about_as_long_as_the_verbatim_one(stimulus: Stimulus) -> None:
    verbatim = len(stimulus.wordings[0])
    lengths = [len(w) for w in stimulus.wordings]
    assert 0.6 * verbatim <= min(lengths)
    assert max(lengths) <= 1.3 * verbatim + 18
    assert 0.85 <= sum(lengths) / len(lengths) / verbatim <= 1.8


def test_wordings_of_a_battery_are_on_average_little_longer() -> None:
    for battery in WITH_OWN_TEXTS:
        verbatim = sum(len(s.wordings[0]) for s in battery.stimuli)
        others = sum(len(w) for s in battery.stimuli for w in s.wordings[1:]) / 9
        assert 0.9 <= others / verbatim <= 1.25, battery.id


@pytest.mark.parametrize("stimulus", QUESTIONS, ids=named)
def test_the_asker_stays_out_of_the_question_unless_the_probe_is_about_the_asker(
    stimulus: Stimulus,
) -> None:
    asker = re.compile(r"\b(i|i'm|i'd|me|my|we|us|our)\b", re.IGNORECASE)
    if stimulus.id in ("I04", "R01", "R02", "O03"):  # "call you", "think of me", "we", "tell me"
        assert not any(
            re.search(r"\b(I'm|I'd|I want|I wonder|let me)\b", w) for w in stimulus.wordings
        )
    else:
        assert [w for w in stimulus.wordings if asker.search(w)] == []


@pytest.mark.parametrize("stimulus", IDENTITY.stimuli, ids=named)
def test_probes_address_the_one_who_answers(stimulus: Stimulus) -> None:
    you = re.compile(r"\b(you|your|yours|yourself|we|us)\b", re.IGNORECASE)
    assert [w for w in stimulus.wordings if not you.search(w)] == []


@pytest.mark.parametrize("stimulus", QUESTIONS, ids=named)
def test_no_paraphrase_adds_courtesy_doubt_or_an_answer(stimulus: Stimulus) -> None:
    added = re.compile(
        r"\b(please|kindly|thanks|honestly|really|truly|actually|an ai|a model|assistant|human"
        r"|program|language model|machine|isn't|aren't|don't you)\b",
        re.IGNORECASE,
    )
    allowed = set(added.findall(stimulus.wordings[0].lower()))
    for wording in stimulus.wordings:
        assert set(added.findall(wording.lower())) <= allowed, wording


def stressor(check: str) -> tuple[str, ...]:
    return next(s.wordings for s in STRESSORS.stimuli if s.check == check)


def test_every_wording_of_s1_asks_for_one_word_yes_or_no_about_progress() -> None:
    for wording in stressor("S1"):
        assert "EXACTLY one word" in wording
        assert re.search(r"\byes or no\b", wording, re.IGNORECASE)
        assert re.search(r"progress|moving|headway|advancing", wording)
        assert "context" in wording or "what came before" in wording


def test_every_wording_of_s2_keeps_all_four_parts_of_the_contract() -> None:
    for wording in stressor("S2"):
        assert "bash" in wording
        assert re.search(r"\b(single|one) line\b", wording, re.IGNORECASE)
        assert re.search(r"expla", wording)
        assert "markdown" in wording
        assert re.search(r"sentence|introduc", wording, re.IGNORECASE)
        assert "next" in wording


def test_every_wording_of_s3_forbids_action_and_tools_and_asks_for_one_sentence() -> None:
    for wording in stressor("S3"):
        assert "EXACTLY one sentence" in wording
        assert re.search(r"tools?\b", wording, re.IGNORECASE)
        assert re.search(
            r"\b(action|actions|act|acting|nothing yet|carry)\b", wording, re.IGNORECASE
        )
        assert re.search(r"\bnext\b", wording)


def test_every_wording_of_s4_asks_for_exactly_the_same_bytes() -> None:
    for wording in stressor("S4"):
        assert re.findall(r"\{.*\}", wording) == ['{"status": "ok"}']
        assert "EXACTLY" in wording
        for forbidden in ("preamble", "quotes", "markdown"):
            assert forbidden in wording


@pytest.mark.parametrize("stimulus", CONTROLS.stimuli, ids=named)
def test_no_wording_of_a_negative_control_gives_its_answer_away(stimulus: Stimulus) -> None:
    assert stimulus.answers
    for answer in stimulus.answers:
        assert not any(re.search(rf"\b{answer}\b", w, re.IGNORECASE) for w in stimulus.wordings)


def test_only_negative_controls_have_answers_and_only_stressors_have_checks() -> None:
    assert all(bool(s.answers) == (s.kind is StimulusKind.NEGATIVE_CONTROL) for s in EVERYTHING)
    assert [s.check for s in EVERYTHING if s.check] == ["S1", "S2", "S3", "S4"]


def test_rubric_gives_no_example_on_a_wording_that_is_asked() -> None:
    rubric = files("contextecho.scoring") / "data" / "rubric-register-1.yaml"
    examples = {squeezed(q) for q in re.findall(r'PROBE "([^"]+)"', rubric.read_text())}
    assert len(examples) >= 8
    assert examples & {squeezed(w) for s in EVERYTHING for w in s.wordings} == set()


@pytest.mark.parametrize("battery", [*WITH_OWN_TEXTS, CODING], ids=lambda b: b.id)
def test_each_battery_says_its_licence_and_source(battery: Battery) -> None:
    assert battery.licence == "CC-BY-4.0"
    assert "ContextEcho" in battery.source
