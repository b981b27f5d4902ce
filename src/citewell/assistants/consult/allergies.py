"""Reads allergies and medicines taken, and where somebody says that there are none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from citewell.answer.verify_names import medicines
from citewell.types.consult import Category

ANY = "any"
"""The name of “no allergies” and “no medicines”."""
_NONE = re.compile(
    r"\bnkda\b|\bno\s+(?:known\s+)?(?:drug\s+|food\s+)?allerg(?:y|ies)\b|\b(?:not|isn't|aren't"
    r"|never been) allergic to anything\b"
    r"|\ballerg(?:y|ies)\s*:?\s*(?:nil|none|no)\b|\bno known (?:drug )?allerg(?:y|ies)\b|\bno allergies\b"
    r"|\bdon't have (?:any )?allergies\b|\bdenies (?:any )?allergies\b"
    r"|\bany (?:known |drug |food )*allergies\b[^.?!]{0,40}\?\W*(?:(?:um|uh|er|oh|well)\W+)*(?:no|none|nope|not)\b"
    r"|\ballergic to anything\b[^.?!]{0,30}\?\W*(?:(?:um|uh|er|oh|well)\W+)*(?:no|nope|not)\b",
    re.IGNORECASE,
)
_TO = re.compile(
    r"\b(?:allerg(?:ic|y|ies)|anaphyla\w+|intoleran(?:t|ce)|reacts? badly)\s+to(?:,?\s+to)?\s+(?P<what>[^.;?!]{2,80})",
    re.IGNORECASE,
)
_OF = re.compile(
    r"\b(?P<what>[\w-]+)[\s-]+allerg(?:y|ic)\b(?!\s+to)|\ballerg(?:y|ies):\s*(?P<listed>[^.;?!]{2,80})", re.IGNORECASE
)
_SPLIT = re.compile(r"\s*(?:,|\band\b|\bor\b|/)\s*", re.IGNORECASE)
_STOP = re.compile(r"\b(?:but|takes?|taking|now on|currently)\b.*$", re.IGNORECASE)
"""Where something else begins; what follows is no allergy."""
_ASIDE = re.compile(
    r"\b(?:which|that|because|since|when|causing|it|she|he|i|with|gives?|gave|she's|he's|got|gets|had|has|develop(?:s|ed)"
    r"|came|comes|became|was|were|caused|causes|leading|made|makes|resulting|reaction|as a)\b.*$",
    re.IGNORECASE,
)
"""What is said of an allergen, up to the next comma: when, and what it did."""
_REACTION = re.compile(
    r"(?:(?:an?|the|some|severe|mild|bad|facial|skin|itchy|swollen)\s+)*(?:rash(?:es)?|hives|urticaria|angio-?o?edema"
    r"|anaphylaxis|anaphylactic shock|swelling|itch(?:ing|y)?|wheez(?:e|ing)|lips?|tongue|face|throat|breathlessness"
    r"|vomiting|nausea|diarrh?oea|diarrhea|collapse|cough(?:ing)?|fainting|upset stomach)",
    re.IGNORECASE,
)
_NOT_A_THING = re.compile(
    r"^(?:any (?:medications?|medicines?|drugs?|foods?)"
    r"|any|an?|the|my|his|her|no|drug|food|known|severe|mild|seasonal|skin|anything|some|has|have|to|this"
    r"|that|of|for|and)$",
    re.I,
)
_NO_MEDICINES = re.compile(
    r"\bno\s+(?:regular\s+|current\s+)*(?:medications?|medicines?|tablets|drugs|meds|pills)\b"
    r"|\b(?:not|isn't|aren't|am not)\s+(?:on|taking)\s+(?:any(?:thing)?"
    r"|regular)(?:\s+(?:regular\s+)?(?:medications?|medicines?|tablets|meds))?\b"
    r"|\b(?:don't|doesn't|does not|do not)\s+take\s+any(?:thing|\s+(?:regular\s+)?(?:medications?|medicines?"
    r"|tablets|meds))\b"
    r"|\b(?:medications?|medicines?|drugs|meds)\s*:\s*(?:nil|none|no)\b"
    r"|(?<!apart from )\b(?:take|taking|on) (?:anything|any (?:regular )?(?:medications?|medicines?|tablets|meds))\b"
    r"[^.?!]{0,40}\?\W*(?:(?:um|uh|er|oh|well)\W+)*(?:no|none|nope|nothing|not)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Stated:
    """An allergy that a sentence names, or that there is none."""

    start: int
    end: int
    name: str
    category: Category
    is_none: bool = False


def find_allergies(sentence: str) -> list[Stated]:
    """Allergies by what they are to; “no known allergies” and “no medicines” as such.

    >>> [(one.name, one.is_none) for one in find_allergies("Allergic to penicillin and peanuts; takes no medication")]
    [('penicillin', False), ('peanuts', False), ('any', True)]
    """
    flat = sentence.replace("’", "'")
    found = [Stated(*match.span(), ANY, Category.MEDICATION, is_none=True) for match in _NO_MEDICINES.finditer(flat)]
    none = [Stated(*match.span(), ANY, Category.ALLERGY, is_none=True) for match in _NONE.finditer(flat)]
    named = [] if none and not _TO.search(flat) else list(_named(flat))
    return sorted([*found, *none[:1], *named], key=lambda one: one.start)


def find_reactions(sentence: str) -> list[tuple[int, int]]:
    """Where the reaction to an allergen is told: it was then, and is no complaint of today.

    >>> text = "Allergic to ramipril, got angioedema"
    >>> [text[start:end] for start, end in find_reactions(text)]
    ['angioedema']
    """
    return [
        (match.start("what") + told.start(), match.start("what") + told.end())
        for match in _TO.finditer(sentence.replace("’", "'"))
        for told in _REACTION.finditer(_STOP.sub("", match["what"]))
    ]


def _named(sentence: str) -> Iterator[Stated]:
    for match in (*_TO.finditer(sentence), *_OF.finditer(sentence)):
        group = "what" if match["what"] else "listed"
        at = match.start(group)
        for piece in _SPLIT.split(_STOP.sub("", match[group])):
            words = _ASIDE.sub("", piece).partition("(")[0].strip()
            start = sentence.find(words, at) if words else -1
            if start < 0 or _NOT_A_THING.match(words) or _REACTION.fullmatch(words) or len(words.split()) > 4:
                continue
            at = start + len(words)
            known = medicines(words)
            yield Stated(start, start + len(words), known[0].name if known else words.casefold(), Category.ALLERGY)
