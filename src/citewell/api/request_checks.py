"""What a request must prove before it is taken: one of our own forms, and no name that its route does not know."""

from __future__ import annotations

from typing import Annotated, Any, get_origin

from fastapi import Form, Request
from fastapi.dependencies.models import Dependant

from citewell.api.problems import NOT_OUR_FORM, Refused
from citewell.api.token_signer import is_equal
from citewell.api.visitor import visitor_of
from citewell.errors import InputError

CSRF_NEEDED = "citewell.csrf_needed"
"""In the scope of a request: whether its form must prove that it is ours."""


def require_our_form(request: Request, csrf: str | None = None) -> None:
    """Refuse a change that does not prove that one of our own pages asked for it."""
    if request.scope[CSRF_NEEDED] and not is_equal(csrf, visitor_of(request).csrf):
        raise Refused(NOT_OUR_FORM)


def known_names(request: Request) -> None:
    """Refuse names in an address that its route does not know, and single ones said twice: nothing is passed over."""
    fields = {field.alias: field for field in _query_fields(request.scope["route"].dependant)}
    for name in request.query_params:
        if name not in fields:
            raise InputError(f"Unexpected parameter. This address accepts only: {', '.join(sorted(fields)) or 'none'}.")
        is_list = get_origin(fields[name].field_info.annotation) in (list, tuple)
        if not is_list and len(request.query_params.getlist(name)) > 1:
            raise InputError(f"Send “{name}” only once.")


def _query_fields(dependant: Dependant) -> list[Any]:
    """What a route and all that it depends on read from the address."""
    inner = [field for inner_dependant in dependant.dependencies for field in _query_fields(inner_dependant)]
    return [*dependant.query_params, *inner]


def our_request(request: Request) -> None:
    """Refuse such a change before its body is looked at."""
    require_our_form(request)


def our_form(request: Request, csrf: Annotated[str, Form()] = "") -> None:
    """The same of a form, before anything that it names is looked up."""
    require_our_form(request, csrf)
