"""Takes the answer to “What brings the patient in today?” as the reason, also where nobody complains of anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from citewell.assistants.consult.extract import InterviewMessage
from citewell.assistants.consult.tables import rows
from citewell.types.consult import Category, Finding, FindingSource, MessageWords, Polarity

VISIT = "CW:visit"
"""The concept of a reason that is no complaint: nobody asks since when, or what makes it worse."""
FELT = (Category.SYMPTOM, Category.ASSOCIATED)
MAX_WORDS = 12
"""A longer answer in which nothing was found is a story, and what it is about is asked again."""
_LEAD = re.compile(
    r"^\s*(?:(?:he|she|they|i|the patient|patient)(?:'s| is| am|'m| has| have| are)?\s+)?"
    r"(?:(?:here|come|came|coming|attending|attends)\s+(?:in\s+)?(?:today\s+)?(?:for|because of|about|with|to have)"
    r"\s+)?"
    r"(?:an?\s+|the\s+|his\s+|her\s+|my\s+|some\s+)?",
    re.IGNORECASE,
)
_SMALL_TALK = re.compile(
    r"^\W*(?:hello|hi|good (?:morning|afternoon)|yes|no|ok(?:ay)?|thanks?|thank you)\W*$", re.IGNORECASE
)


@cache
def _visits() -> re.Pattern[str]:
    words = "|".join(row[0] for row in rows("visits.tsv"))
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)


def with_reason(heard: InterviewMessage, findings: Sequence[Finding]) -> list[Finding]:
    """The findings with a reason among them: a visit, the one illness that is named, else the words themselves."""
    if any(finding.category in FELT and finding.polarity is Polarity.PRESENT for finding in findings):
        return list(findings)
    visit = _visits().search(heard.text)
    if visit is not None:
        words = MessageWords(heard.position, *visit.span(), visit.group())
        name = " ".join(visit.group().lower().split())
        return [*findings, Finding("", Category.SYMPTOM, name, Polarity.PRESENT, FindingSource.RULES, words, VISIT)]
    ill = [
        finding
        for finding in findings
        if finding.category is Category.MEDICAL_HISTORY and finding.polarity is Polarity.PRESENT
    ]
    if len(ill) == 1:
        return [replace(finding, category=Category.SYMPTOM) if finding is ill[0] else finding for finding in findings]
    return list(findings) or list(verbatim(heard, Category.SYMPTOM))


def verbatim(heard: InterviewMessage, category: Category) -> Iterator[Finding]:
    """A short answer as it was given."""
    lead = _LEAD.match(heard.text)
    start = lead.end() if lead else 0
    told = heard.text[start:].strip().rstrip(".!,;")
    if not told or _SMALL_TALK.match(heard.text) or len(told.split()) > MAX_WORDS or not re.search(r"[^\W\d]{3}", told):
        return
    start = heard.text.index(told, start)
    words = MessageWords(heard.position, start, start + len(told), told)
    yield Finding("", category, told.lower(), Polarity.PRESENT, FindingSource.RULES, words)
