"""Tells whether a note says that a medicine did somebody harm: “Penicillin = hives”, “came out in a rash with it”."""

from __future__ import annotations

import re

from citewell.clinical.medicines import medicines

_PARTS = r"(?:lips?|tongue|face|throat|eyes?|eyelids?|mouth|airways?)"
_REACTION = (
    r"(?:anaphyla\w+|hives|urticaria\w*|nettle ?rash|rash(?:es)?|wh?eals?|welts?|blotch(?:es|y)|angio-?o?edema"
    r"|blister\w*|bronchospasm|stevens[- ]johnson|SJS|(?:out|covered) in (?:\w+ )?spots|skin (?:\w+ )?peel\w*"
    rf"|{_PARTS}(?:\s*(?:&|and|\+|,|/)\s*{_PARTS})*\s+(?:all )?"
    r"(?:sw[eo]ll?\w*|blew|blown|clos\w+|tight\w*|puff\w+)"
    rf"|swell\w* (?:up|of (?:the |his |her )?{_PARTS})|swollen {_PARTS}|(?:skin |allergic )?reaction)"
)
_TIME = (
    r"(?:(?:\s+(?:in|at|as|when|aged?|last|back)\b)?(?:\s+(?:an?\s+)?\w+){0,3}?\s+(?:19|20)\d\d|\s+(?:last|as an?) \w+)"
)
_LEADS = (
    r"(?:\s*\([^()]{1,20}\))?(?:"
    rf"{_TIME}?\s*(?:[-–—=]+>|→|=+|:|[-–—]|\()\s*|{_TIME}\s*,\s*|,?\s+(?:which |it |has |had |have )*"
    r"(?:caus\w+|g[ai]ve[sn]?|gets?|got|brings?|brought|made|makes|le(?:ft|ads?|d)|trigger\w*|reacts?)\s+)"
)
"""What stands between a medicine and what it did."""
_FEW_WORDS = r"(?:(?!(?:no|not|for|without|never|nil|settle\w*|stop\w*|treat\w*)\b)[\w'’&+/-]+[,\s]+){0,4}?"
_DID = re.compile(rf"{_LEADS}{_FEW_WORDS}(?:itch\w*|wheez\w*|collaps\w+|{_REACTION})\b", re.IGNORECASE)
_FADED = re.compile(
    r"\W*(?:\w+\W+){0,2}?(?:better|settl\w+|gone|clear\w*|improv\w+|resolv\w+|went|less|fad\w+)\b", re.I
)
_HAD_FROM = re.compile(
    rf"\b(?:{_REACTION}|wheez\w*|swell(?:ed|s) up|react(?:s|ed)?)"
    r"(?:\s+(?:badly|severely|once|before|all over|twice))*\s+"
    r"(?:to|with|after|from|following|(?:after |on |when )?taking|caused by|due to|secondary to)\s+"
    r"(?:(?:an?|the|any|some|all|oral|iv|taking|having)\s+)*$",
    re.IGNORECASE,
)
_EACH_TIME = re.compile(
    r"\b(?:whenever|(?:any|each|every) ?time|(?:if|when) (?:i|he|she|they|you|the child|the baby))\b"
    r"(?:\W+\w+){0,3}?\W+(?:take[sn]?|took|ha[sd]|have|gets?|given|uses?|swallows?)\b",
    re.IGNORECASE,
)
_HARM = re.compile(rf"\b(?:itch\w*|wheez\w*|collaps\w+|{_REACTION})\b", re.IGNORECASE)
_SPARED = re.compile(
    r"\b(?:no|not|never|without|nil|fine|settle\w*|(?:is|are|was|were|do|does|did)n['’]?t)\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.;\n]")
_NOT_TOLERATED = re.compile(
    r"\b(?:(?:(?:do|does|did|could)(?:n['’]?t| not)|can(?:['’]?t|not)|unable to)"
    r"\s+tolerate|not tolerated|sensitive to)\s+(?:(?:an?|the|any|all|oral)\s+)*$",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:no|not|never|without|denies|denied|nil|any)\b[^.;,]{0,25}$", re.IGNORECASE)
_AGAINST_REACTIONS = frozenset(("antihistamine", "corticosteroid", "sympathomimetic", "bronchodilator", "skin drug"))
"""What is given for a rash or a wheeze: beside one, it is more likely its treatment than its cause."""


def did_harm(text: str, start: int, end: int) -> bool:
    """Whether a sentence says that the medicine between two places did harm, or was not tolerated.

    >>> notes = ("Ampiclox 2019 -> throat closed up", "Came out in a rash with ampiclox", "Can't tolerate ampiclox")
    >>> [did_harm(note, note.lower().index("ampiclox"), note.lower().index("ampiclox") + 8) for note in notes]
    [True, True, True]
    >>> did_harm("Any time he takes Ampiclox his body comes out in big rashes", 18, 26)
    True
    >>> others = ("Ampiclox -> rash cleared", "No rash with ampiclox", "Ampiclox for a rash", "Ampiclox 500 mg. Hives")
    >>> [did_harm(note, note.lower().index("ampiclox"), note.lower().index("ampiclox") + 8) for note in others]
    [False, False, False, False]
    """
    before = text[:start]
    if _NOT_TOLERATED.search(before):
        return True
    if any(medicine.family in _AGAINST_REACTIONS for medicine in medicines(text[start:end])):
        return False
    did = _DID.match(text, end)
    if did is not None and not _FADED.match(text, did.end()):
        return True
    had = _HAD_FROM.search(before)
    if had is not None and not _DENIED.search(before[: had.start()]):
        return True
    ends = [match.end() for match in _SENTENCE_END.finditer(before)]
    stop = _SENTENCE_END.search(text, end)
    said = text[ends[-1] if ends else 0 : stop.start() if stop else len(text)]
    return bool(_EACH_TIME.search(said) and _HARM.search(said) and not _SPARED.search(said))
