"""The Markdown report: short enough for a comment on a pull request.

Text from a run is made inert here: no HTML, no links, no mentions, no table
cells of its own. The template itself is ours and passes untouched.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from contextecho.reports.changes import crossings_table
from contextecho.reports.headline import collected, headlines
from contextecho.reports.judges import agreement_table
from contextecho.reports.limits import CANNOT_SAY
from contextecho.reports.missing import missing
from contextecho.reports.provenance import session_file
from contextecho.reports.tables import Table, contrasts_table, denominators_table
from contextecho.reports.typeset import sentence
from contextecho.reports.view import View
from contextecho.untrusted import one_line

_SYNTAX = re.compile(r"([\\`*_\[\]|~#$])")
# Entities, because these three mean something inside a word: HTML, mentions, bare links.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "@&#8203;", "://": "&#58;//"}
_WORDS = re.compile(r"&|<|>|@|://|www\.", re.IGNORECASE)


def write_markdown(view: View) -> str:
    """The Markdown document of a run."""
    agreement = agreement_table(view)
    crossings = crossings_table(view.analysis.crossings)
    return render_markdown(
        "report.md.jinja",
        view=view,
        run=view.analysis.run,
        session_file=session_file(view),
        headlines=headlines(view),
        denominators=pipe_table(denominators_table(view)),
        overall=pipe_table(contrasts_table(view, overall_only=True)),
        agreement=pipe_table(agreement) if agreement else None,
        crossings=pipe_table(crossings) if crossings else None,
        missing=missing(view),
        cannot_say=CANNOT_SAY,
        collected=collected(view),
    )


def render_markdown(template: str, **values: Any) -> str:
    """A document of ours, with what is untrusted in it made inert."""
    text = _templates().get_template(template).render(**values)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def pipe_table(table: Table) -> Markup:
    """A table as GitHub's Markdown writes it, every cell made inert."""
    lines = [
        [escape_markdown(column.heading) for column in table.columns],
        ["---:" if column.kind == "n" else "---" for column in table.columns],
        *([escape_markdown(cell) for cell in row] for row in table.rows),
    ]
    notes = [f"{i}. {escape_markdown(note)}" for i, note in enumerate(table.footnotes, start=1)]
    rows = [f"| {' | '.join(cells)} |" for cells in lines]
    return Markup("\n".join([*rows, *([""] if notes else []), *notes]))


def escape_markdown(text: str) -> str:
    """`text` as one line that Markdown shows as it stands."""
    return _WORDS.sub(_entity, _SYNTAX.sub(r"\\\1", one_line(text)))


def code_block(text: str) -> Markup:
    """`text` as a block to be copied: every character as it stands, on one line."""
    return Markup(f"    {one_line(text)}")


def _entity(match: re.Match[str]) -> str:
    found = match.group()
    return _ENTITIES.get(found) or found.replace(".", "&#46;")


def _shown(value: Any) -> Any:
    ours = isinstance(value, Markup) or not isinstance(value, str)
    return value if ours else escape_markdown(value)


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("contextecho.reports"),
        autoescape=False,  # `_shown` escapes for Markdown, HTML included
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"sentence": sentence, "code_block": code_block}
    return environment
