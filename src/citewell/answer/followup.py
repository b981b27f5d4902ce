"""Makes a follow-up question stand on its own: what it leaves out is taken from the question before it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from citewell.answer.illnesses import illnesses
from citewell.answer.question_subject import subjects
from citewell.answer.retrieve import MAX_QUESTION_CHARACTERS, TALK
from citewell.clinical import Lexicon
from citewell.clinical.medicines import medicines, members
from citewell.clinical.populations import age_groups, asked_for, people_words
from citewell.clinical.quantities import labels, unit_named
from citewell.clinical.severity_grades import grades
from citewell.sentences import terms
from citewell.types import Message

# ------------------------------------------------------------------------------------------ things that can be replaced


Kind = Literal["label", "age", "people", "amount", "grade", "medicine", "matter"]

PREPOSITIONS = "for in of with on before after at from during without under by to over".split()
_BEFORE = re.compile(
    rf"\b(?P<word>{'|'.join(PREPOSITIONS)})\s+(?:(?:an?|the|my|our|some|any)\s+)?(?:[a-z-]{{3,}}\s+)?$", re.IGNORECASE
)
"""A preposition, with a word between that says how the thing is: “for worsening asthma”."""

_PREPOSITIONS = re.compile(rf"\b(?:{'|'.join(PREPOSITIONS)})\b", re.IGNORECASE)
_LENGTH = r"\d+(?:\.\d+)?[\s-]*(?:years?|yrs?|months?|weeks?|days?)"
_AGE = re.compile(
    rf"\b(?:(?:an?|my|the)\s+)?{_LENGTH}[\s-]*(?:old\b|of age\b)|(?<=aged )(?:{_LENGTH}|\d{{1,3}})\b"
    rf"|(?<=\bat ){_LENGTH}\b(?!\s*(?:before|after))",
    re.IGNORECASE,
)
_AGE_BEHIND = re.compile(rf"\s+(?P<link>of|aged|at|under|over)\s+(?P<age>{_LENGTH})\b", re.IGNORECASE)
"""An age right behind a person: “a baby of 4 months”."""
_AMOUNT = re.compile(r"(?<![\w.,-])(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)(?:[\s-]?(?P<unit>[a-zA-Zµ%°][\w/%]*))?")


@dataclass(frozen=True, slots=True)
class ReferredThing:
    """Where a text names a thing, of which kind, and what of it must agree with what it replaces."""

    start: int
    end: int
    kind: Kind
    name: str
    """The scale of a grade, the unit of an amount, the family of a medicine, the dimension of a label."""
    preposition: str
    is_sure: bool = True


def things(text: str, *, lexicon: Lexicon) -> tuple[ReferredThing, ...]:
    """All things of a text, in order; where two readings overlap, the more particular one counts.

    >>> text = "How much ORS for a child of 12 kg with some dehydration?"
    >>> [(text[one.start : one.end], one.kind) for one in things(text, lexicon=Lexicon.load())][1:]
    [('a child', 'people'), ('12 kg', 'amount'), ('some', 'grade'), ('dehydration', 'matter')]
    """
    referred_things: list[ReferredThing] = []
    named = list(_matters(text, lexicon))
    for thing in (*_labels(text), *_ages(text), *_people(text), *_amounts(text), *_grades(text, named), *named):
        if all(thing.end <= other.start or other.end <= thing.start for other in referred_things):
            referred_things.append(thing)
    return tuple(sorted(referred_things, key=lambda referred_thing: referred_thing.start))


def _thing(text: str, span: tuple[int, int], kind: Kind, name: str, *, is_sure: bool = True) -> ReferredThing:
    before = _BEFORE.search(text, 0, span[0])
    return ReferredThing(*span, kind, name, before["word"].casefold() if before else "", is_sure)


def _labels(text: str) -> Iterator[ReferredThing]:
    for mark in labels(text):
        yield _thing(text, (mark.start, mark.end), "label", mark.dimension)


def _ages(text: str) -> Iterator[ReferredThing]:
    for match in _AGE.finditer(text):
        yield _thing(text, match.span(), "age", "old" if match.group().casefold().endswith("old") else "")
    for person in _persons(text):
        if behind := _AGE_BEHIND.match(text, person.end()):
            yield _thing(text, behind.span("age"), "age", "")


def _people(text: str) -> Iterator[ReferredThing]:
    for person in _persons(text):
        yield _thing(text, person.span(), "people", "")


def _persons(text: str) -> Iterable[re.Match[str]]:
    words = "|".join(word.words for word in people_words() if word.group)
    how = r"(?:(?:older|younger|young|small|pregnant|breastfeeding|healthy)\s+)?"
    return re.finditer(rf"\b(?:(?:an?|my|the|our)\s+)?{how}(?:{words})\b", text, re.IGNORECASE)


def _amounts(text: str) -> Iterator[ReferredThing]:
    for match in _AMOUNT.finditer(text):
        unit = match["unit"] or ""
        known = unit == "%" or unit_named(unit) is not None
        yield _thing(text, match.span() if known else match.span("number"), "amount", unit if known else "")


def _grades(text: str, named: Iterable[ReferredThing]) -> Iterator[ReferredThing]:
    """Grades; a word that means other things too where a thing follows it, or where it says the order."""
    starts = {thing.start for thing in named}
    for grade in grades(text):
        is_alone = not _PREPOSITIONS.sub("", text[: grade.start]).strip() and not text[grade.end :].strip()
        if grade.is_sure or is_alone or grade.end + 1 in starts or grade.scale == "order":
            yield _thing(text, (grade.start, grade.end), "grade", grade.scale, is_sure=grade.is_sure)


def _matters(text: str, lexicon: Lexicon) -> Iterator[ReferredThing]:
    """Medicines, then illnesses and findings."""
    for drug in medicines(text):
        yield _thing(text, (drug.start, drug.end), "medicine", drug.family)
    at = 0
    for subject in subjects(text, lexicon=lexicon):
        start = text.find(subject.text, at)
        if subject.medicine is None and not subject.people and start >= 0:
            at = start + len(subject.text)
            name = "illness" if illnesses(subject.text) else "finding"
            yield _thing(text, (start, at), "matter", name)


# ---------------------------------------------------------------------------------- replacing them in the last question


MAX_WORDS = 10
"""A follow-up of more words says something of its own."""
MAX_PHRASE_WORDS = 5
MAX_OBJECT_WORDS = 4

_END = re.compile(r"(?:[\s,]{1,20}(?:then|too|as well|instead|please)){0,8}[\s?.!]{0,40}$", re.IGNORECASE)
_IT_IS = re.compile(
    r"^(?:if|when)\s+(?:it|this|that|they|he|she)(?:['’]s|['’]re|\s+(?:is|are|was|were))\s+", re.IGNORECASE
)
_ASKS = re.compile(
    r"\b(?:how|what|which|who|whom|whose|where|why)\b|^when\s+(?:is|are|do|does|should|can)\b", re.IGNORECASE
)
"""A follow-up that asks for something, and names nothing in place of another: “and for how long?”."""
_OWN_WORD = re.compile(r"[\w’'-]+")
_SMALL = frozenset("a an the my our your one ones is are it its who has have patients patient people person".split())
_CLAUSE = re.compile(rf"^(?:{'|'.join(PREPOSITIONS)}|if|when|while|unless|once)\s", re.IGNORECASE)
_PREPOSITION = rf"(?:{'|'.join(PREPOSITIONS)})"
_DONE = re.compile(r"(?<!\s)\s+(?:\w{3,}ed|given|taken|done|found|known|shown|seen|safe|common)$", re.IGNORECASE)
"""The verb at the end of “How is bleeding on warfarin treated?”."""
_OBJECT = re.compile(
    rf"^(?:can|may|could|should|must|do|does|shall)\s+(?:i|we|you|they|he|she|people|patients)\s+\w+\s+"
    rf"(?P<object>.+?)(?=\s+{_PREPOSITION}\s|\s*\?*$)",
    re.IGNORECASE,
)
_NO_OBJECT = re.compile(r"(?:when|is|are|do|can|the|its|their|any|not?)\b", re.IGNORECASE)
"""How a follow-up begins that names no other object: “and the risks?”."""
_AGE_LEFT = re.compile(r"^\s+(?:of|aged|at)\s+\d+[\s-]*(?:years?|months?|weeks?|days?)\b", re.IGNORECASE)


def substitute(topic: str, own: str, *, lexicon: Lexicon) -> str | None:
    """The last question with the things of a follow-up in their places; None where it has no place for them.

    >>> def asked(topic: str, own: str) -> str | None: return substitute(topic, own, lexicon=Lexicon.load())
    >>> asked("How much ORS for some dehydration?", "for severe?")
    'How much ORS for severe dehydration?'
    >>> asked("Can I take ibuprofen with warfarin?", "paracetamol?")
    'Can I take paracetamol with warfarin?'
    >>> asked("Which antibiotic for pneumonia?", "in pregnancy?")
    'Which antibiotic for pneumonia in pregnancy?'
    >>> asked("Who may open the door?", "when is it closed?")
    """
    own = _END.sub("", own).strip()
    if not own or len(own.split()) > MAX_WORDS or _ASKS.search(own):
        return None
    bare = _IT_IS.sub("", own)
    ours, theirs = things(bare, lexicon=lexicon), things(topic, lexicon=lexicon)
    if ours and not _left(bare, ours, topic):
        placed = _placed(topic, bare, ours, theirs)
        if placed is not None:
            return placed
    return _by_phrase(topic, own) or _added(topic, own) or _by_object(topic, own)


def _left(own: str, ours: Sequence[ReferredThing], topic: str) -> set[str]:
    """The words of a follow-up that no thing holds, nor the question before it."""
    rest = own
    for thing in reversed(ours):
        rest = f"{rest[: thing.start]} {rest[thing.end :]}"
    said = {word.casefold() for word in _OWN_WORD.findall(topic)}
    return {word.casefold() for word in _OWN_WORD.findall(rest)} - said - _SMALL - set(PREPOSITIONS)


def _placed(topic: str, own: str, ours: Sequence[ReferredThing], theirs: Sequence[ReferredThing]) -> str | None:
    """The question with each thing in its place; what has none is added where a preposition leads it."""
    edits: list[tuple[ReferredThing, str]] = []
    free = list(theirs)
    added: list[str] = []
    for thing in ours:
        written = own[thing.start : thing.end]
        place = _place(thing, own, free, topic)
        if place is not None:
            free.remove(place)
            edits.append((place, _worded(place, thing, written)))
        elif thing.preposition and thing.name != "order":
            article = _article(own, thing)
            added.append(f"{thing.preposition} {article}{written}")
        elif thing.name != "order":
            return None
    if not edits and not added:
        return None
    for place, written in sorted(edits, key=lambda edit: -edit[0].start):
        rest = topic[place.end :]
        if place.kind in ("people", "age"):
            rest = _AGE_LEFT.sub("", rest) if any(other.kind in ("people", "age") for other in ours) else rest
        topic = f"{topic[: place.start]}{written}{rest}"
    return _with(topic, " ".join(added)) if added else topic


def _worded(place: ReferredThing, thing: ReferredThing, written: str) -> str:
    """The words that take a place; a number without a unit leaves that of the place, and “none” is no word for “no”."""
    if thing.kind == "amount" and not thing.name and place.name:
        return f"{written} {place.name}"
    return "no" if written.casefold() == "none" else written


def _article(own: str, thing: ReferredThing) -> str:
    article = re.search(r"\b(?:an?|the|my)\s+$", own[: thing.start], re.IGNORECASE)
    return article.group() if article else ""


def _place(thing: ReferredThing, own: str, free: Sequence[ReferredThing], topic: str) -> ReferredThing | None:
    """The thing of the question before that one takes the place of."""
    like = [other for other in free if _is_like(thing, other)]
    if thing.kind == "medicine":
        return _medicine_place(thing, own, like, topic)
    if thing.kind == "matter":
        like = [other for other in like if not thing.preposition or _agree(thing, other)]
        same = [other for other in like if other.name == thing.name]
        like = same or like
    led = [other for other in like if thing.preposition and other.preposition == thing.preposition]
    return next(iter((*led, *like)), None)


def _is_like(thing: ReferredThing, other: ReferredThing) -> bool:
    match thing.kind:
        case "grade" | "label":
            return (thing.kind, thing.name) == (other.kind, other.name)
        case "amount":
            return other.kind == "amount" and (thing.name == other.name or "" in (thing.name, other.name))
        case "people":
            return other.kind == "people" or (other.kind == "age" and other.name == "old")
        case "age":
            return other.kind == "age" or (other.kind == "people" and thing.name == "old")
        case _:
            return thing.kind == other.kind


def _agree(thing: ReferredThing, other: ReferredThing) -> bool:
    """Whether what is led by a preposition can stand for what another leads: an illness for an illness, whichever."""
    return thing.preposition == other.preposition or (thing.name == other.name == "illness" and bool(other.preposition))


def _medicine_place(thing: ReferredThing, own: str, like: Sequence[ReferredThing], topic: str) -> ReferredThing | None:
    """The medicine of the same preposition, else of the same kind, else the first."""
    written = own[thing.start : thing.end]
    if any(topic[other.start : other.end].casefold() == written.casefold() for other in like):
        return None
    led = [other for other in like if thing.preposition and other.preposition == thing.preposition]
    kin = [other for other in like if other.name == thing.name or _share_kind(thing.name, other.name)]
    return next(iter((*led, *kin, *like)), None)


def _share_kind(family: str, other: str) -> bool:
    """Whether two classes are of one kind: paracetamol and ibuprofen are painkillers.

    >>> _share_kind("analgesic", "NSAID"), _share_kind("analgesic", "anticoagulant")
    (True, False)
    """
    return other in members(family) or family in members(other)


def _by_phrase(topic: str, own: str) -> str | None:
    """The question with another phrase behind the same preposition.

    >>> _by_phrase("What is the target INR for atrial fibrillation?", "for a mechanical valve")
    'What is the target INR for a mechanical valve?'
    """
    led = re.match(rf"(?P<word>{_PREPOSITION})\s+(?P<phrase>.+)$", own, re.IGNORECASE)
    if led is None or len(led["phrase"].split()) > MAX_PHRASE_WORDS:
        return None
    places = list(
        re.finditer(rf"\b{led['word']}\s+(?P<phrase>.+?)(?=\s+{_PREPOSITION}\s|\s*[?.]*$)", topic, re.IGNORECASE)
    )
    if len(places) != 1:
        return None
    start, end = places[0].span("phrase")
    if done := _DONE.search(topic, start, end):
        end = done.start()
    if len(topic[start:end].split()) > MAX_PHRASE_WORDS:
        return None
    return f"{topic[:start]}{led['phrase']}{topic[end:]}"


def _added(topic: str, own: str) -> str | None:
    """The question with a phrase that a preposition leads, or “if”, behind it."""
    return _with(topic, own) if _CLAUSE.match(own) and not own.casefold().startswith("when ") else None


def _with(topic: str, phrase: str) -> str:
    end = "?" if topic.rstrip().endswith("?") else ""
    return f"{topic.rstrip(' ?.')} {phrase}{end}"


def _by_object(topic: str, own: str) -> str | None:
    """The question of another object.

    >>> _by_object("Can I drink alcohol on warfarin?", "cranberry juice")
    'Can I drink cranberry juice on warfarin?'
    >>> _by_object("Can I drink alcohol on warfarin?", "the risks")
    """
    if len(own.split()) > MAX_OBJECT_WORDS or _NO_OBJECT.match(own):
        return None
    verb_phrase = _OBJECT.match(topic)
    if verb_phrase is None:
        return None
    start, end = verb_phrase.span("object")
    return f"{topic[:start]}{own}{topic[end:]}"


# --------------------------------------------------------------------------------------------------- the whole question


OPENERS = re.compile(
    r"^\s*(?:and|but|or|so|also|then|what about|how about|what if|why(?: not)?\??$|how so|what else|which one|"
    r"for how long|how long\??$|how often\??$|how much\??$|when\??$|who\??$|is that|are there (?:any )?others?)\b",
    re.IGNORECASE,
)
"""How a question begins that goes on from the last one."""

JOINERS = re.compile(r"^\s*(?:(?:and|but|or|so|also|then)\b[\s,]*)+", re.IGNORECASE)

ABOUT = re.compile(r"^\s*(?:what|how)\s+about\b", re.IGNORECASE)

GRADES = "severe|mild|moderate|acute|chronic|suspected|unexplained|persistent|recurrent|early|advanced|stable|unstable"

WHOLE = re.compile(
    r"^(?:(?:what|how)\s+(?!about\b|so\b|else\b|long\b\W*$|often\b\W*$|much\b\W*$)|(?:which|who|when|where|why)\s+(?!not\b|one\b)|"
    r"(?:is|are|was|were|do|does|did|can|could|should|must|may|might|will|would|has|have)\s+)\w+\W+\w+",
    re.IGNORECASE,
)
"""How a question begins that asks for something of its own, whatever it leaves out."""

POINTERS = re.compile(
    r"\b(?:it|its|they|them|their|this|that|these|those|he|she|him|her|there(?!\s+(?:is|are|was|were|be)\b)|the same|"
    r"such|instead|otherwise|former|latter|the other|above|below)\b",
    re.IGNORECASE,
)
"""Words that point at something said before."""

THING = re.compile(r"\b(?:it|this|that)\b(?!\s+[a-z]+s?\s+(?:is|are|was|were)\b)", re.IGNORECASE)
"""A pointer at an illness; “they” and “these” are then people or signs."""

THINGS = re.compile(r"\b(?:it|they|them|this|that|these|those)\b(?!\s+[a-z]+s?\s+(?:is|are|was|were)\b)", re.IGNORECASE)
"""Pointers in whose place a name can stand."""

MAX_OWN_TERMS = 3
"""A question with no more words of its own than this, and no clinical word, leans on the last one."""


ASKING = re.compile(
    r"(?:^|—)\s*(?:and\s+)?(?:for\s+)?(?:(?:what|how)\s+about\b|(?:what|who|whom|when|where|which|why|how)(?:['’]s)?"
    r"(?:\s+(?:much|many|long|often|soon|quickly|happens))?"
    r"|define|explain|(?:the )?(?:definition|meaning) of|tell me|please)\b|\bwith or without\b"
    r"|\byou define\b|\b(?:counts?|qualifies) as\b|\b(?:meant|mean) by\b|\b(?:definition|meaning) of\b"
    r"|\b(?:all right|alright|ok|okay|fine) to\b"
    r"|\b(?:mean|happens?)\s*\??\s*$|\b[a-z]+n['’]t\b|['’](?:s|m|re|ve|ll|d)\b",
    re.IGNORECASE,
)
"""Words by which a question asks, and not what it asks for."""
EMPTY = frozenset(
    terms(
        "do does did should can could may must will would shall am i me my we us he she him they them there please any "
        "most need needs get done old someone somebody anyone anybody person people patient"
    )
)
"""Words of a question that no answer needs."""
DOING = frozenset(
    terms(
        "take taken give given use used receive offer offered recommend recommended allow allowed permit avoid avoided"
    )
)
"""Words that no answer needs where it is asked what to do: what is taken counts, and not that it is."""
JOINED = " — "
NO_MATTER = EMPTY | TALK | DOING
_LONG_WORD = re.compile(r"[^\W\d_]{3,}")


def rephrase(question: str, history: Sequence[Message], *, lexicon: Lexicon) -> str:
    """The question as it would be asked without what was said before.

    One that asks for something of its own takes only what the last question was about; a mere part of one takes all.

    >>> said = [Message("user", "dose of ibuprofen for adults"), Message("assistant", "400 mg.")]
    >>> rephrase("and for children?", said, lexicon=Lexicon.load())
    'dose of ibuprofen for children'
    >>> rephrase("And when is it harmful?", said, lexicon=Lexicon.load())
    'when is ibuprofen harmful?'
    >>> rephrase("haematuria aged 60", said, lexicon=Lexicon.load())
    'haematuria aged 60'
    """
    before = [message.text for message in history if message.role == "user"]
    if not before or not is_follow_up(question, lexicon=lexicon):
        return question
    topic = _topic(before, lexicon)
    own = JOINERS.sub("", question).strip()
    about = _about(topic, lexicon)
    if about and WHOLE.match(own):
        things = THINGS if medicines(about[0]) else THING
        named, count = things.subn(about[0], own, count=1)
        rest = " ".join((*about[count:], *_for_whom(topic, own)))
        return _within(f"{named}{JOINED}{rest}" if rest else named, question)
    if (other := _with_other(topic, own, lexicon)) is not None:
        return _within(other, question)
    return _within(f"{topic.strip().rstrip('?')}{JOINED}{question.strip()}", question)


def _about(topic: str, lexicon: Lexicon) -> list[str]:
    """What a question is about, each thing with the word before it that says how it is.

    >>> _about("How do I treat severe dehydration after diarrhoea?", Lexicon.load())
    ['severe dehydration', 'diarrhoea']
    """
    asked = (subject for subject in subjects(topic, lexicon=lexicon) if not subject.people)
    named = dict.fromkeys(re.escape(subject.text) for subject in asked)
    mentions = [re.search(rf"(?:\b(?:{GRADES})\s+)?{name}", topic, re.IGNORECASE) for name in named]
    return [mention.group() for mention in mentions if mention] or _matter(topic)


def _matter(topic: str) -> list[str]:
    """The one word that a short question is about, where no table knows it.

    >>> _matter("Who needs bridging?"), _matter("Who may open the door?")
    (['bridging'], [])
    """
    words = [
        word for word in _LONG_WORD.findall(ASKING.sub(" ", topic)) if terms(word) and terms(word)[0] not in NO_MATTER
    ]
    return words if len(words) == 1 else []


def _topic(before: Sequence[str], lexicon: Lexicon) -> str:
    """The last question that stands on its own, with what later ones put in the place of a part of it."""
    at = next((at for at in reversed(range(len(before))) if not is_follow_up(before[at], lexicon=lexicon)), 0)
    topic = before[at]
    for text in before[at + 1 :]:
        topic = _with_other(topic, JOINERS.sub("", text).strip(), lexicon) or topic
    return topic


def _for_whom(topic: str, own: str) -> tuple[str, ...]:
    """The children that the last question was on, where this one names nobody.

    >>> _for_whom("How much zinc for my toddler?", "How long should it be given?")
    ('child',)
    """
    is_of_child = "child" in asked_for(topic) and not age_groups(own)
    return ("child",) if is_of_child else ()


def _with_other(topic: str, own: str, lexicon: Lexicon) -> str | None:
    """The last question of another thing, where the follow-up names nothing else: “and for apixaban?”."""
    return substitute(topic, ABOUT.sub("", own).strip(), lexicon=lexicon)


def _within(text: str, question: str) -> str:
    """The text where it is short enough to be searched for, else the question alone."""
    return text if len(text) <= MAX_QUESTION_CHARACTERS else question


def is_follow_up(question: str, *, lexicon: Lexicon) -> bool:
    """Whether a question leans on what was said before.

    One that names something clinical stands on its own, unless it opens like a follow-up.
    """
    if OPENERS.search(question):
        return True
    if lexicon.find(question):
        return False
    return bool(POINTERS.search(question)) or len(terms(question)) <= MAX_OWN_TERMS
