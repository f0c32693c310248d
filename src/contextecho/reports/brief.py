"""A run in a few plain lines, for a terminal: what was answered, and each headline with its n."""

from __future__ import annotations

from contextecho.reports.headline import collected, controls, headlines
from contextecho.reports.view import view_of
from contextecho.scoring import RunAnalysis
from contextecho.untrusted import make_visible


def brief(analysis: RunAnalysis) -> str:
    """The run's headlines as text, the same sentences as in the report."""
    view = view_of(analysis)
    lines = [f"run {analysis.run.id}: {collected(view)}"]
    for headline in headlines(view):
        lines.append(headline.target)
        lines += [f"  withheld: {reason}" for reason in headline.withheld]
        for said in headline.statements:
            lines.append(f"  {said.measure} ({said.battery}): {said.numbers}")
            lines.append(f"    {said.meaning}")
        if not headline.statements and not headline.withheld:
            lines.append("  nothing could be estimated")
        lines += [f"  {note}" for note in headline.notes]
    lines += [f"negative control, {said}" for said in controls(view)]
    lines += [f"note: {note}" for note in analysis.notes]
    return make_visible("\n".join(lines))
