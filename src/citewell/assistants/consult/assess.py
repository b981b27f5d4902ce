"""Writes the assessment and plan: each diagnosis through the one gate, doses and conflicts beside every statement."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
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
    finish,
    of_people,
    whole_sentences,
)
from citewell.assistants.consult.advice_sentences import MIN_WORDS
from citewell.assistants.consult.applicability import applicability_of
from citewell.assistants.consult.chapter_lines import role_of
from citewell.assistants.consult.conflicts import PatientMedicines, given, within_plan
from citewell.assistants.consult.differentials import key_of, named_in
from citewell.assistants.consult.extractive_plan import (
    GRADE,
    NAMELESS,
    context_of,
    dosed,
    headings_at,
    is_nameless,
    lists,
    sentences_of,
)
from citewell.assistants.consult.gather import ApplicablePassage
from citewell.assistants.consult.guideline_cautions import against, of_guideline, of_taken
from citewell.assistants.consult.guideline_choice import ChosenGuideline, is_label, written_out
from citewell.assistants.consult.interview import missing
from citewell.assistants.consult.mentions import ANY
from citewell.assistants.consult.paragraph_start import CUT, in_first_paragraph
from citewell.assistants.consult.patient_conditions import KnownConditions, known_of
from citewell.assistants.consult.plan_evidence import (
    AssessmentParts,
    DiagnosisEvidence,
    evidence_for,
    plan_patient,
    with_printed,
)
from citewell.assistants.consult.plan_lines import FoundLines, PlannedLine, joined, left, lines_on
from citewell.assistants.consult.summary import record_of, summary
from citewell.assistants.consult.tables import rows
from citewell.assistants.consult.weight_based_doses import AMOUNTS, has_dose, worked_doses
from citewell.clinical.medicines import is_known_name, medicines
from citewell.clinical.quantities import quantities
from citewell.errors import ModelError
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
    Conflict,
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
                yield Disagreement(name, "the sources give different doses", pair)


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
        every = {one.id: one for one in (*plan.offered, *plan.held_back)}
        still = tuple(
            pair for pair in plan.disagreements if not all(_key(every[one]) in known for one in pair.statements)
        )
        disputed = {statement for pair in still for statement in pair.statements}
        shared = {one.id: known[_key(one)] for one in every.values() if _key(one) in known and one.id not in disputed}
        offered = tuple(statement for statement in plan.offered if statement.id not in shared)
        held_back = tuple(statement for statement in plan.held_back if statement.id not in shared)
        for one in (*offered, *held_back):
            known.setdefault(_key(one), f"{number}.{one.id}")
        told = replace(plan, offered=offered, held_back=held_back, disagreements=still, shared=tuple(shared.values()))
        diagnosis_plans.append(told)
    return diagnosis_plans


def _key(statement: PlanStatement) -> tuple[str, str]:
    return statement.place.document_id, " ".join(statement.text.casefold().split())


MAX_LEADS = 3
MIN_NAMED, LEAST_NAMED = 3, 2
"""Findings that a sentence must name, where the patient has as many; one, such as fever, points everywhere."""
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
        if hit.source_id in taken or "none" in map(role_of, hit.section):
            continue
        section_lead = _pointing(hit, present, patient)
        place = (hit.document, hit.section)
        if section_lead is not None and (place not in leads or len(section_lead.names) > len(leads[place].names)):
            leads[place] = section_lead
    return tuple(sorted(leads.values(), key=lambda one: -len(one.names)))[:MAX_LEADS]


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
    least = max(min(MIN_NAMED, len(present)), LEAST_NAMED)
    return (
        SectionLead(hit.document, hit.section, round(hit.relevance, 3), quote, tuple(names)) if best >= least else None
    )


def _is_signpost(sentence: str) -> bool:
    """Whether words are a heading, or lead to another section."""
    return len(sentence.split()) < MIN_WORDS or sentence.casefold().startswith("see ")


NO_GUIDELINE = (
    "No guideline found for {condition}: none of the {looked_at} documents in your library covers it. Nothing is "
    "recommended, and no dose is given."
)
CLOSEST = (
    " The closest title is “{closest}”. It was not used. If it covers the illness, enter the diagnosis by the name it "
    "has there."
)
READ_AS = "“{condition}” was read as “{name}”. If that is wrong, enter the diagnosis by another name."
TAKEN_AS_SEVERE = (
    "“{condition}” was taken as severe disease. If it is not, enter it as “Non-severe …” and draft the plan again."
)
NOTHING_APPLIES = (
    "No guideline found for {condition} that applies to this patient. Nothing is recommended, and no dose is given."
)
OTHER_ILLNESS = "about another illness"
SEVERE_LEFT_OUT = "for severe disease"
SEVERE_NOTE = (
    "Red flags were raised, but no diagnosis is entered as severe, so recommendations for severe disease are under "
    "“left out”. If the disease is severe, enter it as “Severe …” and draft the plan again."
)
NO_LIBRARY = (
    "You do not have access to any guidelines. Add some (`citewell add`, or the Library page), then draft the plan "
    "again."
)
MODEL_FAILED = "The model failed ({reason}); the plan quotes the guidelines instead."
MODEL_REFUSED = "Nothing the model wrote for {condition} was found in the guidelines, so they are quoted instead."
LEADS = (
    "More than one guideline covers {condition}. {first} is quoted, for the patient's country ({country}). "
    "Recommendations from {others} are under “left out”."
)
WHICH = (
    "More than one guideline covers {condition}: {several}. All are quoted. To see only one, add the country of "
    "treatment to the interview and draft the plan again."
)
BEHIND = "not a guideline from the patient's country ({country})"
UNSETTLED = (
    "Unresolved when this was written: {question} Neither answer was used to choose recommendations; medicines are "
    "checked against both."
)
UNASKED = "Not known when this was written: {questions}"
DESPITE = "The plan was drafted without this. Reason given: {reason}."
NOT_CHECKED = (
    "Not checked against the plan: {names}. Citewell knows no medicine of this name. Correct the name, or check "
    "interactions and cautions by hand."
)
ALLERGY_NOT_CHECKED = (
    "Allergies that Citewell does not know as medicines: {names}. The plan was checked only for medicines of the same "
    "name. Check related medicines by hand."
)
_MAY_HOLD = (Polarity.PRESENT, Polarity.UNCLEAR, Polarity.HYPOTHETICAL)
RULES = Template.read(Path(__file__).parent / "prompts" / "plan.txt")
POLICY = Policy(threshold=0.0, shown=frozenset({Verdict.SUPPORTED}), min_relevance=0.0)
"""A plan shows only what its words carry fully; how near a passage must be was decided when it was gathered."""


def assess(consult: Consult, *, scope: Scope, parts: AssessmentParts, red_flags: Sequence[str] = ()) -> Plan:
    """The plan for a consult's differentials."""
    held = PatientMedicines.of(consult)
    entered = [other.condition for other in consult.differentials]
    found, alone = evidence_for(entered, consult, scope=scope, parts=parts)
    conditions = [*map(written_out, entered), *(evidence.gathered.condition for evidence in found)]
    notes: list[str] = []
    country = _country(consult)
    plans: list[DiagnosisPlan] = []
    warnings: list[Conflict] = []
    every = [_lines(evidence, consult, held, country) for evidence in found]
    named = [medicine for lines in every for one in lines.lines for medicine in medicines(one.line.text)]
    held = with_printed(held, tuple(dict.fromkeys(conditions)), named, parts)
    for differential, evidence, lines in zip(consult.differentials, found, every, strict=True):
        name = evidence.gathered.condition
        if name != written_out(differential.condition):
            notes.append(READ_AS.format(condition=differential.condition, name=name))
        if "severe" in name.casefold() and "severe" not in differential.condition.casefold():
            notes.append(TAKEN_AS_SEVERE.format(condition=differential.condition))
        notes += _of_countries(differential.condition, *_leading(evidence.guidelines, country), country)
        warnings += of_guideline(lines, held)
        written = _written(evidence, lines, held, parts, notes)
        plans.append(_diagnosis(differential, evidence, lines, held, written))
    warnings += of_taken(held)
    together = within_plan(statement.text for plan in plans for statement in plan.offered)
    warnings += [together] if together else []
    taken = {passage.hit.source_id for evidence in found for passage in evidence.gathered.passages}
    if red_flags and any(SEVERE_LEFT_OUT in one.reason for plan in plans for one in plan.left_out):
        notes.append(SEVERE_NOTE)
    on_them = {guideline.entry.id for evidence in found for guideline in evidence.guidelines}
    alone = tuple(hit for hit in alone if hit.document_id not in on_them and not is_label(hit.document))
    leads = lead(alone, consult, held.patient, taken=taken)
    model = parts.writer.name if parts.writer is not None else "extractive"
    if not parts.search.library.visible(scope):
        notes.append(NO_LIBRARY)
    told = (*dict.fromkeys(notes), *_open_points(consult))
    return Plan(
        summary(consult), tuple(said_once(plans)), leads, tuple(red_flags), told, model, RULES.hash, _once(warnings)
    )


def _country(consult: Consult) -> str | None:
    """In which country the patient is treated: as it was entered, else as the notes name it."""
    for told in (consult.country or "", " ".join(one.text for one in consult.messages if one.role == "user")):
        found = [country for country, words in _places() if words.search(told)]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _country_of(guideline: ChosenGuideline) -> str | None:
    """Whose guideline it is; where nothing about it says so, the one country that its words name."""
    metadata = guideline.entry.metadata
    about = " ".join(filter(None, (metadata.publisher, guideline.entry.title, metadata.source_url)))
    named = {country for country, words in _places() if words.search(guideline.document.text)}
    return country_of(about) or (next(iter(named)) if len(named) == 1 else None)


def _leading(
    guidelines: Sequence[ChosenGuideline], country: str | None
) -> tuple[Sequence[ChosenGuideline], Sequence[ChosenGuideline]]:
    """Of guidelines of several countries those of the patient's, else international ones; and those behind them."""
    for own in (country, "international") if country else ():
        first = [guideline for guideline in guidelines if _country_of(guideline) == own]
        if first:
            return first, [guideline for guideline in guidelines if guideline not in first]
    return guidelines, ()


def _of_countries(
    condition: str, first: Sequence[ChosenGuideline], behind: Sequence[ChosenGuideline], country: str | None
) -> Iterator[str]:
    """Which of several guidelines leads, or that it is to be said where the patient is treated."""
    told = [f"{one.entry.title} ({_country_of(one) or 'country not stated'})" for one in (*first, *behind)]
    if behind:
        yield LEADS.format(condition=condition, first=told[0], others=", ".join(told[len(first) :]), country=country)
    elif len({_country_of(one) for one in first}) > 1:
        yield WHICH.format(condition=condition, several=" and ".join(told))


def _with_others(lines: FoundLines, others: Sequence[tuple[ChosenGuideline, FoundLines]], country: str) -> FoundLines:
    """The lines of the guidelines that lead; those of the others are left out, and what they caution of is kept."""
    behind = (
        left(one, planned.line, BEHIND.format(country=country)) for one, found in others for planned in found.lines
    )
    cautions = (caution for _, found in others for caution in found.cautions)
    return replace(lines, left_out=(*lines.left_out, *behind), cautions=(*lines.cautions, *cautions))


def _lines(evidence: DiagnosisEvidence, consult: Consult, held: PatientMedicines, country: str | None) -> FoundLines:
    """The lines of the guidelines on a diagnosis for the patient, by those that lead."""
    who = plan_patient(evidence.gathered.condition, consult, held)
    first, behind = _leading(evidence.guidelines, country)
    lines = joined(lines_on(guideline, evidence.gathered, who) for guideline in first)
    return _with_others(lines, [(one, lines_on(one, evidence.gathered, who)) for one in behind], country or "")


def _once(warnings: Sequence[Conflict]) -> tuple[Conflict, ...]:
    """Each medicine taken with each kind of warning once, and with each illness and medicine; the grave ones first."""
    found: dict[tuple[str, str, str], Conflict] = {}
    for conflict in sorted(warnings, key=lambda conflict: not conflict.is_grave):
        text = conflict.text if conflict.kind in ("interaction", "illness") else ""
        found.setdefault((conflict.kind, conflict.medicine, text), conflict)
    return tuple(found.values())


def _open_points(consult: Consult) -> list[str]:
    """What was not known when the plan was written, and why it did not wait for it."""
    found = [UNSETTLED.format(question=contradiction.question) for contradiction in consult.contradictions]
    found += _unchecked(consult)
    lacking = [question.text for question in missing(consult)]
    found += [UNASKED.format(questions=" ".join(lacking))] if lacking else []
    return [*found, DESPITE.format(reason=consult.despite.rstrip("."))] if found and consult.despite else found


def _classes_once(statements: Sequence[PlanStatement]) -> Iterator[PlanStatement]:
    """The same lines; what is only to be watched with a class of medicines stands at the first that names it."""
    known: set[tuple[str, str]] = set()
    for statement in statements:
        kept = []
        for conflict in statement.conflicts:
            is_class = not conflict.is_grave and any(one.is_class for one in medicines(conflict.medicine))
            if not is_class or (conflict.medicine, conflict.text) not in known:
                kept.append(conflict)
            known.add((conflict.medicine, conflict.text))
        yield replace(statement, conflicts=tuple(kept))


def _unchecked(consult: Consult) -> list[str]:
    """Names of medicines that are not known, so that nothing could be held against them."""
    kinds = {Category.MEDICATION: NOT_CHECKED, Category.ALLERGY: ALLERGY_NOT_CHECKED}
    found = []
    for category, told in kinds.items():
        own = (one for one in consult.findings if one.category is category and one.polarity in _MAY_HOLD)
        names = dict.fromkeys(one.name for one in own if one.name != ANY and not is_known_name(one.name))
        found += [told.format(names=", ".join(names))] if names else []
    return found


def _diagnosis(
    differential: Differential,
    evidence: DiagnosisEvidence,
    lines: FoundLines,
    held: PatientMedicines,
    written: tuple[list[PlanStatement], int],
) -> DiagnosisPlan:
    """What a model wrote and the gate let through, else the lines of the guidelines, word for word."""
    statements, withheld = written
    if not statements:
        told = [_stated(line, lines.cautions, held, differential.condition) for line in lines.lines]
        statements = [replace(statement, id=f"{number}") for number, statement in enumerate(_classes_once(told), 1)]
    looked_at = [ExcludedPassage(entry.title, (), OTHER_ILLNESS) for entry in evidence.others]
    missing = NOTHING_APPLIES if evidence.guidelines else NO_GUIDELINE + (CLOSEST if looked_at else "")
    return DiagnosisPlan(
        condition=differential.condition,
        confidence=differential.confidence,
        said="\n".join(statement.text for statement in statements)
        or missing.format(
            condition=differential.condition,
            looked_at=len(looked_at),
            closest=looked_at[0].document if looked_at else "",
        ),
        is_found=bool(statements),
        offered=tuple(statement for statement in statements if not statement.is_held_back),
        held_back=tuple(statement for statement in statements if statement.is_held_back),
        disagreements=disagreements(statements),
        left_out=tuple(dict.fromkeys((*lines.left_out, *evidence.gathered.left_out, *looked_at))),
        withheld=withheld,
    )


def _written(
    evidence: DiagnosisEvidence,
    lines: FoundLines,
    held: PatientMedicines,
    parts: AssessmentParts,
    notes: list[str],
) -> tuple[list[PlanStatement], int]:
    """What a model writes, as far as the gate lets it through; nothing without one, or where nothing is left."""
    gathered, condition = evidence.gathered, evidence.gathered.condition
    if parts.writer is None or not gathered.passages:
        return [], 0
    asked = AnswerRequest(
        id=str(uuid.uuid4()),
        question=f"{condition}: what is recommended for this patient?",
        context=context_of(gathered.passages),
        model=parts.writer.name,
        prompt_hash=RULES.hash,
        policy=POLICY,
        rules=RULES.text,
        frame=AnswerWording(gap="\n"),
    )
    who = (held.patient, known_of(condition, held.settled))
    verify = partial(_applicable, _of_findings(parts, held), asked.context, who)
    try:
        pieces = parts.writer.write(asked.question, asked.context, rules=asked.rules)
        answer = _finished(pieces, asked, verify, _judge(asked))
    except ModelError as error:
        notes.append(MODEL_FAILED.format(reason=str(error).rstrip(".")))
        return [], 0
    shown = [claim for claim in answer.claims if claim.is_shown]
    if not shown:
        notes.append(MODEL_REFUSED.format(condition=condition))
    told = [
        _statement(
            claim,
            _cited(claim, answer, gathered.passages, held.patient),
            against(claim.text, lines.cautions, held, condition),
            held.patient,
            parts,
        )
        for claim in shown
    ]
    statements = [replace(statement, id=f"{number}") for number, statement in enumerate(told, 1)]
    return statements, sum(not claim.is_shown for claim in answer.claims) if shown else 0


def _of_findings(parts: AssessmentParts, held: PatientMedicines) -> Verify:
    """The check of what a model writes: what it says the patient has must be among the findings, not in a guideline."""
    if parts.writer is None:
        return parts.verify
    words = record_of(held.settled, held.patient)
    return of_people(parts.verify, record=[EvidenceSpan("findings", 0, len(word), word) for word in words])


def _finished(pieces: Iterable[str], asked: AnswerRequest, verify: Verify, judge: Judge) -> Answer:
    *_, last = finish(pieces, asked, verify=verify, judge=judge, cut=whole_sentences)
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
    claim: Claim,
    cited: tuple[Citation, tuple[str, ...]],
    speaking: tuple[Conflict, ...],
    patient: Patient,
    parts: AssessmentParts,
) -> PlanStatement:
    """A claim that passed, with its place, its doses worked out, and what speaks against it."""
    citation, reservations = cited
    entry = parts.entry(citation.document_id)
    place = _placed(entry, citation.section, citation.page, citation.quote)
    place = replace(place, version=citation.version, start=citation.start, end=citation.end)
    stated = _weighed(claim.text, place, speaking, patient)
    return replace(stated, support=claim.check.support, reservations=(*entry.said_since, *reservations))


def _stated(
    planned: PlannedLine, cautions: Sequence[PlannedLine], held: PatientMedicines, condition: str
) -> PlanStatement:
    """A line of a guideline word for word, with its place, its doses worked out, and what speaks against it."""
    line, document = planned.line, planned.guideline.document
    page = document.layout.page_at(line.start)
    place = _placed(planned.guideline.entry, line.section, page, document.text[line.start : line.end])
    place = replace(place, start=line.start, end=line.end)
    speaking = against(line.text, cautions, held, condition)
    stated = _weighed(line.text, place, speaking, held.patient)
    reservations = (*planned.guideline.entry.said_since, *planned.reasons)
    return replace(stated, reservations=reservations, role=planned.role)


def _placed(entry: LibraryEntry, section: tuple[str, ...], page: int | None, quote: str) -> StatementPlace:
    metadata = entry.metadata
    about = " ".join(filter(None, (metadata.publisher, entry.title, metadata.source_url)))
    published = metadata.published.isoformat() if metadata.published else None
    where = (entry.id, entry.title, entry.version, section, page, 0, 0, quote, published, metadata.publisher)
    return StatementPlace(*where, country_of(about), metadata.source_url)


def _weighed(text: str, place: StatementPlace, speaking: tuple[Conflict, ...], patient: Patient) -> PlanStatement:
    """A statement with its doses worked out and what speaks against it."""
    is_grave = any(conflict.is_grave for conflict in speaking)
    words = (text, GRADE.sub("", place.quote, count=1) if GRADE.match(place.quote) else place.quote)
    return PlanStatement(
        id="",
        text=text,
        place=place,
        support=1.0,
        strength=_graded("strength", *words),
        certainty=_graded("certainty", *words),
        doses=() if is_grave else worked_doses(text, patient),
        conflicts=speaking,
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
def _places() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (country, re.compile(rf"\b(?:{country}|{names})\b", re.IGNORECASE)) for country, names in rows("places.tsv")
    )


@cache
def _countries() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(words, re.IGNORECASE), country) for words, country in rows("publishers.tsv"))


def country_of(about: str) -> str | None:
    """Whose guideline it is, by its publisher, title or address.

    >>> country_of("World Health Organization"), country_of("A letter")
    ('international', None)
    """
    return next((country for words, country in _countries() if words.search(about)), None)
