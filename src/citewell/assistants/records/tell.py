"""What the facts tell to each wish: which of them, in which order, and a sentence that leads to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from citewell.assistants.records.known import LONG_AGO, Known, T, is_abnormal, when
from citewell.assistants.records.names import surname
from citewell.assistants.records.wishes import Wish, Wishes
from citewell.types.facts import (
    NO_KNOWN,
    Allergy,
    Appointment,
    Diagnosis,
    DiagnosisStatus,
    Fact,
    LabResult,
    Medication,
    MedicationStatus,
    Person,
    Procedure,
    Professional,
    Referral,
    ResultCategory,
    Symptom,
    Vaccination,
    VisitStatus,
)
from citewell.types.facts_line import shown

MAX_SHOWN = 12
"""Facts of one answer; what is left out is counted."""
RECENT_DAYS = 183
NO_ALLERGIES = "Your record holds no entry about allergies. That does not mean that you have none."


@dataclass(frozen=True, slots=True)
class Gathered:
    """Facts that answer a question, and the words that lead to them."""

    lead: str
    facts: tuple[Fact, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as the facts see it: what it wants, and which of them it names."""

    wanted: Wishes
    known: Known
    named: tuple[Fact, ...]
    unknown: tuple[str, ...] = ()
    """Medicines and tests that the record does not have."""
    specific: tuple[str, ...] = ()
    """Long words of the question, which name a procedure or a vaccine where they stand beside such a wish."""

    @property
    def names_nothing(self) -> bool:
        """Whether the question is about all facts of a kind."""
        return not self.named and not self.unknown

    def named_of(self, kind: type[T]) -> list[T]:
        named = {one.id for one in self.named}
        return [one for one in self.inside(self.known.of(kind)) if one.id in named]

    def inside(self, facts: Iterable[T]) -> list[T]:
        """Those of the time that is asked for."""
        since, until = self.wanted.since or LONG_AGO, self.wanted.until
        is_open = self.wanted.since is None
        return [
            one
            for one in facts
            if is_open or ((day := when(one)) is not None and day >= since and (until is None or day < until))
        ]


def _allergies(asked: Asked) -> Gathered:
    every = asked.known.of(Allergy)
    all_of_them = [one for one in every if one.is_active and one.code not in NO_KNOWN]
    if not all_of_them:
        denied = [one for one in every if one.code in NO_KNOWN]
        return _told("Your record says that no allergies are known:", denied) if denied else Gathered(NO_ALLERGIES)
    hit = [one for one in all_of_them if one in asked.named]
    if hit:
        return _told("Your record lists this allergy:" if len(hit) == 1 else "Your record lists these allergies:", hit)
    if not asked.names_nothing or Wish.MEDICINES in asked.wanted:
        return _told(
            f"Your record does not list that among your allergies. It lists {_count(all_of_them)}:", all_of_them
        )
    return _told(f"Your record lists {_count(all_of_them, 'allergy', 'allergies')}:", all_of_them)


def _prescriber(asked: Asked) -> Gathered | None:
    medicines = asked.named_of(Medication) or (asked.known.taken if asked.names_nothing else [])
    if not medicines:
        return unknown(asked)
    known = [one for one in medicines if one.prescriber]
    if not known:
        return _told("Your record does not say who prescribed this:", medicines)
    people = list(dict.fromkeys(one.prescriber for one in known if one.prescriber))
    return _told(f"According to your record, this was prescribed by {_listed(people)}:", known)


def _medicines(asked: Asked) -> Gathered | None:
    if found := asked.named_of(Medication):
        active = [one for one in found if one.status is MedicationStatus.ACTIVE]
        lead = "Your record lists this among what you take now:" if active else "Your record lists this as past:"
        return _told(lead, active or found)
    if asked.unknown or (asked.named and Wish.MEDICINES not in asked.wanted):
        return unknown(asked)
    if for_it := _given_for(asked):
        return _told(f"Your record lists {_count(for_it, 'medicine')} for this:", for_it)
    if Wish.PAST in asked.wanted:
        past = [one for one in asked.inside(asked.known.of(Medication)) if one.status is not MedicationStatus.ACTIVE]
        return _told(f"Your record lists {_count(past, 'medicine')} that you no longer take:", past)
    taken = asked.inside(asked.known.taken)
    return _told(f"Your record lists {_count(taken, 'medicine')} that you take now:", taken)


def _given_for(asked: Asked) -> list[Medication]:
    """The medicines of now that the record gives a named condition or symptom as the reason for."""
    names = [one.name.casefold() for one in asked.named if isinstance(one, Diagnosis)]
    names += [one.specific.casefold() for one in asked.named if isinstance(one, Symptom)]
    return [
        one
        for one in asked.known.taken
        if any(name in (told or "").casefold() for name in names for told in (one.reason_start, one.condition))
    ]


def _trend(asked: Asked) -> Gathered | None:
    results = asked.named_of(LabResult)
    if not results:
        return unknown(asked)
    tests = {one.test_name for one in results}
    if len(tests) > 1:
        newest = asked.known.latest(results)
        return _told(
            f"Your record holds {_count(results, 'result')} of {len(tests)} tests. The newest of each:", newest
        )
    course = sorted(results, key=lambda one: when(one) or LONG_AGO)
    first, last = course[0], course[-1]
    span = f" from {shown(first.collected)} to {shown(last.collected)}" if len(course) > 1 else ""
    shown_ones = course if len(course) <= MAX_SHOWN else [first, *course[1 - MAX_SHOWN :]]
    lead = f"Your record holds {_count(course, 'result')} of {last.test_name}{span}:"
    return Gathered(lead, tuple(shown_ones), len(course) - len(shown_ones))


def _results(asked: Asked) -> Gathered | None:
    results = asked.named_of(LabResult)
    if results:
        newest = asked.known.latest(results)
        what = newest[0].test_name if len(newest) == 1 else "these tests"
        return _told(f"The newest result of {what} in your record:", newest)
    if not asked.names_nothing:
        return unknown(asked)
    tests = [
        one
        for one in asked.inside(asked.known.of(LabResult))
        if one.category in (None, ResultCategory.LABORATORY, ResultCategory.VITAL_SIGNS)
    ]
    newest = asked.known.latest(tests)
    out = sum(is_abnormal(one) for one in newest)
    about = f", {out} of them marked as out of range" if out else ""
    return _told(f"Your record holds {_count(newest, 'test')}{about}. The newest result of each:", newest)


def _diagnoses(asked: Asked) -> Gathered | None:
    found = asked.named_of(Diagnosis)
    if found:
        return _told("Your record says of this:", found)
    wanted = DiagnosisStatus.RESOLVED if Wish.PAST in asked.wanted else DiagnosisStatus.ACTIVE
    listed = [one for one in asked.inside(asked.known.of(Diagnosis)) if one.status is wanted]
    word = "that are over" if wanted is DiagnosisStatus.RESOLVED else "as active"
    if not asked.names_nothing:
        return _told(
            f"Your record does not list that as a condition. It lists {_count(listed, 'condition')} {word}:", listed
        )
    return _told(f"Your record lists {_count(listed, 'condition')} {word}:", listed)


def _listing(kind: type[T], one: str, many: str) -> Callable[[Asked], Gathered | None]:
    """Those that are named, else all of the time that is asked for."""

    def tell(asked: Asked) -> Gathered | None:
        found = asked.named_of(kind)
        if not found and asked.named and not any(isinstance(fact, Professional) for fact in asked.named):
            return None
        if not found and asked.specific:
            return Gathered(f"Your record does not mention {_listed(list(asked.specific))} among {many}.")
        listed = found or asked.inside(asked.known.of(kind))
        if Wish.LATEST in asked.wanted and listed:
            return _told(f"The newest {one} in your record:", listed[:1])
        return _told(f"Your record lists {_count(listed, one, many)}:", listed)

    return tell


def _visits(asked: Asked) -> Gathered | None:
    people = [surname(one.name).casefold() for one in asked.named if isinstance(one, Professional)]
    visits = asked.inside(asked.known.of(Appointment))
    if people:
        visits = [one for one in visits if surname(one.professional or "").casefold() in people]
    elif asked.named:
        visits = [one for one in visits if one in asked.named]
    if Wish.LATEST in asked.wanted and visits:
        return _told("The last visit in your record:", [one for one in visits if one.status is VisitStatus.DONE][:1])
    return _told(f"Your record lists {_count(visits, 'visit')}:", visits)


def unknown(asked: Asked) -> Gathered | None:
    """What is said of a medicine or a test that is not there."""
    if not asked.unknown:
        return None
    return Gathered(f"Your record does not mention {_listed(list(asked.unknown))}.")


def _person(asked: Asked) -> Gathered | None:
    return _told("Your record is about:", asked.known.of(Person))


def _changes(asked: Asked) -> Gathered:
    since = asked.wanted.since or asked.known.last_visit
    if since is None:
        return Gathered("Your record holds no visit to compare with. Say a date, such as “since March 2024”.")
    new = [
        one
        for kind in (Medication, Diagnosis, Allergy, Procedure, LabResult)
        for one in asked.known.of(kind)
        if ((when(one) or LONG_AGO) >= since and (not isinstance(one, LabResult) or is_abnormal(one)))
        or (isinstance(one, Medication) and one.end is not None and one.end.at >= since)
    ]
    return _told(f"Since {since.day} {since:%B %Y} your record has {_count(new, 'new entry', 'new entries')}:", new)


def _prepare(asked: Asked) -> Gathered:
    known = asked.known
    last = known.last_visit
    since = max(filter(None, (last and last - timedelta(days=RECENT_DAYS), LONG_AGO)))
    groups: list[tuple[str, str, Sequence[Fact]]] = [
        (
            "result out of range",
            "results out of range",
            [one for one in known.latest(known.of(LabResult)) if is_abnormal(one)],
        ),
        ("symptom that you noted", "symptoms that you noted", [one for one in known.of(Symptom) if one.still_active]),
        (
            "recent medicine",
            "recent medicines",
            [one for one in known.taken if last and (when(one) or LONG_AGO) >= since],
        ),
        ("open appointment or referral", "open appointments or referrals", _planned(known)),
        ("entry to confirm", "entries to confirm", [one for one in known.facts if not one.is_verified]),
    ]
    found = [(one if len(facts) == 1 else many, facts) for one, many, facts in groups if facts]
    if not found:
        return Gathered("Your record holds nothing open: no result out of range, no symptom, no recent medicine.")
    told = _listed([f"{len(facts)} {words}" for words, facts in found])
    return _told(
        f"You might want to talk about this at your next appointment. Your record shows {told}:",
        list(dict.fromkeys(fact for _, facts in found for fact in facts)),
    )


def _planned(known: Known) -> list[Fact]:
    every: list[Appointment | Procedure | Referral] = [
        *known.of(Appointment),
        *known.of(Procedure),
        *known.of(Referral),
    ]
    return [one for one in every if one.status is VisitStatus.PLANNED]


def of_named(asked: Asked) -> Gathered | None:
    """What the record says of something that is named, where nothing tells what about it is wanted."""
    for tell in (_medicines, _results, _diagnoses):
        if (found := tell(asked)) is not None and found.facts:
            return found
    others = [one for one in asked.inside(asked.named) if not isinstance(one, Professional)]
    if others:
        return _told("Your record says of this:", others)
    if any(isinstance(one, Professional) for one in asked.named):
        return _visits(asked)
    return None


TELLERS: tuple[tuple[Wish, Callable[[Asked], Gathered | None]], ...] = (
    (Wish.PREPARE, _prepare),
    (Wish.CHANGES, _changes),
    (Wish.PRESCRIBER, _prescriber),
    (Wish.ALLERGIES, _allergies),
    (Wish.TREND, _trend),
    (Wish.RESULTS, _results),
    (Wish.VACCINATIONS, _listing(Vaccination, "vaccination", "vaccinations")),
    (Wish.MEDICINES, _medicines),
    (Wish.DIAGNOSES, _diagnoses),
    (Wish.PROCEDURES, _listing(Procedure, "procedure", "procedures")),
    (Wish.REFERRALS, _listing(Referral, "referral", "referrals")),
    (Wish.SYMPTOMS, _listing(Symptom, "symptom", "symptoms")),
    (Wish.VISITS, _visits),
    (Wish.PERSON, _person),
)
"""The first wish that the facts can tell something to decides; “who prescribed” comes before “which medicines”."""


def _told(lead: str, facts: Sequence[Fact]) -> Gathered:
    if not facts:
        return Gathered(lead.rstrip(":") + ".")
    return Gathered(lead, tuple(facts[:MAX_SHOWN]), max(0, len(facts) - MAX_SHOWN))


def _count(facts: Sequence[Fact], one: str = "entry", many: str | None = None) -> str:
    """How many there are, in words.

    >>> _count([], "medicine"), _count([1, 2], "allergy", "allergies")
    ('no medicines', '2 allergies')
    """
    plural = many or (f"{one[:-1]}ies" if one == "entry" else f"{one}s")
    return f"{len(facts) or 'no'} {one if len(facts) == 1 else plural}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
