"""What every store of people must do: roles, passwords, sessions, keys, and who owns a tag."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from argon2 import PasswordHasher
from sqlalchemy import text

from citewell.adapters.store.users import _STAND_IN, UserAccount
from citewell.errors import InputError, NotFound, ScopeRefused
from citewell.types import EVERY, OWNER_ID, Role, Scope, User
from citewell.types.tags import checked_tags
from tests.contracts.conftest import Office

PASSWORD = "a long enough password"


def add(office: Office, email: str = "ann@clinic.example", **given: Any) -> UserAccount:
    values = {"tenant": "clinic", "name": "Ann", "role": Role.MEMBER, "tags": ["ward"], "password": PASSWORD} | given
    return office.people.add(email=email, **values)


def test_a_user_is_added_found_and_listed(office: Office) -> None:
    bob, ann = add(office, "bob@clinic.example", tags=[]), add(office, "Ann@Clinic.example", tags=["Ward", "ward"])
    assert (ann.email, ann.role, ann.tags, ann.is_active) == ("ann@clinic.example", Role.MEMBER, {"ward"}, True)
    assert office.people.by_email(" ANN@clinic.example ", tenant="clinic") == ann
    assert office.people.user(bob.id, tenant="clinic") == bob
    assert office.people.all(tenant="clinic") == [ann, bob]
    assert ann.id != OWNER_ID


def test_another_tenant_has_its_own_users(office: Office) -> None:
    here, there = add(office), add(office, tenant="elsewhere")
    assert here.id != there.id
    for lookup in (
        lambda: office.people.user(here.id, tenant="elsewhere"),
        lambda: office.people.change(here.id, tenant="elsewhere", role=Role.ADMIN),
        lambda: office.people.add_key(here.id, tenant="elsewhere", name="x"),
        lambda: office.people.keys(here.id, tenant="elsewhere"),
        lambda: office.people.set_owner("ward", tenant="elsewhere", owner_id=here.id),
    ):
        with pytest.raises(NotFound):
            lookup()
    assert office.people.all(tenant="elsewhere") == [there]


@pytest.mark.parametrize(
    "given",
    [
        {"email": "no address"},
        {"email": "two@at@signs"},
        {"password": "short"},
        {"password": ""},
        {"tags": [EVERY]},
        {"tags": ["ward", "not a tag"]},
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_is_kept(office: Office, given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        add(office, **given)
    assert office.people.all(tenant="clinic") == []


def test_one_address_is_one_user(office: Office) -> None:
    add(office)
    with pytest.raises(InputError, match="already"):
        add(office, "ANN@clinic.example")


def test_who_asks_is_decided_by_role_and_tags(office: Office) -> None:
    member, admin = add(office), add(office, "bob@clinic.example", role=Role.ADMIN, tags=[])
    assert member.asker() == User(member.id, Role.MEMBER, Scope("clinic", frozenset({"ward"}), None, None))
    assert admin.asker(journey="j") == User(admin.id, Role.ADMIN, Scope("clinic", frozenset({EVERY}), "j", None))


def test_the_right_password_opens_a_session_and_nothing_else_does(office: Office) -> None:
    ann = add(office)
    nobody = add(office, "nobody@clinic.example", password=None)
    signed_in = office.people.sign_in(tenant="clinic", email="Ann@clinic.example", password=PASSWORD)
    assert signed_in is not None
    assert (signed_in[0], office.people.by_session(signed_in[1])) == (ann, ann)
    for tenant, email, password in (
        ("clinic", ann.email, "a wrong password"),
        ("elsewhere", ann.email, PASSWORD),
        ("clinic", "unknown@clinic.example", PASSWORD),
        ("clinic", nobody.email, ""),
    ):
        assert office.people.sign_in(tenant=tenant, email=email, password=password) is None
    office.people.sign_out(signed_in[1])
    assert office.people.by_session(signed_in[1]) is None


def test_a_session_ends_with_its_time_a_new_password_or_the_account(office: Office) -> None:
    ann = add(office)

    def session() -> str:
        signed_in = office.people.sign_in(tenant="clinic", email=ann.email, password=PASSWORD)
        assert signed_in is not None
        return signed_in[1]

    token = session()
    with office.library.engine.connect().execution_options(writing=True) as connection, connection.begin():
        connection.execute(text("UPDATE sessions SET ends_at = '2020-01-01 00:00:00.000000'"))
    assert office.people.by_session(token) is None
    token = session()
    office.people.change(ann.id, tenant="clinic", password=PASSWORD)
    assert office.people.by_session(token) is None
    token = session()
    office.people.change(ann.id, tenant="clinic", is_active=False)
    office.people.change(ann.id, tenant="clinic", is_active=True)
    assert office.people.by_session(token) is None


def test_an_inactive_user_can_do_nothing(office: Office) -> None:
    ann = add(office)
    _, key = office.people.add_key(ann.id, tenant="clinic", name="laptop")
    office.people.set_owner("ward", tenant="clinic", owner_id=ann.id)
    office.people.change(ann.id, tenant="clinic", is_active=False)
    assert office.people.sign_in(tenant="clinic", email=ann.email, password=PASSWORD) is None
    assert office.people.by_key(key) is None
    assert office.people.owner_of("ward", tenant="clinic") is None


def test_a_key_is_told_once_and_can_be_made_worthless(office: Office) -> None:
    ann, bob = add(office), add(office, "bob@clinic.example")
    key_id, key = office.people.add_key(ann.id, tenant="clinic", name="laptop")
    (listed,) = office.people.keys(ann.id, tenant="clinic")
    assert (listed.id, listed.name, listed.used_at) == (key_id, "laptop", None)
    assert office.people.by_key(key) == ann
    (used,) = office.people.keys(ann.id, tenant="clinic")
    assert used.used_at is not None
    assert office.people.by_key(key[:-1]) is None
    with pytest.raises(NotFound):
        office.people.remove_key(key_id, user_id=bob.id)
    office.people.remove_key(key_id, user_id=ann.id)
    assert office.people.by_key(key) is None


def test_no_secret_is_in_the_file(office_in_a_file: Office) -> None:
    ann = add(office_in_a_file)
    _, key = office_in_a_file.people.add_key(ann.id, tenant="clinic", name="laptop")
    signed_in = office_in_a_file.people.sign_in(tenant="clinic", email=ann.email, password=PASSWORD)
    assert signed_in is not None
    office_in_a_file.library.close()
    for secret in (PASSWORD, key, key.removeprefix("cw_"), signed_in[1]):
        for path in office_in_a_file.file.parent.iterdir():
            assert secret.encode() not in path.read_bytes()
    with sqlite3.connect(office_in_a_file.file) as raw:
        assert raw.execute("SELECT password_hash FROM users").fetchone()[0].startswith("$argon2id$")
    raw.close()


def test_a_tag_has_one_owner_in_each_tenant(office: Office) -> None:
    ann, bob = add(office), add(office, "bob@clinic.example")
    office.people.set_owner("Ward", tenant="clinic", owner_id=ann.id)
    office.people.set_owner("ward", tenant="clinic", owner_id=bob.id)
    assert office.people.owner_of("ward", tenant="clinic") == bob
    assert office.people.owner_of("ward", tenant="elsewhere") is None
    office.people.set_owner("ward", tenant="clinic", owner_id=None)
    assert office.people.owner_of("ward", tenant="clinic") is None


@pytest.mark.parametrize("tag", ["", "-a", "a-", "a--b", "a b", "ä", "*", "x" * 65, "a\n"])
def test_a_malformed_tag_is_refused(tag: str) -> None:
    with pytest.raises(InputError):
        checked_tags([tag] if tag != "a\n" else ["a\nb"], by_admin=True)


def test_reserved_tags_are_for_administrators() -> None:
    assert checked_tags(["public", "System"], by_admin=True) == {"public", "system"}
    with pytest.raises(ScopeRefused):
        checked_tags(["public"], by_admin=False)
    with pytest.raises(InputError):
        checked_tags([], by_admin=True)


def test_a_user_who_is_not_there_costs_as_much_as_a_password_does() -> None:
    assert not PasswordHasher().check_needs_rehash(_STAND_IN)
