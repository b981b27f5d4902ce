"""Renders the templates."""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from citewell.answer.gate import why_withheld
from citewell.web import display_words, trail_words
from citewell.web.navigation import menu

NOBODY: dict[str, Any] = {
    "is_local": False,
    "stays_here": False,
    "runs_site": False,
    "has_record_systems": False,
    "visitor": None,
    "csrf": "",
    "talks": (),
    "places": None,
    "samples": frozenset,
}
"""What a page knows when it is made for no visitor."""


@lru_cache(maxsize=1)
def templates() -> Environment:
    """The templates; everything is escaped and a missing value is an error."""
    environment = Environment(
        loader=PackageLoader("citewell.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        advice=display_words.advice,
        audit_title=display_words.audit_title,
        answer_level=display_words.answer_level,
        counted=display_words.counted,
        day=display_words.day,
        deed=trail_words.deed,
        duration=display_words.duration,
        kind=display_words.kind,
        looked_in=display_words.looked_in,
        moment=display_words.moment,
        raised=display_words.raised,
        relevance_word=display_words.relevance_word,
        size=display_words.size,
        state_colour=display_words.state_colour,
        state_word=display_words.state_word,
        why_withheld=why_withheld,
    )
    environment.globals.update(verdicts=display_words.VERDICTS, turn_words=display_words.TURN, menu=menu)
    return environment


def page(template: str, *, status: HTTPStatus = HTTPStatus.OK, **values: Any) -> HTMLResponse:
    """A whole page, or the part of one that a script asked for."""
    return HTMLResponse(templates().get_template(template).render(NOBODY | values), status_code=status)
