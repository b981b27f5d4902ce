"""Tells which findings a sentence names, other than to deny them."""

from __future__ import annotations

from citewell.answer.denial_cues import denials
from citewell.assistants.consult.mentions import find_mentions
from citewell.types.consult import Finding


def named_in(sentence: str) -> list[str]:
    """What a sentence names, as `key_of` tells findings apart."""
    denied = denials(sentence)
    return [
        mention.concept or mention.name.casefold()
        for mention in find_mentions(sentence)
        if not any(denial.reaches(mention.start) for denial in denied)
    ]


def key_of(finding: Finding) -> str:
    """What two mentions of one finding share."""
    return finding.concept or finding.name.casefold()
