"""Renders the templates."""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from citewell.answer.gate import why_withheld
from citewell.web import wording

NOBODY: dict[str, Any] = {
    "is_local": False,
    "stays_here": False,
    "runs_site": False,
    "visitor": None,
    "csrf": "",
    "talks": (),
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
        advice=wording.advice,
        confidence_level=wording.confidence_level,
        counted=wording.counted,
        day=wording.day,
        duration=wording.duration,
        kind=wording.kind,
        looked_in=wording.looked_in,
        moment=wording.moment,
        raised=wording.raised,
        relevance_word=wording.relevance_word,
        size=wording.size,
        state_colour=wording.state_colour,
        state_word=wording.state_word,
        why_withheld=why_withheld,
    )
    environment.globals.update(verdicts=wording.VERDICTS, turn_words=wording.TURN)
    return environment


def page(template: str, *, status: HTTPStatus = HTTPStatus.OK, **values: Any) -> HTMLResponse:
    """A whole page, or the part of one that a script asked for."""
    return HTMLResponse(templates().get_template(template).render(NOBODY | values), status_code=status)
