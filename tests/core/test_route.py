"""Who is asked when the documents do not answer: the owner of the tag of most passages, else the administrator."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from citewell.answer.route_to_owner import route
from citewell.types import EVERY, Route, Scope
from tests.core.answers import hit

ADMIN = "admin@clinic.example"
STAFF = Scope("clinic", frozenset({"hr", "ward"}), None, None)


@dataclass(frozen=True)
class Owner:
    id: str
    email: str


@dataclass(frozen=True)
class Owners:
    """Owners of the tags of one tenant."""

    known: dict[str, Owner]
    administer: tuple[str, ...] = ()

    def administrators(self, *, tenant: str) -> list[str]:
        return list(self.administer) if tenant == "clinic" else []

    def owner_of(self, tag: str, *, tenant: str) -> Owner | None:
        return self.known.get(tag) if tenant == "clinic" else None


HR = Owners({"hr": Owner("7", "hr@clinic.example"), "secret": Owner("8", "secret@clinic.example")})


def routed(*tags: tuple[str, ...], scope: Scope = STAFF, owners: Owners = HR, admin_email: str | None = ADMIN) -> Route:
    hits = [hit("Words.", number, tags=each) for number, each in enumerate(tags)]
    return route("Low confidence", hits, scope=scope, owners=owners, admin_email=admin_email)


def test_get_route_target_with_owner() -> None:
    assert routed(("hr",), ("hr", "ward"), ("ward",)) == Route("hr", "7", "hr@clinic.example", "Low confidence", False)


def test_get_route_target_no_owner() -> None:
    assert routed(("ward",)) == Route("ward", None, ADMIN, "Low confidence", True)


def test_get_route_target_empty_context() -> None:
    assert routed() == Route("system", None, ADMIN, "Low confidence", True)


def test_a_tag_that_the_asker_does_not_hold_names_nobody() -> None:
    assert routed(("secret", "hr"), ("secret",)).tag == "hr"
    assert routed(("secret",)) == Route("system", None, ADMIN, "Low confidence", True)


@pytest.mark.parametrize("tag", ["public", "system"])
def test_a_tag_that_all_documents_may_carry_names_nobody(tag: str) -> None:
    assert routed((tag,), (tag,), ("hr",)).tag == "hr"


def test_of_tags_as_frequent_the_better_passage_wins() -> None:
    assert routed(("ward",), ("hr",)).tag == "ward"
    assert routed(("hr",), ("ward",)).tag == "hr"


def test_of_tags_of_one_passage_the_alphabet_decides() -> None:
    assert routed(("ward", "hr")).tag == "hr"
    assert routed(("hr", "ward")).tag == "hr"


def test_another_tenants_owner_is_not_asked() -> None:
    elsewhere = Scope("elsewhere", frozenset({EVERY}), None, None)
    found = routed(("hr",), scope=elsewhere, admin_email=None)
    assert found == Route("hr", None, None, "Low confidence", True)


def test_a_tenants_own_administrator_is_named_before_the_one_in_the_settings() -> None:
    chief = Owners({}, ("chief@clinic.example", "second@clinic.example"))
    assert routed(("ward",), owners=chief).owner_email == "chief@clinic.example"
    assert routed(owners=chief) == Route("system", None, "chief@clinic.example", "Low confidence", True)
    elsewhere = Scope("elsewhere", frozenset({EVERY}), None, None)
    assert routed(owners=chief, scope=elsewhere, admin_email=None).owner_email is None


def test_of_a_tenants_administrators_the_one_in_the_settings_is_named() -> None:
    assert routed(owners=Owners({}, ("chief@clinic.example", ADMIN))).owner_email == ADMIN
