"""Finds what a guideline says: to a question, with the reader of answers; for a patient, by cosine and boosts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from citewell.answer.expand import expand
from citewell.answer.filters import question_filter
from citewell.answer.rank import ANSWERING
from citewell.answer.retrieve import Search
from citewell.answer.retrieve import retrieve as passages
from citewell.answer.select import AnswerScorer, candidates
from citewell.answer.select import loaded as selection_weights
from citewell.answer.statements import Statement
from citewell.assistants.guidelines.chat_cues import has, without
from citewell.assistants.guidelines.concept_match import Unit, holds, is_clinical, placed, units
from citewell.assistants.guidelines.criteria import CriterionState
from citewell.assistants.guidelines.evaluate import evaluate
from citewell.assistants.guidelines.evaluate_finding import PatientRecord
from citewell.assistants.guidelines.guideline import Guideline, GuidelineRule
from citewell.assistants.guidelines.patient import PatientInput
from citewell.assistants.guidelines.search_entries import RuleFacts, SearchEntry, facts
from citewell.assistants.guidelines.search_index import SearchableGuideline
from citewell.assistants.guidelines.shared_terms import focus
from citewell.assistants.guidelines.tables import rows
from citewell.clinical import broader
from citewell.ports import Vector, products
from citewell.types import Evidence, Hit, Scope

BANDS = 3
"""Age bands from which a rule is read as holding a table of thresholds by age."""


AMOUNTS = {
    "at or above minimum age": 0.15,
    "below maximum age": 0.15,
    "symptom in common": 0.10,
    "has smoked": 0.10,
    "sex fits": 0.05,
    "sex does not fit": -0.30,
}
"""What each adds to the cosine of a rule."""


def _age_boost(record: PatientRecord, known: RuleFacts, guideline: Guideline) -> float:
    """Only an age on record counts, and only where ages tell people apart: a table has a band for everyone."""
    if sum(age.age_from is not None and age.age_below is not None for age in known.ages) >= BANDS:
        return 0.0
    met = [age_range for age_range in known.ages if evaluate(age_range, record, guideline).state is CriterionState.MET]
    is_reached = any(age_range.age_from is not None for age_range in met)
    is_kept = any(age_range.age_below is not None for age_range in met)
    return AMOUNTS["at or above minimum age"] * is_reached + AMOUNTS["below maximum age"] * is_kept


def boost_for_patient(record: PatientRecord, piece: SearchEntry, guideline: Guideline) -> float:
    """What a patient's record adds; the best of the rules that the piece stands for counts."""
    return max((_patient_boost(record, rule, guideline) for rule in piece.rules), default=0.0)


def _patient_boost(record: PatientRecord, rule: GuidelineRule, guideline: Guideline) -> float:
    """Only what the record states counts."""
    known = facts(rule)
    found = _age_boost(record, known, guideline)
    found += AMOUNTS["symptom in common"] * _shared(record, known)
    smoking = (exposure for exposure in known.exposures if exposure.name == "smoking")
    found += AMOUNTS["has smoked"] * any(
        evaluate(exposure, record, guideline).state is CriterionState.MET for exposure in smoking
    )
    return found + _sex_boost(evaluate(sex, record, guideline).state for sex in known.sexes)


def _shared(record: PatientRecord, known: RuleFacts) -> int:
    """How many findings of the rule the record states; what it denies is none."""
    wanted = {frozenset(units(finding.phrase)) for finding in known.findings}
    return sum(any(holds(one, clause.names) for clause in record.said) for one in wanted)


def _sex_boost(states: Iterable[CriterionState]) -> float:
    judged = list(states)
    if CriterionState.MET in judged:
        return AMOUNTS["sex fits"]
    return AMOUNTS["sex does not fit"] if CriterionState.NOT_MET in judged else 0.0


PASSAGES = 24
"""Passages that are looked at for a question; those outside the recommendations are left out."""
PASSAGES_READ = 10
"""So many of them are read by statements."""
MAX_SECTION = 2_500
"""Characters of a section that are quoted together, where a guideline has no numbered recommendations."""
FETCHED_FOR_EACH = 3
"""So many pieces are looked at for each that is wanted, since several stand for the same rule."""
HOLDING_ALL = 0.16
"""The chance of what holds all that a message names, where it asks nothing that could be answered."""
CHAT_LIMIT = 6
ASSESSMENT_LIMIT = 8

RULE_ID = re.compile(r"(?<![\w.])\d{1,2}\.\d{1,3}\.\d{1,3}(?![\w]|\.\d)")


@dataclass(frozen=True, slots=True)
class RetrievedEntry:
    """Something that answers, with the score that gates see and the boost that only the order sees."""

    book: SearchableGuideline
    piece: SearchEntry
    """What is quoted: a canonical rule, a row or a definition; never an enriched text."""
    score: float
    """The chance that it answers the question; for a patient, the cosine of what was matched."""
    boost: float = 0.0
    is_named: bool = False
    """Asked for by its number or its term."""
    is_for_others: bool = False
    """It is for people whom the one asked about is not among: children, or another age or sex."""

    @property
    def rank(self) -> float:
        return self.score + self.boost


@dataclass(frozen=True, slots=True)
class GuidelineSearch:
    """What a question is looked up with."""

    search: Search
    """Over the guidelines alone."""
    scope: Scope
    reader: AnswerScorer | None


def retrieve(
    question: str, books: Sequence[SearchableGuideline], search: GuidelineSearch, *, limit: int = CHAT_LIMIT
) -> list[RetrievedEntry]:
    """What a question names by number, term or symptom, or else the best entries for it."""
    if unknown_numbers(question, books):
        return []
    if named := [*by_number(question, books), *by_term(question, books), *by_symptom(question, books)]:
        return named
    read = list(_read(question, {book.document_id: book for book in books}, search))
    if not has("asks", question):
        read += _holding_all(question, books)
    return _collapsed(read, keeps_rows=has("asks index", question))[:limit]


def _holding_all(message: str, books: Sequence[SearchableGuideline]) -> Iterator[RetrievedEntry]:
    """What holds all that a message names, where it names things and asks nothing: “visible haematuria, 60”."""
    for book in books if any(map(is_clinical, focus(message))) else ():
        for entry, share in zip(book.searched, book.shared.shares(message), strict=True):
            if share >= 1:
                yield RetrievedEntry(book, entry, HOLDING_ALL)


def _read(question: str, books: Mapping[str, SearchableGuideline], search: GuidelineSearch) -> Iterator[RetrievedEntry]:
    """The entries of the statements that may answer, with the chance that each does."""
    lexicon, weights = search.search.lexicon, selection_weights(is_read=search.reader is not None)
    found = passages(question, scope=search.scope, search=search.search, limit=PASSAGES, controls=ANSWERING).hits
    hits = [hit for hit in found if _recommends(books[hit.document_id], hit)][:PASSAGES_READ]
    evidence = [Evidence(number, hit, hit.start, hit.end) for number, hit in enumerate(hits, 1)]
    expansions, asked = expand(question, lexicon=lexicon, to_answer=True), question_filter(question)
    for candidate in candidates(question, evidence, reader=search.reader, expansions=expansions):
        book, statement = books[candidate.hit.document_id], candidate.statement
        is_for_others = asked.is_for_others(statement, (candidate.hit.document, *statement.titles))
        for entry in _entries(book, statement, candidate.hit):
            if entry.kind == "table" and not asked.admits_caption(entry.label):
                continue
            yield RetrievedEntry(book, entry, weights.chance(candidate.features), is_for_others=is_for_others)


def _recommends(book: SearchableGuideline, hit: Hit) -> bool:
    """Whether a passage holds recommendations; in a guideline that numbers none, every passage may."""
    return not book.guideline.rules or bool(book.entries_at(hit.start, hit.end))


def _entries(book: SearchableGuideline, statement: Statement, hit: Hit) -> list[SearchEntry]:
    """What a statement stands in; in a guideline without numbered recommendations, the statement itself."""
    if book.guideline.rules:
        return book.entries_at(*statement.pieces[-1])
    (start, _), (last, end) = statement.pieces[0], statement.pieces[-1]
    start = start if end - start <= MAX_SECTION else last
    words = hit.text[start - hit.start : end - hit.start]
    nearest = [f", {title}" for title in statement.titles[-1:]]
    return [
        replace(
            section,
            id=str(start),
            text=words,
            label=section.label + "".join(title for title in nearest if title not in f", {section.label}"),
            page=hit.page or section.page,
            start=start,
            end=end,
        )
        for section in book.entries_at(last, end)[:1]
    ]


def retrieve_for(
    patient: PatientInput, vector: Vector, books: Sequence[SearchableGuideline], *, limit: int = ASSESSMENT_LIMIT
) -> list[RetrievedEntry]:
    """The best rules for a patient, to be shown beside an assessment."""
    record = PatientRecord(patient)
    question = query_for(patient)
    retrieved_entries = [
        replace(candidate, boost=boost_for_patient(record, candidate.piece, candidate.book.guideline))
        for candidate in _nearest(question, vector, books, limit * FETCHED_FOR_EACH)
    ]
    return [
        retrieved_entry
        for retrieved_entry in _collapsed(retrieved_entries, keeps_rows=False)
        if retrieved_entry.piece.kind == "rule"
    ][:limit]


def query_for(patient: PatientInput) -> str:
    """What is looked for on a patient's behalf: symptoms, how long they last, age, sex, smoking."""
    days = {complaint.duration_days for complaint in patient.complaints if complaint.duration_days is not None}
    parts = [
        ", ".join(complaint.text for complaint in patient.complaints),
        f"for {max(days):g} days" if days else "",
        f"age {patient.age}" if patient.age is not None else "",
        patient.sex or "",
        patient.smoking or "",
    ]
    return " ".join(part for part in parts if part)


def by_number(question: str, books: Iterable[SearchableGuideline]) -> list[RetrievedEntry]:
    """The rules that a question names, such as 1.1.1, in each guideline that has them."""
    wanted = list(dict.fromkeys(RULE_ID.findall(question)))
    return [
        RetrievedEntry(book, piece, 1.0, is_named=True)
        for book in books
        for number in wanted
        for piece in book.pieces
        if piece.kind == "rule" and piece.id == number
    ]


def unknown_numbers(question: str, books: Iterable[SearchableGuideline]) -> list[str]:
    """The numbers that a question names, where none of the guidelines has any of them."""
    wanted = list(dict.fromkeys(RULE_ID.findall(question)))
    return [] if any(number in book.guideline.by_id for book in books for number in wanted) else wanted


def by_term(question: str, books: Iterable[SearchableGuideline]) -> list[RetrievedEntry]:
    """The definitions whose terms a question asks the meaning of; the longest term wins where one holds another."""
    left, retrieved_entries = question.casefold(), []
    terms = [(book, piece) for book in books for piece in book.pieces if piece.kind == "definition"]
    for book, piece in sorted(terms, key=lambda one: -len(one[1].id)):
        pattern = rf"(?<!\w){re.escape(re.sub(r'(?<=[^s])s$', '', piece.id))}s?(?!\w)"
        if re.search(pattern, left):
            left = re.sub(pattern, " ", left)
            retrieved_entries.append(RetrievedEntry(book, piece, 1.0, is_named=True))
    is_bare = has("asks what", left) and not re.search(r"\w", without("asks what", left))
    return retrieved_entries if has("asks meaning", left) or is_bare else []


def by_symptom(question: str, books: Iterable[SearchableGuideline]) -> list[RetrievedEntry]:
    """The rows of an index by symptom that a question asks for: all that open with a symptom that it names."""
    asked = [unit for unit in focus(question) if is_clinical(unit)] if has("asks index", question) else []
    rows = [(book, entry) for book in books for entry in book.pieces if asked and entry.kind == "symptom"]
    return [RetrievedEntry(book, row, 1.0, is_named=True) for book, row in rows if _opens_with(row.matched, asked)]


def _opens_with(symptom: str, asked: Sequence[Unit]) -> bool:
    """Whether a row holds all things asked for, and the first thing of it is one of them.

    >>> wanted = focus("weight loss")
    >>> _opens_with("Weight loss with cough", wanted), _opens_with("Cough with weight loss", wanted)
    (True, False)
    """
    told = [unit | broader(unit) for _, unit in placed(symptom)]
    return bool(told) and all(any(unit & one for one in told) for unit in asked) and any(told[0] & one for one in asked)


def _nearest(question: str, vector: Vector, books: Sequence[SearchableGuideline], limit: int) -> list[RetrievedEntry]:
    """The pieces of all guidelines nearest to a vector, and those that hold most of what the words speak of."""
    entries = [
        (RetrievedEntry(book, piece, float(score)), share)
        for book in books
        for piece, score, share in zip(
            book.searched, products(book.vectors, vector), book.shared.shares(question), strict=True
        )
    ]
    nearest = sorted(entries, key=lambda one: -one[0].score)[:limit]
    sharing = sorted((one for one in entries if one[1]), key=lambda one: (-one[1], -one[0].score))[:limit]
    return [entry for entry, _ in (*nearest, *(one for one in sharing if one not in nearest))]


def _collapsed(retrieved_entries: Iterable[RetrievedEntry], *, keeps_rows: bool) -> list[RetrievedEntry]:
    """Each rule once, with the best of what stands for it; ordered by score and boost together."""
    best: dict[tuple[str, str, str], RetrievedEntry] = {}
    for retrieved_entry in retrieved_entries:
        for quoted in _quoted(retrieved_entry, keeps_rows=keeps_rows):
            known = best.get(_key(quoted), quoted)
            score, boost = max(known.score, retrieved_entry.score), max(known.boost, retrieved_entry.boost)
            is_for_others = known.is_for_others and retrieved_entry.is_for_others
            best[_key(quoted)] = replace(quoted, score=score, boost=boost, is_for_others=is_for_others)
    return sorted(best.values(), key=lambda one: (one.is_for_others, -one.rank, -one.score))


def _quoted(retrieved_entry: RetrievedEntry, *, keeps_rows: bool) -> list[RetrievedEntry]:
    """What is quoted for something that matched: the canonical rules it stands for, or else itself."""
    if not retrieved_entry.piece.rules or (keeps_rows and retrieved_entry.piece.kind == "symptom"):
        return [retrieved_entry]
    wanted = {rule.id for rule in retrieved_entry.piece.rules}
    rules = [piece for piece in retrieved_entry.book.pieces if piece.kind == "rule" and piece.id in wanted]
    return [replace(retrieved_entry, piece=piece) for piece in rules]


def _key(retrieved_entry: RetrievedEntry) -> tuple[str, str, str]:
    return retrieved_entry.book.document_id, retrieved_entry.piece.kind, retrieved_entry.piece.id


Quality = Literal["none", "weak", "sufficient"]


@cache
def limit(name: str) -> float:
    """A number of the table."""
    return next(float(value) for key, value in rows("chat_gates.tsv") if key == name)


def quality(retrieved_entries: Sequence[RetrievedEntry]) -> Quality:
    """Whether the pieces carry an answer; what was asked for by its number or term always does."""
    if any(entry.is_named for entry in retrieved_entries):
        return "sufficient"
    best = max((entry.score for entry in retrieved_entries), default=0.0)
    if best >= limit("sufficient from"):
        return "sufficient"
    return "weak" if best >= limit("weak from") else "none"
