"""Which parts of a source state nothing: headings, single words and questions."""

from __future__ import annotations

import re
from functools import lru_cache

MOST_WORDS = 12
"""A longer line is no heading."""

FEW_WORDS = 3
"""So few words state nothing, be there a full stop behind them or not: “Paracetamol.”"""

_WORD = re.compile(r"[^\W_]+")
_ENDS = re.compile(r"[.!;:,][\"'”’)\]]*\s*\Z")
_HOLDS = re.compile(r"\d|[^\s:]: |≥|≤|%")
"""Numbers and cells of a table: a row states something without a verb."""

_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|do|does|did|don[’']t|can|cannot|could|may|might|should|must|will|would|has|have|had"
    r"|not|no|never|without|give|take|stop|use|call|avoid|tell|ask|refer|offer|consider|measure|check|start|continue"
    r"|phone|drink|eat|rest|weigh|see|keep|seek|repeat|monitor|assess|admit|arrange|ensure|treat|add|switch|store"
    r"|wash|apply|swallow|reduce|increase|contraindicated|recommended|causes?|caused|shows?|showed|predicts?|affects?"
    r"|requires?|needs?|regulates?|mediates?|controls?|leads?|led|makes?|made|helps?|occurs?|remains?|works?|lowers?|raises?|improves?|prevents?|falls?|rises?)\b",
    re.IGNORECASE,
)
_OPENS_WITH_ING = re.compile(r"\W*(?:how\s+to\b|when\s+to\b|what\b|why\b|[A-Z][a-z]{2,}ing\b)")
_ASKS = re.compile(r"\?[\"'”’)\]]*\s*\Z")


@lru_cache(maxsize=20_000)
def is_heading(text: str) -> bool:
    """Whether a part names a subject and says nothing of it.

    >>> is_heading("Taking ibuprofen with warfarin"), is_heading("Paracetamol."), is_heading("Can I drink alcohol?")
    (True, True, True)
    >>> is_heading("Do not take ibuprofen"), is_heading("Adults: 10 mg"), is_heading("Statins lower mortality")
    (False, False, False)
    """
    if _ASKS.search(text):
        return True
    count = len(_WORD.findall(text))
    if count > MOST_WORDS or _HOLDS.search(text) or _VERB.search(text):
        return False
    return count <= FEW_WORDS or not _ENDS.search(text)


def only_names_it(text: str) -> bool:
    """Whether a heading names an act or asks for it, so that it cannot carry even what repeats its words."""
    return bool(_ASKS.search(text) or _OPENS_WITH_ING.match(text))
