"""Every moment that is given out is aware and in UTC: to code, and to programs over HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

from citewell.adapters.store.users import KEY_DAYS, ApiKey
from citewell.api.app import create_app
from citewell.app import App
from citewell.history import AuditEntry, Conversation, ConversationMessage, RoutedQuestion
from citewell.types import Filing, Role, Source
from citewell.types.library import LibraryEntry

TOKEN = "a-token-for-tests"
IRON = b"# Iron\n\nGive ferrous sulfate 200 mg once daily for iron deficiency anaemia in adults."
GIVEN_OUT = {
    (LibraryEntry, "added_at"),
    (LibraryEntry, "processed_at"),
    (Conversation, "made_at"),
    (Conversation, "changed_at"),
    (ConversationMessage, "made_at"),
    (RoutedQuestion, "made_at"),
    (RoutedQuestion, "replied_at"),
    (AuditEntry, "made_at"),
    (ApiKey, "made_at"),
    (ApiKey, "used_at"),
    (ApiKey, "ends_at"),
}
AHEAD = {(ApiKey, "ends_at"): timedelta(days=KEY_DAYS)}
"""Moments that are still to come, and how long after they were set."""
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?P<zone>.*)")


def moments(thing: Any) -> Iterator[tuple[type, str, datetime]]:
    """All moments in what was given out, with whose they are."""
    if is_dataclass(thing) and not isinstance(thing, type):
        for one in fields(thing):
            value = getattr(thing, one.name)
            if isinstance(value, datetime):
                yield type(thing), one.name, value
            yield from moments(value)
    elif isinstance(thing, list | tuple):
        for value in thing:
            yield from moments(value)


def told(shape: Any) -> Iterator[str]:
    """All moments in a JSON value."""
    if isinstance(shape, Mapping):
        shape = list(shape.values())
    if isinstance(shape, list):
        for value in shape:
            yield from told(value)
    elif isinstance(shape, str) and MOMENT.fullmatch(shape):
        yield shape


@pytest.fixture
def key(app: App) -> str:
    """The key of an administrator of a library in which something was added, asked, passed on and replied to."""
    app.add_source(Source(IRON, "iron.md"), filing=Filing(tags=frozenset({"public"})))
    ann = app.people.add(tenant=app.tenant, email="ann@clinic.example", name="Ann", role=Role.ADMIN, tags=[])
    key = app.people.add_key(ann.id, tenant=app.tenant, name="tests")[1]
    assert app.people.by_key(key) is not None
    app.ask_service.answer("How much ferrous sulfate in adults?", asker=ann.asker())
    done = app.ask_service.answer("Who is the king of France?", asker=ann.asker())
    assert done.routed_id is not None
    app.ask_service.inbox.reply(done.routed_id, "Nobody.", ann.asker())
    return key


def test_every_moment_that_is_given_out_is_aware_and_in_utc(app: App, key: str) -> None:
    began = datetime.now(UTC) - timedelta(minutes=30)
    user = app.people.by_key(key)
    assert user is not None
    ann = user.asker()
    service = app.ask_service
    talks = service.conversations.all(ann)
    entries = service.audit.entries(ann)
    given = [
        app.entries(),
        talks,
        [service.conversations.turns(one.id, ann) for one in talks],
        [*service.inbox.waiting(ann).items, *service.inbox.asked(ann).items],
        entries,
        [service.audit.read(one.answer_id, ann) for one in entries],
        app.people.keys(user.id, tenant=app.tenant),
    ]
    found = list(moments(given))
    assert {(owner, name) for owner, name, _ in found} >= GIVEN_OUT
    for owner, name, moment in found:
        assert (owner, name, moment.tzinfo) == (owner, name, UTC)
        set_at = moment - AHEAD.get((owner, name), timedelta())
        assert began < set_at < datetime.now(UTC) + timedelta(minutes=5)  # not the hour of some other place


def test_every_moment_over_http_says_that_it_is_in_utc(app: App, key: str) -> None:
    client = TestClient(
        create_app(app, token=TOKEN), base_url="http://127.0.0.1", headers={"Authorization": f"Bearer {key}"}
    )
    for path in ("documents", "conversations", "inbox", "asked", "audit", "keys"):
        answer = client.get(f"/api/v1/{path}")
        assert answer.status_code == 200, path
        found = list(told(answer.json()))
        assert found, path
        zones = {read["zone"] for one in found if (read := MOMENT.fullmatch(one))}
        assert zones <= {"Z", "+00:00"}, path
