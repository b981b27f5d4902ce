"""Holds a finding, with what must be true of it, against the record."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from itertools import chain

from citewell.assistants.guidelines.concept_match import Unit, holds, is_clinical, names, units
from citewell.assistants.guidelines.criteria import (
    Absence,
    Condition,
    CriteriaOutcome,
    CriterionState,
    FindingCriterion,
    JudgedCriterion,
    NeedsReading,
    Quality,
    described,
)
from citewell.assistants.guidelines.evaluate_tests import MeasuredResult, is_test, judge_by_test, measured
from citewell.assistants.guidelines.patient import PatientInput, Sex, age_in_words, sex_in_words
from citewell.assistants.guidelines.record_clauses import RecordClause, as_read, cue, qualities, said
from citewell.assistants.guidelines.tables import rows, rows_of
from citewell.clinical import broader
from citewell.clinical.assertion import read_context, read_contexts
from citewell.clinical.implied_findings import meant
from citewell.clinical.lexicon import Lexicon, concept_ids

LASTING = {"persistent": (21.0, math.inf), "sub-acute": (3.0, 92.0), "newly abnormal": (0.0, 92.0)}
"""For how many days something has lasted, by its own words, that is assumed to be persistent, sub-acute or new, to be
confirmed."""


@dataclass(frozen=True)
class PatientRecord:
    """A patient, and what the record says clause by clause."""

    patient: PatientInput
    outcomes: dict[Condition, CriteriaOutcome] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What became of each condition that was held against it: many rules ask for the same."""

    @cached_property
    def texts(self) -> tuple[list[RecordClause], ...]:
        """The clauses of each complaint and each report."""
        complaints = self.patient.complaints
        reports = [test.told for test in self.patient.tests if test.text]
        read_contexts(
            [as_read(text) for text in (*(complaint.text for complaint in complaints), *reports)]
        )  # all at once
        return (
            *(said(complaint.text, given_days=complaint.duration_days) for complaint in complaints),
            *map(said, reports),
        )

    @cached_property
    def said(self) -> tuple[RecordClause, ...]:
        return tuple(chain.from_iterable(self.texts))

    @cached_property
    def results(self) -> tuple[MeasuredResult, ...]:
        """The results of tests, listed or in the words of complaints."""
        return measured(self.patient)

    @cached_property
    def ages(self) -> tuple[int, int] | None:
        """The youngest and oldest by what is given, else by the words of a complaint."""
        told = self.patient.known_ages or age_in_words(self.patient)
        return (told, told) if isinstance(told, int) else told

    @cached_property
    def sex(self) -> Sex | None:
        """The sex that is given, else the one that the words of a complaint tell."""
        return self.patient.sex or sex_in_words(self.patient)

    @cached_property
    def names(self) -> frozenset[str]:
        """Everything that any clause speaks of: what is not in here need not be looked for in each."""
        return frozenset(name for clause in self.said for name in clause.names)

    @cached_property
    def denied(self) -> frozenset[str]:
        """Everything that any clause denies."""
        return frozenset(name for clause in self.said for name in clause.denied)

    @cached_property
    def doubted(self) -> frozenset[str]:
        """Everything that any clause leaves in doubt."""
        return frozenset(name for clause in self.said for name in clause.doubted)

    @cached_property
    def spoken_of(self) -> frozenset[str]:
        """Everything that any clause states, denies or leaves in doubt."""
        return self.names | self.denied | self.doubted

    def is_silent_on(self, finding: FindingCriterion) -> bool:
        """Whether nothing on record speaks of a finding or of anything broader, and no result could show it."""
        wanted = units(finding.phrase)
        if holds(wanted, self.spoken_of) or (self.results and is_test(finding.phrase)):
            return False
        if any(unit & self.spoken_of for unit in _suspicion(finding)) or _together(finding, self) is not None:
            return False
        wider = _wider(finding.phrase)
        return self.names.isdisjoint(_lasting(finding.phrase)) and (not wider or not holds(wider, self.names))

    def stating(self, wanted: frozenset[Unit]) -> list[RecordClause]:
        """The clauses that speak of all this."""
        return [clause for clause in self.said if holds(wanted, clause.names)] if holds(wanted, self.names) else []

    def denying(self, wanted: frozenset[Unit]) -> list[RecordClause]:
        return [clause for clause in self.said if holds(wanted, clause.denied)] if holds(wanted, self.denied) else []

    def doubting(self, wanted: frozenset[Unit]) -> RecordClause | None:
        """The first clause that leaves all this in doubt, itself or with what it states."""
        if not holds(wanted, self.spoken_of):
            return None
        clauses = (clause for clause in self.said if clause.doubted)
        return next(
            (
                record_clause
                for record_clause in clauses
                if holds(wanted, record_clause.doubted | record_clause.names)
                and any(unit & record_clause.doubted for unit in wanted)
            ),
            None,
        )


@lru_cache(maxsize=5_000)
def judge_silence(phrase: str, detail: str | None) -> JudgedCriterion:
    """A finding of which the record says nothing: absent, or unknown where only a test can show it."""
    if not is_test(phrase):
        return JudgedCriterion(phrase, CriterionState.NOT_MET, None)
    whole = f"{phrase} {detail}" if detail else phrase
    return JudgedCriterion(whole, CriterionState.UNKNOWN, None, ask=f"Is there a test result showing {whole}?")


def judge_finding(finding: FindingCriterion, record: PatientRecord) -> list[JudgedCriterion]:
    """The finding itself, then each thing that must be true of it."""
    wanted = units(finding.phrase)
    if (suspected := _suspected(finding, record)) is not None:
        text = f"{finding.phrase}: {finding.detail}"
        return [
            JudgedCriterion(one, CriterionState.MET, suspected.text, is_clinical=True) for one in (finding.phrase, text)
        ]
    given, denied = record.stating(wanted), record.denying(wanted)
    if given and _are_organs(wanted):
        given = [clause for clause in given if not cue("normal").search(clause.text)]
    if given and denied:
        ask = f"The record says both yes and no to {finding.phrase}. Which is right?"
        return [JudgedCriterion(finding.phrase, CriterionState.UNKNOWN, f"{given[0].text}; {denied[0].text}", ask=ask)]
    if not given:
        return [_together(finding, record) or _not_given(finding, denied, record)]
    judged = [JudgedCriterion(finding.phrase, CriterionState.MET, given[0].text, is_clinical=True)]
    judged += [_judge_quality(quality, finding, given, record) for quality in finding.qualities]
    if finding.detail:
        judged.append(_judge_detail(finding, given, record))
        if judged[-1].state is CriterionState.UNKNOWN and is_test(finding.phrase):
            return judged[-1:]  # a report that nobody could read is asked about
        if judged[-1].state is CriterionState.NOT_MET and is_test(finding.phrase):
            judged[0] = replace(judged[0], is_clinical=False)  # that a test was done speaks for nothing
    return judged


@lru_cache(maxsize=5_000)
def _kinds(wanted: frozenset[Unit]) -> frozenset[str]:
    """The kinds of the things that are asked for."""
    concepts = Lexicon.load().concepts
    return frozenset(concepts[name].kind for unit in wanted for name in unit if name in concepts)


def _are_organs(wanted: frozenset[Unit]) -> bool:
    """Whether only a part of the body is asked for, as in “testicular symptoms”: one that is normal has none."""
    return _kinds(wanted) == {"other"}


def _suspected(finding: FindingCriterion, record: PatientRecord) -> RecordClause | None:
    """The clause that suspects what a rule wants suspected: “?BCC” is a skin lesion that raises that suspicion.

    A report is taken whole, “USS: solid mass. Cannot exclude sarcoma”, and says of what kind a sarcoma is."""
    wanted = _suspicion(finding)
    for clauses in record.texts if wanted else ():
        told = names(clause.names for clause in clauses)
        is_report = "test" in _kinds(frozenset({told}))
        if (is_report or is_test(finding.phrase)) and not holds(units(finding.phrase), told):
            continue  # what one test suggests, no other test and no sign does
        counts_stated = is_report or "condition" not in _kinds(wanted)
        found = (
            record_clause
            for record_clause in clauses
            if holds(
                wanted,
                record_clause.names | record_clause.doubted
                if counts_stated or _LOOKS.search(record_clause.text)
                else record_clause.doubted,
            )
        )
        if (suspecting := next(found, None)) is not None:
            return suspecting
    return None


@lru_cache(maxsize=5_000)
def _suspicion(finding: FindingCriterion) -> frozenset[Unit]:
    """What a rule wants suspected: the things that its detail names, and the words alone where it names none."""
    if not finding.detail or not _SUSPICION.search(finding.detail):
        return frozenset()
    wanted = units(finding.detail)
    wanted = frozenset(filter(is_clinical, wanted)) or wanted
    if not is_test(finding.phrase):
        return wanted
    is_cancer = _OF_SITE.search(finding.detail) is not None  # “CXR: suspicious for malignancy”
    return frozenset(
        unit | broader(unit) | (concept_ids("malignancy") if is_cancer else frozenset()) for unit in wanted
    )


def _not_given(finding: FindingCriterion, denied: Sequence[RecordClause], record: PatientRecord) -> JudgedCriterion:
    if (maybe := record.doubting(units(finding.phrase))) is not None:
        ask = f"The record is unclear (“{maybe.text}”). Does the patient have {finding.phrase}?"
        return JudgedCriterion(finding.phrase, CriterionState.UNKNOWN, maybe.text, ask=ask, is_clinical=True)
    if denied:
        return JudgedCriterion(finding.phrase, CriterionState.NOT_MET, denied[0].text)
    if (tested := judge_by_test(finding.phrase, record.results, record.ages and record.ages[0])) is not None:
        return tested
    for clause in record.said if record.names & _lasting(finding.phrase) else ():
        if (
            clause.told_days is not None
            and WEEKS <= clause.told_days <= YEAR
            and clause.names & _lasting(finding.phrase)
        ):
            ask = f"The record says “{clause.text}”. Is this {finding.phrase}?"
            return JudgedCriterion(
                finding.phrase, CriterionState.ASSUMED, f"{clause.text}, for {clause.told_days:g} days", ask=ask
            )
    if (wider := _wider(finding.phrase)) and holds(wider, record.names):
        for clause in record.said:
            if holds(wider, clause.exact):
                ask = f"The record says “{clause.text}”. Is this {finding.phrase}?"
                return JudgedCriterion(finding.phrase, CriterionState.UNKNOWN, clause.text, ask=ask, is_clinical=True)
    return judge_silence(finding.phrase, finding.detail)


WEEKS, YEAR = 21.0, 365.0


@cache
def _groups() -> tuple[tuple[frozenset[Unit], tuple[frozenset[Unit], ...]], ...]:
    """What several findings are together."""
    return tuple(
        (units(whole), tuple(map(units, parts.split("+")))) for whole, parts in rows_of("assumed.tsv", "together")
    )


def _together(finding: FindingCriterion, record: PatientRecord) -> JudgedCriterion | None:
    """Symptoms that suggest a syndrome, where the record has all of them and they are not of old."""
    wanted = units(finding.phrase)
    for whole, parts in _groups() if "suggest" in finding.phrase else ():
        stating = [record.stating(part) for part in parts]
        lasted = [clause.duration_days for clauses in stating for clause in clauses if clause.duration_days is not None]
        if whole == wanted and all(stating) and all(days <= YEAR for days in lasted):
            fact = "; ".join(dict.fromkeys(clauses[0].text for clauses in stating))
            ask = f"The record says “{fact}”. Are these {finding.phrase}?"
            return JudgedCriterion(finding.phrase, CriterionState.ASSUMED, fact, ask=ask, is_clinical=True)
    return None


@lru_cache(maxsize=5_000)
def _lasting(phrase: str) -> frozenset[str]:
    """What is assumed to be this where it has lasted for weeks: new constipation is a change in bowel habit."""
    wanted = units(phrase)
    return frozenset(
        name
        for what, is_then in rows_of("assumed.tsv", "lasting")
        if units(is_then) == wanted
        for name in names(units(what))
    )


@lru_cache(maxsize=5_000)
def _wider(phrase: str) -> frozenset[Unit]:
    """What a record may say that leaves open whether it is this; nothing where there is no broader word for it."""
    wanted = units(phrase)
    wider = frozenset(unit | broader(unit) for unit in wanted)
    return frozenset() if wider == wanted else wider


def _judge_quality(
    quality: Quality, finding: FindingCriterion, given: Sequence[RecordClause], record: PatientRecord
) -> JudgedCriterion:
    """Stated, denied, assumed where that is allowed, else unknown."""
    text = f"{finding.phrase}: {quality.text}"
    if quality.more_than_days is not None or quality.within_days is not None:
        return _judge_duration(quality, text, given)
    for clause in given:
        if any(name in clause.stated for name in quality.names):
            return JudgedCriterion(text, CriterionState.MET, clause.text)
    refuting = next(
        (record_clause for record_clause in given if all(name in record_clause.refuted for name in quality.names)), None
    )
    if refuting is not None:
        return JudgedCriterion(text, CriterionState.NOT_MET, refuting.text)
    if quality.names == ("unexplained",) and (cause := _explaining(finding.phrase, given, record)) is not None:
        ask = f"The record says “{cause.text}”. Does that explain the {finding.phrase}?"
        return JudgedCriterion(text, CriterionState.UNKNOWN, cause.text, ask=ask)
    return _judge_silent_quality(quality, text, finding, given)


def _judge_silent_quality(
    quality: Quality, text: str, finding: FindingCriterion, given: Sequence[RecordClause]
) -> JudgedCriterion:
    """A quality that nothing states, denies or explains: assumed by how long it lasted or where that is allowed."""
    lasted = next((clause.duration_days for clause in given if clause.duration_days is not None), None)
    fact = None if lasted is None else f"for {lasted:g} days"
    ask = f"Is the {finding.phrase} {quality.text}?"
    told = next((record_clause.told_days for record_clause in given if record_clause.told_days is not None), None)
    spans = [LASTING[name] for name in quality.names if name in LASTING]
    if told is not None and any(low <= told <= high for low, high in spans):
        return JudgedCriterion(text, CriterionState.ASSUMED, f"for {told:g} days", ask=ask)
    if any(qualities().get(name, ("stated",))[0] == "assumed" for name in quality.names):
        return JudgedCriterion(text, CriterionState.ASSUMED, None, ask=ask)
    return JudgedCriterion(text, CriterionState.UNKNOWN, fact, ask=ask)


_WORSE = re.compile(
    r"\b(?:worse\w*|worsening|new|newly|more than usual|different|despite|increasing\w*)\b", re.IGNORECASE
)
"""What an illness of old does not explain."""


@lru_cache(maxsize=5_000)
def _causes(phrase: str) -> tuple[frozenset[Unit], ...]:
    """What may explain a finding."""
    wanted = units(phrase)
    return tuple(
        units(cause)
        for what, causes in rows("explaining.tsv")
        if all(any(unit & other for other in units(what)) for unit in wanted)
        for cause in causes.split("|")
    )


def _gives(clause: RecordClause, cause: frozenset[Unit]) -> bool:
    """Whether a clause names a cause: a condition that is there, or a word not denied (a medicine may be stopped)."""
    if holds(cause, clause.names):
        return True
    return not any(map(is_clinical, cause)) and holds(cause, names(units(clause.text)) - clause.denied)


def _explaining(phrase: str, given: Sequence[RecordClause], record: PatientRecord) -> RecordClause | None:
    """What the texts that state a finding give as its cause; None where one of them gives none."""
    causes = _causes(phrase)
    if not causes or any(_WORSE.search(clause.text) for clause in given):
        return None
    explained = None
    for clauses in record.texts:
        if not any(record_clause in clauses for record_clause in given):
            continue
        cause = next((clause for clause in clauses if any(_gives(clause, named) for named in causes)), None)
        if cause is None:
            return None
        explained = explained or cause
    return explained


def _judge_duration(quality: Quality, text: str, given: Sequence[RecordClause]) -> JudgedCriterion:
    days = next((clause.duration_days for clause in given if clause.duration_days is not None), None)
    if days is None:
        return JudgedCriterion(text, CriterionState.UNKNOWN, None, ask="How long has it lasted?")
    if quality.more_than_days is not None:
        return JudgedCriterion(
            text, CriterionState.MET if days > quality.more_than_days else CriterionState.NOT_MET, f"for {days:g} days"
        )
    assert quality.within_days is not None
    return JudgedCriterion(
        text, CriterionState.MET if days <= quality.within_days else CriterionState.NOT_MET, f"for {days:g} days"
    )


_SUSPICION = re.compile(r"\b(?:suggest|suspici|suspect|consistent with|compatible with|possib)")
"""A rule that asks for a suspicion is met by one: “X-ray: ?mesothelioma”."""
_OF_SITE = re.compile(r"\b(\w+) cancer\b")
_LOOKS = re.compile(
    r"\b(?:clinically|looks?|appears?|appearances?|in keeping with|consistent with|c/w|typical|classic(?:al)?"
    r"|features of|impression|feels? like|suspicious)\b|-like\b",
    re.IGNORECASE,
)
"""What makes of a stated condition a suspicion: “looks like a melanoma”."""
_EXCLUDED = re.compile(r"^when (?P<what>.+?) has been excluded")


def _judge_detail(finding: FindingCriterion, given: Sequence[RecordClause], record: PatientRecord) -> JudgedCriterion:
    """What the finding must suggest or have gone through: it has to be in the record."""
    assert finding.detail is not None
    text = f"{finding.phrase}: {finding.detail}"
    if excluded := _EXCLUDED.search(finding.detail):
        ruled_out = units(excluded.group("what"))
        for clause in record.said:
            is_negative = cue("normal").search(clause.text) or "excluded" in clause.text
            if holds(ruled_out, clause.denied) or (is_negative and holds(ruled_out, clause.names)):
                return JudgedCriterion(text, CriterionState.MET, clause.text)
    wanted = units(finding.detail)
    is_suspicion = _SUSPICION.search(finding.detail) is not None
    site = _OF_SITE.search(finding.detail) if is_suspicion else None
    for clause in given:
        if holds(wanted, clause.names | clause.doubted if is_suspicion else clause.names):
            return JudgedCriterion(text, CriterionState.MET, clause.text)
        if cue("normal").search(clause.text) or any(unit & clause.denied for unit in wanted):
            return JudgedCriterion(text, CriterionState.NOT_MET, clause.text)
    ask = f"Does the patient have: {finding.phrase} {finding.detail}?"
    for clause in given:
        if site and re.search(rf"\b{site[1]}s?\b", clause.text, re.IGNORECASE):
            return JudgedCriterion(
                text, CriterionState.ASSUMED, clause.text, ask=ask
            )  # “orange peel skin over the breast”
    return JudgedCriterion(text, CriterionState.UNKNOWN, given[0].text if is_test(finding.phrase) else None, ask=ask)


READ_IT = "Not assessed automatically. Check this criterion in the guideline yourself."
_FIRST_TIME = re.compile(r"\bfor the first time$")


def judge_unparsed(condition: NeedsReading, record: PatientRecord) -> JudgedCriterion:
    """A condition in words that no grammar parses: assumed, to be confirmed, where the record says what it means."""
    if _FIRST_TIME.search(condition.text):
        again = next((clause for clause in record.said if "recurrent" in clause.stated), None)
        state = CriterionState.ASSUMED if again is None else CriterionState.UNKNOWN
        return JudgedCriterion(condition.text, state, again.text if again else None, ask=f"Are {condition.text}?")
    for asked, telling in _readings():
        for record_clause in record.said if asked.search(condition.text) else ():
            if telling.search(record_clause.text) and not _DENIED.search(record_clause.text):
                return JudgedCriterion(
                    condition.text,
                    CriterionState.ASSUMED,
                    record_clause.text,
                    ask=f"Does this apply: {condition.text}?",
                )
    means = frozenset() if "test" in _kinds(units(condition.text)) else _meant(condition.text)
    for record_clause in record.said:
        if means & record_clause.exact:
            return JudgedCriterion(
                condition.text, CriterionState.ASSUMED, record_clause.text, ask=f"Does this apply: {condition.text}?"
            )
    return JudgedCriterion(described(condition), CriterionState.UNKNOWN, None, ask=READ_IT)


_DENIED = re.compile(r"\b(?:no|not|nor|without)\b", re.IGNORECASE)


@cache
def _readings() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """Conditions that no grammar parses, and what of a record speaks for them."""
    return tuple(
        (re.compile(asked, re.IGNORECASE), re.compile(rf"\b(?:{telling})\b", re.IGNORECASE))
        for asked, telling in rows_of("assumed.tsv", "unparsed")
    )


@lru_cache(maxsize=1_000)
def _meant(text: str) -> frozenset[str]:
    """What the clinical reader takes the words of a guideline for."""
    return frozenset(name for mention in meant(read_context(text)) for name in mention.ids)


def judge_absence(absence: Absence, record: PatientRecord) -> JudgedCriterion:
    """What must not be there: assumed absent where the record is silent."""
    wanted = units(absence.phrase)
    if present := record.stating(wanted):
        return JudgedCriterion(absence.text, CriterionState.NOT_MET, present[0].text)
    if (maybe := record.doubting(wanted)) is not None:
        return JudgedCriterion(
            absence.text, CriterionState.UNKNOWN, maybe.text, ask=f"Has {absence.phrase} been ruled out?"
        )
    if denied := record.denying(wanted):
        return JudgedCriterion(absence.text, CriterionState.MET, denied[0].text)
    return JudgedCriterion(absence.text, CriterionState.ASSUMED, None, ask=f"Has {absence.phrase} been ruled out?")
