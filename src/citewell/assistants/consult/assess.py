"""Writes the assessment and plan: each diagnosis through the one gate, doses and conflicts beside every statement."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from pathlib import Path

from citewell.answer.events import AnswerDone
from citewell.answer.gate import (
    AnswerRequest,
    AnswerWording,
    Judge,
    Policy,
    Verify,
    abstain,
    finish,
    of_people,
    whole_sentences,
)
from citewell.answer.retrieve import Search
from citewell.assistants.consult.advice_sentences import MIN_WORDS
from citewell.assistants.consult.applicability import applicability_of
from citewell.assistants.consult.conflicts import PatientMedicines, conflicts, given
from citewell.assistants.consult.doses import AMOUNTS, has_dose, worked_doses
from citewell.assistants.consult.extractive_plan import (
    GRADE,
    NAMELESS,
    context_of,
    dosed,
    headings_at,
    is_nameless,
    lists,
    quotes,
    sentences_of,
    shut_out,
)
from citewell.assistants.consult.gather import ApplicablePassage, GatheredEvidence, gather
from citewell.assistants.consult.interview import missing
from citewell.assistants.consult.named_findings import key_of, named_in
from citewell.assistants.consult.paragraph_start import CUT, in_first_paragraph
from citewell.assistants.consult.patient import patient_of
from citewell.assistants.consult.patient_conditions import KnownConditions, known_of
from citewell.assistants.consult.summary import record_of, summary
from citewell.assistants.consult.tables import rows
from citewell.clinical.medicines import medicines
from citewell.clinical.quantities import quantities
from citewell.errors import ModelError
from citewell.ports import Writer
from citewell.prompts import Template
from citewell.types import (
    Answer,
    Citation,
    Claim,
    Context,
    EvidenceSpan,
    Hit,
    LibraryEntry,
    Refuse,
    Scope,
    SentenceCheck,
    Verdict,
)
from citewell.types.consult import Category, Consult, Differential, Patient, Polarity
from citewell.types.consult_plan import (
    DiagnosisPlan,
    Disagreement,
    ExcludedPassage,
    Plan,
    PlanStatement,
    SectionLead,
    StatementPlace,
)


def disagreements(statements: Sequence[PlanStatement]) -> tuple[Disagreement, ...]:
    """Each pair of statements from two documents that differ over a medicine."""
    return tuple(
        disagreement
        for first, second in combinations(statements, 2)
        if first.place.document_id != second.place.document_id
        for disagreement in _between(first, second)
    )


def _between(first: PlanStatement, second: PlanStatement) -> Iterator[Disagreement]:
    told = [
        {medicine.name for medicine in medicines(statement.text) if not medicine.is_class}
        for statement in (first, second)
    ]
    gives = [{medicine.name for medicine in given(statement.text)} for statement in (first, second)]
    for name in sorted(told[0] & told[1]):
        pair = (first.id, second.id)
        if (name in gives[0]) != (name in gives[1]):
            yield Disagreement(name, "one source advises it, the other advises against it", pair)
        elif name in gives[0]:
            amounts = [_amounts(statement.text, name) for statement in (first, second)]
            if all(amounts) and amounts[0] != amounts[1]:
                yield Disagreement(name, "the sources name different doses", pair)


def _amounts(text: str, name: str) -> frozenset[tuple[str, tuple[float, ...]]]:
    """The amounts that stand behind a medicine's name, up to the next medicine."""
    named = medicines(text)
    at = next(position for position, medicine in enumerate(named) if medicine.name == name)
    end = named[at + 1].start if at + 1 < len(named) else len(text)
    return frozenset(
        (quantity.dimension, tuple(round(value, 9) for value in quantity.values))
        for quantity in quantities(text)
        if named[at].start <= quantity.start < end and quantity.dimension.partition("/")[0] in AMOUNTS
    )


def said_once(plans: Sequence[DiagnosisPlan]) -> list[DiagnosisPlan]:
    """The same plans; a statement that stands under an earlier diagnosis is named there and not said again.

    One that sources differ over is said again, so that both stand side by side.
    """
    known: dict[tuple[str, str], str] = {}
    diagnosis_plans = []
    for number, plan in enumerate(plans, 1):
        disputed = {statement for pair in plan.disagreements for statement in pair.statements}
        every = (*plan.offered, *plan.held_back)
        shared = {
            plan_statement.id: known[_key(plan_statement)]
            for plan_statement in every
            if _key(plan_statement) in known and plan_statement.id not in disputed
        }
        offered = tuple(statement for statement in plan.offered if statement.id not in shared)
        held_back = tuple(statement for statement in plan.held_back if statement.id not in shared)
        for one in (*offered, *held_back):
            known.setdefault(_key(one), f"{number}.{one.id}")
        diagnosis_plans.append(replace(plan, offered=offered, held_back=held_back, shared=tuple(shared.values())))
    return diagnosis_plans


def _key(statement: PlanStatement) -> tuple[str, str]:
    return statement.place.document_id, " ".join(statement.text.casefold().split())


MAX_LEADS = 3
MIN_NAMED = 2
"""Findings that a section must name, where the patient has as many: one alone, such as fever, points everywhere."""
COMPLAINTS = (Category.SYMPTOM, Category.ASSOCIATED)


def lead(hits: Sequence[Hit], consult: Consult, patient: Patient, *, taken: Collection[str]) -> tuple[SectionLead, ...]:
    """The sections that name most of what the patient complains of, with the sentence that does; none that is shown.

    What is a differential already points at nothing new.
    """
    conditions = {differential.condition.casefold() for differential in consult.differentials}
    present = {
        key_of(finding): finding.name
        for finding in consult.settled
        if finding.category in COMPLAINTS
        and finding.polarity is Polarity.PRESENT
        and finding.name.casefold() not in conditions
    }
    leads: dict[tuple[str, tuple[str, ...]], SectionLead] = {}
    for hit in hits:
        if hit.source_id in taken:
            continue
        section_lead = _pointing(hit, present, patient)
        place = (hit.document, hit.section)
        if section_lead is not None and (place not in leads or len(section_lead.names) > len(leads[place].names)):
            leads[place] = section_lead
    least = max(min(MIN_NAMED, len(present)), 1)
    return tuple(
        sorted((other for other in leads.values() if len(other.names) >= least), key=lambda one: -len(one.names))
    )[:MAX_LEADS]


def _pointing(hit: Hit, present: dict[str, str], patient: Patient) -> SectionLead | None:
    """The passage as a lead: all that it names, and the sentence for this patient that names most."""
    names: dict[str, None] = {}
    best, quote = 0, ""
    for sentence in sentences_of(hit):
        own = dict.fromkeys(present[key] for key in named_in(sentence) if key in present)
        if own and not _is_signpost(sentence) and applicability_of(hit.section, sentence, patient).applies:
            names |= own
            if len(own) > best:
                best, quote = len(own), sentence
    return SectionLead(hit.document, hit.section, round(hit.relevance, 3), quote, tuple(names)) if names else None


def _is_signpost(sentence: str) -> bool:
    """Whether words are a heading, or lead to another section."""
    return len(sentence.split()) < MIN_WORDS or sentence.casefold().startswith("see ")


NO_GUIDELINE = (
    "No guideline found for {condition} that applies to this patient. Nothing is recommended, and no dose is given."
)
NO_LIBRARY = (
    "There are no guidelines you have access to. Add some (`citewell add`, or Library on the page), then draft the "
    "plan again."
)
MODEL_FAILED = "The model failed ({reason}); the plan quotes the guidelines instead."
MODEL_REFUSED = "Nothing the model wrote for {condition} was found in the guidelines, so they are quoted instead."
UNSETTLED = (
    "Unresolved when this was written: {question} Neither was used to choose the recommendations; medicines are "
    "checked against both."
)
UNASKED = "Not known when this was written: {questions}"
DESPITE = "The plan was drafted without this. Reason given: {reason}."
RULES = Template.read(Path(__file__).parent / "prompts" / "plan.txt")
POLICY = Policy(threshold=0.0, shown=frozenset({Verdict.SUPPORTED}), min_relevance=0.0)
"""A plan shows only what its words carry fully; how near a passage must be was decided when it was gathered."""


@dataclass(frozen=True, slots=True)
class AssessmentParts:
    """What an assessment needs."""

    search: Search
    verify: Verify
    entry: Callable[[str], LibraryEntry]
    """The library's entry of a document."""
    writer: Writer | None = None
    """A model behind a prompt; None quotes."""


def assess(
    consult: Consult, *, scope: Scope, parts: AssessmentParts, red_flags: Sequence[str] = ()
) -> tuple[Plan, list[Answer]]:
    """The plan for a consult's differentials, and the answer that the gate made of each."""
    patient = patient_of(consult)
    held = PatientMedicines.of(consult)
    conditions = [other.condition for other in consult.differentials]
    gathered, alone = gather(conditions, consult.settled, patient, scope=scope, search=parts.search)
    notes: list[str] = []
    plans, answers = [], []
    for differential, evidence in zip(consult.differentials, gathered, strict=True):
        plan, answer = _diagnosis(differential, evidence, held, parts, notes)
        plans.append(plan)
        answers.append(answer)
    taken = {passage.hit.source_id for gathered_evidence in gathered for passage in gathered_evidence.passages}
    leads = lead(alone, consult, patient, taken=taken)
    model = parts.writer.name if parts.writer is not None else "extractive"
    if not any(gathered_evidence.passages for gathered_evidence in gathered) and not parts.search.library.visible(
        scope
    ):
        notes.append(NO_LIBRARY)
    told = (*dict.fromkeys(notes), *_open_points(consult))
    return Plan(summary(consult), tuple(said_once(plans)), leads, tuple(red_flags), told, model, RULES.hash), answers


def _open_points(consult: Consult) -> list[str]:
    """What was not known when the plan was written, and why it did not wait for it."""
    found = [UNSETTLED.format(question=contradiction.question) for contradiction in consult.contradictions]
    lacking = [question.text for question in missing(consult)]
    found += [UNASKED.format(questions=" ".join(lacking))] if lacking else []
    return [*found, DESPITE.format(reason=consult.despite.rstrip("."))] if found and consult.despite else found


def _diagnosis(
    differential: Differential,
    evidence: GatheredEvidence,
    held: PatientMedicines,
    parts: AssessmentParts,
    notes: list[str],
) -> tuple[DiagnosisPlan, Answer]:
    context = context_of(evidence.passages)
    asked = AnswerRequest(
        id=str(uuid.uuid4()),
        question=f"{differential.condition}: what is recommended for this patient?",
        context=context,
        model=parts.writer.name if parts.writer is not None else "extractive",
        prompt_hash=RULES.hash,
        policy=POLICY,
        rules=RULES.text,
        frame=AnswerWording(gap="\n"),
    )
    known = known_of(differential.condition, held.settled)
    answer = _answered(asked, evidence, (held.patient, known), replace(parts, verify=_of_findings(parts, held)), notes)
    missing = NO_GUIDELINE.format(condition=differential.condition)
    shown = [claim for claim in answer.claims if claim.is_shown]
    statements = [
        _statement(at, claim, _cited(claim, answer, evidence.passages, held.patient), held, parts)
        for at, claim in enumerate(shown, 1)
    ]
    others = [
        ExcludedPassage(
            quote.evidence.hit.document, quote.evidence.hit.section, "; ".join(quote.fit.reasons), quote.text
        )
        for quote in shut_out(evidence.passages, context, held.patient, known)
    ]
    left_out = tuple(dict.fromkeys((*evidence.left_out, *others)))
    plan = DiagnosisPlan(
        condition=differential.condition,
        confidence=differential.confidence,
        said=answer.text if shown else missing,
        is_found=bool(shown),
        offered=tuple(statement for statement in statements if not statement.is_held_back),
        held_back=tuple(plan_statement for plan_statement in statements if plan_statement.is_held_back),
        disagreements=disagreements(statements),
        left_out=left_out,
        withheld=sum(not claim.is_shown for claim in answer.claims),
    )
    return plan, answer


def _of_findings(parts: AssessmentParts, held: PatientMedicines) -> Verify:
    """The check of what a model writes: what it says the patient has must be among the findings, not in a guideline."""
    if parts.writer is None:
        return parts.verify
    words = record_of(held.settled, held.patient)
    return of_people(parts.verify, record=[EvidenceSpan("findings", 0, len(word), word) for word in words])


def _answered(
    asked: AnswerRequest,
    evidence: GatheredEvidence,
    who: tuple[Patient, KnownConditions],
    parts: AssessmentParts,
    notes: list[str],
) -> Answer:
    """A model's prose as far as the gate lets it through; else quotes; else nothing."""
    judge = _judge(asked)
    if not evidence.passages:
        return abstain(asked, "no guideline applies", judge=judge)
    verify = partial(_applicable, parts.verify, asked.context, who)
    if parts.writer is not None:
        try:
            pieces = parts.writer.write(asked.question, asked.context, rules=asked.rules)
            answer = _finished(pieces, asked, verify, judge, cut=whole_sentences)
            if any(claim.is_shown for claim in answer.claims):
                return answer
            notes.append(MODEL_REFUSED.format(condition=evidence.condition))
        except ModelError as error:
            notes.append(MODEL_FAILED.format(reason=str(error).rstrip(".")))
        asked = replace(asked, model="extractive")
    chosen = quotes(evidence.passages, asked.context, who[0], evidence.condition, who[1])
    pieces = (f"{quote.text} [{quote.evidence.alias}]" for quote in chosen)
    return _finished(pieces, asked, verify, judge, cut=lambda several: several)


def _finished(
    pieces: Iterable[str],
    asked: AnswerRequest,
    verify: Verify,
    judge: Judge,
    *,
    cut: Callable[[Iterable[str]], Iterable[str]],
) -> Answer:
    *_, last = finish(pieces, asked, verify=verify, judge=judge, cut=cut)
    assert isinstance(last, AnswerDone)
    return last.answer


def _applicable(
    verify: Verify,
    context: Context,
    who: tuple[Patient, KnownConditions],
    sentence: str,
    spans: Sequence[EvidenceSpan],
) -> SentenceCheck:
    """The check of a sentence; words that are for other people carry nothing for this patient.

    What begins a list is read with its items, a dose with the sentence before it: alone, neither says for whom it is.
    A dose of nothing that it names is let through from nobody.
    """
    hits = {evidence.hit.source_id: evidence.hit for evidence in context.evidence}
    spans = (*lists(spans, context), *dosed(spans, context), *spans)
    judged = [
        (span, applicability_of(headings_at(hits[span.source_id], span.start), span.text, *who)) for span in spans
    ]
    mine = [span for span, applicable in judged if applicable.applies]
    check = verify(sentence, mine) if mine else verify(sentence, spans)
    if mine and not is_nameless(sentence):
        return check
    reasons = (
        (NAMELESS,)
        if mine
        else tuple(dict.fromkeys(reason for _, applicable in judged for reason in applicable.reasons))
    )
    return replace(check, verdict=Verdict.NOT_FOUND, reasons=reasons, is_vetoed=True)


def _judge(_asked: AnswerRequest) -> Judge:
    started = time.perf_counter()
    return Judge(
        rate=lambda _text: None,
        calibrate=lambda claims, _context: min((claim.check.support for claim in claims), default=0.0),
        route=Refuse,
        took_ms=lambda: (time.perf_counter() - started) * 1000,
    )


def _cited(
    claim: Claim, answer: Answer, passages: Sequence[ApplicablePassage], patient: Patient
) -> tuple[Citation, tuple[str, ...]]:
    """What a claim rests on, and what to keep in mind: for whom it may be, of a dose that its paragraph was cut."""
    citation = next(other for other in answer.citations if other.n in claim.citations)
    passage = next(
        applicable_passage for applicable_passage in passages if applicable_passage.hit.source_id == citation.source_id
    )
    kept = applicability_of(headings_at(passage.hit, citation.start), citation.quote, patient).reasons
    is_cut = not passage.is_whole and in_first_paragraph(passage.hit, citation.start)
    return citation, (*kept, *([CUT] if is_cut and has_dose(claim.text) else []))


def _statement(
    number: int, claim: Claim, cited: tuple[Citation, tuple[str, ...]], held: PatientMedicines, parts: AssessmentParts
) -> PlanStatement:
    """A claim that passed, with its place, its doses worked out, and what speaks against it."""
    citation, reservations = cited
    entry = parts.entry(citation.document_id)
    metadata = entry.metadata
    about = " ".join(filter(None, (metadata.publisher, entry.title, metadata.source_url)))
    place = StatementPlace(
        citation.document_id,
        citation.document,
        citation.version,
        citation.section,
        citation.page,
        citation.start,
        citation.end,
        citation.quote,
        metadata.published.isoformat() if metadata.published else None,
        metadata.publisher,
        country_of(about),
        metadata.source_url,
    )
    against = conflicts(claim.text, held)
    is_grave = any(conflict.is_grave for conflict in against)
    words = (claim.text, GRADE.sub("", citation.quote, count=1) if GRADE.match(citation.quote) else citation.quote)
    return PlanStatement(
        id=f"{number}",
        text=claim.text,
        place=place,
        support=claim.check.support,
        strength=_graded("strength", *words),
        certainty=_graded("certainty", *words),
        doses=() if is_grave else worked_doses(claim.text, held.patient),
        conflicts=against,
        reservations=reservations,
    )


@cache
def _patterns(table: str, what: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (value, re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE))
        for kind, value, words in rows(table)
        if kind == what
    )


def _graded(what: str, *texts: str) -> str | None:
    """Strength or certainty, where the words state it; the statement's own before those round it."""
    found = (value for text in texts for value, words in _patterns("strengths.tsv", what) if words.search(text))
    return next(found, None)


@cache
def _countries() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(words, re.IGNORECASE), country) for words, country in rows("publishers.tsv"))


def country_of(about: str) -> str | None:
    """Whose guideline it is, by its publisher, title or address.

    >>> country_of("World Health Organization"), country_of("A letter")
    ('international', None)
    """
    return next((country for words, country in _countries() if words.search(about)), None)
