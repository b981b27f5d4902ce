"""The next question: the first of the table that applies and is not known yet; and what is still missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from citewell.assistants.consult.patient import FERTILE_YEARS, patient_of
from citewell.assistants.consult.presenting_complaint import VISIT
from citewell.assistants.consult.red_flags import features_for
from citewell.assistants.consult.tables import rows
from citewell.clinical.populations import CHILD_YEARS
from citewell.types.consult import Category, Consult, Finding, Polarity

PAINS = ("pain", "ache", "tenderness", "cramp", "sore")
MAX_FEATURES = 6
BREATHING = ("cough", "dyspnea", "breath", "wheez", "chest pain")
CHANGING = (*PAINS, *BREATHING, "itch", "rash", "nausea", "vomit", "diarrh", "dizz", "vertigo", "palpitation", "numb")
"""What may be better or worse with something; nobody can say what makes a fever worse."""
OF_KIND = {"pain": PAINS, "changing": CHANGING, "breathing": BREATHING}
"""Conditions of the table that hold of one complaint, and the words that name it."""


@dataclass(frozen=True, slots=True)
class InterviewQuestion:
    """One row of the table, worded for this patient."""

    key: str
    stage: str
    text: str
    is_needed: bool


@cache
def _table() -> tuple[tuple[str, str, tuple[str, ...], bool, str], ...]:
    return tuple(
        (key, stage, tuple(when.split()), needed == "yes", text)
        for key, stage, when, needed, text in rows("questions.tsv")
    )


def next_question(consult: Consult) -> InterviewQuestion | None:
    """What to ask now: first what is contradicted, then the first of the table; None when all is asked."""
    if consult.contradictions:
        return InterviewQuestion("contradiction", "history", consult.contradictions[0].question, is_needed=True)
    return next(open_questions(consult), None)


def missing(consult: Consult) -> list[InterviewQuestion]:
    """What of the minimum data set is not known; what was asked and cannot be known is not missing."""
    return [question for question in open_questions(consult) if question.is_needed]


def open_questions(consult: Consult) -> Iterator[InterviewQuestion]:
    """Every question of the table that applies and has no answer yet, in order."""
    flags = features_for(_names(consult), consult.findings)
    conditions, features = features_to_ask(consult)
    for key, stage, when, needed, text in _table():
        if key in consult.skipped or is_known(key, consult) or not all(_applies(one, consult) for one in when):
            continue
        if (key == "flags" and not flags) or (key == "features" and not features):
            continue
        complaint = complaint_for(key, consult)
        worded = text.format(
            complaint=plain_name(complaint.name) if complaint else "it",
            flags=", ".join(map(plain_name, flags)),
            conditions=" or ".join(conditions),
            features=", ".join(dict.fromkeys(map(plain_name, features))),
        )
        yield InterviewQuestion(key, stage, worded, needed)


@cache
def _plain_names() -> dict[str, str]:
    return {name.casefold(): plain for name, plain in rows("plain_names.tsv")}


def plain_name(name: str) -> str:
    """A finding as a question says it.

    >>> plain_name("Dyspnea"), plain_name("Headache")
    ('breathlessness', 'headache')
    """
    return _plain_names().get(name.casefold(), name.lower())


def features_to_ask(consult: Consult) -> tuple[list[str], list[str]]:
    """The differentials, and what their guidelines name that is not known yet; what tells them apart comes first."""
    known = {finding.name.casefold() for finding in consult.findings}
    asking = [one for one in consult.differentials if one.ask]
    counted = Counter(feature for one in asking for feature in one.ask if feature.casefold() not in known)
    features = sorted(counted, key=lambda feature: counted[feature])
    return [one.condition.lower() for one in asking], features[:MAX_FEATURES]


def complaint_of(consult: Consult) -> Finding | None:
    """The main complaint: the first symptom that is present."""
    felt = [finding for finding in consult.findings if finding.polarity is Polarity.PRESENT]
    for category in (Category.SYMPTOM, Category.ASSOCIATED):
        found = next((finding for finding in felt if finding.category is category), None)
        if found is not None:
            return found
    return None


def complaint_for(key: str | None, consult: Consult) -> Finding | None:
    """What a question is about: nobody is asked where a fever is, but where the headache beside it is."""
    when = next((conditions for name, _, conditions, _, _ in _table() if name == key), ())
    words = next((OF_KIND[one] for one in when if one in OF_KIND), ("",))
    main = complaint_of(consult)
    felt = [main, *_complaints(consult)] if main else []
    return next((finding for finding in felt if any(word in finding.name.casefold() for word in words)), main)


def _names(consult: Consult) -> list[str]:
    return [complaint.name for complaint in _complaints(consult)]


def _complaints(consult: Consult) -> list[Finding]:
    kinds = (Category.SYMPTOM, Category.ASSOCIATED)
    return [
        finding for finding in consult.findings if finding.category in kinds and finding.polarity is Polarity.PRESENT
    ]


def is_known(key: str, consult: Consult) -> bool:
    """Whether a question has its answer."""
    patient = patient_of(consult)
    kinds = {finding.category.value for finding in consult.findings}
    complaint = complaint_of(consult)
    is_timed = complaint is not None and (complaint.duration_days is not None or complaint.onset is not None)
    told = {
        "complaint": complaint is not None,
        "duration": is_timed or not kinds.isdisjoint(("duration", "onset")),
        "age": patient.age_years is not None,
        "sex": patient.sex is not None,
        "pregnant": patient.is_pregnant is not None,
        "flags": False,
        "features": False,
    }
    is_measured = any(finding.name == key and finding.category is Category.VITAL for finding in consult.findings)
    return told.get(key, key in kinds or is_measured)


def _applies(condition: str, consult: Consult) -> bool:
    """Whether a condition of the table holds."""
    patient, names = patient_of(consult), " ".join(_names(consult)).casefold()
    age = patient.age_years
    is_fertile = age is None or FERTILE_YEARS[0] <= age < FERTILE_YEARS[1]
    told = {
        "female-fertile": patient.sex == "female" and is_fertile,
        "child": age is not None and age < CHILD_YEARS,
        "complaint": bool(names),
        "felt": any(complaint.concept != VISIT for complaint in _complaints(consult)),
        "fever": any(word in names for word in ("fever", "rigors", "chills")),
        "-": True,
        **{kind: any(word in names for word in words) for kind, words in OF_KIND.items()},
    }
    return told[condition]
