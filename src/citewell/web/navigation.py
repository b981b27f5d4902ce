"""The menu: the places that a person may use, those they need first, and what stands behind “More”."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class MenuItem:
    """A place of the menu; `name` is its icon too."""

    name: str
    address: str
    label: str
    count: int = 0
    """Questions that wait there."""


@dataclass(frozen=True, slots=True)
class Menu:
    """The places of one person."""

    main: tuple[MenuItem, ...]
    """On a small screen these stand in the bar."""
    team: tuple[MenuItem, ...]
    tools: tuple[MenuItem, ...]
    """For whoever looks after the library, apart from the work."""
    is_personal: bool = False
    """Only a record is kept here: what clinicians and teams use is folded away."""

    @property
    def bar(self) -> tuple[MenuItem, ...]:
        return self.main[:3]

    @property
    def more(self) -> tuple[MenuItem, ...]:
        return (*self.main[3:], *self.team, *self.tools)


ASK, SEARCH = MenuItem("ask", "/", "Ask"), MenuItem("search", "/search", "Search")
LIBRARY, RECORDS = MenuItem("library", "/library", "Library"), MenuItem("records", "/records", "My records")
CONSULT, INBOX = MenuItem("consult", "/consult", "Consult"), MenuItem("inbox", "/inbox", "Team inbox")
GUIDELINES, RECOMMENDATIONS = (
    MenuItem("guidelines", "/guidelines", "Guidelines"),
    MenuItem("guidelines", "/guidelines/rules", "Guidelines"),
)
ADMIN, DOCUMENTS = MenuItem("admin", "/admin", "Admin"), MenuItem("admin", "/admin/documents", "Admin")


def menu(visitor: Any, *, inbox_count: int = 0, is_personal: bool = False) -> Menu:
    """The menu of a visitor; `is_personal` where nothing but a record is kept on this machine."""
    asks = visitor.may("ask")
    records = (RECORDS,) if visitor.is_owner else ()
    guidelines = GUIDELINES if asks else RECOMMENDATIONS
    consult = (CONSULT,) if asks else ()
    team = (replace(INBOX, count=inbox_count),) if asks else ()
    tools = (ADMIN if visitor.may("govern") else DOCUMENTS,) if visitor.may("change") else ()
    if is_personal:
        return Menu((*records, ASK, LIBRARY), (), (guidelines, *consult, *team, *tools), is_personal=True)
    return Menu((ASK if asks else SEARCH, LIBRARY, guidelines, *consult, *records), team, tools)
