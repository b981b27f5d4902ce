"""What a question is about, and whether the sentences of an answer speak of it: the rule against a near miss."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from citewell.answer.illnesses import illnesses, speaks_of
from citewell.answer.statements import statements
from citewell.answer.verify.claim_words import form, forms, meanings
from citewell.answer.verify.coverage import WordProfile, profile
from citewell.answer.verify.named_things import topics
from citewell.clinical import Lexicon
from citewell.clinical.medicines import Medicine, medicines, members
from citewell.clinical.populations import Group, age_groups, asked_for
from citewell.clinical.severity_grades import GradedIllness, asked_grades, says_grade
from citewell.types import Citation, Claim, Evidence
from citewell.work import spend

KEY_SUBJECTS = 2
"""How many subjects of a question must stand together, the rarest ones: a long story is not held against itself."""

NEAR = 4
"""How many other words may stand among those of a name."""

_WORD = re.compile(r"[^\W_]+")
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")


@dataclass(frozen=True, slots=True)
class Subject:
    """A condition, finding, test or medicine that a question names."""

    text: str
    names: tuple[frozenset[str], ...] = ()
    """The word forms of each of its names."""
    medicine: Medicine | None = None
    illness: str = ""
    """The usual name of an illness that the lexicon does not know."""
    grade: GradedIllness | None = None
    """Its grade, where it is there for that alone: severe dehydration."""
    people: frozenset[Group] = frozenset()
    """The children that it asks for; a text that names nobody is one on adults."""

    def is_named_in(self, text: str) -> bool:
        """Whether one sentence or title names it, under any name; a medicine also by its class or a member of it.

        >>> blood_thinner = subjects("Can I stop my blood thinner?", lexicon=Lexicon.load())[0]
        >>> blood_thinner.is_named_in("Do not stop warfarin."), blood_thinner.is_named_in("Do not stop iron.")
        (True, False)
        """
        written = (
            (text, _HYPHEN.sub("", text)) if _HYPHEN.search(text) else (text,)
        )  # “post-menopausal” is one word too
        if any(_is_written(name, spelling) for spelling in written for name in self.names):
            return True
        if self.grade is not None:
            return says_grade(text, self.grade)
        if self.people:
            return not self.people.isdisjoint(age_groups(text))
        if self.illness:
            return speaks_of(text, self.illness)
        ours = self.medicine
        return ours is not None and any(_is_kin(ours, theirs) for theirs in medicines(text))


def _is_written(name: frozenset[str], text: str) -> bool:
    source = profile(text)
    return (name <= source.forms and _is_together(name, text)) or _is_meant(name, source)


def _is_together(name: frozenset[str], text: str) -> bool:
    """Whether the words of a name stand near each other: blood here and urine there are no blood in the urine."""
    if len(name) == 1:
        return True
    said = [form(word) for word in _WORD.findall(text)]
    width = len(name) + NEAR
    return any(name <= frozenset(said[at : at + width]) for at, word in enumerate(said) if word in name)


def _is_meant(name: frozenset[str], source: WordProfile) -> bool:
    """Whether a name of one word stands there in another word, as “surgery” does in “procedure”."""
    return len(name) == 1 and any(not meanings(word).isdisjoint(source.meanings) for word in name)


def _is_kin(ours: Medicine, theirs: Medicine) -> bool:
    """Whether they are one, or one is the class of the other; the macrolides, and so azithromycin, are antibiotics."""
    is_related = ours.family == theirs.family and (ours.is_class or theirs.is_class)
    is_kind = any(
        not {medicine.name, medicine.family}.isdisjoint(members(kind.name))
        for kind, medicine in ((ours, theirs), (theirs, ours))
    )
    return ours.name == theirs.name or is_related or is_kind


def subjects(question: str, *, lexicon: Lexicon) -> tuple[Subject, ...]:
    """What a question names, in its order.

    >>> [subject.text for subject in subjects("Is metformin safe in renal failure?", lexicon=Lexicon.load())]
    ['metformin', 'renal failure']
    """
    spend()
    named = medicines(question)
    found = [
        (medicine.start, medicine.end, Subject(question[medicine.start : medicine.end], (), medicine))
        for medicine in named
    ]
    for topic in topics(question, lexicon):
        written = question[topic.start : topic.end]
        inside = [at for at, (start, end, _) in enumerate(found) if start < topic.end and topic.start < end]
        names = (forms(written), *topic.names)
        if inside:
            start, end, kept = found[inside[0]]
            found[inside[0]] = start, end, Subject(kept.text, names, kept.medicine)
        else:
            found.append((topic.start, topic.end, Subject(written, names)))
    for illness in illnesses(question):
        within = [other for other in found if illness.start <= other[0] and other[1] <= illness.end]
        if any(other[0] < illness.end and illness.start < other[1] for other in found if other not in within):
            continue
        if all(other[1] - other[0] < illness.end - illness.start for other in within):
            found = [other for other in found if other not in within]
            found.append(
                (illness.start, illness.end, Subject(question[illness.start : illness.end], illness=illness.name))
            )
    return (*(subject for _, _, subject in sorted(found, key=lambda one: one[0])), *_children(question))


def graded_subjects(question: str, *, lexicon: Lexicon) -> tuple[Subject, ...]:
    """The illnesses that a question asks for a grade of: an answer must speak of that grade.

    >>> [subject.text for subject in graded_subjects("How is mild asthma treated?", lexicon=Lexicon.load())]
    ['mild asthma']
    """
    named = [subject.text for subject in subjects(question, lexicon=lexicon)]
    return tuple(Subject(asked_grade.text, grade=asked_grade) for asked_grade in asked_grades(question, named))


def _children(question: str) -> tuple[Subject, ...]:
    """The children that a question asks for.

    >>> [one.text for one in _children("Which dose for my 5 year old?")], _children("Which dose for a woman?")
    (['children'], ())
    """
    people = asked_for(question)
    return (Subject("children", people=people),) if "child" in people else ()


@dataclass(frozen=True, slots=True)
class Section:
    """The shown sentences of one section, and the titles above them."""

    sentences: tuple[str, ...]

    def holds(self, subject: Subject) -> bool:
        return any(subject.is_named_in(sentence) for sentence in self.sentences)


def sections(shown: Sequence[Claim], citations: Sequence[Citation], evidence: Sequence[Evidence]) -> list[Section]:
    """The shown sentences and the words that they cite, by section."""
    cited = {citation.n: citation for citation in citations}
    passages = {passage.hit.source_id: passage for passage in evidence}
    said: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for claim in shown:
        for citation in (cited[number] for number in claim.citations):
            titles = _titles(citation, passages[citation.source_id])
            above = said.setdefault((citation.document_id, titles), [citation.document, *titles])
            above.extend((claim.text, citation.quote))
    return [Section(tuple(texts)) for texts in said.values()]


def _titles(citation: Citation, passage: Evidence) -> tuple[str, ...]:
    """The titles above the cited words, those inside the passage too."""
    for statement in statements(passage):
        if any(start <= citation.start < end for start, end in statement.pieces):
            return statement.titles
    return citation.section


@dataclass(frozen=True, slots=True)
class Miss:
    """Why an answer may not be one: what it does not speak of, or not together."""

    reason: str
    is_whole: bool
    """Nothing of what the question is about is spoken of, or another medicine than the one it names."""


def missed(asked: Sequence[Subject], shown: Sequence[Section], evidence: Sequence[Evidence]) -> Miss | None:
    """What the rarest subjects of a question lack in an answer; None where one section speaks of all of them."""
    grades = [subject for subject in asked if subject.grade is not None]
    asked = [subject for subject in asked if subject.grade is None]
    return _missed_matter(asked, shown, evidence) or _missed_grade(grades, shown)


def _missed_grade(grades: Sequence[Subject], shown: Sequence[Section]) -> Miss | None:
    """The grade that no sentence shown speaks of: what is said of an illness may hold for another grade of it."""
    absent = [grade for grade in grades if not any(section.holds(grade) for section in shown)]
    return Miss(f"the sources shown do not mention “{absent[0].text}”", is_whole=False) if absent else None


def _missed_matter(asked: Sequence[Subject], shown: Sequence[Section], evidence: Sequence[Evidence]) -> Miss | None:
    passages = (
        [f"{other.hit.document}\n{' '.join(other.hit.section)}\n{other.text}" for other in evidence] if asked else []
    )
    rarity = {subject.text: sum(subject.is_named_in(passage) for passage in passages) for subject in asked}
    keys = sorted(asked, key=lambda subject: rarity[subject.text])[:KEY_SUBJECTS]
    if not keys or any(all(section.holds(key) for key in keys) for section in shown):
        return None
    absent = [key for key in keys if not any(section.holds(key) for section in shown)]
    if absent:
        named = " or ".join(f"“{key.text}”" for key in absent)
        is_spoken_of = any(section.holds(subject) for section in shown for subject in asked)
        is_whole = not is_spoken_of or _is_swapped(keys, absent, shown)
        return Miss(f"the sources shown do not mention {named}", is_whole=is_whole)
    named = " and ".join(f"“{key.text}”" for key in keys)
    return Miss(f"the sources shown mention {named}, but not together", is_whole=False)


def _is_swapped(keys: Sequence[Subject], absent: Sequence[Subject], shown: Sequence[Section]) -> bool:
    """Whether medicines were asked about, and the sentences shown speak of others and of none of these."""
    named = [key for key in keys if key.medicine is not None]
    if not named or any(key not in absent for key in named):
        return False
    return any(medicines(sentence) for section in shown for sentence in section.sentences)
