"""Chooses the lines of the guidelines on a diagnosis that are for this patient, in the order of a plan."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from citewell.answer.illnesses import are_related, named_illnesses, wider
from citewell.assistants.consult.advice_sections import NUMBER, may_advise
from citewell.assistants.consult.advice_sentences import MAX_CHARACTERS, is_empty, is_telling, is_warning, states
from citewell.assistants.consult.applicability import Applicable, applicability_of
from citewell.assistants.consult.chapter_lines import (
    GuidelineLine,
    as_label,
    cells_of,
    chapter_lines,
    is_chapter,
    role_of,
)
from citewell.assistants.consult.conflicts import ASIDE, given
from citewell.assistants.consult.disease_stages import is_for_severe, line_of, other_stage
from citewell.assistants.consult.extractive_plan import GRADE, quotes
from citewell.assistants.consult.gather import ApplicablePassage, GatheredEvidence
from citewell.assistants.consult.guideline_choice import ChosenGuideline, illnesses_of, names_form, plain
from citewell.assistants.consult.paragraph_start import CUT, in_first_paragraph
from citewell.assistants.consult.patient_conditions import KnownConditions, on_another
from citewell.assistants.consult.recommendation_lines import recommendation_lines, recommendations_of
from citewell.assistants.consult.weight_based_doses import AMOUNTS, has_dose
from citewell.assistants.guidelines.criteria import CriteriaOutcome, CriterionState
from citewell.assistants.guidelines.evaluate import evaluate
from citewell.assistants.guidelines.evaluate_finding import PatientRecord
from citewell.assistants.guidelines.guideline import Guideline
from citewell.clinical.medicines import medicines
from citewell.clinical.populations import populations
from citewell.clinical.quantities import quantities
from citewell.sentences import sentences, terms
from citewell.types.consult import Patient
from citewell.types.consult_plan import ExcludedPassage

ORDER = ("now", "investigate", "treat", "support", "avoid", "caution", "safety", "refer", "follow", "prevent")
"""The parts of a plan, in the order in which a colleague reads them."""
MOST = {"now": 6, "investigate": 3, "treat": 9, "support": 4, "avoid": 4, "safety": 4, "refer": 2, "follow": 3}
"""How many of many numbered recommendations stand in each part; a chapter is short and stands whole."""
_STEP = re.compile(r"\bstep (\d)\b", re.IGNORECASE)
_SAFETY = re.compile(
    r"\bsafety[- ]net|\bdanger signs?\b|\bright away\b|\b(?:seek|return|come back|contact)\b[^.;]{0,60}"
    r"\b(?:if|immediately|urgent|medical|health)\b",
    re.IGNORECASE,
)
_REFERS = re.compile(r"\W*\*?(?:refer|admit|arrange admission|transfer)\b", re.IGNORECASE)
FEWEST_STATED = 3
"""A guideline in prose that states so many recommendations for a patient is quoted by these."""
ALIKE = 0.75
"""The share of their words that two lines have in common when they say the same."""
FURTHER = "less relevant to this patient than the others in this part"
NOT_MET = "its criteria are not met"
MET, SPECIFIC, UNREAD = 0.3, 0.15, -0.1
"""What counts beside how near a recommendation is in meaning: its criteria are met or it names the form of the illness,
it is for a group of this patient, or a person has to read them."""


@dataclass(frozen=True, slots=True)
class PlannedLine:
    """A line for this patient, and the guideline that it is from."""

    line: GuidelineLine
    guideline: ChosenGuideline
    role: str
    reasons: tuple[str, ...] = ()
    """For whom it may be only."""
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class PlanPatient:
    """The patient of a plan: who they are, what they have and take, and the record that criteria are held against."""

    patient: Patient
    known: KnownConditions
    record: PatientRecord
    form: str = ""
    """The diagnosis, with what was found that says which form of it this is."""
    taken: frozenset[str] = frozenset()
    """Names and families of the medicines taken."""
    days: float | None = None
    """For how long the longest of the complaints has lasted."""
    is_black_origin: bool | None = None
    """Of Black African or African–Caribbean family origin, by which guidelines choose medicines; None is not told."""


@dataclass(frozen=True, slots=True)
class FoundLines:
    """What guidelines hold for a patient, and what they hold that is not for them, with the reason."""

    lines: tuple[PlannedLine, ...] = ()
    left_out: tuple[ExcludedPassage, ...] = ()
    cautions: tuple[PlannedLine, ...] = ()
    """What to keep in mind about medicines: held against what is given and taken."""
    features: tuple[PlannedLine, ...] = ()
    """How the illness shows itself."""


def lines_on(chosen: ChosenGuideline, gathered: GatheredEvidence, who: PlanPatient) -> FoundLines:
    """The lines of one guideline for a patient, whichever way it is written; prose is quoted from its best passages."""
    if chosen.medicine is not None:
        return _of_label(chosen, chosen.medicine, gathered, who)
    guideline = recommendations_of(chosen.document)
    if guideline is not None:
        numbered = _of_recommendations(chosen, guideline, gathered.every, who)
        return joined((numbered, _stated_beside(guideline, _of_prose(chosen, gathered, who))))
    return _of_chapter(chosen, who) if is_chapter(chosen) else _of_prose(chosen, gathered, who)


def _stated_beside(guideline: Guideline, prose: FoundLines) -> FoundLines:
    """Of the sentences of a guideline those that state a recommendation and are none of its numbered ones."""
    rules = [(rule.start, rule.end) for rule in guideline.rules]

    def is_beside(planned: PlannedLine) -> bool:
        line = planned.line
        return states(line.text) and not any(start < line.end and line.start < end for start, end in rules)

    return FoundLines(tuple(filter(is_beside, prose.lines)))


def feature_lines(chosen: ChosenGuideline) -> Iterator[tuple[str, str]]:
    """How the illness shows itself, by its chapter or by the criteria of its recommendations: where, and the words."""
    title = chosen.entry.title
    guideline = recommendations_of(chosen.document)
    if guideline is not None and chosen.headings is not None:
        for line in recommendation_lines(chosen, guideline):
            if line.rule is not None and guideline.by_id[line.rule].criteria is not None:
                yield f"{title} › {line.rule}", line.own
    elif guideline is None and is_chapter(chosen):
        yield from ((f"{title} › {one.section[0]}", one.own) for one in chapter_lines(chosen) if one.role == "feature")


def joined(several: Iterable[FoundLines]) -> FoundLines:
    """The lines of several guidelines as one, each part of a plan together; the same words stand once."""
    found = list(several)
    every = [line for one in found for line in one.lines]
    once: dict[str, PlannedLine] = {}
    for line in every:
        once.setdefault(" ".join(line.line.text.casefold().split()), line)
    ordered = sorted(once.values(), key=lambda line: ORDER.index(line.role))
    return FoundLines(
        tuple(ordered),
        tuple(dict.fromkeys(one for each in found for one in each.left_out)),
        tuple(one for each in found for one in each.cautions),
        tuple(one for each in found for one in each.features),
    )


def left(chosen: ChosenGuideline, line: GuidelineLine, why: str) -> ExcludedPassage:
    """A line that is left out, and why."""
    return ExcludedPassage(chosen.entry.title, line.section, why, line.text)


# ------------------------------------------------------------------------------------------------------------- chapters


def _of_chapter(chosen: ChosenGuideline, who: PlanPatient) -> FoundLines:
    every = chapter_lines(chosen)
    lines, left_out, cautions, features = [], [], [], []
    acute = [line for line in every if _is_acute(line.section)]
    forms = _own_forms(every, chosen.document.title, who.form)
    gate = _Gate()
    for line in every:
        if line.role in ("none", "feature"):
            features += [PlannedLine(line, chosen, "feature")] if line.role == "feature" else []
            continue
        if line.role == "caution":
            cautions.append(PlannedLine(line, chosen, "avoid" if is_warning(line.own) else "caution"))
            continue
        fit = _fit(line, who)
        why = "; ".join(fit.reasons) if not fit.applies else _of_others(line, who)
        why = why or other_stage(who.form, line.section) or _of_another_form(line, forms)
        why = why or _sibling(line, chosen.document.title, who.known.names[0])
        why = why or (_other_acuity(line, who) if acute and len(acute) < len(every) else None)
        why = gate.closed_by(line, why) or why
        if why:
            left_out.append(left(chosen, line, why))
        else:
            role = "refer" if _REFERS.match(line.own) else line.role
            lines.append(_for_child(PlannedLine(line, chosen, role, fit.reasons), who.patient))
    titled = named_illnesses(chosen.document.title)
    general = [one for one in lines if not _form(one.line, titled)]
    of_forms = [_with_form(one, titled) for one in lines if _form(one.line, titled)]
    return FoundLines(tuple(_in_one((*general, *of_forms))), tuple(left_out), tuple(cautions), tuple(features))


_ONLY_FOR = re.compile(
    r"\W*(?:(?:indicated|reserved|recommended|used?|given?)\s+(?:\w+\s+)?only\b|only\s+(?:indicated|for|in|if|recommended)\b"
    r"|(?:reserved for|restricted to)\b)",
    re.IGNORECASE,
)


class _Gate:
    """A line that says whom the medicines behind it are only for; where that is somebody else, they are too."""

    def __init__(self) -> None:
        self._why = ""
        self._section: tuple[str, ...] = ()
        self._is_within = False

    def closed_by(self, line: GuidelineLine, why: str | None) -> str | None:
        """Why a line is not for this patient because of such a line before it, in the same section."""
        if _ONLY_FOR.match(line.own):
            self._why, self._section, self._is_within = why or "", line.section[:1], False
            return None
        names_medicine = bool(medicines(line.text))
        if not self._why or line.section[:1] != self._section or (self._is_within and not names_medicine):
            self._why = ""
            return None
        self._is_within = self._is_within or names_medicine
        return self._why if names_medicine else None


def _of_label(chosen: ChosenGuideline, medicine: str, gathered: GatheredEvidence, who: PlanPatient) -> FoundLines:
    """How a medicine is given for the illness, by what is printed with it, without what goes with others."""
    found = _of_chapter(chosen, who)
    forms = {
        title for titles in _own_forms([one.line for one in found.lines], "", who.form).values() for title in titles
    }
    told = [one for each in found.lines for one in _telling_part(each, is_form=bool(forms & {*each.line.section}))]
    near = _nearness(chosen, gathered.every, [one.line for one in told])
    known = who.taken | {medicine}
    own = illnesses_of(who.form)
    lines, left_out = [], [*found.left_out]
    for one in told:
        titles = one.line.section[2:]
        others = [named.name for title in titles for named in medicines(title) if named.name not in known]
        others += [name for title in titles if not own & (named := named_illnesses(title)) for name in sorted(named)]
        if others and not any(map(who.known.has, others)):
            left_out.append(left(chosen, one.line, f"for people with {others[0]}"))
            continue
        reasons = one.reasons if medicine in who.taken else (*one.reasons, FROM_LABEL.format(medicine=medicine))
        lines.append(replace(one, reasons=reasons, score=near.get(one.line.start, 0.0)))
    kept, further = _closest(lines)
    return replace(
        found, lines=tuple(kept), left_out=(*left_out, *(left(chosen, one.line, FURTHER) for one in further))
    )


def _telling_part(planned: PlannedLine, *, is_form: bool) -> Iterator[PlannedLine]:
    """A line that tells what to do or is for the very illness; of a long paragraph the sentences that do."""
    line = planned.line
    if len(line.own) <= MAX_CHARACTERS:
        yield from [planned] if is_form or is_telling(line.own) or has_dose(line.own) else []
        return
    for start, end in sentences(line.own):
        if is_telling(own := line.own[start:end].strip()):
            yield replace(planned, line=replace(line, text=own, own=own))


FROM_LABEL = "From the product information for {medicine}: how to give it, not whether to choose it."


def _form(line: GuidelineLine, titled: frozenset[str]) -> str:
    """The heading of a section that is on one form of the illness alone."""
    heading = line.section[0] if line.section else ""
    return heading if named_illnesses(heading) - titled else ""


def _with_form(planned: PlannedLine, titled: frozenset[str]) -> PlannedLine:
    """A line that is for one form of the illness, with the heading that says so."""
    line = planned.line
    return replace(planned, line=replace(line, text=f"{plain(_form(line, titled))}: {line.text}"))


def _in_one(lines: Sequence[PlannedLine]) -> Iterator[PlannedLine]:
    """Short items of one list, such as tests, as one line: they stand one after another in the chapter."""
    for _, several in groupby(lines, key=lambda one: (one.role, one.line.section, _is_short(one))):
        group = list(several)
        first, last = group[0], group[-1]
        words = plain(first.guideline.document.text[first.line.start : last.line.end])
        if len(group) == 1 or not _is_short(first) or len(words) > sum(len(one.line.own) + MARK for one in group):
            yield from group
            continue
        own = "; ".join(one.line.own for one in group)
        over = first.line.text.removesuffix(first.line.own)
        yield replace(first, line=replace(first.line, text=f"{over}{own}", own=own, end=last.line.end))


def _is_short(planned: PlannedLine) -> bool:
    """Whether a line is an item that needs no line of its own: a few words without a medicine or a dose."""
    line = planned.line
    is_listed = planned.role in ("investigate", "support", "prevent", "follow")
    return is_listed and len(line.own.split()) <= SHORT_WORDS and not has_dose(line.own) and not medicines(line.own)


def _for_child(planned: PlannedLine, patient: Patient) -> PlannedLine:
    """A line for a child: an amount that is for no age and no weight is an adult's, and is left out of it."""
    line, age = planned.line, patient.age_years
    if age is None or age >= OWN_DOSE_YEARS or not has_dose(line.own) or _PER_KG.search(line.own):
        return planned
    if any(
        population.limits or population.name == "children"
        for part in (*line.section[1:], line.own)
        for population in populations(as_label(part))
    ):
        return planned
    amounts = [one for one in quantities(line.own) if one.dimension.partition("/")[0] in AMOUNTS]
    first = _NUMBERS.search(line.own, 0, amounts[0].start)
    cut = first.start() if first else amounts[0].start
    own = line.own[:cut].rstrip(" :(,–-")
    over = line.text.removesuffix(line.own)
    dose = line.own[cut:]
    told = f"{over}{own}".rstrip(": ") if own else over.rstrip(": ")
    why = f"The guideline gives “{dose}” without an age or weight, so it is left out for a child of {patient.age_told}."
    return replace(planned, line=replace(line, text=told), reasons=(*planned.reasons, why))


def _own_forms(lines: Sequence[GuidelineLine], title: str, form: str) -> Mapping[tuple[str, ...], frozenset[str]]:
    """Under which headings one of several is the form of the illness that the diagnosis names, and which one."""
    found: dict[tuple[str, ...], frozenset[str]] = {}
    for line in lines:
        for at, heading in enumerate(line.section):
            if at and names_form(heading, title, form):
                found[line.section[:at]] = found.get(line.section[:at], frozenset()) | {heading}
    return found


def _of_another_form(line: GuidelineLine, forms: Mapping[tuple[str, ...], frozenset[str]]) -> str | None:
    """Why a line is for another form of the illness: it stands beside the heading that names the patient's."""
    for at, heading in enumerate(line.section):
        own = forms.get(line.section[:at], frozenset())
        if own and heading not in own and role_of(heading) is None:
            return f"under “{heading}”, not “{min(own)}”"
    return None


def _of_others(line: GuidelineLine, who: PlanPatient) -> str | None:
    """Why a row of a table is for people with an illness that this patient is not known to have: “HIV infected”."""
    label = line.section[-1] if line.text == line.own and ": " in line.section[-1:][0] else ""
    named = [name for name in named_illnesses(label) if not who.known.has(name)]
    own = named_illnesses(who.known.names[0])
    other = next((name for name in named if not any(are_related(name, one) for one in own)), None)
    return f"for people with {other}; the patient is not known to have it" if other else None


def _fit(line: GuidelineLine, who: PlanPatient) -> Applicable:
    words = _HEEDED.split(ASIDE.sub("", line.own), maxsplit=1)[0] if line.rule else line.own
    return applicability_of(tuple(map(as_label, line.section)), as_label(words), who.patient, who.known)


LASTING_DAYS = 21
SHORT_WORDS, MARK = 7, 6
"""Words of a short item; characters by which it may be further from the next: its mark and the line break."""
OWN_DOSE_YEARS = 12
"""Below this age a dose has to be for an age or a weight."""
_NUMBERS = re.compile(r"\d[\d.,\s–-]{0,60}$")
"""Numbers before an amount that share its unit: “50, 100, 125, 250 μg”."""
_PER_KG = re.compile(r"/\s*kg\b|\bper kg\b", re.IGNORECASE)
_HEEDED = re.compile(r"\b(?:tak(?:e|ing) (?:into )?account of?|for example|such as|including)\b", re.IGNORECASE)
"""Behind these words people stand as examples, or as risks to think of: they do not say for whom it is."""
_ACUTE = re.compile(r"\bacute\b|\battacks?\b|\bemergency\b|\bexacerbations?\b", re.IGNORECASE)
_LASTING = re.compile(r"\bpersistent\b|\bintermittent\b|\bchronic\b|\bmaintenance\b|\blong[- ]term\b", re.IGNORECASE)


def _is_acute(section: Sequence[str]) -> bool:
    return any(_ACUTE.search(title) for title in section[1:])


def _other_acuity(line: GuidelineLine, who: PlanPatient) -> str | None:
    """Why a line is for the acute illness, or for the lasting one, and this patient has the other."""
    condition = who.known.names[0]
    is_acute = bool(_ACUTE.search(condition))
    if is_acute and any(_LASTING.search(title) for title in line.section[1:]):
        return "for chronic illness; this is acute"
    is_lasting = not is_acute and who.days is not None and who.days >= LASTING_DAYS
    return "for an acute episode" if is_lasting and _is_acute(line.section) else None


# --------------------------------------------------------------------------------------------- numbered recommendations


def _of_recommendations(
    chosen: ChosenGuideline, guideline: Guideline, passages: Sequence[ApplicablePassage], who: PlanPatient
) -> FoundLines:
    every = recommendation_lines(chosen, guideline)
    near = _nearness(chosen, passages, every)
    step = _step(every, who)
    forms = illnesses_of(who.known.names[0]) - named_illnesses(guideline.title)
    lines, rows, left_out, cautions = [], [], [], []
    for line in every:
        if line.role == "caution":
            cautions.append(PlannedLine(line, chosen, "avoid"))
            continue
        if line.rule is None:
            fit = _fit(line, who)
            why = "; ".join(fit.reasons) if not fit.applies else _not_now(line, None, who, step, guideline)
            if why:
                left_out.append(left(chosen, line, why))
            else:
                rows.append(PlannedLine(line, chosen, line.role, fit.reasons))
            continue
        rule = guideline.by_id[line.rule]
        outcome = _outcome(line, guideline, who)
        fit = _fit(line, who)
        why = "; ".join(fit.reasons) if not fit.applies else None
        why = why or _not_now(line, outcome, who, step, guideline)
        if why:
            left_out.append(left(chosen, line, why))
            continue
        is_met = outcome is not None and outcome.state in (CriterionState.MET, CriterionState.ASSUMED)
        score = near.get(line.start, 0.0) + (MET if is_met and outcome and outcome.is_relevant else 0.0)
        is_own = fit.is_specific or line_of(line.section) == "first"
        score += MET * bool(forms & named_illnesses(line.own)) + SPECIFIC * is_own - 0.2 * bool(fit.reasons)
        score += UNREAD if outcome is not None and outcome.state is CriterionState.UNKNOWN else 0.0
        is_referring = guideline_is_on_referral(guideline)
        role = "now" if (is_met and rule.action.urgency) or is_referring else line.role
        role = "safety" if _SAFETY.search(line.own) else role
        lines.append(_own_items(PlannedLine(line, chosen, role, fit.reasons, score), who))
    kept, further = _closest(lines)
    left_out += [left(chosen, one.line, FURTHER) for one in further]
    in_order = sorted((*kept, *rows), key=lambda planned: planned.line.start)
    return FoundLines(tuple(in_order), tuple(left_out), tuple(cautions))


def _own_items(planned: PlannedLine, who: PlanPatient) -> PlannedLine:
    """A recommendation without the items of its list that are for people of another age, sex or state.

    Items with “or” between them say together for whom it is, and stay whole.
    """
    lead, *items = planned.line.text.split(ITEM)
    own = [item for item in items if applicability_of((), item, who.patient).applies]
    if not own or len(own) == len(items) or any(item.rstrip().endswith(" or") for item in items):
        return planned
    behind = "" if items[-1] in own else items[-1].partition(". ")[2]
    text = ITEM.join((lead, *own))
    told = replace(planned.line, text=f"{text}. {behind}" if behind else text)
    return replace(planned, line=told, reasons=(*planned.reasons, OTHERS_ITEMS.format(count=len(items) - len(own))))


ITEM = " • "
OTHERS_ITEMS = "Items of the list that are for other people, and left out: {count}."


def guideline_is_on_referral(guideline: Guideline) -> bool:
    """Whether most of what a guideline recommends is whom to refer and to test: its criteria are what matters."""
    deeds = Counter(rule.action.deed for rule in guideline.rules if rule.criteria is not None)
    with_criteria = sum(deeds.values())
    return 2 * with_criteria > len(guideline.rules) and 2 * deeds["advice"] < with_criteria


def _outcome(line: GuidelineLine, guideline: Guideline, who: PlanPatient) -> CriteriaOutcome | None:
    rule = guideline.by_id[line.rule or ""]
    return None if rule.criteria is None else evaluate(rule.criteria, who.record, guideline, seen=frozenset({rule.id}))


def _sibling(line: GuidelineLine, title: str, condition: str) -> str | None:
    """Why a line is not on this illness: it names, or stands under, another form of what the guideline is on."""
    titled, own = named_illnesses(title), illnesses_of(condition)
    for words in (*line.section[1:], line.own) if own else ():
        named = named_illnesses(words)
        forms = sorted(name for name in named - titled if titled & wider(name))
        if forms and not any(are_related(name, one) for name in named for one in own):
            return f"on {forms[0]}, not {condition}"
    return None


_ORIGIN = re.compile(
    r"(?P<isnt>\bnot )?(?:of|are) (?:\w+ )?Black African\b[^.;•]{0,40}(?:family )?origin", re.IGNORECASE
)


def _of_another_origin(line: GuidelineLine, who: PlanPatient) -> str | None:
    """Why a recommendation is for people of another family origin; of items joined by “or” one that fits is enough."""
    if who.is_black_origin is None or (first := _ORIGIN.search(line.own)) is None:
        return None
    lead, *items = re.split(r"\s•\s", re.sub(r"\([^)]{0,300}+\)", "", line.own))
    told = [match for part in (items or [lead]) if (match := _ORIGIN.search(part))] or [first]
    against = [match for match in told if (match["isnt"] is None) != who.is_black_origin]
    others = [
        item
        for item in items
        if not _ORIGIN.search(item) and applicability_of(line.section, f"{lead} {item}", who.patient, who.known).applies
    ]
    if len(against) < len(told) or others or (items and not any(_ORIGIN.search(item) for item in items)):
        return None
    return "for people of another family origin"


def _not_now(
    line: GuidelineLine, outcome: CriteriaOutcome | None, who: PlanPatient, step: int | None, guideline: Guideline
) -> str | None:
    """Why a recommendation is not for this patient now."""
    condition = who.known.names[0]
    if origin := _of_another_origin(line, who):
        return origin
    if outcome is not None and outcome.state is CriterionState.NOT_MET:
        lacking = "; ".join(criterion.text for criterion in outcome.missing)
        return f"{NOT_MET}: {lacking}" if lacking else NOT_MET
    if is_empty(line.text):
        return "it does not say what to do for a patient"
    if re.search(rf"\bif {re.escape(condition)} is not (?:diagnosed|suspected)\b", line.own, re.IGNORECASE):
        return f"for people without {condition.lower()}"
    own = next((int(match[1]) for title in reversed(line.section) if (match := _STEP.search(title))), None)
    if own is not None and step is not None and own != step:
        return f"for step {own}; with the medicines taken, the patient is at step {step}"
    return _sibling(line, guideline.title, condition) or other_stage(who.form, line.section)


def _step(lines: Sequence[GuidelineLine], who: PlanPatient) -> int | None:
    """The step of treatment that comes next: one more than the kinds of medicines taken that the steps name."""
    stepped = [line for line in lines if any(_STEP.search(title) for title in line.section)]
    if not stepped:
        return None
    families = {medicine.family for line in stepped for medicine in medicines(line.own)}
    return min(len(families & who.taken), 3) + 1


def _nearness(
    chosen: ChosenGuideline, passages: Sequence[ApplicablePassage], lines: Sequence[GuidelineLine]
) -> Mapping[int, float]:
    """How near each line is in meaning to the patient and the diagnosis, by the sentences that the search scored."""
    found: dict[int, float] = {}
    for passage in passages:
        if passage.hit.document_id != chosen.entry.id:
            continue
        for start, end, nearness in passage.hit.why.near:
            for line in lines:
                if start < line.end and line.start < end:
                    found[line.start] = max(found.get(line.start, 0.0), nearness)
    return found


def _closest(lines: Sequence[PlannedLine]) -> tuple[list[PlannedLine], list[PlannedLine]]:
    """As many of each part as a plan has room for, those nearest to the patient; in the order of the guideline."""
    kept, further = [], []
    for role in dict.fromkeys(line.role for line in lines):
        own = sorted((line for line in lines if line.role == role), key=lambda line: -line.score)
        kept += own[: MOST.get(role, 2)]
        further += own[MOST.get(role, 2) :]
    return sorted(kept, key=lambda line: line.line.start), further


# ---------------------------------------------------------------------------------------------------------------- prose


def _of_prose(chosen: ChosenGuideline, gathered: GatheredEvidence, who: PlanPatient) -> FoundLines:
    own = [
        passage
        for passage in gathered.passages
        if passage.hit.document_id == chosen.entry.id and chosen.covers(passage.hit.section)
    ]
    stated = _stated_in(chosen, who)
    headless = {passage.hit.source_id for passage in own if not passage.is_whole}
    told = quotes(own, who.patient, who.known.names[0], who.known)
    lines, left_out = [], []
    for quote in told:
        line = GuidelineLine(
            quote.text, quote.text, _role(quote.text, quote.headings), quote.headings, quote.start, quote.end
        )
        why = "; ".join(quote.fit.reasons) if not quote.fit.applies else quote.why_not
        why = why or other_stage(who.form, (*quote.headings, quote.text))
        if not why and _is_for_severe_illness((*quote.headings, quote.text), who.known.names[0]):
            why = f"for severe disease, not {who.known.names[0]}"
        if why:
            left_out.append(left(chosen, line, why))
        else:
            is_cut = quote.hit.source_id in headless and in_first_paragraph(quote.hit, quote.start)
            kept = (*quote.fit.reasons, *([CUT] if is_cut and has_dose(quote.text) else []))
            lines.append(PlannedLine(line, chosen, line.role, kept))
    if sum(isinstance(one, PlannedLine) for one in stated) >= FEWEST_STATED:
        left_out = [one for one in stated if isinstance(one, ExcludedPassage)]
        others = {_words_of(one.words) for one in left_out}  # a summary says again what is in sections for other people
        lines = [one for one in stated if isinstance(one, PlannedLine)]
        lines = [one for one in lines if one.role == "avoid" or _words_of(one.line.text) not in others]
    lines += _doses_of(chosen, [line.line for line in lines], who)
    lines += _safety_of(chosen, gathered, [line.line for line in lines], who)
    return FoundLines(tuple(_without_repeats(lines)), tuple(left_out))


def _words_of(text: str) -> frozenset[str]:
    return frozenset(terms(GRADE.sub("", text)))


MARKS = "•◦▪●○‣·*–— \n"
_LETTERED = re.compile(r"\d+[a-z]?\. [A-Z]")
"""How recommendations under a heading that calls them so are marked: “2b. When advising …”."""
_RECOMMENDS = re.compile(r"(?:WHO|we|the (?:panel|GDG)) (?:\w+ly )?(?:recommends?|suggests?)\b", re.IGNORECASE)


def _stated_in(chosen: ChosenGuideline, who: PlanPatient) -> list[PlannedLine | ExcludedPassage]:
    """Each recommendation that a guideline states as one, for this patient or with why not.

    Where several are marked under headings that call them so, what summaries and remarks say of others is not taken.
    """
    found = list(_each_stated(chosen, who))
    marked = [one for is_marked, one in found if is_marked]
    return marked if len(marked) >= FEWEST_STATED else [one for _, one in found]


def _each_stated(chosen: ChosenGuideline, who: PlanPatient) -> Iterator[tuple[bool, PlannedLine | ExcludedPassage]]:
    """Each recommendation that is stated (“WHO recommends …”), and whether it is marked as one (“2b. When …”)."""
    document, condition = chosen.document, who.known.names[0]
    for block in document.blocks:
        words = document.text[block.start : block.end].lstrip(MARKS)
        own, start = plain(words), block.end - len(words)
        is_advice = block.kind != "heading" and chosen.covers(block.section) and may_advise(block.section)
        is_headed = NUMBER.sub("", block.section[-1] if block.section else "").casefold().startswith("recommendation")
        is_marked = is_headed and _LETTERED.match(own) is not None
        is_told = is_marked or (states(own) and (is_telling(own) or _RECOMMENDS.match(own) is not None))
        if not is_advice or not is_told or len(own) > MAX_CHARACTERS or own.endswith(":"):
            continue
        line = GuidelineLine(own, own, _role(own, block.section), block.section, start, block.end)
        fit = _fit(line, who)
        why = "; ".join(fit.reasons) if not fit.applies else other_stage(who.form, (*block.section, own))
        why = why or ("for people in general, to compare with" if fit.is_general else None)
        why = why or on_another(document.title, block.section, who.known)
        if not why and _is_for_severe_illness((*block.section, own), condition):
            why = f"for severe disease, not {condition}"
        yield is_marked, left(chosen, line, why) if why else PlannedLine(line, chosen, line.role, fit.reasons)


def _doses_of(chosen: ChosenGuideline, lines: Sequence[GuidelineLine], who: PlanPatient) -> Iterator[PlannedLine]:
    """The doses of the medicines that lines give without one: rows and sentences under a heading that names them."""
    document = chosen.document
    lacking = {one.name for line in lines if not has_dose(line.text) for one in given(line.text) if not one.is_class}
    for block in document.blocks if lacking else ():
        if block.kind == "heading" or not chosen.covers(block.section) or not may_advise(block.section):
            continue
        over = next(
            (title for title in reversed(block.section) if lacking & {one.name for one in medicines(title)}), None
        )
        words = plain(document.text[block.start : block.end])
        is_dose = has_dose(words) and _HOW_OFTEN.search(words) is not None and not _SEE_TABLE.search(words)
        if over is None or role_of(block.section[-1]) != "treat" or not is_dose or len(words) > MAX_CHARACTERS:
            continue
        line = GuidelineLine(f"{NUMBER.sub('', over)}: {words}", words, "treat", block.section, block.start, block.end)
        cells = [line, *(replace(line, own=part) for cell in cells_of(words) for part in cell)]
        is_own = all(_fit(cell, who).applies for cell in cells)
        if is_own and other_stage(who.known.names[0], block.section) is None:
            yield PlannedLine(line, chosen, "treat")


_HOW_OFTEN = re.compile(r"\bevery\b|\bhourly\b|\bdaily\b|\btimes\b|\bonce\b|\bsingle dose\b|/day\b", re.IGNORECASE)
_SEE_TABLE = re.compile(r"\b(?:table|figure)\s+\d", re.IGNORECASE)


def _safety_of(
    chosen: ChosenGuideline, gathered: GatheredEvidence, lines: Sequence[GuidelineLine], who: PlanPatient
) -> list[PlannedLine]:
    """What to watch for and when to come back, wherever the guideline says it; what the search found comes first."""
    near = {span[0] for passage in gathered.every for span in passage.hit.why.near}
    document = chosen.document
    found = []
    for block in document.blocks:
        words = plain(document.text[block.start : block.end])
        is_advice = block.kind != "heading" and chosen.covers(block.section) and may_advise(block.section)
        is_advice = is_advice and not re.search(r"= FALSE\b", words)
        if not is_advice or len(words) > MAX_CHARACTERS or not _SAFETY.search(words) or not is_telling(words):
            continue
        line = GuidelineLine(_row_told(words), words, "safety", block.section, block.start, block.end)
        is_new = not any(one.start < block.end and block.start < one.end for one in lines)
        if is_new and not words.endswith(":") and _fit(line, who).applies:
            found.append(PlannedLine(line, chosen, "safety"))
    found.sort(key=lambda planned: planned.line.start not in near)
    return sorted(found[: MOST["safety"]], key=lambda planned: planned.line.start)


def _row_told(words: str) -> str:
    """A row of a table without the cells that only a machine or a librarian reads."""
    cells = list(cells_of(words))
    kept = [f"{header}: {value}" for header, value in cells if not _NO_CELL.search(f"{header}: {value}")]
    return "; ".join(kept) if len(cells) > 1 and kept else words


def _without_repeats(lines: Sequence[PlannedLine]) -> Iterator[PlannedLine]:
    """The lines without those that say again, in a summary or in a section, what another one says; the longer stays."""
    told = [(line, _words_of(line.line.text)) for line in lines]
    for at, (line, words) in enumerate(told):
        again = (
            (other, place)
            for place, (one, other) in enumerate(told)
            if place != at and one.role == line.role and len(words & other) > ALIKE * len(words | other)
        )
        if not any(len(other) > len(words) or (len(other) == len(words) and place < at) for other, place in again):
            yield line


_NO_CELL = re.compile(r"^references?\b|: (?:TRUE|FALSE)$|\bID\b", re.IGNORECASE)
_SEVERE = re.compile(r"\bsevere\b(?P<what>[^.;:]{0,60})", re.IGNORECASE)


def _is_for_severe_illness(texts: Iterable[str], condition: str) -> bool:
    """Whether a heading or a sentence is for the severe form of the illness; severe pain is no form of it."""
    illnesses = named_illnesses(condition)
    for text in texts:
        what = match["what"] if (match := _SEVERE.search(text)) else ""
        is_illness = re.search(r"\b(?:disease|illness)\b", what) is not None or bool(named_illnesses(what) & illnesses)
        if is_illness and is_for_severe(text, condition):
            return True
    return False


def _role(text: str, headings: Sequence[str]) -> str:
    """What a sentence is for: by what it tells to do, else by its headings."""
    if is_warning(text):
        return "avoid"
    if _REFERS.match(text):
        return "refer"
    if _SAFETY.search(text):
        return "safety"
    under: Iterator[str] = (role for title in reversed(headings) if (role := role_of(title)) in ORDER)
    role = next(under, "treat")
    return "treat" if role == "caution" else role
