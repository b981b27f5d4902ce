"""What was current at an earlier moment can be asked again, as far as it is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from citewell.adapters.index.exact import ExactIndex
from citewell.adapters.store.library import SqlLibrary
from citewell.ingest.library_changes import add, reindex
from citewell.ingest.parse_cut_embed import FileReader
from citewell.types import Filing, LibraryEntry, Scope, Source
from tests.contracts.conftest import Office

OWNER = Scope.owner("clinic")
FIRST = Source(b"Aspirin\n\nTake aspirin 75 mg once daily.", "aspirin.txt")
SECOND = Source(b"Aspirin\n\nTake aspirin 150 mg once daily.", "aspirin.txt")
IRON = Source(b"Iron\n\nFerrous sulfate 200 mg is taken with water.", "iron.txt")

Put = Callable[..., LibraryEntry]


@pytest.fixture
def put(office: Office, reader: FileReader) -> Put:
    def put(source: Source, **filing: object) -> LibraryEntry:
        made = Filing(**filing)  # type: ignore[arg-type]
        return add(source, filing=made, scope=OWNER, library=office.library, reader=reader).entry

    return put


def ids(library: SqlLibrary, stamp: int, scope: Scope = OWNER) -> list[str]:
    return [document_id for _, document_id in library.at(stamp).versions(scope)]


def test_each_moment_has_its_own_versions(office: Office, put: Put) -> None:
    library = office.library
    stamps, entries = [library.stamp()], []
    for source in (FIRST, IRON, SECOND):
        entries.append(put(source))
        stamps.append(library.stamp())
    aspirin, iron, newer = (entry.id for entry in entries)
    assert [ids(library, stamp) for stamp in stamps] == [[], [aspirin], [aspirin, iron], [iron, newer]]
    assert library.at(stamps[-1]).visible(OWNER) == library.visible(OWNER)
    assert library.at(stamps[-1]).current() == library.current()


def test_the_present_is_the_past_at_the_present_stamp(office: Office, put: Put) -> None:
    for source in (FIRST, SECOND, IRON):
        entry = put(source)
    office.library.refile(entry.id, filing=Filing(tags=frozenset({"ward"})), scope=OWNER)
    for scope in (OWNER, Scope("clinic", frozenset(), None, None), Scope("elsewhere", frozenset({"*"}), None, None)):
        assert office.library.at(office.library.stamp()).visible(scope) == office.library.visible(scope)


def test_access_is_decided_as_it_is_now(office: Office, put: Put) -> None:
    library = office.library
    entry = put(FIRST)
    stamp = library.stamp()
    ward = Scope("clinic", frozenset({"ward"}), None, None)
    assert ids(library, stamp, ward) == [entry.id]
    library.refile(entry.id, filing=Filing(tags=frozenset({"secret"})), scope=OWNER)
    assert ids(library, stamp, ward) == []
    assert ids(library, stamp, replace(ward, tenant="elsewhere")) == []


def test_only_some_generations_where_they_are_named(office: Office, put: Put) -> None:
    library = office.library
    put(FIRST), put(IRON)
    one, other = library.current()
    assert library.at(library.stamp(), only=[other]).current() == [other]
    assert library.at(library.stamp(), only=[]).current() == []
    assert library.at(library.stamp(), only=[one, other, 99]).visible(OWNER) == [one, other]


def test_what_is_erased_is_gone_from_the_past_too(office: Office, put: Put) -> None:
    library = office.library
    old = put(FIRST)
    stamp = library.stamp()
    put(SECOND)
    assert ids(library, stamp) == [old.id]
    library.erase(old.id, OWNER)
    assert ids(library, stamp) == []


def test_an_index_of_the_past_finds_the_words_of_then(office: Office, put: Put, reader: FileReader) -> None:
    library = office.library
    put(FIRST)
    stamp = library.stamp()
    put(SECOND)
    vector = reader.embedder.embed(["dose of aspirin"])[0]

    def found(index: ExactIndex) -> set[int]:
        return {one.generation for one in index.candidates(vector, {"aspirin": 1.0}, scope=OWNER, limit=5)}

    assert found(ExactIndex(library.at(stamp))) == {1}
    assert found(ExactIndex(library)) == {2}


def test_the_past_lives_on_when_everything_is_embedded_anew(office: Office, put: Put, reader: FileReader) -> None:
    library = office.library
    old = put(FIRST)
    stamp = library.stamp()
    new = put(SECOND)
    before = library.at(stamp).current()
    reindex(library=library, reader=reader, progress=lambda _title, _step: None)
    assert ids(library, stamp) == [old.id]
    assert ids(library, library.stamp()) == [new.id]
    assert library.at(stamp).current() != before
