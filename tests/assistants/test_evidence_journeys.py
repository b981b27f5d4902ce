"""Care journeys: named, renamed, removed and assigned, live in search without embedding anything again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from citewell.adapters.store.journeys import JourneyChange
from citewell.app import App
from citewell.errors import AlreadyThere, ChangedMeanwhile, InputError, NotFound
from citewell.types import EVERY, Filing, LibraryEntry, Scope, Source

CLINIC = Scope.owner("local")
OTHER = Scope.owner("other")
TEXTS = {
    "walk": "Walking\n\nPeople with pain in the lower back should keep walking every day.",
    "knee": "Knees\n\nPeople with pain in the knee should strengthen the thigh muscles.",
    "pain": "Pain\n\nParacetamol 1 g may be taken up to four times a day for pain.",
}

Put = Callable[..., LibraryEntry]


@pytest.fixture
def put(app: App) -> Put:
    def put(name: str, *journeys: str, text: str | None = None, replaces: str | None = None) -> LibraryEntry:
        source = Source((text or TEXTS[name]).encode(), f"{name}.txt")
        return app.add_source(source, filing=Filing(journeys=frozenset(journeys) or None, replaces=replaces)).entry

    return put


def found(app: App, journey: str | None, question: str = "what helps against pain") -> set[str]:
    return {hit.document for hit in app.search(question, scope=app.scope(journey=journey)).hits}


def test_a_journey_adds_its_documents_to_those_for_everyone_and_follows_at_once(app: App, put: Put) -> None:
    walk, knee, _ = put("walk"), put("knee"), put("pain")
    vectors = app.library.current()
    back = app.journeys.add("Lower back pain", slug="back", description="For adults", scope=CLINIC, by="owner")
    app.journeys.add("Knee pain", scope=CLINIC, by="owner")
    assert found(app, None) == found(app, "back") == {"Walking", "Knees", "Pain"}
    app.journeys.assign("back", [walk.id], scope=CLINIC, by="owner")
    (filed,) = app.journeys.assign("knee-pain", [knee.id], scope=CLINIC, by="owner")
    assert filed.journeys == ("knee-pain",)
    assert (found(app, None), found(app, "back")) == ({"Pain"}, {"Walking", "Pain"})
    assert found(app, "knee-pain") == {"Knees", "Pain"}
    (both,) = app.journeys.assign("knee-pain", [walk.id], scope=CLINIC, by="owner")
    assert both.journeys == ("back", "knee-pain")
    assert found(app, "knee-pain") == {"Walking", "Knees", "Pain"}
    app.journeys.unassign("back", [walk.id], scope=CLINIC, by="owner")
    assert found(app, "back") == {"Pain"}
    assert app.library.current() == vectors  # nothing was embedded again
    told = {one.slug: one.documents for one in app.journeys.all(CLINIC)}
    assert told == {"back": 0, "knee-pain": 2}
    assert (back.name, back.description, back.revision) == ("Lower back pain", "For adults", 1)


def test_documents_and_searches_follow_a_journey_to_its_new_slug(app: App, put: Put) -> None:
    walk = put("walk", "back")  # filed under a slug that nobody has named yet
    assert [(one.slug, one.name, one.revision) for one in app.journeys.all(CLINIC)] == [("back", "back", 0)]
    named = app.journeys.edit("back", JourneyChange("Back pain", "back-pain"), revision=0, scope=CLINIC, by="owner")
    assert (named.slug, named.name, named.documents) == ("back-pain", "Back pain", 1)
    assert app.library.entry(walk.id, CLINIC).journeys == ("back-pain",)
    assert found(app, "back") == found(app, "back-pain") == {"Walking"}
    with pytest.raises(NotFound, match="Journey not found"):
        found(app, "knee-pain")
    assert app.journeys.one("back", CLINIC) == named  # what was written down once still leads there
    with pytest.raises(AlreadyThere, match="had this slug"):
        app.journeys.add("Backs", slug="back", scope=CLINIC, by="owner")
    again = app.journeys.edit("back-pain", JourneyChange(slug="back"), revision=None, scope=CLINIC, by="owner")
    assert (again.slug, app.journeys.current_slug("back-pain", CLINIC)) == ("back", "back")


def test_of_two_who_edit_a_journey_the_second_is_told(app: App) -> None:
    opened = app.journeys.add("Asthma", scope=CLINIC, by="owner")
    app.journeys.edit("asthma", JourneyChange("Asthma in adults"), revision=opened.revision, scope=CLINIC, by="ann")
    with pytest.raises(ChangedMeanwhile, match="Reload it"):
        app.journeys.edit("asthma", JourneyChange("Asthma, all"), revision=opened.revision, scope=CLINIC, by="bob")
    kept = app.journeys.one("asthma", CLINIC)
    assert (kept.name, kept.changed_by, kept.revision) == ("Asthma in adults", "ann", 2)


def test_removing_a_journey_shows_nothing_to_everyone_unless_that_is_said(app: App, put: Put) -> None:
    walk, knee = put("walk", "back"), put("knee", "back", "knee")
    for slug in ("back", "knee", "hip"):
        if slug == "hip":
            app.journeys.add("Hip pain", slug="hip", scope=CLINIC, by="owner")
        else:
            app.journeys.edit(slug, JourneyChange(slug.title()), revision=None, scope=CLINIC, by="owner")
    with pytest.raises(InputError, match="Choose where to move them"):
        app.journeys.remove("back", scope=CLINIC, by="owner")
    assert found(app, None) == set()
    assert app.journeys.remove("back", to="hip", scope=CLINIC, by="owner") == 2
    assert (found(app, "hip"), found(app, "knee"), found(app, None)) == ({"Walking"}, {"Knees"}, set())
    assert app.journeys.remove("hip", universal=True, scope=CLINIC, by="owner") == 1
    assert found(app, None) == {"Walking"}
    assert [one.slug for one in app.journeys.all(CLINIC)] == ["knee"]
    assert app.library.entry(walk.id, CLINIC).journeys == ()
    assert app.library.entry(knee.id, CLINIC).journeys == ("knee",)
    assert [(one.change, one.by) for one in app.library.history(walk.id, CLINIC)][-2:] == [("refiled", "owner")] * 2


def test_a_newer_version_that_is_still_being_read_goes_along(app: App, put: Put) -> None:
    walk = put("walk")
    app.journeys.add("Back", scope=CLINIC, by="owner")
    newer = Source(b"Walking\n\nPeople with pain in the lower back should walk and swim.", "walk.txt")
    waiting = app.library.enqueue(newer, filing=Filing(replaces=walk.id), scope=CLINIC)
    app.journeys.assign("back", [walk.id], scope=CLINIC, by="owner")
    assert app.library.entry(waiting.id, CLINIC).journeys == ("back",)


@pytest.mark.parametrize(
    "slug", ["", "*", "Back Pain", "-back", "back--pain", "ü", "x" * 65, "universal", "all", "a/b"]
)
def test_slugs_that_cannot_stand_in_an_address_are_refused(app: App, slug: str) -> None:
    if slug:
        with pytest.raises(InputError):
            app.journeys.add("Back", slug=slug, scope=CLINIC, by="owner")
    for name in ("", "  ", "x" * 121, "\x01"):
        with pytest.raises(InputError):
            app.journeys.add(name, scope=CLINIC, by="owner")
    assert app.journeys.all(CLINIC) == []


def test_no_tenant_and_nobody_without_the_tag_sees_a_journeys_documents(app: App, put: Put) -> None:
    walk = put("walk")
    app.journeys.add("Back", scope=CLINIC, by="owner")
    app.journeys.assign("back", [walk.id], scope=CLINIC, by="owner")
    app.refile(walk.id, Filing(tags=frozenset({"staff"})))
    assert app.journeys.all(OTHER) == []
    for call in (
        lambda: app.journeys.one("back", OTHER),
        lambda: app.journeys.assign("back", [walk.id], scope=OTHER, by="owner"),
        lambda: app.journeys.remove("back", universal=True, scope=OTHER, by="owner"),
    ):
        with pytest.raises(NotFound):
            call()
    app.journeys.add("Back of theirs", slug="back", scope=OTHER, by="owner")
    with pytest.raises(NotFound):
        app.journeys.assign("back", [walk.id], scope=OTHER, by="owner")
    outsider = replace(CLINIC, tags=frozenset(), journey=EVERY, subject=None)
    assert [(one.slug, one.documents) for one in app.journeys.all(outsider)] == [("back", 0)]
    app.journeys.remove("back", universal=True, scope=OTHER, by="owner")
    assert app.library.entry(walk.id, CLINIC).journeys == ("back",)
