"""Writes a plan without a model: the sentences of guidelines that tell what to do, word for word, where they apply."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from citewell.assistants.consult.advice_sections import imprint_of
from citewell.assistants.consult.advice_sentences import is_empty, is_telling, is_warning, states
from citewell.assistants.consult.applicability import Applicable, applicability_of
from citewell.assistants.consult.disease_stages import is_for_severe
from citewell.assistants.consult.gather import ApplicablePassage
from citewell.assistants.consult.patient_conditions import KnownConditions
from citewell.assistants.consult.weight_based_doses import has_dose
from citewell.clinical.medicines import medicines
from citewell.sentences import terms
from citewell.types import Context, Evidence, EvidenceSpan, Hit
from citewell.types.consult import Patient

MAX_QUOTED = 10
SEVERE = 2.0
"""What a sentence for severe disease counts less where the diagnosis does not say that it is."""


_ITEM = re.compile(r"\s*(?:[•◦▪●○‣·*–—-]|\(?[a-z0-9]{1,2}\))\s+")
GRADE = re.compile(
    r"(?:(?<!\s)\s+)?(\[(?:[^\]\n]{3,20}recommendation|use only in research|good practice (?:statement|point))"
    r"[^\]]{0,80}\])\.?\s*",
    re.IGNORECASE,
)
"""“[Conditional recommendation, low certainty evidence]”: at the head of a sentence it belongs to the one before."""
_NUMBERED = re.compile(r"(?:(?<!\s)\s+)?(?<!\d)\d+(?:\.\d+){0,6}\.?\s+")
_ENDED = re.compile(r"[.!:;\])”\"]\s*$")
CUT_OFF = "the list it introduces is not in this passage"
NAMELESS = "it names no medicine, so it is not clear what the dose is for"
_PARAGRAPH = re.compile(r"\n\s*\n")
_LABEL = re.compile(r"\s*(?:[•◦▪●○‣·*–—-]\s+)?(?P<label>[A-Z][\w'’()/-]*(?:[ ,]+[\w'’()/-]+){0,3}):\s")
"""“Children: …” at the head of a paragraph says for whom all of it is, as a heading does."""
_LEANS = re.compile(
    r"\s*(?:(?:an?|the|this|that|these|those|each|such|its|single|initial|first|second|third|total|usual|recommended"
    r"|repeat(?:ed)?|loading|maintenance|maximum|daily|starting|same|further|higher|lower|oral|intravenous)\s+){0,4}"
    r"(?:doses?|dosages?|dosing)\b",
    re.IGNORECASE,
)
"""How a sentence begins that goes on about a medicine which the one before it names: “A dose of 10 mg/kg …”."""
_PRONOUN = re.compile(r"\s*(?:it|this|they|these)\s+(?:is|are|can|may|should|must)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PatientQuote:
    """A sentence to quote, where it stands, and whether it is for this patient and whole."""

    text: str
    headings: tuple[str, ...]
    start: int
    end: int
    hit: Hit
    rank: int
    """The place of its passage among those found."""
    fit: Applicable
    why_not: str | None = None
    """Why it cannot be quoted though it is for this patient."""


def context_of(passages: Sequence[ApplicablePassage]) -> Context:
    """The passages as numbered evidence, whole."""
    evidence = tuple(
        Evidence(number, passage.hit, passage.hit.start, passage.hit.end) for number, passage in enumerate(passages, 1)
    )
    return Context(evidence)


def quotes(
    passages: Sequence[ApplicablePassage], patient: Patient, condition: str, known: KnownConditions
) -> list[PatientQuote]:
    """The sentences that tell what to do, each once; those that apply first, in the order of the guideline."""
    asked = frozenset(terms(condition))
    found: dict[str, PatientQuote] = {}
    for rank, passage in enumerate(passages, 1):
        for text, headings, start, end in told_in(passage.hit):
            if _may_stand(text, passage.hit.section):
                why_not = CUT_OFF if text.endswith(":") else NAMELESS if is_nameless(text) else None
                fit = applicability_of(headings, text, patient, known)
                quote = PatientQuote(text, headings, start, end, passage.hit, rank, fit, why_not)
                found.setdefault(" ".join(GRADE.sub("", text).casefold().split()), quote)
    fitting = [quote for quote in found.values() if quote.fit.applies and quote.why_not is None]
    fitting.sort(key=lambda quote: -_weight(quote, asked) + SEVERE * is_for_severe(quote.text, condition))
    others = [quote for quote in found.values() if quote not in fitting]
    kept = fitting[:MAX_QUOTED]
    return [*sorted(kept, key=_reading_order(kept)), *others]


def _weight(quote: PatientQuote, asked: frozenset[str]) -> float:
    """What comes first where there is not room for all: doses, what is for this patient, what names the condition."""
    names = len(asked & frozenset(terms(quote.text))) / max(len(asked), 1)
    return (
        2.0 * (has_dose(quote.text) or is_warning(quote.text))
        + 1.0 * quote.fit.is_specific
        + names
        - 0.3 * quote.rank
        + 0.5 * _is_plain(quote.text)
    )


def _reading_order(kept: Sequence[PatientQuote]) -> Callable[[PatientQuote], tuple[int, int]]:
    """The best section first; within a section as the guideline has it, whichever of its passages was found first."""
    best: dict[tuple[str, tuple[str, ...]], int] = {}
    for quote in kept:
        place = (quote.hit.document_id, quote.hit.section)
        best[place] = min(best.get(place, quote.rank), quote.rank)
    return lambda quote: (best[quote.hit.document_id, quote.hit.section], quote.start)


def _is_plain(text: str) -> bool:
    return re.match(r"\W*(?:give|offer|do not|treat|refer|avoid|start|use)\b", text, re.IGNORECASE) is not None


def lists(spans: Sequence[EvidenceSpan], context: Context) -> Iterator[EvidenceSpan]:
    """Each beginning of a list among the words of passages, with its items, as one span."""
    hits = {evidence.hit.source_id: evidence.hit for evidence in context.evidence}
    ordered = sorted(spans, key=lambda span: (span.source_id, span.start))
    for at, span in enumerate(ordered):
        items = takewhile(lambda evidence_span: _ITEM.match(evidence_span.text) is not None, ordered[at + 1 :])
        last = [item for item in items if item.source_id == span.source_id][-1:]
        if last and span.text.rstrip().endswith(":"):
            hit = hits[span.source_id]
            yield replace(span, end=last[0].end, text=hit.text[span.start - hit.start : last[0].end - hit.start])


def _may_stand(text: str, section: Sequence[str]) -> bool:
    """Whether words tell what to do by themselves: an item without its beginning, or a heading, does not."""
    bare = _NUMBERED.sub("", text).strip().casefold()
    titles = {_NUMBERED.sub("", title).strip().casefold() for title in section}
    is_heading = bare in titles or (_NUMBERED.match(text) is not None and not _ENDED.search(text))
    return not is_heading and _ITEM.match(text) is None and is_telling(text) and not is_empty(text)


def sentences_of(hit: Hit) -> Iterator[str]:
    """The sentences of a passage, as `told_in` reads them."""
    return (text for text, *_ in told_in(hit))


def headings_at(hit: Hit, at: int) -> tuple[str, ...]:
    """The headings over a place of a document; a word that opens its paragraph, such as “Children:”, is the last."""
    label = _LABEL.match(hit.text, _paragraph(hit, at))
    return (*hit.section, label["label"]) if label else hit.section


def _paragraph(hit: Hit, at: int) -> int:
    """Where the paragraph begins, in the passage, that holds a place of the document."""
    edges = _PARAGRAPH.finditer(hit.text, 0, max(at - hit.start, 0))
    return max((edge.end() for edge in edges), default=len(hit.text) - len(hit.text.lstrip()))


def is_nameless(text: str) -> bool:
    """Whether a sentence goes on about a dose, and does not say of what.

    >>> is_nameless("A dose of 10 mg/kg body weight is suggested for fever."), is_nameless("Give 5 ml of the syrup.")
    (True, False)
    """
    leans = _LEANS.match(text) is not None or (_PRONOUN.match(text) is not None and has_dose(text))
    return leans and not medicines(text)


def told_in(hit: Hit) -> Iterator[tuple[str, tuple[str, ...], int, int]]:
    """The sentences of a passage, each with the headings over it and its place; a dose goes with what it is of.

    What ends with a colon goes on with the items of its list, as one. Items that each state a recommendation stand for
    themselves, and how strong one is stands behind it.
    """
    imprint = imprint_of(hit.text)
    for start, end in _joined(hit):
        if _paragraph(hit, start) not in imprint:
            words = " ".join(hit.text[start - hit.start : end - hit.start].split())
            yield words, headings_at(hit, start), start, end


def dosed(spans: Sequence[EvidenceSpan], context: Context) -> Iterator[EvidenceSpan]:
    """Each sentence among the words of passages that names a medicine, with the doses behind it, as one span."""
    hits = {evidence.hit.source_id: evidence.hit for evidence in context.evidence}
    for source_id in dict.fromkeys(span.source_id for span in spans):
        hit = hits[source_id]
        for start, end in sorted(set(_joined(hit)) - set(_whole_sentences(hit))):
            yield EvidenceSpan(source_id, start, end, hit.text[start - hit.start : end - hit.start])


def _joined(hit: Hit) -> list[tuple[int, int]]:
    """The sentences of a passage; a dose goes with the sentence before it in its paragraph, which says of what."""
    joined: list[tuple[int, int]] = []
    for start, end in _whole_sentences(hit):
        words = hit.text[start - hit.start : end - hit.start]
        before = hit.text[joined[-1][1] - hit.start : start - hit.start] if joined else "\n\n"
        if is_nameless(words) and _PARAGRAPH.search(before) is None and not before.strip():
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _whole_sentences(hit: Hit) -> Iterator[tuple[int, int]]:
    whole = _graded(hit, sorted((start, end) for start, end, _ in hit.why.near) or [(hit.start, hit.end)])
    at = 0
    while at < len(whole):
        start, end = whole[at]
        at += 1
        item = _ITEM.match(hit.text, start - hit.start, end - hit.start)
        if item and states(hit.text[start - hit.start : end - hit.start]):
            start = hit.start + item.end()
        elif hit.text[start - hit.start : end - hit.start].rstrip().endswith(":"):
            while at < len(whole) and _goes_on(hit.text[whole[at][0] - hit.start : whole[at][1] - hit.start]):
                end = whole[at][1]
                at += 1
        yield start, end


def _goes_on(text: str) -> bool:
    return _ITEM.match(text) is not None and not states(text)


def _graded(hit: Hit, whole: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans of sentences; a strength in brackets at the head of one belongs to the one before."""
    found: list[tuple[int, int]] = []
    for start, end in whole:
        grade = GRADE.match(hit.text, start - hit.start, end - hit.start) if found else None
        if grade:
            found[-1] = (found[-1][0], hit.start + grade.end(1))
        first = hit.start + grade.end() if grade else start
        if first < end:
            found.append((first, end))
    return found
