"""Finds the passages for each diagnosis: by name alone and with the findings, fused by rank, those that apply."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import groupby, islice

from citewell.answer.rank import CONTROLS, Controls, ScoredCandidate, is_near, without_copies
from citewell.answer.retrieve import Search, retrieve_all
from citewell.assistants.consult.advice_sections import NUMBER, is_imprint, may_advise
from citewell.assistants.consult.advice_sentences import is_telling, states
from citewell.assistants.consult.applicability import Applicable, applicability_of
from citewell.assistants.consult.disease_stages import LATER_LINE, line_of, other_stage
from citewell.assistants.consult.paragraph_start import from_its_paragraph
from citewell.assistants.consult.patient_conditions import KnownConditions, known_of, on_another
from citewell.assistants.consult.tables import rows
from citewell.clinical.medicines import medicines
from citewell.clinical.populations import conditions_in
from citewell.sentences import terms
from citewell.types import Hit, Scope
from citewell.types.consult import Category, Finding, Patient, Polarity
from citewell.types.consult_plan import ExcludedPassage

FETCHED = 50
"""Passages that each query brings, so that the order is made among many."""
SHOWN = 5
SPARE = 4
"""Passages beyond those that are shown, among which one that tells what to do takes the place of one that does not."""
LOOKED_AT = 4 * SHOWN
"""Passages in which copies are looked for."""
MIN_RELEVANCE = 0.50
"""On the calibrated scale, of the condition alone and before anything is added: a document none of whose passages
reaches it is no guideline on the condition. Which of its passages comes first is another question."""
LEADING = 15
"""Passages for the findings alone among which leads are looked for."""
RANK_CONSTANT = 10
"""Of reciprocal rank fusion."""
WANTED = "recommended treatment"
"""What is looked for beside a condition and its findings, which may only repeat the condition."""
NAMED, BROAD, TOLD = 0.1, 1.0, 1.0
"""What the three queries count: the condition, the condition with the findings, the findings. In a guideline that is
all about the condition its name tells its passages little apart; the patient does."""
BESIDE = 0.6
"""What a passage counts that introduces or argues, beside those that tell what to do."""
RECOMMENDING = 1.3
"""What a passage counts under a heading that calls it a recommendation."""
SPECIFIC = 1.2
"""What a passage counts that is for a group this patient belongs to: the pregnancy section before the general one, the
first line of treatment where nothing is taken."""
STATED = 1.5
"""What a passage counts that states a recommendation in the words in which guidelines do."""
UNSURE = 0.7
"""What a passage counts that is for a group of which it is not known whether this patient belongs to it."""
GENERAL = 0.4
"""What a passage counts under a heading on the general population: for the ill it is there to compare with."""
MOSTLY = 0.5
"""More than this share of the passages found name the condition, where the title of their document names another."""
MAX_FINDINGS, MAX_MEDICINES = 8, 3
WIDE = Controls(
    reach="wide",
    duplicate_jaccard=1.0,
    per_document=FETCHED,
    candidates_per_hit=1,
    min_candidates=FETCHED,
    min_searched=FETCHED,
)
"""Copies are taken out of what may be shown, not of everything that each query brings. A passage may be further from
the findings alone than others: in what they point at, a few words count that are few among all that is known."""


@dataclass(frozen=True, slots=True)
class ApplicablePassage:
    """A passage that applies to this patient, with its place in the fused order."""

    hit: Hit
    fit: Applicable
    score: float
    relevance: float
    is_whole: bool = True
    """Its first paragraph is known to begin where the passage does."""


@dataclass(frozen=True, slots=True)
class GatheredEvidence:
    """What was found for one diagnosis."""

    condition: str
    passages: tuple[ApplicablePassage, ...]
    left_out: tuple[ExcludedPassage, ...]
    every: tuple[ApplicablePassage, ...] = ()
    """All that apply, in their order."""


Chosen = Mapping[int, str]
"""The generations of the documents that are on a diagnosis, with their ids."""


def gather(
    conditions: Sequence[str],
    findings: Sequence[Finding],
    patient: Patient,
    *,
    scope: Scope,
    search: Search,
    chosen: Sequence[Chosen] | None = None,
) -> tuple[list[GatheredEvidence], tuple[Hit, ...]]:
    """The passages of every diagnosis, and those that the findings alone point at; all embedded in one batch.

    They stand in the documents that were chosen for it; where none were, in those that are near to its name.
    """
    told = describe(findings, patient)
    asked: list[str | tuple[str, ...]] = [
        query for condition in conditions for query in (condition, (condition, told, WANTED) if told else condition)
    ]
    if told:
        asked.append(told)
    if not asked:
        return [], ()
    public = replace(scope, subject=None)  # another patient's papers are no guideline, whoever may read them
    every = retrieve_all(
        asked,
        scope=public,
        search=search,
        limit=FETCHED,
        controls=WIDE,
        with_terms=False,
        choose=partial(_within_documents, chosen=chosen),
    )
    wide = [[hit for hit in search_result.hits if may_advise(hit.section)] for search_result in every]
    calibration = search.calibration
    hitses = [[hit for hit in several if is_near(hit, CONTROLS, calibration)] for several in wide]
    alone = wide[-1] if told else []
    gathered = [
        _fused(
            (hitses[2 * at], hitses[2 * at + 1], hitses[-1] if told else []),
            patient,
            known_of(condition, findings),
            None if chosen is None else frozenset(chosen[at].values()),
        )
        for at, condition in enumerate(conditions)
    ]
    return gathered, tuple(hit for hit in alone if applicability_of(_headings(hit), "", patient).applies)


def _within_documents(
    ranked: list[list[ScoredCandidate]], *, chosen: Sequence[Chosen] | None
) -> list[list[ScoredCandidate]]:
    """Of the orders of each diagnosis, what stands in documents that may be about it; of those alone, leads too."""
    within: list[list[ScoredCandidate]] = []
    every: set[int] = set()
    for at in range(0, len(ranked) - 1, 2):
        near = {candidate.candidate.generation for candidate in ranked[at] if candidate.relevance >= MIN_RELEVANCE}
        about = near if chosen is None else set(chosen[at // 2])
        within += [
            [scored_candidate for scored_candidate in order if scored_candidate.candidate.generation in about]
            for order in ranked[at : at + 2]
        ]
        every |= about
    return within + [
        [candidate for at, candidate in enumerate(order) if candidate.candidate.generation in every or at < LEADING]
        for order in ranked[len(within) :]
    ]


def describe(findings: Sequence[Finding], patient: Patient) -> str:
    """The patient and what is present, as a query: what is denied, past or a relative's does not search.

    >>> from dataclasses import replace
    >>> from citewell.types.consult import FindingSource
    >>> fever = Finding("f1", Category.SYMPTOM, "Fever", Polarity.PRESENT, FindingSource.RULES)
    >>> describe([fever], Patient(age_years=28, sex="female", is_pregnant=True))
    'pregnant woman aged 28 with fever'
    >>> describe([replace(fever, name="takes naproxen")], Patient())
    'takes naproxen (NSAID)'
    """
    kinds = (Category.SYMPTOM, Category.ASSOCIATED, Category.MEDICAL_HISTORY)
    present = [finding for finding in findings if finding.category in kinds and finding.polarity is Polarity.PRESENT]
    names = list(dict.fromkeys(finding.name.lower() for finding in present))[:MAX_FINDINGS]
    taken = [
        finding.name
        for finding in findings
        if finding.category is Category.MEDICATION and finding.polarity is Polarity.PRESENT
    ]
    names += [f"takes {name.lower()}" for name in dict.fromkeys(taken)][:MAX_MEDICINES]
    who = _who(patient)
    return " with ".join(part for part in (who, ", ".join(map(_with_class, names))) if part)


def _with_class(name: str) -> str:
    """A finding with the class of the medicine in it: a guideline speaks of NSAIDs where a patient says naproxen."""
    families = dict.fromkeys(
        medicine.family for medicine in medicines(name) if not medicine.is_class and medicine.family
    )
    told = [family for family in families if family.casefold() not in name.casefold()]
    return f"{name} ({', '.join(told)})" if told else name


def _who(patient: Patient) -> str:
    age = patient.age_years
    is_child = age is not None and age < 16
    grown = {"female": "woman", "male": "man", None: "adult" if age is not None else ""}[patient.sex]
    young = "infant" if age is not None and age < 1 else "child"
    who = young if is_child else grown
    who = f"pregnant {who or 'woman'}" if patient.is_pregnant else who
    return f"{who} aged {patient.age_told}" if age is not None else who


def _headings(hit: Hit) -> tuple[str, ...]:
    return (hit.document, *hit.section) if hit.document not in hit.section[:1] else hit.section


def _first(passages: Sequence[ApplicablePassage]) -> tuple[ApplicablePassage, ...]:
    """Of a few more than are shown, first those that tell what to do, then others; a copy of another is neither."""
    distinct = _distinct(passages)
    telling = list(islice((passage for passage in distinct[: SHOWN + SPARE] if _tells(passage.hit)), SHOWN))
    others = [applicable_passage for applicable_passage in distinct[:SHOWN] if applicable_passage not in telling]
    return tuple(_from_their_beginning((*telling, *others)[:SHOWN], passages))


def _from_their_beginning(
    shown: Sequence[ApplicablePassage], passages: Sequence[ApplicablePassage]
) -> Sequence[ApplicablePassage]:
    """The same; before one that begins within a list stands the passage that begins it, where that was found too."""
    places = {(passage.hit.document_id, passage.hit.chunk_index): passage for passage in passages}
    whole: list[ApplicablePassage] = []
    for applicable_passage in shown:
        before = places.get((applicable_passage.hit.document_id, applicable_passage.hit.chunk_index - 1))
        if (
            before
            and before not in shown
            and before.hit.section == applicable_passage.hit.section
            and IN_A_LIST.match(applicable_passage.hit.text)
        ):
            whole.append(before)
        whole.append(applicable_passage)
    return whole[:SHOWN]


IN_A_LIST = re.compile(r"\s*[•◦▪●○‣·]\s")


def _distinct(passages: Sequence[ApplicablePassage]) -> Sequence[ApplicablePassage]:
    """A few more than are shown, without copies; only where there are any is further looked for others."""
    for count in (SHOWN + SPARE, LOOKED_AT):
        own = without_copies([passage.hit for passage in passages[:count]], CONTROLS)
        if len(own) >= min(SHOWN + SPARE, len(passages)):
            break
    of_hit = {applicable_passage.hit.source_id: applicable_passage for applicable_passage in passages[:count]}
    return [of_hit[hit.source_id] for hit in own]  # a copy that is kept for its source stands where the best one stood


def _tells(hit: Hit) -> bool:
    """Whether a passage tells what to do at all; a title page takes no place from one that does."""
    spans = hit.why.near or ((hit.start, hit.end, 0.0),)
    return _any_tells(hit.text, tuple((max(start - hit.start, 0), end - hit.start) for start, end, _ in spans))


@lru_cache(maxsize=32)  # what several diagnoses find
def _any_tells(text: str, spans: tuple[tuple[int, int], ...]) -> bool:
    return any(is_telling(text[start:end]) for start, end in spans)


def _fused(
    found: tuple[list[Hit], list[Hit], list[Hit]],
    patient: Patient,
    known: KnownConditions,
    chosen: frozenset[str] | None = None,
) -> GatheredEvidence:
    """One order of three, within the documents that are about the condition."""
    condition = known.names[0]
    about = {hit.document_id: hit.relevance for hit in reversed(found[0]) if hit.relevance >= MIN_RELEVANCE}
    if chosen is not None:
        about = {hit.document_id: hit.relevance for one in reversed(found) for hit in reversed(one)}
        about = {document: relevance for document, relevance in about.items() if document in chosen}
    among = [hit for ordered in found for hit in ordered if hit.document_id in about]
    strange = _on_others(among, known) if chosen is None else {}
    about = {document: relevance for document, relevance in about.items() if document not in strange}
    ranks: dict[tuple[str, int], float] = {}
    hits: dict[tuple[str, int], Hit] = {}
    for weight, ordered in zip((NAMED, BROAD, TOLD), found, strict=True):
        for rank, hit in enumerate((hit for hit in ordered if hit.document_id in about), 1):
            key = (hit.document_id, hit.chunk_index)
            ranks[key] = ranks.get(key, 0.0) + weight / (RANK_CONSTANT + rank)
            hits.setdefault(key, hit)
    passages, left_out = [], []
    for key, hit in hits.items():
        applicable = applicability_of(_headings(hit), "", patient, known)
        line = line_of(hit.section) if known.takes_nothing else None
        why_not = "; ".join(applicable.reasons) if not applicable.applies else other_stage(condition, hit.section)
        why_not = why_not or (LATER_LINE if line == "later" else None) or on_another(hit.document, hit.section, known)
        if why_not is not None:
            left_out.append((ranks[key], ExcludedPassage(hit.document, hit.section, why_not)))
            continue
        is_own = applicable.is_specific or line == "first"
        score = ranks[key] * _worth(hit.section) * (SPECIFIC if is_own else 1.0) * (STATED if states(hit.text) else 1.0)
        score *= (UNSURE if applicable.reasons else 1.0) * (GENERAL if applicable.is_general else 1.0)
        passages.append(ApplicablePassage(hit, applicable, score, about[hit.document_id]))
    passages.sort(key=lambda passage: (-passage.score, passage.hit.document_id, passage.hit.chunk_index))
    left_out.sort(key=lambda pair: -pair[0])
    left = (*strange.values(), *(excluded_passage for _, excluded_passage in left_out))
    advising = [
        applicable_passage
        for at, applicable_passage in enumerate(passages)
        if at >= LOOKED_AT or not is_imprint(applicable_passage.hit.text)
    ]
    first = tuple(_whole(passage, hits) for passage in _first(advising))
    return GatheredEvidence(condition, first, left[:SHOWN], tuple(passages))


def _whole(passage: ApplicablePassage, hits: dict[tuple[str, int], Hit]) -> ApplicablePassage:
    """A passage from the beginning of its paragraph, where that was found too."""
    before = hits.get((passage.hit.document_id, passage.hit.chunk_index - 1))
    hit, is_whole = from_its_paragraph(passage.hit, before)
    return replace(passage, hit=hit, is_whole=is_whole)


def _on_others(found: Sequence[Hit], known: KnownConditions) -> dict[str, ExcludedPassage]:
    """Documents whose title names another disease than the patient has, and that speak of this one only in passing."""
    asked = frozenset(terms(known.names[0]))
    strange = {}
    for document, hits in groupby(sorted(found, key=lambda hit: hit.document_id), key=lambda hit: hit.document_id):
        theirs = list({hit.chunk_index: hit for hit in hits}.values())
        named = [mention.name for mention in conditions_in(theirs[0].document)]
        if not named or any(map(known.has, named)) or known.speaks_of_it(theirs[0].document):
            continue
        of_it = sum(asked <= frozenset(terms(hit.text)) for hit in theirs)
        if of_it <= MOSTLY * len(theirs):
            why = f"a guideline on {named[0].lower()}, which the patient is not known to have"
            strange[document] = ExcludedPassage(theirs[0].document, (), why)
    return strange


@lru_cache(maxsize=10_000)
def _worth(section: tuple[str, ...]) -> float:
    """How much the headings over a passage promise that it tells what to do.

    >>> _worth(("Executive summary",)) < 1 < _worth(("Executive summary", "Recommendations summary"))
    True
    """
    titles = [NUMBER.sub("", title).strip(" .:").lower() for title in section]
    if not titles or (any(map(_beside().fullmatch, titles)) and not titles[-1].startswith("recommendation")):
        return BESIDE
    return RECOMMENDING if any(title.startswith("recommendation") for title in titles) else 1.0


@cache
def _beside() -> re.Pattern[str]:
    return re.compile("|".join(row[0] for row in rows("beside_advice.tsv")), re.IGNORECASE)
