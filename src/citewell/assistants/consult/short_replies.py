"""Reads a short answer in the light of the question that was asked: “no”, “38.5”, “three days”, “I don't know”."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from citewell.assistants.consult.complaint_details import find_details
from citewell.assistants.consult.extract import ExtractedFindings, InterviewMessage, extract
from citewell.assistants.consult.measurements import VITALS, find_measures
from citewell.assistants.consult.mentions import concept_of
from citewell.assistants.consult.presenting_complaint import verbatim, with_reason
from citewell.assistants.consult.tables import rows
from citewell.types.consult import QUALIFYING, Category, Finding, FindingSource, MessageWords, Polarity

_YES = re.compile(r"\s*(?P<word>yes|yeah|yep|yup|aye|correct|that's right)\b[\s.,!]*", re.IGNORECASE)
_NO = re.compile(
    r"\s*(?P<word>none of (?:these|those|them)|nothing (?:like that|of the kind|else|at all)|not that i know(?: of)?"
    r"|no|nope|none|never|nothing|nil)\b(?=\s*(?:$|[.,!;—-]|(?:not|i|she|he|they|we|it|none|never|sorry|thanks?|nope)\b))"
    r"[\s.,!]*",
    re.IGNORECASE,
)
"""A “no” that stands for itself: “no medicines” says nothing of what was asked, unless that was medicines."""
_UNKNOWN = re.compile(
    r"\s*(?:(?:i |we |she |he )?(?:don't|do not|doesn't|does not|can't|cannot) (?:know|say|tell|remember"
    r"|measure)|unknown|not known|not sure|no idea"
    r"|skip|not measured|not available|n/?a)\b",
    re.IGNORECASE,
)
_BARE_NUMBER = re.compile(r"\s*(?:about |around |it's |it is )?\d")
_WEEKS = re.compile(r"\b(?P<weeks>\d{1,2})\s*(?:weeks?|wks?)\b", re.IGNORECASE)
_OF_THEMSELVES = frozenset((Category.DEMOGRAPHIC, Category.VITAL, Category.ALLERGY))
"""What nobody says to tell how a complaint is."""
BARE = 6
"""Words below which an answer without a finding of its own is read as the answer to the question."""


@dataclass(frozen=True, slots=True)
class InterviewReply:
    """What a message says, and whether the question stays without an answer for good."""

    extracted: ExtractedFindings
    is_unknown: bool = False


def read_reply(heard: InterviewMessage, *, asked: str | None, features: Sequence[str]) -> InterviewReply:
    """The findings of a message, the question in mind; offsets are those of the message itself."""
    text = heard.text
    if asked is None:
        return InterviewReply(extract(heard))
    if _UNKNOWN.match(text) and len(text.split()) < BARE:
        return InterviewReply(ExtractedFindings(()), is_unknown=True)
    if asked in VITALS and _BARE_NUMBER.match(text):
        return InterviewReply(_measured(heard, asked))
    extracted_findings = extract(heard)
    match = _YES.match(text) or _NO.match(text)
    if match is None:
        return InterviewReply(_meant_by_question(heard, asked, extracted_findings))
    is_yes = _YES.match(text) is not None
    known = {finding.key for finding in extracted_findings.findings}
    meant = _meant(asked, match, heard, features, is_yes=is_yes)
    return InterviewReply(
        replace(
            extracted_findings,
            findings=(*extracted_findings.findings, *(finding for finding in meant if finding.key not in known)),
        )
    )


def _meant_by_question(heard: InterviewMessage, asked: str, extracted_findings: ExtractedFindings) -> ExtractedFindings:
    """What words mean only as the answer to this question: “penicillin”, “34”, “at night”."""
    # “No pain” to “how bad is it?”; “She is pregnant” to the same
    is_other = any(
        finding.polarity is Polarity.ABSENT or finding.category in _OF_THEMSELVES
        for finding in extracted_findings.findings
    )
    if asked in QUALIFYING and heard.complaint and not _has(extracted_findings, asked) and not is_other:
        return replace(extracted_findings, findings=(*extracted_findings.findings, *_qualified(heard, asked)))
    if asked == "complaint":
        return replace(extracted_findings, findings=tuple(with_reason(heard, extracted_findings.findings)))
    if asked == "medication" and not extracted_findings.findings and len(heard.text.split()) < BARE:
        return replace(extracted_findings, findings=tuple(verbatim(heard, Category.MEDICATION)))
    if asked == "allergy" and not _has(extracted_findings, asked) and len(heard.text.split()) < BARE:
        return _prefixed(heard, "allergic to ")
    if asked == "age" and not any(finding.name == "age" for finding in extracted_findings.findings):
        return _prefixed(heard, "aged ")
    return extracted_findings


def _has(extracted_findings: ExtractedFindings, category: str) -> bool:
    return any(finding.category.value == category for finding in extracted_findings.findings)


def _measured(heard: InterviewMessage, name: str) -> ExtractedFindings:
    """A bare number as the measurement that was asked for."""
    asked = "blood pressure" if name.endswith("blood pressure") else name
    return _prefixed(heard, f"{asked} ")


def _prefixed(heard: InterviewMessage, prefix: str) -> ExtractedFindings:
    """Read with the words of the question in front; the spans are moved back to the message."""
    extracted_findings = extract(replace(heard, text=prefix + heard.text))
    return replace(
        extracted_findings,
        findings=tuple(_moved(finding, len(prefix), heard) for finding in extracted_findings.findings),
    )


def _moved(finding: Finding, by: int, heard: InterviewMessage) -> Finding:
    if finding.words is None:
        return finding
    start, end = max(finding.words.start - by, 0), max(finding.words.end - by, 0)
    return replace(finding, words=MessageWords(heard.position, start, end, heard.text[start:end]))


def _meant(
    asked: str, match: re.Match[str], heard: InterviewMessage, features: Sequence[str], *, is_yes: bool
) -> list[Finding]:
    """What “yes” or “no” says to this question."""
    row = next((other for other in rows("answers.tsv") if other[0] == asked), None)
    told = row[1 if is_yes else 2] if row else "-"
    words = MessageWords(heard.position, *match.span("word"), match["word"])
    if told == "each;absent":
        named = [concept_of(feature) for feature in features]
        return [
            Finding("", Category.ASSOCIATED, name, Polarity.ABSENT, FindingSource.RULES, words, concept)
            for name, concept, _ in named
        ]
    if told == "-":
        return []
    category, name, polarity = told.split(";")
    weeks = _WEEKS.search(heard.text) if asked == "pregnant" and is_yes else None
    value, unit = (float(weeks["weeks"]), "weeks") if weeks else (None, None)
    return [
        Finding("", Category(category), name, Polarity(polarity), FindingSource.RULES, words, value=value, unit=unit)
    ]


def _qualified(heard: InterviewMessage, asked: str) -> list[Finding]:
    """“Three days” to “since when?”, “at night” to “what makes it worse?”: the words themselves."""
    text = heard.text.strip().rstrip(".!")
    start = heard.text.find(text)
    words = MessageWords(heard.position, start, start + len(text), text)
    days = next((detail.days for detail in find_details(f"for {text}") if detail.days is not None), None)
    if asked == "duration" and days is None:
        return []
    value = None
    if asked == "severity" and (number := re.match(r"\s*(\d{1,2})\b", text)) and int(number[1]) <= 10:
        value = float(number[1])
    if not text or find_measures(text):
        return []
    unit = "/10" if value is not None else None
    return [
        Finding(
            "",
            Category(asked),
            text,
            Polarity.PRESENT,
            FindingSource.RULES,
            words,
            value=value,
            unit=unit,
            duration_days=days,
            about=heard.complaint,
        )
    ]
