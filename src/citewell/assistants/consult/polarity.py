"""Tells how a finding holds from the words round it: present, absent, of a relative, past, or only thought of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from citewell.assistants.consult.reach import UNCLEAR, begins_anew, reach
from citewell.assistants.consult.tables import rows
from citewell.types.consult import Polarity

_SUBJECT = r"(?:i|he|she|they|we|it|there|my|his|her|our|the|this|that|i'm|i've|she's|he's|it's)\b"
_BOUNDARY = re.compile(
    rf"[;—]|\s-\s|,?\s+and\s+(?:(?:now|then|also|since then)\s+)?(?=(?!the\b){_SUBJECT})"
    rf"|,?\s+as\s+(?=(?:i|he|she|they)(?:\b|'))|,\s+(?={_SUBJECT})|\b(?:but|however|although|though"
    rf"|unless|because|whereas|while|then)\b|\b(?:before|after|until|when)\s+(?=(?:he|she|i|they)\b(?! (?:was|were)\b))"
    r"|\b(?:says|said|thinks?|noticed|tells? me|told me)\s+(?:that\s+)?(?=(?:i|he|she|they|we)(?:\b|'))",
    re.IGNORECASE,
)
"""Where a new statement begins; a comma alone goes on with a list."""
_ANSWERED = re.compile(
    r"(?P<rest>[^.?!;]{0,120})\?[\s\"]*(?:(?:um|er|uh|well|oh)[\s,]+)*"
    r"(?:(?:as|when|in|at|only|once|years) [\w\s']{1,25},\s*)?"
    r"(?:(?P<no>no|none|never|nope|nah|not|(?:he|she|mum|dad|patient) (?:says|said) (?:not|no))"
    r"|(?P<yes>yes|yeah|yep|yup|a bit|some|definitely|sometimes|i do|i have))\b",
    re.IGNORECASE,
)
"""The question that a finding stands in, and the short answer to it."""
_NOTED = re.compile(
    r"\s*(?::|\s[-–—])\s*(?:(?P<no>no|none|nil|never|absent|negative|denied|not (?:at all|really|that|any))"
    r"|(?P<yes>yes|present|positive|some|a (?:bit|little)))\b",
    re.IGNORECASE,
)
"""A finding and how it holds, as a form or a note has them: “Fever: no. Cough - yes.”"""
_COMMA = re.compile(r",|\band\b", re.IGNORECASE)
_BACK_GAP = re.compile(
    r"[\s'’]*(?:(?:in|of|on|around)\s+(?:my|his|her|the|both|their)\s+\w+\s+)?"
    r"(?:(?:and|or|/)\s+(?!the\b|my\b|his\b|her\b|an?\b|there\b)[\w\s-]{1,30})?[\s'’]*(?:[\w'’-]+\s+){0,2}",
    re.IGNORECASE,
)
_OF_MINE = re.compile(
    r"\bmy (?:\w+ )?(?:mother|father|mum|mom|dad|brother|sister|son|daughter|husband|wife|partner|aunt|uncle|cousin"
    r"|gran\w*|boyfriend|girlfriend|friend|neighbour)\b(?:(?!\b(?:i|i'm|i've|me)\b)[^.;?!])*$",
    re.IGNORECASE,
)
"""Somebody of the speaker's, named last before a place."""
_BESIDE = re.compile(r"\b(?:apart from|other than|besides|aside from|except for)\s+(?:the |your |my )?$", re.IGNORECASE)
"""“Apart from the inhaler, do you take anything?” asks about something else."""
_QUERIED = re.compile(r"(?:^|[\s(,;:])\?$")
"""“?pneumonia”, as notes have it."""
_TELLS = re.compile(
    r"\s*(?:(?:yeah|yes|no|so|um|uh|well|and|like|just)[\s,]+)*(?:i|i'm|i've|it|it's|there|there's|my|he|she|he's|she's|we)\b",
    re.IGNORECASE,
)
"""How a person begins who tells something, though their voice goes up at the end."""
_ASKS = re.compile(
    r"\b(?:what|when|where|how|why|who|which|could|would|should|might|may|possible|wonder|right)\b"
    r"|\b(?:is|are|do|does|have) (?:it|you|they)\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:my|his|her|these)\s+(?:\w+\s+)?$", re.IGNORECASE)
"""“Could it be causing my headaches?” asks about something that is there."""
_OF_ALL = re.compile(r"family|fhx?|runs", re.IGNORECASE)
_THEY = re.compile(r"\s*(?:he|she)(?:'s|'d)?\b", re.IGNORECASE)
MIN_QUESTION_WORDS = 3


@dataclass(frozen=True, slots=True)
class _Cue:
    start: int
    end: int
    kind: str
    reach: str


@cache
def _patterns() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    return tuple(
        (kind, reach, re.compile(rf"(?<![\w'-])(?:{words})(?![\w'-])", re.IGNORECASE))
        for kind, reach, words in rows("context.tsv")
    )


@lru_cache(maxsize=1024)
def _cues(sentence: str) -> tuple[_Cue, ...]:
    """Every cue, the longest where several start within each other; “none” hides what it holds."""
    flat = sentence.replace("’", "'")
    found = [
        _Cue(*match.span(), kind, reach) for kind, reach, pattern in _patterns() for match in pattern.finditer(flat)
    ]
    masks = [one for one in found if one.kind == "none"]
    return tuple(
        one
        for one in sorted(found, key=lambda cue: (cue.start, -cue.end))
        if not any(other is not one and _inside(one, other) for other in (*masks, *_longer(one, found)))
    )


def _inside(one: _Cue, other: _Cue) -> bool:
    return other.start <= one.start and one.end <= other.end and (other.end - other.start) > (one.end - one.start)


def _longer(one: _Cue, found: list[_Cue]) -> Iterator[_Cue]:
    """Cues of the same reach that hold this one: “not sure if” is no “not”."""
    return (other for other in found if other.reach == one.reach and other.kind != "weak")


def polarity_of(sentence: str, start: int, end: int, *, is_child: bool = False) -> Polarity:
    """How what stands from `start` to `end` of a sentence holds; of a child's parent, “my son” is the patient.

    >>> text = "She denies chest pain but has palpitations; her mother had a stroke."
    >>> starts = [text.index(word) for word in ("chest pain", "palpitations", "stroke")]
    >>> [polarity_of(text, start, start + 5).value for start in starts]
    ['absent', 'present', 'family']
    """
    cues = [one for one in _cues(sentence) if one.end <= start or one.start >= end or one.reach == "clause"]
    if _BESIDE.search(sentence[:start]) and "?" in sentence[end:]:
        return Polarity.PRESENT
    behind = "hypothetical" if _QUERIED.search(sentence[:start]) else _behind(sentence, end, cues)
    if behind is not None and behind != "none":
        return _in_family(Polarity(behind), sentence, start, end, cues, is_child=is_child)
    onward = _onward(sentence, start, end, cues)
    if behind == "none" and onward == "absent":
        onward = "present"
    if onward in ("present", "none") and _is_question(sentence, end) and not _OWN.search(sentence[:start]):
        onward = "hypothetical"
    held = {"none": Polarity.PRESENT, UNCLEAR: Polarity.HYPOTHETICAL}.get(onward) or Polarity(onward)
    return _in_family(held, sentence, start, end, cues, is_child=is_child)


def is_unclear(sentence: str, start: int, end: int) -> bool:
    """Whether a denial before a finding may or may not reach it, so that somebody has to be asked."""
    return _onward(sentence, start, end, [one for one in _cues(sentence) if one.end <= start]) == UNCLEAR


def _behind(sentence: str, end: int, cues: list[_Cue]) -> str | None:
    """What stands right behind the finding: “vomiting has settled”, “fever? no”."""
    answered = _NOTED.match(sentence, end) or _ANSWERED.match(sentence, end)
    if answered and answered["no"]:
        return "absent"
    if answered and answered["yes"]:
        return "present"
    for one in cues:
        if one.start < end:
            continue
        gap = sentence[end : one.start]
        if one.reach == "answer" and gap.strip() == ",":
            return one.kind
        if one.reach in ("back", "answer") and "," not in gap and _BACK_GAP.fullmatch(gap):
            return one.kind
        if one.reach == "it" and len(gap.split()) <= 5:
            return one.kind
    return None


def _onward(sentence: str, start: int, end: int, cues: list[_Cue]) -> str:
    """What the words before the finding make of it, read from left to right."""
    held, at = "present", 0
    denied: _Cue | None = None
    marks = [(match.end(), None) for match in _BOUNDARY.finditer(sentence, 0, start)]
    steps = sorted([*marks, *((one.end, one) for one in cues if one.end <= start and one.reach == "onward")], key=_end)
    for edge, cue in steps:
        if cue is None:
            is_reason = sentence[:edge].lower().endswith("because")
            is_new = held in ("absent", "past") or is_reason or _COMMA.search(sentence, at, edge)
            held = "present" if is_new else held
        elif cue.kind == "weak":
            held = "present" if held == "absent" and _COMMA.search(sentence, at, cue.start) else held
        else:
            held, denied = cue.kind, cue
        at = edge
    if held == "past" and denied and begins_anew(sentence, denied.end, start):
        return "present"
    return reach(sentence, (denied.start, denied.end), start, end) if held == "absent" and denied else held


def _end(step: tuple[int, _Cue | None]) -> int:
    return step[0]


def _is_question(sentence: str, end: int) -> bool:
    """A whole question only asks; “cough? yes” tells."""
    asked = sentence.find("?", end)
    if asked < 0 or len(sentence[:asked].split()) < MIN_QUESTION_WORDS:
        return False
    begun = max(sentence.rfind(mark, 0, end) for mark in ".?!") + 1
    return _TELLS.match(sentence, begun) is None or _ASKS.search(sentence, begun, asked) is not None


def _in_family(held: Polarity, sentence: str, start: int, end: int, cues: list[_Cue], *, is_child: bool) -> Polarity:
    """Of whom and of when, by the words of its own statement."""
    edges = [0, *(match.end() for match in _BOUNDARY.finditer(sentence)), len(sentence)]
    low = max(edge for edge in edges if edge <= start)
    high = min((edge for edge in edges if edge >= end), default=len(sentence))
    own = [one for one in cues if one.reach == "clause" and low <= one.start < high]
    anew = [one.start for one in cues if one.kind == "present" and one.reach == "onward"]
    here = {
        one.kind
        for one in own
        if not _is_another(sentence, one, end)
        and not (one.kind == "past" and any(one.end <= at < start for at in anew))
    }
    is_family = "family" in here or ("child" in here and not is_child) or _goes_on(sentence, low, is_child=is_child)
    if held is Polarity.ABSENT and "over" in here:
        return Polarity.PAST
    if held is Polarity.ABSENT or held is Polarity.HYPOTHETICAL:
        return held
    if is_family:
        return Polarity.FAMILY
    return Polarity.PAST if "past" in here else held


def _goes_on(sentence: str, low: int, *, is_child: bool) -> bool:
    """Whether “he” or “she” at the head of a statement is the relative whom a speaker named just before."""
    return not is_child and _OF_MINE.search(sentence[:low]) is not None and _THEY.match(sentence, low) is not None


def _is_another(sentence: str, one: _Cue, end: int) -> bool:
    """Whether a relative is named only behind a comma: “itching, partner has it too” is the patient's own."""
    is_person = one.kind in ("family", "child") and not _OF_ALL.search(sentence, one.start, one.end)
    return is_person and one.start >= end and "," in sentence[end : one.start]


def is_of_others(sentence: str, start: int) -> bool:
    """Whether a statement is about “they”, relatives who were named before: it says nothing of the patient."""
    edges = [0, *(match.end() for match in _BOUNDARY.finditer(sentence)), len(sentence)]
    low = max(edge for edge in edges if edge <= start)
    named = any(one.kind in ("family", "child") and one.end <= low for one in _cues(sentence))
    return named and re.match(r"\s*they\b", sentence[low:], re.IGNORECASE) is not None
