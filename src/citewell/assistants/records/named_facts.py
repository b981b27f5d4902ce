"""Which facts a question names: medicines by any name or class, tests as patients call them, people by surname."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from citewell.assistants.records.plain_question import plain_question
from citewell.assistants.records.tables import rows
from citewell.clinical import Lexicon, fold
from citewell.clinical.languages import language_of, spelled, whole_words
from citewell.clinical.medicines import Medicine, medicines, substances
from citewell.clinical.phrases import measured
from citewell.clinical.spelling_correction import is_clinical, is_misspelling, is_word, long_words
from citewell.types import Hit
from citewell.types.codes import Code
from citewell.types.facts import (
    Allergy,
    Appointment,
    Diagnosis,
    Fact,
    LabResult,
    Medication,
    Procedure,
    Professional,
    RecordOwner,
    Referral,
    Symptom,
    Vaccination,
    codes_of,
)

_LETTERS = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_MANNER = re.compile(r"[a-z]{3}ed$|[a-km-z]ly$")
"""What was done, and how: neither names a thing."""
SHORTEST_TOPIC_WORD = 3
MOST_TOPIC_WORDS = 4
"""More words than these are a story, not the name of something."""


def topic(question: str, *, spoken_for: Collection[str] = ()) -> tuple[str, ...]:
    """The telling words of an English question that no name in the record speaks for; none of a whole story.

    >>> topic("Do I have asthma or a frozen shoulder?"), topic("Which medicines do I take now?")
    (('asthma', 'frozen shoulder'), ())
    """
    if language_of(question) != "en":
        return ()
    phrases: list[list[str]] = [[]]
    for written in _LETTERS.findall(spelled(question).casefold()):
        word = written.removesuffix("'s")
        if _is_telling(word) and word not in spoken_for:
            phrases[-1].append(word)
        elif phrases[-1]:
            phrases.append([])
    told = [" ".join(words) for words in phrases if words]
    return tuple(dict.fromkeys(told)) if sum(map(len, phrases)) <= MOST_TOPIC_WORDS else ()


def _is_telling(word: str) -> bool:
    plain, stems = _plain()
    if len(word) < SHORTEST_TOPIC_WORD or word in plain or stems.match(word) or _MANNER.search(word):
        return False
    return not (word.endswith("ing") and is_word(word) and not is_clinical(word))  # “dealing with”: what somebody does


@cache
def _plain() -> tuple[frozenset[str], re.Pattern[str]]:
    words = [word for _, line in rows("plain_words.tsv") for word in line.split()]
    stems = "|".join(re.escape(word[:-1]) for word in words if word.endswith("*"))
    return frozenset(word for word in words if not word.endswith("*")), re.compile(rf"(?:{stems})")


NOT_THERE = "not mentioned in your record"
NOT_COMPARED = "values in a question are not checked against your record"


def unused(
    question: str, facts: Sequence[Fact], quoted: Sequence[Hit], *, lexicon: Lexicon
) -> Iterator[dict[str, str]]:
    """The medicines, tests and other things that no fact is called and no paper says, and the values."""
    names = Names.of(question, lexicon)
    papers = " ".join(hit.text for hit in quoted).casefold()
    missing = dict.fromkeys([*names.unknown(facts), *names.about(names.among(facts))])
    given = names.given(facts)
    absent = (words for words in missing if words not in papers)
    absent = (words for words in absent if not any(f" {one} " in f" {words.casefold()} " for one in given))
    yield from ({"words": words, "why": NOT_THERE} for words in absent)
    yield from ({"words": value, "why": NOT_COMPARED} for value in dict.fromkeys(measured(question)))


_WORD = re.compile(r"[^\W\d_]{3,}|[^\W_]*\d[^\W_]*")
_OWN = re.compile(r"\b(?:my|mine|i|me|mon|ma|mes|je|mein\w*|ich|mir|mich)\b")
_GENERIC = re.compile(
    r"procedure|operat|surger|interven|vaccin|immuni|booster|inoculat|referr|symptom|complain|appoint|history|record"
    r"|recent|latest|against|hospital|impf|eingriff|opéra|document|already|receive|perform|mention|anything|happened"
)
_CODE = re.compile(r"\b(?:[A-Za-z]\d[\w.]{1,8}|\d{1,7}-\d|\d{5,18})\b")
"""ICD-10, LOINC, and the long numbers of SNOMED CT and RxNorm: a short number is a value or a year."""
_NOT_OWN = re.compile(r"\b(?:family|history of|screening|risk|no|not|without|suspected|rule out)\b", re.IGNORECASE)
"""Names that speak of others, or of what may not be."""
_PLAIN_WORD = re.compile(r"[^\W\d_]+")
MISSPELT = (Medication, Allergy, Diagnosis, Vaccination, Procedure, LabResult)
"""Kinds of facts whose names people misspell."""
NAMED_BY_PEOPLE = (Medication, Allergy, Diagnosis, Vaccination)
"""Kinds of facts of which a known word may be the misspelt name of another: “simvistatin” in the record."""
SHORTEST_NAME = 3
"""Letters up to which another name of something could be anything."""
SPECIFIC = 7
"""Letters from which a word names something, when nothing in the record is called so."""
COMMON = frozenset(
    """hydrochloride hydrobromide sodium potassium calcium acid sulfate bitartrate succinate tartrate maleate oral
    tablet capsule solution injection human extended release allergy drug substance food product class with the and for
    from disorder finding situation condition status history normal body blood encounter problem symptom check total
    mass volume serum plasma count automated dr mrs mr miss type chronic acute seasonal injectable preservative free
    general examination visit screening test level due primary unspecified patient procedure therapy of in to my is am
    what how when was were did does have has had are can take last next new any all about this that not who which
    medication medicine reaction since stop started stopped long should ask doctor""".split()
)
"""Words of names that tell nothing apart."""


TITLES = frozenset(
    """dr mr mrs ms miss prof md do pa np rn lpn cna cma cnm cnp fnp arnp aprn crnp dnp bsn msn phd psyd pharmd rph dds
    dmd dpm dc od pt ot mph ma ms facs facp faap mbbs mbchb mrcp frcp frcs bs ba jr sr ii iii iv""".split()
)
"""What stands around the name of somebody who treats people."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names in one question."""

    words: frozenset[str]
    concepts: frozenset[str]
    medicines: tuple[Medicine, ...]
    classes: frozenset[str]
    """Classes of medicines, as patients call them."""
    class_words: tuple[tuple[str, frozenset[str]], ...]
    """The words for a kind of medicines in the question, with the classes that they mean."""
    tests: tuple[tuple[str, re.Pattern[str]], ...]
    """What the question calls a test, and how records call it."""
    lay: tuple[tuple[str, re.Pattern[str]], ...]
    """What the question calls a procedure or a condition in plain words, and how records call it."""
    lexicon: Lexicon
    text: str
    codes: frozenset[str] = frozenset()
    """What is written like a code of a terminology: “E11.9”, “4548-4”."""
    corrected: Mapping[str, str] = field(default_factory=dict)
    """The misspelt words of the question, each with the word that it is read as."""

    @classmethod
    def of(cls, question: str, lexicon: Lexicon) -> Names:
        """Read once for all facts."""
        plain = plain_question(question)
        text, corrected = plain.text.casefold(), plain.corrected
        kinds = tuple(
            (match.groupdict().get("what") or match.group(), frozenset(families.split("|")))
            for words, families in _classes()
            if (match := words.search(text))
        )
        return cls(
            words=frozenset(fold(word) for word in _WORD.findall(" ".join((text, *corrected)).casefold())) - COMMON,
            concepts=frozenset(_concepts(plain.text, lexicon)),
            medicines=medicines(text),
            classes=frozenset(family for _, families in kinds for family in families),
            class_words=kinds,
            tests=tuple((match.group(), name) for words, name in _pairs("tests.tsv") if (match := words.search(text))),
            lay=_lay(text, [match.span() for words, _ in _pairs("vaccines.tsv") if (match := words.search(text))]),
            lexicon=lexicon,
            text=text,
            codes=frozenset(match.group().casefold() for match in _CODE.finditer(question)),
            corrected=corrected,
        )

    def fit(self, fact: Fact) -> bool:
        """Whether the question names this fact."""
        if self.has_code_of(fact):
            return True
        if isinstance(fact, LabResult) and self.tests:
            return any(name.search(part) for _, name in self.tests for part in _tests_of(fact))
        if self._fits_lay(fact) or (isinstance(fact, Procedure | Vaccination) and self._fits_part(fact.name)):
            return True
        if isinstance(fact, MISSPELT) and self._misspelt(fact):
            return True
        if isinstance(fact, Medication | Allergy) and (self.medicines or self.classes):
            return any(self._fits_medicine(medicine) for name in names_of(fact) for medicine in medicines(name))
        return any(self._fits_words(name) for name in names_of(fact))

    def has_code_of(self, fact: Fact) -> bool:
        """Whether a code of this fact is in the question."""
        return bool(self.codes) and not self.codes.isdisjoint(code.code.casefold() for code in codes_of(fact))

    def _fits_lay(self, fact: Fact) -> bool:
        """Whether a fact is what the question calls by a plain word."""
        names = () if isinstance(fact, LabResult) else tuple(names_of(fact))
        patterns = [*(pattern for _, pattern in self.lay), *(self._vaccines if isinstance(fact, Vaccination) else ())]
        return any(pattern.search(name) for pattern in patterns for name in names)

    def among(self, facts: Sequence[Fact]) -> tuple[Fact, ...]:
        """The facts that the question names, in the order given; thousands of results share a few names."""
        known: dict[tuple[type[Fact], tuple[str, ...], tuple[Code, ...]], bool] = {}
        found = []
        for fact in facts:
            names = _tests_of(fact) if isinstance(fact, LabResult) else tuple(names_of(fact))
            key = (type(fact), names, codes_of(fact) if self.codes else ())
            if key not in known:
                known[key] = self.fit(fact)
            if known[key]:
                found.append(fact)
        found = list(dict.fromkeys((*found, *self._of_panels(facts))))
        return tuple(dict.fromkeys((*found, *self._by_parts(facts, found))))

    def _by_parts(self, facts: Iterable[Fact], named: Sequence[Fact]) -> Iterator[Fact]:
        """The facts whose names hold all words of what no other fact is called: “ankle” for its sprain."""
        phrases = [frozenset(map(_singular, phrase.split())) for phrase in self.about(named)]
        known: dict[tuple[str, ...], bool] = {}
        for fact in facts if phrases else ():
            called = tuple(name for name in names_of(fact) if not _NOT_OWN.search(name))
            if called and called not in known:
                words = [frozenset(map(_singular, _telling(name))) for name in called]
                known[called] = any(phrase <= held for phrase in phrases for held in words)
            if called and known[called]:
                yield fact

    def _of_panels(self, facts: Iterable[Fact]) -> Iterator[LabResult]:
        """The results of a panel that the question names: all of a blood count."""
        known: dict[str, bool] = {}
        for fact in facts:
            if isinstance(fact, LabResult) and fact.panel is not None:
                if fact.panel not in known:
                    is_named = any(name.search(fact.panel) for _, name in self.tests)
                    known[fact.panel] = is_named or (bool(telling := _telling(fact.panel)) and telling <= self.words)
                if known[fact.panel]:
                    yield fact

    def unknown(self, facts: Iterable[Fact]) -> list[str]:
        """The medicines, kinds of them and tests that the question names and the record has not, as written."""
        if not self.medicines and not self.tests and not self.classes and not self.lay:
            return []
        facts = list(facts)
        known = [one for one in facts if isinstance(one, Medication | Allergy)]
        held = {other.family for fact in known for name in names_of(fact) for other in medicines(name)}
        results = {test for one in facts if isinstance(one, LabResult) for test in (*_tests_of(one), one.panel or "")}
        lost = [
            self.text[medicine.start : medicine.end]
            for medicine in self.medicines
            if not any(
                is_kin(medicine, other) for fact in known for name in names_of(fact) for other in medicines(name)
            )
            and not any(self._misspelt(fact) for fact in known)
        ]
        lost += [words for words, families in self.class_words if families.isdisjoint(held)]
        called = {name for one in facts if not isinstance(one, LabResult) for name in names_of(one)}
        plain = [words for words, pattern in self.lay if not any(map(pattern.search, called | results))]
        lost += plain if len(plain) == len(self.lay) else []  # of several words for one thing, one is enough
        kinds = " ".join(words for words, _ in (*self.class_words, *self.lay))
        tests = [one for one in self.tests if one[0] not in kinds]  # “blood pressure tablets” are no blood pressure
        lost += [words for words, name in tests if not any(name.search(test) for test in results)]
        return list(dict.fromkeys(lost))

    @property
    def said(self) -> tuple[str, ...]:
        """The medicines and kinds of medicines that it names, as it calls them."""
        found = [self.text[medicine.start : medicine.end] for medicine in self.medicines]
        return tuple(dict.fromkeys([*found, *(words for words, _ in self.class_words)]))

    def otherwise(self, named: Iterable[Fact]) -> tuple[str, ...]:
        """How the record spells what the question spells otherwise."""
        found = (held for fact in named if isinstance(fact, MISSPELT) for _, held in self._misspelt(fact))
        return tuple(dict.fromkeys(found))

    def brands(self, facts: Iterable[Fact]) -> Iterator[str]:
        """How medicines are called in the record, where the question calls them by another name."""
        held = " ".join(name.casefold() for one in facts if isinstance(one, Medication) for name in names_of(one))
        for medicine in self.medicines:
            said = self.text[medicine.start : medicine.end]
            if not medicine.is_class and said not in held and medicine.name.casefold() in held:
                yield f"“{said.capitalize()}” is another name for {medicine.name}."

    def _misspelt(self, fact: Fact) -> list[tuple[str, str]]:
        """Words of the question beside those of a fact that they are but for a letter."""
        held = long_words(names_of(fact)) - COMMON
        if not held or held & self.words:
            return []
        odd = [word for word in sorted(self.words) if isinstance(fact, NAMED_BY_PEOPLE) or not is_word(word)]
        return [(word, other) for word in odd for other in sorted(held) if is_misspelling(word, other)]

    def knows(self, phrase: str) -> bool:
        """Whether the lexicon knows a name."""
        return bool(_concepts(phrase, self.lexicon))

    def may_be(self, fact: Fact) -> bool:
        """Whether a fact is of a kind that the names which tables know may mean; a known medicine is no other one."""
        if isinstance(fact, Medication | Allergy) and (self.medicines or self.classes):
            return not any(medicines(name) for name in names_of(fact))
        kinds: tuple[type[Fact], ...] = (LabResult, Diagnosis, Procedure, Symptom) if self.tests else ()
        kinds += (Medication, Allergy) if self.medicines or self.classes else ()
        return bool(self.lay) or not kinds or isinstance(fact, kinds)

    @property
    def is_own(self) -> bool:
        """Whether the question is about the person who asks."""
        return _OWN.search(self.text) is not None

    def about(self, named: Iterable[Fact]) -> tuple[str, ...]:
        """The words that say what exactly is asked for, and that no fact it names has in its name."""
        said = [*self.said, *(words for words, _ in (*self.tests, *self.lay))]
        said += [name.casefold() for fact in named for name in names_of(fact)]
        said += [word for fact in named for word, _ in self._misspelt(fact)]
        told = frozenset(word for words in said for word in _PLAIN_WORD.findall(words))
        return topic(self.text, spoken_for=told)

    @property
    def names_something(self) -> bool:
        """Whether it asks for something of its own, not for all of a kind."""
        return bool(self.medicines or self.classes or self.tests or self.lay or self.about(()))

    @property
    def also(self) -> tuple[str, ...]:
        """Other names of what it is about: “myocardial infarction” for a heart attack."""
        told = " ".join(self.about(()))
        return tuple(
            name.text
            for hit in self.lexicon.find(told)
            if hit.tag != "ambiguous"
            for name in hit.concept.names
            if name.tag != "ambiguous" and len(name.text) > SHORTEST_NAME
        )

    @property
    def vaccines(self) -> list[str]:
        """The vaccines that it names, as it calls them."""
        found = (words.search(self.text) for words, _ in _pairs("vaccines.tsv"))
        return [match.group() for match in found if match is not None]

    def given(self, facts: Sequence[Fact]) -> frozenset[str]:
        """The vaccines that it names, as it calls them, of which the record has one under another name."""
        had = [fact.name for fact in facts if isinstance(fact, Vaccination)]
        pairs = ((words.search(self.text), name) for words, name in _pairs("vaccines.tsv"))
        return frozenset(
            match.group().casefold() for match, name in pairs if match is not None and any(map(name.search, had))
        )

    @property
    def _vaccines(self) -> list[re.Pattern[str]]:
        """How records call the vaccines that it names."""
        return [name for words, name in _pairs("vaccines.tsv") if words.search(self.text)]

    def _fits_medicine(self, held: Medicine) -> bool:
        return held.family in self.classes or any(is_kin(medicine, held) for medicine in self.medicines)

    def _fits_part(self, name: str) -> bool:
        """Whether one long word of a name is asked for: nobody says all of “zoster vaccine, live”."""
        long = (word for word in _telling(name) if len(word) >= SPECIFIC and not _GENERIC.match(word))
        return any(word in self.words for word in long)

    def _fits_words(self, name: str) -> bool:
        """Whether all telling words of a name are asked for, or it is another name of what is asked for."""
        telling = _telling(name)
        return bool(telling and telling <= self.words) or not self.concepts.isdisjoint(_concepts(name, self.lexicon))


def is_kin(medicine: Medicine, other: Medicine) -> bool:
    """The same medicine, or a class and one of its own."""
    return medicine.name == other.name or (medicine.is_class != other.is_class and medicine.family == other.family)


@cache
def _pairs(table: str) -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """Patients' words of a table, each with the pattern of what records call the same."""
    return tuple((whole_words(words), re.compile(name, re.IGNORECASE)) for words, name in rows(table))


@cache
def _classes() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Kinds of medicines, as patients call them or by what they are taken for."""
    called = [(whole_words(words), families) for words, families, _ in rows("classes.tsv")]
    taken_for = [(purpose, families) for _, families, purpose in rows("classes.tsv") if purpose]
    return (*called, *((re.compile(rf"{_TAKEN_FOR}(?P<what>{what})\b"), families) for what, families in taken_for))


_TAKEN_FOR = (
    r"\b(?:tak(?:e|es|en|ing)|took|given|gave|giving|us(?:e|es|ed|ing)|prescri\w+|tablets?|pills?|capsules?|medicines?"
    r"|medications?|meds|drugs?|anything|something|inject\w*|inhalers?|treat\w*)\b.{0,40}?"
    r"\b(?:for|helps?|help with|against|to help|to)\b (?:with )?(?:my |the |me |get to )*"
)
"""Asks what is taken for something: “anything to help me sleep”."""


def _lay(text: str, others: Sequence[tuple[int, int]]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Procedures and conditions in patients' words; words inside longer ones name nothing of their own."""
    found = [(match, name) for words, name in _pairs("lay.tsv") if (match := words.search(text))]
    return tuple(
        (match.group(), name)
        for match, name in found
        if not any(
            start <= match.start() and match.end() <= end and (start, end) != match.span()
            for start, end in [*others, *(other.span() for other, _ in found)]
        )
    )


@lru_cache(maxsize=20_000)
def _telling(name: str) -> frozenset[str]:
    return frozenset(fold(word) for word in _WORD.findall(name.casefold())) - COMMON


def _singular(word: str) -> str:
    """A word without the mark of many, as far as two words are compared."""
    return word.removesuffix("s") if len(word) > SHORTEST_NAME else word


def _tests_of(fact: LabResult) -> tuple[str, ...]:
    return (fact.test_name, *(part.test_name for part in fact.parts))


@lru_cache(maxsize=20_000)
def _concepts(text: str, lexicon: Lexicon) -> tuple[str, ...]:
    """The concepts that a text names; words for a kind of thing, such as “vaccination”, name none of its kind."""
    return tuple(
        hit.concept.id
        for hit in lexicon.find(text)
        if hit.tag != "ambiguous" and not _GENERIC.match(text[hit.start : hit.end].casefold())
    )


def names_of(fact: Fact) -> Iterator[str]:
    """What a fact may be called."""
    match fact:
        case Medication():
            yield from (one for one in (fact.generic_name, fact.brand_name) if one)
            yield from (ingredient.name for ingredient in fact.ingredients)
        case LabResult():
            yield fact.test_name.partition(" [")[0].partition(" in ")[0]
        case Allergy():
            yield fact.allergen
        case Symptom():
            yield fact.specific
        case Professional():
            yield surname(fact.name)
        case Diagnosis() | Procedure() | Vaccination() | Appointment() | Referral():
            yield fact.name


def surname(name: str) -> str:
    """The last name of a person, by which others call them.

    >>> surname("Dr. Terrance Schultz"), surname("David E Ford MD"), surname("Admit MD, Aaron"), surname("Jo Wu, R.N.")
    ('Schultz', 'Ford', 'Admit', 'Wu')
    """
    parts = [[word for word in part.split() if not _is_title(word)] for part in name.split(",")]
    words = next((part for part in parts if part), [])
    return words[-1] if words else name


def _is_title(word: str) -> bool:
    """Whether a word behind a name says what somebody is, not what they are called."""
    return word.replace(".", "").casefold() in TITLES


def holds_name(text: str, fact: Fact) -> bool:
    """Whether the words that a fact was read from hold what it is called, or its value; a visit has no name of its own.

    >>> from citewell.types.facts import REPORTED
    >>> warfarin = Medication(id="1", origin=REPORTED, generic_name="Warfarin sodium")
    >>> holds_name("Coumadin 2.5 mg", warfarin), holds_name("Allergies", warfarin)
    (True, False)
    """
    if isinstance(fact, Appointment | Referral | RecordOwner):
        return True
    said = {fold(word) for word in _WORD.findall(text.casefold())}
    if any(not _telling(name) or not said.isdisjoint(_telling(name)) for name in names_of(fact)):
        return True
    held = substances(text) if isinstance(fact, Medication | Allergy) and medicines(text) else frozenset()
    if any(held & substances(name) for name in names_of(fact)):
        return True
    values = [fact.value, *(part.value for part in fact.parts)] if isinstance(fact, LabResult) else []
    return any(value is not None and f"{value:g}" in text for value in values)
