"""How alike judges read the same replies, as a table; `None` where only one judge has read them."""

from __future__ import annotations

from collections.abc import Mapping

from contextecho.reports.tables import Column, Table
from contextecho.reports.typeset import Quantity, number, sentence, whole
from contextecho.reports.view import View
from contextecho.scoring import JudgeAgreement

# Field of `Agreement` -> its heading, and how it is written.
_COEFFICIENTS: Mapping[str, tuple[str, Quantity]] = {
    "exact": ("same score", Quantity.SHARE),
    "within_one": ("within one point", Quantity.SHARE),
    "kappa": ("kappa", Quantity.CHANCE),
    "kappa_quadratic": ("kappa, squared weights", Quantity.CHANCE),
    "ac1": ("AC1", Quantity.CHANCE),
    "spearman": ("Spearman", Quantity.CHANCE),
    "alpha": ("alpha, ordinal", Quantity.CHANCE),
}


def agreement_table(view: View) -> Table | None:
    """One row a pair of judges and a battery, with the replies that both scored."""
    found = view.analysis.agreements
    if not found:
        return None
    headings = ("both scored", "unreadable", *(heading for heading, _ in _COEFFICIENTS.values()))
    reasons = dict.fromkeys(why for pair in found for why in pair.scores.undefined.values())
    return Table(
        caption="How alike two judges read the replies that both have read. Where nearly all "
        "replies have one score, kappa is low and AC1 is not; a rank correlation does not see that "
        "one judge is stricter.",
        columns=(
            Column("judges"),
            Column("battery"),
            *(Column(heading, "n") for heading in headings),
        ),
        rows=tuple(_cells(pair) for pair in found),
        footnotes=tuple(sentence(f"a dash: {why}") for why in reasons),
    )


def _cells(pair: JudgeAgreement) -> tuple[str, ...]:
    scores = pair.scores
    numbers = ((getattr(scores, name), kind) for name, (_, kind) in _COEFFICIENTS.items())
    return (
        _named(pair),
        pair.battery,
        whole(scores.n),
        whole(scores.dropped),
        *("–" if value is None else number(value, kind) for value, kind in numbers),
    )


def _named(pair: JudgeAgreement) -> str:
    """Both judges; one judge under two rubrics or decodings by the versions of its verdicts."""
    one, other = pair.judges
    if one == other:
        one, other = (f"{one} ({version})" for version in pair.versions)
    return f"{one} and {other}"
