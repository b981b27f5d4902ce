"""Says over HTTP what to do next: a message that names a command names a route to a program, a page to a person."""

from __future__ import annotations

import re

WAYS: dict[str, tuple[str, str]] = {
    "list": ("GET /api/v1/documents", "Library"),
    "inbox": ("GET /api/v1/inbox", "Inbox"),
    "conversations": ("GET /api/v1/conversations", "Ask"),
    "users list": ("GET /api/v1/users", "Admin"),
    "audit list": ("GET /api/v1/audit", "Audit"),
    "journeys list": ("GET /api/v1/journeys", "Evidence"),
    "guidelines list": ("GET /api/v1/guidelines", "Guidelines"),
    "guidelines add FILE": ("POST /api/v1/documents", "Library"),
    "consult list": ("GET /api/v1/consults", "Consult"),
    "consult show": ("GET /api/v1/consults/{consult_id}", "The consultation page"),
    "consult findings": ("GET /api/v1/consults/{consult_id}", "The consultation page"),
    "records facts": ("GET /api/v1/records/{vault}/facts", "Facts"),
    "records alerts": ("GET /api/v1/records/{vault}/alerts", "Alerts"),
    "records papers": ("GET /api/v1/records/{vault}/papers", "Documents"),
    "vault list": ("GET /api/v1/vaults", "My records"),
    "vault create": ("POST /api/v1/vaults", "My records"),
}
"""The command of a message, the route that does the same, and the page."""

_COMMAND = re.compile(r"`citewell (?P<command>[^`]+)`(?P<ids> shows the (?:names and )?ids)?")


PAGES = {
    "Library": "/library",
    "Inbox": "/inbox",
    "Ask": "/",
    "Admin": "/admin",
    "Audit": "/audit",
    "Evidence": "/evidence",
    "Guidelines": "/guidelines",
    "Consult": "/consult",
    "My records": "/records",
}
"""Where the pages are that a message may name."""


def advised(detail: str, *, is_program: bool) -> str:
    """The message with the ways that its reader has; commands that have none over HTTP stay.

    >>> advised("There is no such document here. `citewell list` shows the ids.", is_program=True)
    'There is no such document here. `GET /api/v1/documents` shows the ids.'
    >>> advised("There is no such document here. `citewell list` shows the ids.", is_program=False)
    'There is no such document here. Library shows what there is.'
    """

    def way(found: re.Match[str]) -> str:
        if found["command"] not in WAYS:
            return found[0]
        route, page = WAYS[found["command"]]
        ids = found["ids"] or ""
        return f"`{route}`{ids}" if is_program else f"{page}{' shows what there is' if ids else ''}"

    return _COMMAND.sub(way, detail)


def pieces(detail: str) -> list[tuple[str, str | None]]:
    """The message for a person in pieces, each with the address of the page that it names.

    >>> pieces("There is no such document here. `citewell list` shows the ids.")
    [('There is no such document here. ', None), ('Library', '/library'), (' shows what there is', None), ('.', None)]
    """
    found: list[tuple[str, str | None]] = []
    at = 0
    for one in _COMMAND.finditer(detail):
        page = WAYS.get(one["command"], ("", ""))[1]
        told = advised(one[0], is_program=False)
        named = page if page in PAGES else ""
        found += [(detail[at : one.start()], None), (named, PAGES.get(page)), (told.removeprefix(named), None)]
        at = one.end()
    return [(words, to) for words, to in [*found, (detail[at:], None)] if words]
