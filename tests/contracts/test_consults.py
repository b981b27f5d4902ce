"""What every store of consults must do."""

from __future__ import annotations

import threading

import pytest

from citewell.adapters.store.audit import SqlAudit
from citewell.adapters.store.consults import SqlConsults
from citewell.adapters.store.encryption import TextCipher
from citewell.errors import ChangedMeanwhile, InputError, NotFound
from citewell.history import KeptOutcome
from citewell.ports.consult import ConsultEvent
from tests.contracts.conftest import Office
from tests.contracts.kept import ANN, BOB, STRANGER

FIRST = ConsultEvent("started", "2030-01-01T00:00:00+00:00", "ann", {"id": "c1"})
THEN = ConsultEvent("said", "2030-01-01T00:01:00+00:00", "ann", {"role": "user", "text": "A secret cough."})


@pytest.fixture
def consults(office: Office) -> SqlConsults:
    engine, path, seal = office.library.engine, office.library.path, TextCipher.of(office.file.parent)
    return SqlConsults(engine, path, seal, audit=SqlAudit(engine, path, seal))


def test_events_are_kept_in_order_and_listed_for_their_owner_alone(consults: SqlConsults) -> None:
    consults.begin("c1", [FIRST], state="interviewing", asker=ANN)
    consults.append("c1", [THEN], after=1, state="draft", asker=ANN)
    assert consults.events("c1", ANN) == [FIRST, THEN]
    assert [(one.id, one.state, one.length) for one in consults.all(ANN)] == [("c1", "draft", 2)]
    for other in (BOB, STRANGER):
        assert consults.all(other) == []
        with pytest.raises(NotFound):
            consults.events("c1", other)
        with pytest.raises(NotFound):
            consults.append("c1", [THEN], after=2, state="draft", asker=other)


def test_what_was_read_before_another_change_is_not_kept_and_a_signed_one_is_never_added_to(
    consults: SqlConsults,
) -> None:
    consults.begin("c1", [FIRST], state="interviewing", asker=ANN)
    consults.append("c1", [THEN], after=1, state="signed", asker=ANN)
    with pytest.raises(InputError, match="signed"):
        consults.append("c1", [THEN], after=2, state="draft", asker=ANN)
    consults.begin("c2", [FIRST], state="interviewing", asker=ANN)
    consults.append("c2", [THEN], after=1, state="interviewing", asker=ANN)
    with pytest.raises(ChangedMeanwhile):
        consults.append("c2", [THEN], after=1, state="interviewing", asker=ANN)
    assert len(consults.events("c2", ANN)) == 2


def test_of_many_that_append_at_once_one_is_kept(consults: SqlConsults) -> None:
    consults.begin("c1", [FIRST], state="interviewing", asker=ANN)
    refused: list[Exception] = []
    start = threading.Barrier(6)

    def add() -> None:
        start.wait()
        try:
            consults.append("c1", [THEN], after=1, state="interviewing", asker=ANN)
        except ChangedMeanwhile as error:
            refused.append(error)

    threads = [threading.Thread(target=add) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(refused) == 5
    assert consults.events("c1", ANN) == [FIRST, THEN]


def test_the_words_are_not_readable_in_the_file(office: Office, consults: SqlConsults) -> None:
    consults.begin("c1", [FIRST, THEN], state="interviewing", asker=ANN)
    kept = [path.read_bytes() for path in office.file.parent.iterdir() if path.is_file()]
    assert not any(b"secret cough" in data for data in kept)


def test_a_signature_stands_in_the_log_only_where_the_consult_is_signed(consults: SqlConsults, office: Office) -> None:
    audit = SqlAudit(office.library.engine, office.library.path, TextCipher.of(office.file.parent))
    signed = ConsultEvent("signed", "2030-01-01T00:02:00+00:00", "ann", {"name": "Ann"})
    ending = KeptOutcome("a1", "consult c1", ANN, place=None, words={"evidence": []}, text=None, route=None)
    consults.begin("c1", [FIRST], state="draft", asker=ANN)
    consults.append("c1", [THEN], after=1, state="draft", asker=ANN)
    before = len(audit.entries(ANN))
    with pytest.raises(ChangedMeanwhile):
        consults.sign("c1", [signed], after=1, state="signed", ending=ending, asker=ANN)
    assert len(audit.entries(ANN)) == before
    consults.sign("c1", [signed], after=2, state="signed", ending=ending, asker=ANN)
    assert audit.entries(ANN)[0].answer_id == "a1"
    assert consults.events("c1", ANN)[-1] == signed
