"""What is said of one person, and not of people: a guideline cannot say it, only a record can."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from citewell.answer.finish import Verify
from citewell.types import Check, Span, Verdict

_STATES = re.compile(
    r"\b(?:(?:the|this|that|our|your|my)\s+(?:patient|person|man|woman|child|boy|girl|baby)|he|she|you)\b"
    r"(?:\s+[\w-]+){0,8}?\s+(?:has|have|had|suffers?|suffering|diagnosed|developed|got|(?:is|are|was|were)\s+(?:ill|sick|free))\b"
    r"|\b(?:is|are|was|were)\s+(?:suffering\s+from|diagnosed\s+with)\b"
    r"|\bthe\s+diagnosis\s+is\b|\b(?:his|her|your|their|the\s+patient['’]s)\s+(?:\w+\s+){0,2}(?:cancer|tumour|tumor|leukaemia)\b",
    re.IGNORECASE,
)
_SUPPOSES = re.compile(
    r"\b(?:if|when|whether|unless|where|who|once|whenever|until|in\s+case)\s*(?:\w+\s+){0,2}$", re.IGNORECASE
)
"""Before it: “if the patient has jaundice” says of nobody that they have."""

PEOPLE = "the guideline speaks of people, and the record does not say it of this one"


def of_a_person(sentence: str) -> str | None:
    """The part of a sentence that says what one person has or had.

    >>> of_a_person("Refer, because the patient is 62 and has jaundice.")
    'the patient is 62 and has jaundice.'
    >>> of_a_person("Refer people with jaundice; ask whether the patient has lost weight.")
    """
    for found in _STATES.finditer(sentence):
        if _SUPPOSES.search(sentence, 0, found.start()) is None:
            return sentence[found.start() :]
    return None


def of_people(
    verify: Verify, *, is_record: Callable[[Span], bool] = lambda _: False, record: Sequence[Span] = ()
) -> Verify:
    """The same check, in which only words of the record carry what is said of a person; `record` stands beside it."""

    def checked(sentence: str, spans: Sequence[Span]) -> Check:
        check = verify(sentence, spans)
        said = of_a_person(sentence)
        if said is None or check.is_vetoed:
            return check
        own = [*record, *(span for span in spans if is_record(span))]
        if verify(said, own).verdict is Verdict.SUPPORTED:
            return check
        return replace(check, verdict=_lowered(check.verdict), reasons=(PEOPLE,), is_vetoed=True)

    return checked


def _lowered(verdict: Verdict) -> Verdict:
    return Verdict.PARTLY if verdict is Verdict.SUPPORTED else verdict
