"""Finds an emergency in what a patient, a relative or a clinician writes, and says the way to help first.

An emergency is told by meanings that stand near each other (`emergencies.tsv`), such as a chest, a pain and sweat; how
much each meaning says of it was learned (`emergency_weights.tsv`). What is denied, long past, of the family, an idiom
or a general question is none; what is doubtful counts.
"""

from __future__ import annotations

import math
import operator
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain, islice
from typing import cast

from citewell.clinical.assertion import read_context, read_contexts, read_danger
from citewell.clinical.languages import Language, language_of, spelled_with_places
from citewell.clinical.medicines import medicines
from citewell.clinical.populations import ADULT_YEARS
from citewell.clinical.quantities import ages
from citewell.clinical.reader_windows import LONGEST_AT_ONCE, segments
from citewell.clinical.tables import rows
from citewell.types.answers import Emergency
from citewell.types.consult import Polarity

Sense = Callable[[str], Mapping[str, float]]
"""A trained reader of a text: how probable each kind of emergency is."""

REMEMBERED = 2_000
"""How many texts are read once: a consult is looked at again after every message."""
READ = 8_000
"""How many characters are read, half from the start and half from the end: nobody in danger writes more."""
NEAR = 160
"""How many characters apart the words of one emergency may stand."""
LIKELY, LIKELY_OF_PART, LIKELY_OF_MESSAGE, SURE = 0.5, 0.9, 0.95, 0.99
"""From which probability on a text tells of an emergency: by its words; by the reader alone, of a part of a long text,
of a message, and of a few words, where it is wrong more often."""
CERTAIN = 0.7
"""From which share on words are taken for a mention."""
FEW_WORDS, SEVERAL, MESSAGE = 12, 20, 60
"""Words of a short message, of one in which a sentence by itself says much, and of a long one. What is longer is a
note, and read in parts."""
PAGES, OPENING = 4_000, 200
"""From how many characters on a text is of several pages, and how many of them at both ends are read as messages: there
danger would be told."""
A_LITTLE, MORE, A_TRACE = 0.01, 0.03, 0.01
"""What the reader must say at least where the words tell of an emergency: of a few words that ask nothing or ask
whether to call for help, and of others; and of each kind that they tell of."""
OF_THE_WHOLE, OF_A_SENTENCE = 0.025, 0.05
"""What it must say at least of a longer text as a whole, or else of one of its sentences: “call 999 if …” is advice."""
LONGEST_DENIAL = 1_500
"""Characters of a message in which the clinical reader looks for denials; of a longer text it decides by itself."""
SURELY_DENIED = 0.9
NO_DANGER = "none"
_NOT_NOW = (Polarity.PAST, Polarity.FAMILY, Polarity.HYPOTHETICAL, Polarity.INTENDED)
TELLING = 0.5
"""A meaning of this weight tells something; where no row of the table is met, one of them must stand there."""
REACH = 160
"""How many characters a denial may stand before words."""
MOST = 40
"""How often one row of words is looked for in a text: a text that has more of them tells no more."""
NO_INFANT_YEARS = 5
"""From which age on a fever is not read as an infant's."""
YOUNG_DAYS = 92
"""Up to which age a fever is an emergency by itself."""
SHORT = 5
"""A text of so few words that names an emergency tells of one."""


@lru_cache(maxsize=REMEMBERED)
def find_emergencies(
    text: str,
    *,
    country: str = "GB",
    language: Language | None = None,
    is_vignette: bool | None = None,
    sensed: Sense = read_danger,
) -> Emergency | None:
    """The emergency that a text tells of, with the way to help in this country; None where it tells of none.

    The way to help is told in the language of the text, unless one is given, and to a clinician where the text is a
    vignette or that is said.

    >>> find_emergencies("I have crushing chest pain").kinds, find_emergencies("My father had a stroke in 1990")
    (('cardiac',), None)
    """
    if len(text) > PAGES:
        ends = (text[:OPENING], text[-OPENING:])
        for end in ends:
            if found_there := find_emergencies(end, country=country, language=language, is_vignette=is_vignette):
                return found_there
    quiet = _without_normal_values(_without_test_names(_without_once_daily(text)))
    if quiet != text and _is_fever_alone(quiet):
        return None  # vital signs, of which only the temperature is high
    reading = EmergencyReading.of(quiet)
    danger = _sensed(reading.original, sensed) if text.strip() else {}
    enough = OF_THE_WHOLE if _is_long(reading) else LIKELY
    is_by_sentence = reading.chance > LIKELY and sum(danger.values()) <= enough
    if is_by_sentence:
        danger = _sensed(reading.original, sensed, at_once=False)  # “Chest pain. My father had a stroke.”
    found = reading.emergencies()
    is_older = min((age.years for age in ages(text)), default=0.0) >= NO_INFANT_YEARS
    if is_older or (found.keys() <= {"infant_fever"} and _is_of_no_infant(text)):
        danger.pop("infant_fever", None)
    is_despair = _is_despair(found, reading)
    is_likely = _is_likely(reading, sum(danger.values()), is_by_sentence=is_by_sentence)
    if not (is_likely or is_despair or _is_told_in_part(reading, sensed)):
        return None
    likeliest = max(danger, key=danger.__getitem__) if sum(danger.values()) > LIKELY else None
    if likeliest is not None:  # where the words alone decide, they say of what kind it is
        sure = {kind for kind in found if danger.get(kind, 0.0) >= A_TRACE or (kind == "suicide" and is_despair)}
        found = {kind: words for kind, words in found.items() if kind in sure}
    found = found or reading.nearest(likeliest)
    if likeliest is not None and danger[likeliest] > LIKELY and likeliest not in found:
        found |= reading.nearest(likeliest)
    kinds = tuple(sorted(found, key=lambda kind: (kind != likeliest, kinds_in_order().index(kind))))
    told = dict.fromkeys(one for kind in kinds for one in found[kind])
    words = tuple(one for one in told if not any(one != other and one in other for other in told))
    language = language or reading.language
    if is_vignette is None:
        is_vignette = reading.is_vignette and "suicide" not in kinds
    return Emergency(kinds, language, notice(kinds, language, country, is_vignette=is_vignette), words)


def _is_likely(reading: EmergencyReading, sensed: float, *, is_by_sentence: bool) -> bool:
    """Whether the words or the trained reader tell of an emergency; a whole note has too many words to go by them."""
    count = len(reading.original.split())
    if count <= MESSAGE and reading.chance > LIKELY:
        if _is_long(reading):
            least = OF_A_SENTENCE if is_by_sentence else OF_THE_WHOLE
        else:
            least = A_LITTLE if _is_plain(reading) else MORE
        if sensed > least:
            return True
    limit = SURE if count <= FEW_WORDS else LIKELY_OF_MESSAGE if count <= MESSAGE else LIKELY_OF_PART
    return sensed > limit and not _is_taken_back(reading)


def _is_told_in_part(reading: EmergencyReading, sensed: Sense) -> bool:
    """Whether in a part of a long message both the words and the trained reader tell of an emergency.

    A clinician's note names many dangers that are over, excluded or feared; there the reader alone decides.
    """
    if len(reading.original.split()) <= MESSAGE or reading.is_vignette:
        return False
    parts = map(EmergencyReading.of, messages(reading.original))
    telling = (part for part in parts if part.chance > LIKELY)
    return any(1 - sensed(part.original)[NO_DANGER] > LIKELY and not _is_taken_back(part) for part in telling)


def _is_long(reading: EmergencyReading) -> bool:
    """Whether a text is too long to go by one plain sentence of it."""
    return len(reading.original.split()) > SEVERAL


def _is_plain(reading: EmergencyReading) -> bool:
    """Whether a short sentence says what happens, or asks whether to call for help; other questions are often general.

    >>> texts = ("Chest pain. What does my letter say?", "What helps in chest pain?")
    >>> [_is_plain(EmergencyReading.of(text)) for text in texts]
    [True, False]
    """
    if reading.is_vignette:
        return False
    return any(_is_told(reading.original[start:end].strip()) for start, end in segments(reading.original))


def _is_told(sentence: str) -> bool:
    if len(sentence.split()) > FEW_WORDS:
        return False
    reading = EmergencyReading.of(sentence)
    is_call = any(span.meaning == "call help" for span in reading.live)
    return (is_call or not sentence.endswith("?")) and reading.chance > LIKELY


def _is_taken_back(reading: EmergencyReading) -> bool:
    """Whether all that a text names is past, of the family, feared or planned; in other languages, denied too.

    The clinical reader, which reads English alone, is not asked about denials: who is not breathing is in danger.
    """
    if reading.language != "en":
        return bool(reading.spans) and not reading.live
    context = read_context(reading.original)
    held = [context.assertion(span.start, span.end).status for span in context.spans if span.share > CERTAIN]
    return bool(held) and all(status in _NOT_NOW for status in held)


def _sensed(text: str, sensed: Sense, *, at_once: bool = True) -> dict[str, float]:
    """How probable each kind is by the trained reader: in a long text, in those of its sentences that tell most."""
    if not at_once:
        parts = [text[start:end] for start, end in segments(text)]
    else:
        parts = list(messages(text)) if len(text.split()) > MESSAGE else [text]
    if sensed is read_danger:
        read_contexts([part for part in parts if len(part) <= LONGEST_AT_ONCE])  # together: that takes far less
    worst = min(map(sensed, parts), key=lambda shares: shares[NO_DANGER])
    return {kind: share for kind, share in worst.items() if kind != NO_DANGER}


def messages(text: str) -> Iterator[str]:
    """The sentences of a long text, as many together as a message has."""
    start = end = 0
    for low, high in segments(text):
        if start < end and len(text[start:high].split()) > MESSAGE // 2:
            yield text[start:end]
            start = low
        end = high
    yield text[start:end]


def _is_despair(found: Mapping[str, Sequence[str]], reading: EmergencyReading) -> bool:
    """Whether somebody speaks of ending their own life: that counts whatever else is said."""
    return "suicide" in found and _FIRST.search(reading.text) is not None


# ------------------------------------------------------------------------------------------------------------ the text


@dataclass(frozen=True, slots=True)
class MeaningSpan:
    """Where a meaning stands in the text as it is read."""

    meaning: str
    start: int
    end: int
    language: str = ""
    """Of the row that knows the words; empty for a value."""


@dataclass(frozen=True)
class EmergencyReading:
    """A text as it is read: lower case, short forms in full, with its meanings and what takes them back."""

    original: str
    text: str
    places: Sequence[int]
    """For each character of the text, where it stands in the original."""
    spans: tuple[MeaningSpan, ...]
    live: frozenset[MeaningSpan]
    """The meanings that hold now, of the person who is spoken of."""

    @classmethod
    def of(cls, original: str) -> EmergencyReading:
        """Read a text once."""
        return _reading(original)

    @property
    def language(self) -> Language:
        """The language of the whole, if words of an emergency are in it; else that of most of these words."""
        own = language_of(self.original)
        votes = Counter(span.language for span in self.live if span.language)
        return own if votes[own] * 2 >= max(votes.values(), default=0) else cast(Language, votes.most_common(1)[0][0])

    @property
    def is_vignette(self) -> bool:
        """Whether a clinician describes a patient."""
        return len(_context("clinician").findall(self.text)) >= 1 and not _OWN.search(self.text)

    @cached_property
    def told(self) -> list[tuple[str, tuple[MeaningSpan, ...]]]:
        """Each row of the table that is met, with the words that meet it."""
        return list(_told(self.live))

    def emergencies(self) -> dict[str, list[str]]:
        """Each kind of emergency that is told of, with the words that tell it."""
        found: dict[str, list[str]] = {}
        for kind, spans in self.told:
            found.setdefault(kind, []).extend(self.original_words(span) for span in spans)
        return found

    def nearest(self, kind: str | None) -> dict[str, list[str]]:
        """The kind that most of the meanings speak for, or the one that is given, with the words that weigh most."""
        weighed = sorted(
            _in_order(span for span in self.live if span.end), key=lambda span: -_weights().get(span.meaning, 0)
        )
        present = {span.meaning for span in self.live}
        met = {rule: sum(bool(group & present) for group in rule.meanings) for rule in _rules()}
        best = max(met, key=lambda rule: (met[rule] / len(rule.meanings), met[rule]))
        words = [self.original_words(span) for span in sorted(weighed[:3], key=lambda meaning_span: meaning_span.start)]
        return {kind or (best.kind if met[best] * 2 >= len(best.meanings) else "other"): words}

    def features(self) -> dict[str, float]:
        """What the learned weights are multiplied with: meanings that hold, rows that are met, and how it is said."""
        live = {span.meaning for span in self.live}
        rows_met = self.told
        return {
            **dict.fromkeys(live, 1.0),
            "(a row is met)": float(bool(rows_met)),
            "(rows of two kinds are met)": float(len({kind for kind, _ in rows_met}) > 1),
            "(only taken back)": float(not rows_met and next(_told(self.spans), None) is not None),
            "(meanings)": min(len(live), 12) / 4,
            "(a question)": float(self.text.strip().endswith("?")),
            "(first person)": float(_FIRST.search(self.text) is not None),
            "(clinician)": float(_context("clinician").search(self.text) is not None),
        }

    @cached_property
    def chance(self) -> float:
        """The probability of an emergency by the words alone."""
        weights = _weights()
        if not self.told and sum(weights.get(one, 0.0) >= TELLING for one in {span.meaning for span in self.live}) < 1:
            return 0.0
        total = weights.get("(always)", 0.0) + sum(
            weights.get(name, 0.0) * value for name, value in self.features().items()
        )
        return 1 / (1 + math.exp(-total))

    def original_words(self, span: MeaningSpan) -> str:
        """The words as they were written."""
        return self.original[self.places[span.start] : self.places[span.end - 1] + 1].strip()


@lru_cache(maxsize=200)
def _reading(original: str) -> EmergencyReading:
    cut = original if len(original) <= READ else f"{original[: READ // 2]}\n{original[-READ // 2 :]}"
    text, places = spelled_with_places(cut)
    plain = _IDIOM.sub(lambda match: "\x00" * len(match.group()), text) if _IDIOM else text
    spans = tuple(_meanings(plain))
    parts = tuple(_parts(plain))
    live = frozenset(span for span in spans if _holds(plain, span, _part_of(parts, span.start)))
    return EmergencyReading(cut, text, places, spans, live - frozenset(_denied(cut, places, live)))


def _denied(text: str, places: Sequence[int], spans: Iterable[MeaningSpan]) -> Iterator[MeaningSpan]:
    """The meanings that the clinical reader takes for denied; it reads English alone."""
    if len(text) > LONGEST_DENIAL or language_of(text) != "en" or _context("doubt").search(text.casefold()):
        return
    context = read_context(text)
    for span in spans:
        if span.end and span.meaning not in UNDENIABLE:
            held = context.assertion(places[span.start], places[span.end - 1] + 1)
            if held.status is Polarity.ABSENT and held.share > SURELY_DENIED:
                yield span


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text that is past, present or general as a whole."""

    start: int
    end: int
    is_nobody: bool
    """It asks for a text, for knowledge, or speaks of a thing."""
    is_own: bool
    is_now: bool
    is_again: bool
    is_past: bool
    is_paper: bool
    is_doubtful: bool


def _parts(text: str) -> Iterator[TextPart]:
    """The parts of a text, each read once."""
    is_of_somebody = _context("person").search(_context("asker").sub(" ", text)) is not None
    starts = [0, *(match.end() for match in _PART.finditer(text)), len(text)]
    for start, end, after in zip(starts, starts[1:], [*starts[2:], len(text)], strict=False):
        words = text[start:end]
        told_after = text[end:after]  # “It was three months ago.” tells of what stands before it
        dated = words + told_after if _REFERS.match(told_after) else words
        is_asking = not is_of_somebody and _asks(words)
        yield TextPart(
            start,
            end,
            is_nobody=is_asking or _context("makes").match(words.strip()) is not None or _is_of_a_thing(words),
            is_own=_FIRST.search(words) is not None,
            is_now=_context("present").search(words) is not None,
            is_again=_AGAIN.search(words) is not None,
            is_past=any(_context(name).search(dated) for name in ("past", "family")),
            is_paper=_context("paper").search(words) is not None,
            is_doubtful=_context("doubt").search(words) is not None,
        )


def _part_of(parts: Sequence[TextPart], at: int) -> TextPart:
    return parts[max(0, bisect_right(parts, at, key=lambda part: part.start) - 1)]


# -------------------------------------------------------------------------------------------------------- the meanings


def _whole(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w/])(?:{pattern})(?!\w)")


@cache
def _words() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """Each meaning with its language and words."""
    return tuple((meaning, language, _whole(pattern)) for meaning, language, pattern in rows("emergency_words.tsv"))


WITHIN, NORMAL = "within", "normal"
"""A comparison with two limits, and the meaning of values that tell of no danger in an adult."""
_COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_NUMBER = (
    r"(?:[^\w\n<>≥≤.;]|\b(?:of|is|are|was|at|now|only|reads?|says?|around|about|to|down|came|back|as|dropped)\b){0,6}"
    r"[<>~≥≤]? ?(?![12]?\d ?/(?:7|52|12|24)\b)(?P<value>\d{1,3}(?:[.,]\d{1,2})?)(?![\d.,]*\d)"
    r"(?: ?°? ?(?P<unit>g/l|mg/dl|f(?:ahrenheit)?\b))?"
)
_UNIT = re.compile(r"(?<![^=|])(?P<name>[^=|]+)=(?P<factor>[\d.]+)(?P<added>[+-][\d.]+)?")


@dataclass(frozen=True, slots=True)
class LimitValue:
    """A measurement that counts as a meaning on one side of a limit."""

    meaning: str
    pattern: re.Pattern[str]
    compare: Callable[[float, float], bool]
    limit: float
    lowest: float
    highest: float
    units: tuple[tuple[str, float, float], ...]
    """Other units: name, factor, and what is added."""

    def is_met(self, value: float, unit: str | None) -> bool:
        """Whether a number, with its unit or without one, is such a value on this side of the limit."""
        others = {name: value * factor + added for name, factor, added in self.units}
        named = next((one for name, one in others.items() if unit and unit.startswith(name)), None)
        able = [
            one for one in (named, value, *others.values()) if one is not None and self.lowest <= one <= self.highest
        ]
        return bool(able) and self.compare(able[0], self.limit)


def _value_rows(file: str) -> tuple[LimitValue, ...]:
    return tuple(
        LimitValue(
            meaning,
            re.compile(rf"(?<![\w/])(?:{names}){_NUMBER}", re.IGNORECASE),
            _comparison(sign, limit),
            0.0 if sign == WITHIN else float(limit),
            float(lowest),
            float(highest),
            tuple(
                (match["name"], float(match["factor"]), float(match["added"] or 0))
                for match in _UNIT.finditer("".join(units))
            ),
        )
        for meaning, names, sign, limit, lowest, highest, *units in rows(file)
    )


def _comparison(sign: str, limit: str) -> Callable[[float, float], bool]:
    if sign != WITHIN:
        return _COMPARISONS[sign]
    low, high = map(float, limit.split("-"))
    return lambda value, _: low <= value <= high


@cache
def _values() -> tuple[LimitValue, ...]:
    return tuple(value for value in _value_rows("emergency_values.tsv") if value.meaning != NORMAL)


@cache
def _normal_values() -> tuple[LimitValue, ...]:
    return tuple(value for value in _value_rows("emergency_values.tsv") if value.meaning == NORMAL)


def _is_fever_alone(text: str) -> bool:
    """Whether nothing is left of a text but a temperature.

    >>> _is_fever_alone("Obs: T 38.6 °C,      ,   on air"), _is_fever_alone("T 38.6, drowsy")
    (True, False)
    """
    words = re.findall(r"\d+(?:[.,]\d+)?|[^\W\d]+", text.lower())
    numbers = [float(word.replace(",", ".")) for word in words if word[0].isdigit()]
    return max(numbers, default=0.0) < HIGH_FEVER and all(word[0].isdigit() or word in _OBSERVED for word in words)


_ONCE_DAILY = re.compile(
    r"(?<![\w.,x×])(?<![x×]\s)\d+(?:[.,]\d+)?\s?(?:mg|mcg|microg\w*|units?|iu|puffs?|ml|%|(?<=[1-4])g|(?<=[1-4]\s)g)?\s?(?P<od>od)\b(?!['’]|\s?of\b)",
    re.IGNORECASE,
)
_ALONE = re.compile(r"\s+(?P<od>od)\b(?=\s*(?:[,.;)+/&\n]|and\b|$))", re.IGNORECASE)
_OTHER_FREQUENCIES = re.compile(r"\b(?:bd|tds|qds|nocte|mane|prn)\b", re.IGNORECASE)
_TAKEN_TOO_MUCH = re.compile(
    r"\b(?:took|taken|over-?dos\w*|intention\w*|deliberate\w*|impulsive\w*|staggered|empt\w+|found|swallow\w*|packets?"
    r"|blisters?|suicid\w*|an od)\b",
    re.IGNORECASE,
)


def _without_once_daily(text: str) -> str:
    """A text with blanks for “od” where it says how often a medicine is taken, and not that too much of it was.

    >>> [_without_once_daily(text) for text in ("amlodipine od, ramipril 5 mg od", "took an OD of amlodipine 5 mg od")]
    ['amlodipine   , ramipril 5 mg   ', 'took an OD of amlodipine 5 mg od']
    """
    if _TAKEN_TOO_MUCH.search(text):
        return text
    places = [match.span("od") for match in islice(_ONCE_DAILY.finditer(text), MOST)]
    if places or _OTHER_FREQUENCIES.search(text):
        behind = (_ALONE.match(text, medicine.end) for medicine in medicines(text))
        places += [match.span("od") for match in behind if match]
    for start, end in places:
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text


_FAECAL_TEST = re.compile(r"\bFIT\b")


def _without_test_names(text: str) -> str:
    """A text with blanks for FIT, the test of faeces, which is written in capitals: “FIT 64 µg/g” tells of no fit.

    >>> _without_test_names("FIT came back 64"), _without_test_names("HE HAS A FIT")
    ('    came back 64', 'HE HAS A FIT')
    """
    return text if text.isupper() else _FAECAL_TEST.sub("   ", text)


def _without_normal_values(text: str) -> str:
    """A text with blanks for the vital signs of an adult, where all but the temperature are normal.

    >>> _without_normal_values("temp 38.6, pulse 84, bp 128/76")
    'temp 38.6,         ,          '
    >>> _without_normal_values("pulse 52, bp 128/76")
    'pulse 52, bp 128/76'
    """
    if _CHILD.search(text) or any(age.years < ADULT_YEARS for age in ages(text)):
        return text
    quiet = text
    for value in _normal_values():
        for match in islice(value.pattern.finditer(text), MOST):
            if value.is_met(float(match["value"].replace(",", ".")), match["unit"]):
                below = _BELOW_STROKE.match(text, match.end())
                end = below.end() if below else match.end()
                quiet = quiet[: match.start()] + " " * (end - match.start()) + quiet[end:]
            elif not _TEMPERATURE.match(match.group()):
                return text
    return quiet


_TEMPERATURE = re.compile(r"t(?:\b|emp)", re.IGNORECASE)
_CHILD = re.compile(
    r"\b(?:bab(?:y|ies)|child(?:ren)?|newborn|neonate|infant|toddler|bébé|enfant|nourrisson|kind|säugling|baby"
    r"|boy|girl|pregnan\w*|enceinte|schwanger\w*|gravid\w*)\b",
    re.IGNORECASE,
)
_OBSERVED = frozenset(
    "obs observations vitals vital signs o e on examination t temp temps temperature fever c bpm mmhg air".split()
)
HIGH_FEVER = 41.0
_BELOW_STROKE = re.compile(r" ?/ ?\d{2,3}(?!\d)")


_COUNTS = {
    name: number
    for number, names in enumerate(
        "; one|a|an|un|une|ein|eine; two|deux|zwei; three|trois|drei; four|quatre|vier; five|cinq|fünf; six|sechs; "
        "seven|sept|sieben; eight|huit|acht; nine|neuf|neun; ten|dix|zehn; eleven|onze|elf; twelve|douze|zwölf".split(
            "; "
        )
    )
    for name in names.split("|")
    if name
}
DAYS_IN_YEAR = 365
_DAYS = {"d": 1, "j": 1, "t": 1, "w": 7, "s": 7, "m": 30}
_AGE = re.compile(
    rf"(?<![\w/.,])(?P<count>\d{{1,2}}|{'|'.join(_COUNTS)})(?:[ -]?(?P<unit>d|w|days?|weeks?|wks?|months?|mths?|jours?"
    r"|semaines?|mois|tage?|wochen?|monate?n?)[ -]?(?:old|alte?\w*|o\b)"
    r"|[ -]?(?P<bare>days|weeks?|months?|mth|jours|semaines|mois)\b(?! (?:ago|later|pregnant|gone|post|after|now)))"
    r"(?!\w)"
)
_BABY = re.compile(
    r"bébé|nourrisson|nouveau|bab(?:y|ies)|newborn|little one|twin|infant|nappy|nappies|corrected|\bprem\b"
)
_LASTED = re.compile(r"(?<![\d/])\d{1,2}/(?:7|52|12)\b(?!/)")
_LASTS = re.compile(r"(?:for|last|past|over|since|every|within|in|x|about|pregnant|am|at) $")


def _young(text: str) -> Iterator[MeaningSpan]:
    """Where the age of a child is told to whom a fever is a danger by itself."""
    told = (age for age in ages(text) if age.of == "patient" and age.years * DAYS_IN_YEAR <= YOUNG_DAYS)
    yield from (MeaningSpan("young infant", age.start, age.end) for age in told)
    for match in islice(_AGE.finditer(text), MOST):
        unit = (match["unit"] or match["bare"])[0]
        count = _COUNTS.get(match["count"]) or float(match["count"])
        is_told = match["bare"] is None or (_BABY.search(text) and not _LASTS.search(text[: match.start()]))
        if is_told and count * _DAYS[unit] <= YOUNG_DAYS:
            yield MeaningSpan("young infant", *match.span())


def _is_of_no_infant(text: str) -> bool:
    """Whether a note says how long something has lasted (“cough 10/7”), and nothing of a child or a child's age."""
    flat = text.casefold()
    is_young = _BABY.search(flat) or _CHILD.search(flat) or next(_young(flat), None)
    return not is_young and _LASTED.search(flat) is not None


def _meanings(text: str) -> Iterator[MeaningSpan]:
    """Every meaning of the tables and where it stands."""
    for meaning, language, pattern in _words():
        yield from (MeaningSpan(meaning, *match.span(), language) for match in islice(pattern.finditer(text), MOST))
    for limit_value in _values():
        for match in islice(limit_value.pattern.finditer(text), MOST):
            if limit_value.is_met(float(match["value"].replace(",", ".")), match["unit"]):
                yield MeaningSpan(limit_value.meaning, *match.span())
    yield from _young(text)
    if len(text.split()) <= SHORT:
        yield MeaningSpan("happening", 0, 0)


# --------------------------------------------------------------------------------------------------------- the context

_PART = re.compile(r"(?<![.;!?])[.;!?\n]+(?:\s+|$)|,? (?:but|and now|and today|mais|et maintenant|aber|und jetzt) ")
_BREAKS = re.compile(
    r"\b(?:but|however|although|though|except|apart from|other than|just|only|now|today|then|since|because|has|have|is"
    r"|are|was|with|started|came|keeps?|mais|sauf|depuis|avec|aber|sondern|außer|seit|mit|hat|ist)\b|[:;(]"
)
_ITEMS = re.compile(r"\b(?:or|nor|ni|ou|oder|noch)\b")
_STRONG = re.compile(r"\b(?:denies|denied|denying|nil|nie|verneint)$")
_OWN = re.compile(r"(?<!\w)(?:i|my|me|mum|dad|mom|we|our|je|mon|ma|mes|ich|meine?\w*|wir|unser\w*)(?!\w)")
NAMES = frozenset(
    "named stroke|named heart|named embolism|named dissection|anaphylaxis|sepsis|meningitis|ectopic|suicidal|overdose"
    "|seizing now|call help|fit|chest pain|bleeding|thunderclap".split("|")
)
"""Meanings that name an emergency rather than describe one: beside a paper or an appointment they tell of none."""
UNDENIABLE = frozenset({"self-killing"})
"""Who says that they do not want to kill themselves has thought of it."""


@cache
def _context(what: str) -> re.Pattern[str]:
    patterns = "|".join(f"(?:{pattern})" for name, _, pattern in rows("emergency_context.tsv") if name == what)
    return _whole(patterns)


@cache
def _behind(what: str) -> re.Pattern[str]:
    """A pattern of the context that stands right before words."""
    return re.compile(rf"{_context(what).pattern}[ ,:]*$")


@cache
def _right_after() -> re.Pattern[str]:
    return re.compile(rf"[ :,(]*{_context('denied after').pattern}")


_IDIOM = _whole("|".join(f"(?:{pattern})" for name, _, pattern in rows("emergency_context.tsv") if name == "idiom"))


def _holds(text: str, span: MeaningSpan, part: TextPart) -> bool:
    """Whether a meaning holds now, of the person who is spoken of."""
    if part.is_nobody:
        return False
    if span.meaning in UNDENIABLE and part.is_own:
        return True
    is_named = span.meaning in NAMES
    if part.is_past and (is_named or not part.is_now):
        return part.is_again and part.is_now
    if is_named and part.is_paper and not part.is_now:
        return False
    before = text[max(part.start, span.start - REACH) : span.start]
    after = text[span.end : min(part.end, span.end + REACH)]
    if _behind("supposed").search(before):
        return False
    is_denied = _is_denied(before, after) or _right_after().match(after) is not None
    return not is_denied or part.is_doubtful


_REFERS = re.compile(r"(?:it|this|that|c'|das|es) ?(?:was|happened|were|était|war)\b")
_AGAIN = re.compile(r"\b(?:again|de nouveau|à nouveau|wieder|suddenly|now having|right now)\b")
_FIRST = re.compile(r"(?<!\w)(?:i|my|me|myself|je|j'\S*|me|m'\S*|mes|ich|mich|mir)(?!\w)")
_SOMEBODY = re.compile(
    r"(?<!\w)(?:i|me|he|she|him|his|her|we|us|mum|dad|baby|child|son|daughter|wife|husband|brother"
    r"|sister|grand\w+|friend|neighbour|patient)(?!\w)"
)
_MEASURED = re.compile(r"\d{2,3}/\d{2,3}|(?:bp|sats|spo2|gcs|temp|rr|hr|pressure|sugar)\D{0,12}\d|\d over \d")


def _is_of_a_thing(words: str) -> bool:
    """Whether a part of a text speaks of an animal or a thing, and of nobody."""
    return _context("thing").search(words) is not None and _SOMEBODY.search(words) is None


def _asks(words: str) -> bool:
    """Whether a part of a text asks for knowledge; what was measured is of somebody."""
    plain = words.strip()
    is_asked = plain.endswith("?") or _context("asks").match(plain) or _context("looks up").search(plain)
    return bool(is_asked) and _MEASURED.search(plain) is None


def _is_denied(before: str, after: str) -> bool:
    """Whether a “no” before words reaches them: over a few words, or to the end of its list."""
    matches = list(_context("denied").finditer(before))
    if not matches:
        return _behind("denied here").search(before) is not None
    match = matches[-1]
    gap = before[match.end() :]
    if _BREAKS.search(gap):
        return False
    items = gap.split(",")
    is_strong = _STRONG.search(before[: match.end()]) is not None
    if any(len(item.split()) > (9 if is_strong else 5) for item in items):
        return False
    if len(items) == 1:
        return is_strong or not re.search(r"\b(?:and|et|und)\b", gap)
    return is_strong or _ITEMS.search(gap + after.split(".", maxsplit=1)[0][:60]) is not None


# ----------------------------------------------------------------------------------------------------- the emergencies


@dataclass(frozen=True, slots=True)
class EmergencyRule:
    """One row of the table: meanings that tell of an emergency together."""

    kind: str
    meanings: tuple[frozenset[str], ...]
    unless: frozenset[str]


@cache
def _rules() -> tuple[EmergencyRule, ...]:
    return tuple(
        EmergencyRule(
            kind,
            tuple(frozenset(group.split("|")) for group in meanings.split("+")),
            frozenset("|".join(unless).split("|")) - {""},
        )
        for kind, meanings, *unless in rows("emergencies.tsv")
    )


def kinds_in_order() -> tuple[str, ...]:
    """The kinds of emergency; of those that a text tells of, the reader's likeliest goes before this order."""
    return tuple(kind for kind, *_ in rows("emergency_kinds.tsv"))


def _in_order(spans: Iterable[MeaningSpan]) -> list[MeaningSpan]:
    """As they stand in the text; of those that begin together the longest comes first."""
    return sorted(spans, key=lambda span: (span.start, -span.end, span.meaning, span.language))


def _told(spans: Iterable[MeaningSpan]) -> Iterator[tuple[str, tuple[MeaningSpan, ...]]]:
    """Each kind whose meanings stand near each other, with the words that do."""
    places: dict[str, list[MeaningSpan]] = {}
    for span in _in_order(spans):
        places.setdefault(span.meaning, []).append(span)
    present = frozenset(places)
    for rule in _rules():
        if any(present.isdisjoint(group) for group in rule.meanings):
            continue
        groups = [_in_order(chain.from_iterable(places.get(name, ()) for name in group)) for group in rule.meanings]
        calming = [span for name in rule.unless for span in places.get(name, ())]
        meaning_spans = next(_together(groups, calming), None)
        if meaning_spans is not None:
            yield rule.kind, meaning_spans


def _together(
    groups: Sequence[Sequence[MeaningSpan]], calming: Sequence[MeaningSpan]
) -> Iterator[tuple[MeaningSpan, ...]]:
    """Spans, one of each group and none standing for two, that stand near each other and that nothing takes back."""
    for first in groups[0]:
        chosen = [first]
        for spans in groups[1:]:
            fitting = [span for span in spans if _fits(span, chosen)]
            if not fitting:
                break
            chosen.append(min(fitting, key=lambda meaning_span: abs(meaning_span.start - first.start)))
        else:
            low, high = min(span.start for span in chosen), max(span.end for span in chosen)
            if not any(low - NEAR <= span.start and span.end <= high + NEAR for span in calming):
                yield tuple(sorted((span for span in chosen if span.end), key=lambda span: span.start))


def _fits(span: MeaningSpan, chosen: Sequence[MeaningSpan]) -> bool:
    if not span.end:  # a short text tells of now as a whole
        return True
    is_apart = all(
        span.end <= meaning_span.start or span.start >= meaning_span.end or not meaning_span.end
        for meaning_span in chosen
    )
    low, high = min(meaning_span.start for meaning_span in chosen), max(meaning_span.end for meaning_span in chosen)
    return is_apart and max(high, span.end) - min(low, span.start) <= NEAR


@cache
def _weights() -> dict[str, float]:
    """How much each meaning says of an emergency."""
    return {name: float(weight) for name, weight in rows("emergency_weights.tsv")}


# --------------------------------------------------------------------------------------------------------- the notices

OR = {"en": " or ", "fr": " ou ", "de": " oder "}


@dataclass(frozen=True, slots=True)
class EmergencyNumbers:
    """Whom to call in a country."""

    emergency: tuple[str, ...]
    advice: str
    """A line for what cannot wait and is no emergency; empty where there is none."""
    crisis: str
    """A line for people in despair; empty where none is known."""


def numbers_of(country: str) -> EmergencyNumbers:
    """The numbers of a country, and 112 where none are known.

    >>> numbers_of("US").emergency, numbers_of("XX").emergency
    (('911',), ('112',))
    """
    known = {
        code: EmergencyNumbers(tuple(call.split("|")), *more) for code, call, *more in rows("emergency_numbers.tsv")
    }
    return known.get(country.upper(), known["*"])


@cache
def _notices() -> dict[tuple[str, str], str]:
    return {(what, language): text for what, language, text in rows("emergency_notices.tsv")}


def notice(kinds: Sequence[str], language: Language, country: str, *, is_vignette: bool = False) -> str:
    """The words that come first and that nothing softens."""
    numbers, texts = numbers_of(country), _notices()
    said = "clinician" if is_vignette else "suicide" if "suicide" in kinds else "anyone"
    lines = [texts[said, language]]
    if said == "suicide" and numbers.crisis:
        lines.append(texts["crisis", language])
    if said == "anyone" and numbers.advice:
        lines.append(texts["advice", language])
    if said == "suicide" and len(kinds) > 1:
        lines.insert(0, texts["anyone", language])
    titles = ", ".join(title_of(kind, language) for kind in kinds)
    return " ".join(lines).format(
        emergency=OR[language].join(numbers.emergency), advice=numbers.advice, crisis=numbers.crisis, kinds=titles
    )


@cache
def _titles() -> dict[str, tuple[str, ...]]:
    return {kind: tuple(titles) for kind, *titles in rows("emergency_kinds.tsv")}


def advice_of(kind: str) -> tuple[str, str, str, str]:
    """What a kind is called, what a clinician does, why, and where to look it up.

    >>> advice_of("torsion")[1]
    'Send to hospital at once.'
    """
    english, _, _, act, why, source = _titles()[kind]
    return english[:1].upper() + english[1:], act, why, source


def title_of(kind: str, language: Language = "en") -> str:
    """What an emergency may be, in words."""
    return _titles()[kind][("en", "fr", "de").index(language)]
