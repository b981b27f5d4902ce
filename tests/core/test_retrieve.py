"""From question to hits, through the real library, index and model."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import pytest

from citewell.answer.retrieve import Search, matched_spans, retrieve, retrieve_all, weighted_terms
from citewell.app import App
from citewell.errors import InputError
from citewell.ports import Embedder, Library, Vectors
from citewell.types import Filing, Scope, Source

NOTES = {
    "haemoptysis.md": "# Coughing blood\n\nRefer adults aged 40 and over with unexplained haemoptysis within 2 weeks.",
    "anaemia.md": "# Low iron\n\nGive ferrous sulfate 200 mg once daily for iron deficiency anaemia.",
    "back.md": "# Back pain\n\nDo not offer opioids for managing acute low back pain.",
    "feet.md": "# Foot care\n\nPeople with diabetes should check their feet every day.",
}


@pytest.fixture
def notes(app: App) -> App:
    for name, text in NOTES.items():
        app.add_source(Source(text.encode(), name))
    return app


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("hemoptysis", "Coughing blood"),
        ("my mum is coughing up blood", "Coughing blood"),
        ("treatment of low hemoglobin with iron", "Low iron"),
        ("sore back painkillers", "Back pain"),
        ("how often to look at diabetic feet", "Foot care"),
    ],
)
def test_a_question_in_other_words_finds_its_passage(notes: App, question: str, title: str) -> None:
    assert notes.search(question).hits[0].document == title


def test_a_hit_says_why_it_was_found(notes: App) -> None:
    results = notes.search("hemoptysis referral")
    hit = results.hits[0]
    assert hit.why.dense_rank == 1
    assert hit.why.lexical_rank == 1
    assert "haemoptysis" in hit.why.matched_terms
    assert hit.why.best_sentence is not None
    start, end = hit.why.best_sentence
    text = notes.show(hit.document_id)[1].text
    assert text[start:end] == "Refer adults aged 40 and over with unexplained haemoptysis within 2 weeks."
    assert ("haemoptysis", "spelling") in {(added.phrase, added.reason) for added in results.expansions}
    assert 0.0 <= hit.relevance <= 1.0
    assert -1.0 <= hit.raw_cosine <= 1.0


@dataclass
class Counted:
    """A part of the search that counts what is asked of it."""

    part: Any
    calls: Counter[str] = field(default_factory=Counter)

    def __getattr__(self, name: str) -> Any:
        self.calls[name] += 1
        return getattr(self.part, name)


class OneByOne:
    """The real embedder, text by text: a vector then does not depend on what it is computed with."""

    def __init__(self, embedder: Embedder) -> None:
        self.fingerprint = embedder.fingerprint
        self._embedder = embedder

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.concatenate([self._embedder.embed([text]) for text in texts])


def test_questions_asked_together_find_what_each_finds_alone_and_read_the_library_once(notes: App) -> None:
    library = Counted(notes.library)
    search = Search(cast(Library, library), notes.index, cast(Embedder, OneByOne(notes.embedder)), notes.lexicon)
    scope = notes.scope_of_owner()
    asked = ["hemoptysis", "iron for anaemia", "why check feet?", "zxqv wvut", "iron for anaemia", "blood and iron"]
    alone = [retrieve(question, scope=scope, search=search) for question in asked]
    library.calls.clear()
    assert retrieve_all(asked, scope=scope, search=search) == alone
    assert (library.calls["sentences"], library.calls["hits"]) == (1, 1)
    untold = retrieve_all(asked, scope=scope, search=search, with_terms=False)
    assert [[replace(hit, why=replace(hit.why, matched_terms=())) for hit in one.hits] for one in alone] == [
        list(one.hits) for one in untold
    ]


def _edition(title: str, published: str, text: str) -> bytes:
    head = f'<title>{title}</title><meta name="dc.date.issued" content="{published}">'
    return f"<!doctype html><html><head>{head}</head><body><h1>{title}</h1><p>{text}</p></body></html>".encode()


def test_of_the_same_words_in_two_documents_the_newer_is_found_where_the_older_stood(app: App) -> None:
    words = "Give ferrous sulfate 200 mg once daily for iron deficiency anaemia until the blood count is normal again."
    old = app.add_source(Source(_edition("Iron deficiency anaemia", "2014-05-01", words), "old.html")).entry.id
    best = app.search("iron deficiency anaemia dose").hits[0]
    new = app.add_source(Source(_edition("Leaflets", "2024-05-01", words), "new.html")).entry.id
    found = app.search("iron deficiency anaemia dose").hits
    assert [hit.document_id for hit in found] == [new]
    assert best.document_id == old
    assert found[0].raw_cosine < best.raw_cosine, "the older one is nearer to the question"


def test_nothing_near_finds_nothing(notes: App) -> None:
    assert notes.search("zxqv wvut").hits == ()


def test_another_tenant_finds_nothing(notes: App) -> None:
    assert notes.search("iron", scope=Scope("someone else", frozenset({"*"}), None, None)).hits == ()


def test_documents_outside_the_scope_change_no_score(notes: App) -> None:
    scope = notes.scope(tags=["public"])
    before = notes.search("iron for anaemia", scope=scope).hits
    for number in range(5):
        source = Source(f"# Iron {number}\n\nIron iron anaemia iron, note {number}.".encode(), f"iron-{number}.md")
        notes.add_source(source, filing=Filing(tags=frozenset({"secret"})))
    assert notes.search("iron for anaemia", scope=scope).hits == before
    assert len(notes.search("iron for anaemia").hits) > len(before)


def test_a_change_is_seen_by_the_next_search(notes: App) -> None:
    hit = notes.search("diabetes feet").hits[0]
    notes.delete(hit.document_id)
    assert "Foot care" not in {found.document for found in notes.search("diabetes feet").hits}


def test_two_searches_give_the_same_bytes(notes: App) -> None:
    assert notes.search("pain in the back").hits == notes.search("pain in the back").hits


@pytest.mark.parametrize("question", ["", "   ", "x " * 3_000])
def test_an_empty_or_endless_question_is_refused(notes: App, question: str) -> None:
    with pytest.raises(InputError):
        notes.search(question)


@pytest.mark.parametrize(
    "question", ["\x00", "'; DROP TABLE documents; --", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \ud800 text", "the of and", "🤒" * 50]
)
def test_odd_questions_do_no_harm(notes: App, question: str) -> None:
    notes.search(question)
    assert notes.verify().problems == ()


def test_no_word_of_a_question_reaches_the_log(notes: App, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        notes.search("zebrafinch haemoptysis")
    assert "zebrafinch" not in caplog.text


def test_added_words_count_less_than_typed_ones(notes: App) -> None:
    results = notes.search("hemoptysis")
    weights = weighted_terms("hemoptysis", results.expansions)
    typed = weights["hemoptysi"]
    added = [weight for term, weight in weights.items() if term != "hemoptysi"]
    assert 0 < max(added) < typed
    assert matched_spans("No Haemoptysis.", weights) == [(3, 14)]


def test_versions_replace_each_other_in_search(notes: App) -> None:
    old = notes.search("ferrous sulfate dose").hits[0]
    changed = NOTES["anaemia.md"].replace("200 mg once daily", "200 mg on alternate days")
    entry = notes.add_source(Source(changed.encode(), "anaemia.md")).entry
    new = notes.search("ferrous sulfate dose").hits[0]
    assert (new.document_id, new.version) == (entry.id, 2)
    assert old.document_id not in {hit.document_id for hit in notes.search("ferrous sulfate dose").hits}
    assert replace(new, version=1).document == old.document
