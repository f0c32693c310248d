"""The HTML report: one offline file.

The one thing to know: every value that a template prints passes `_shown`, which
makes unseen characters visible before Jinja escapes the rest, so no template
can forget it. The page's policy allows one script, by its hash, and no network.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from contextecho.counting import counted
from contextecho.reports.changes import crossings_table
from contextecho.reports.figures import Figure
from contextecho.reports.gallery import compose
from contextecho.reports.headline import collected, controls, headlines
from contextecho.reports.judges import agreement_table
from contextecho.reports.limits import CANNOT_SAY
from contextecho.reports.missing import missing
from contextecho.reports.palette import LOOKS, series_class, series_name
from contextecho.reports.provenance import facts, session_file
from contextecho.reports.svg import draw
from contextecho.reports.tables import (
    contrasts_table,
    denominators_table,
    figure_table,
    positions_table,
)
from contextecho.reports.typeset import number, sentence
from contextecho.reports.view import View
from contextecho.untrusted import make_visible

_SECTIONS = {
    "trajectory": "Along the session",
    "arms": "The arms compared",
    "contrasts": "Where the difference sits",
    "fingerprint": "Fingerprint map",
    "contracts": "Contracts and length",
}


def write_page(view: View) -> str:
    """The whole HTML document of a run."""
    return render_page(
        "report.html.jinja",
        view=view,
        run=view.analysis.run,
        headlines=headlines(view),
        sections=_sections(compose(view)),
        denominators=denominators_table(view),
        overall=contrasts_table(view, overall_only=True),
        contrasts=contrasts_table(view, overall_only=False),
        positions=positions_table(view),
        session_file=session_file(view),
        examples=view.analysis.examples,
        facts=facts(view),
        missing=missing(view),
        cannot_say=CANNOT_SAY,
        collected=collected(view),
        agreement=agreement_table(view),
        controls=controls(view),
        crossings=crossings_table(view.analysis.crossings),
    )


def render_page(template: str, **values: Any) -> str:
    """A page that fills the blocks of `frame.html.jinja`: policy, style, script."""
    environment = templates()
    script = environment.get_template("report.js").render().strip()
    return environment.get_template(template).render(
        script=Markup(script),  # our own file, not text from a run
        script_hash=_csp_hash(script),
        looks={series_class(name): look for name, look in LOOKS.items()},
        **values,
    )


@cache
def templates() -> Environment:
    """The package's templates, escaping everything."""
    environment = Environment(
        loader=PackageLoader("contextecho.reports"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": counted, "name": series_name, "sentence": sentence}
    environment.globals |= {"draw": draw, "table_of": figure_table, "number": number}
    return environment


def _sections(found: tuple[Figure, ...]) -> Mapping[str, list[Figure]]:
    sections: dict[str, list[Figure]] = {}
    for figure in found:
        sections.setdefault(_SECTIONS[figure.family], []).append(figure)
    return sections


def _shown(value: Any) -> Any:
    ours = isinstance(value, Markup) or not isinstance(value, str)
    return value if ours else make_visible(value)


def _csp_hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
