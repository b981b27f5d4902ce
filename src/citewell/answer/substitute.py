"""Puts what a follow-up names in the place of its like in the question before: “and for severe?”, “and at 2 years?”."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.answer.things import PREPOSITIONS, Thing, things
from citewell.clinical import Lexicon
from citewell.clinical.medicines import members

MAX_WORDS = 10
"""A follow-up of more words says something of its own."""
MAX_PHRASE_WORDS = 5
MAX_OBJECT_WORDS = 4

_END = re.compile(r"(?:[\s,]+(?:then|too|as well|instead|please))*[\s?.!]*$", re.IGNORECASE)
_IT_IS = re.compile(
    r"^(?:if|when)\s+(?:it|this|that|they|he|she)(?:['’]s|['’]re|\s+(?:is|are|was|were))\s+", re.IGNORECASE
)
_ASKS = re.compile(
    r"\b(?:how|what|which|who|whom|whose|where|why)\b|^when\s+(?:is|are|do|does|should|can)\b", re.IGNORECASE
)
"""A follow-up that asks for something, and names nothing in place of another: “and for how long?”."""
_WORD = re.compile(r"[\w’'-]+")
_SMALL = frozenset("a an the my our your one ones is are it its who has have patients patient people person".split())
_CLAUSE = re.compile(rf"^(?:{'|'.join(PREPOSITIONS)}|if|when|while|unless|once)\s", re.IGNORECASE)
_PREPOSITION = rf"(?:{'|'.join(PREPOSITIONS)})"
_DONE = re.compile(r"\s+(?:\w{3,}ed|given|taken|done|found|known|shown|seen|safe|common)$", re.IGNORECASE)
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


def _left(own: str, ours: Sequence[Thing], topic: str) -> set[str]:
    """The words of a follow-up that no thing holds, nor the question before it."""
    rest = own
    for one in reversed(ours):
        rest = f"{rest[: one.start]} {rest[one.end :]}"
    said = {word.casefold() for word in _WORD.findall(topic)}
    return {word.casefold() for word in _WORD.findall(rest)} - said - _SMALL - set(PREPOSITIONS)


def _placed(topic: str, own: str, ours: Sequence[Thing], theirs: Sequence[Thing]) -> str | None:
    """The question with each thing in its place; what has none is added where a preposition leads it."""
    edits: list[tuple[Thing, str]] = []
    free = list(theirs)
    added: list[str] = []
    for one in ours:
        written = own[one.start : one.end]
        place = _place(one, own, free, topic)
        if place is not None:
            free.remove(place)
            edits.append((place, _worded(place, one, written)))
        elif one.preposition and one.name != "order":
            article = _article(own, one)
            added.append(f"{one.preposition} {article}{written}")
        elif one.name != "order":
            return None
    if not edits and not added:
        return None
    for place, written in sorted(edits, key=lambda edit: -edit[0].start):
        rest = topic[place.end :]
        if place.kind in ("people", "age"):
            rest = _AGE_LEFT.sub("", rest) if any(other.kind in ("people", "age") for other in ours) else rest
        topic = f"{topic[: place.start]}{written}{rest}"
    return _with(topic, " ".join(added)) if added else topic


def _worded(place: Thing, one: Thing, written: str) -> str:
    """The words that take a place; a number without a unit leaves that of the place, and “none” is no word for “no”."""
    if one.kind == "amount" and not one.name and place.name:
        return f"{written} {place.name}"
    return "no" if written.casefold() == "none" else written


def _article(own: str, one: Thing) -> str:
    found = re.search(r"\b(?:an?|the|my)\s+$", own[: one.start], re.IGNORECASE)
    return found.group() if found else ""


def _place(one: Thing, own: str, free: Sequence[Thing], topic: str) -> Thing | None:
    """The thing of the question before that one takes the place of."""
    like = [other for other in free if _is_like(one, other)]
    if one.kind == "medicine":
        return _medicine_place(one, own, like, topic)
    if one.kind == "matter":
        like = [other for other in like if not one.preposition or _agree(one, other)]
        same = [other for other in like if other.name == one.name]
        like = same or like
    led = [other for other in like if one.preposition and other.preposition == one.preposition]
    return next(iter((*led, *like)), None)


def _is_like(one: Thing, other: Thing) -> bool:
    match one.kind:
        case "grade" | "label":
            return (one.kind, one.name) == (other.kind, other.name)
        case "amount":
            return other.kind == "amount" and (one.name == other.name or "" in (one.name, other.name))
        case "people":
            return other.kind == "people" or (other.kind == "age" and other.name == "old")
        case "age":
            return other.kind == "age" or (other.kind == "people" and one.name == "old")
        case _:
            return one.kind == other.kind


def _agree(one: Thing, other: Thing) -> bool:
    """Whether what is led by a preposition can stand for what another leads: an illness for an illness, whichever."""
    return one.preposition == other.preposition or (one.name == other.name == "illness" and bool(other.preposition))


def _medicine_place(one: Thing, own: str, like: Sequence[Thing], topic: str) -> Thing | None:
    """The medicine of the same preposition, else of the same kind, else the first."""
    written = own[one.start : one.end]
    if any(topic[other.start : other.end].casefold() == written.casefold() for other in like):
        return None
    led = [other for other in like if one.preposition and other.preposition == one.preposition]
    kin = [other for other in like if other.name == one.name or _share_kind(one.name, other.name)]
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
    found = re.match(rf"(?P<word>{_PREPOSITION})\s+(?P<phrase>.+)$", own, re.IGNORECASE)
    if found is None or len(found["phrase"].split()) > MAX_PHRASE_WORDS:
        return None
    places = list(
        re.finditer(rf"\b{found['word']}\s+(?P<phrase>.+?)(?=\s+{_PREPOSITION}\s|\s*[?.]*$)", topic, re.IGNORECASE)
    )
    if len(places) != 1:
        return None
    start, end = places[0].span("phrase")
    if done := _DONE.search(topic, start, end):
        end = done.start()
    if len(topic[start:end].split()) > MAX_PHRASE_WORDS:
        return None
    return f"{topic[:start]}{found['phrase']}{topic[end:]}"


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
    found = _OBJECT.match(topic)
    if found is None:
        return None
    start, end = found.span("object")
    return f"{topic[:start]}{own}{topic[end:]}"
