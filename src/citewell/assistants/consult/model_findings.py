"""What a model adds to the rules: findings whose words are in the message, differentials from what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from citewell.assistants.consult.extract import ExtractedFindings, InterviewMessage, extract
from citewell.assistants.consult.mentions import concept_of
from citewell.assistants.consult.messages import Reader
from citewell.assistants.consult.summary import summary
from citewell.assistants.consult.tools import (
    COLLECT_DEMOGRAPHICS,
    GENERATE_DIFFERENTIALS,
    RECORD_FINDINGS,
    Caller,
    MalformedReply,
    call,
)
from citewell.clinical.assertion import read_context
from citewell.errors import MissingExtra, ModelError, TokenBudgetExceededError
from citewell.types.consult import (
    Category,
    Consult,
    Differential,
    Finding,
    FindingBearing,
    FindingSource,
    MessageWords,
    Polarity,
)

FAILED = "The model could not be used for this message ({why}), so the findings come from the rules alone."
MEASURED = (Category.VITAL, Category.MEDICATION, Category.ALLERGY, Category.DEMOGRAPHIC)
"""What only rules may read: a number, a medicine or an allergy that a model words is never taken as it words it."""


def model_reader(caller: Callable[[], Caller]) -> Reader:
    """Adds a model's findings to those of the rules; where it fails, the rules stand, and it is said.

    Words that the lexicon knows keep their name; words that only the trained reader took for a finding get the model's.
    """

    def read(heard: InterviewMessage, extracted_findings: ExtractedFindings) -> ExtractedFindings:
        try:
            findings, who = _read(caller(), heard, extracted_findings)
        except (ModelError, MissingExtra, TokenBudgetExceededError) as error:
            return replace(
                extracted_findings, troubles=(*extracted_findings.troubles, FAILED.format(why=str(error).rstrip(".")))
            )
        named = [
            finding
            for finding in extracted_findings.findings
            if finding.concept or finding.category in MEASURED or finding.words is None
        ]
        known = {finding.key for finding in named}
        added = {
            finding.key: finding
            for finding in (*findings, *who)
            if finding.key not in known and not _overlaps(finding, named)
        }
        kept = [
            finding
            for finding in extracted_findings.findings
            if finding in named or not _overlaps(finding, added.values())
        ]
        return replace(
            extracted_findings,
            findings=tuple({(finding.key, finding.polarity): finding for finding in (*kept, *added.values())}.values()),
        )

    return read


def _read(
    used: Caller, heard: InterviewMessage, extracted_findings: ExtractedFindings
) -> tuple[list[Finding], list[Finding]]:
    """What a model finds in a message, and who it says that the patient is."""
    try:
        findings = call(used, RECORD_FINDINGS, heard.text, check=lambda reply: _findings(reply, heard))
        who = [] if heard.knows_who or _tells_who(extracted_findings) else list(_people(used, heard))
        return findings, who
    finally:
        used.model.close()


def _tells_who(extracted_findings: ExtractedFindings) -> bool:
    return any(finding.category is Category.DEMOGRAPHIC for finding in extracted_findings.findings)


def _overlap(message_words: MessageWords, other: MessageWords) -> bool:
    return message_words.start < other.end and other.start < message_words.end


def _overlaps(finding: Finding, others: Iterable[Finding]) -> bool:
    words = finding.words
    return words is None or any(other.words is not None and _overlap(words, other.words) for other in others)


def _findings(reply: Any, heard: InterviewMessage) -> list[Finding]:
    """The findings of a reply; each must quote words of the message, and how it holds is read from those words."""
    findings = []
    for one in reply["findings"]:
        words = _quoted(one["quote"], heard)
        category = Category(one["category"])
        if category in MEASURED:
            findings += [replace(read, by=FindingSource.MODEL) for read in _read_by_rules(words, heard)]
            continue
        name, concept, _ = concept_of(one["quote"])
        name = name if concept else " ".join(one["name"].split())[:120]
        polarity = _held(words, heard, Polarity(one["polarity"]))
        findings.append(Finding("", category, name, polarity, FindingSource.MODEL, words, concept))
    return findings


def _quoted(quote: str, heard: InterviewMessage) -> MessageWords:
    """Where the message has these words; a reply that quotes others is wrong."""
    at = heard.text.find(quote) if quote.strip() else -1
    if at < 0:
        at = heard.text.casefold().find(quote.casefold()) if quote.strip() else -1
    if at < 0:
        raise MalformedReply("a quote is not in the message.")
    return MessageWords(heard.position, at, at + len(quote), heard.text[at : at + len(quote)])


def _held(words: MessageWords, heard: InterviewMessage, polarity: Polarity) -> Polarity:
    """How a finding holds: as the reader says; a model's word counts only where the reader sees nothing special."""
    read = read_context(heard.text).assertion(words.start, words.end).status
    return polarity if read is Polarity.PRESENT else read


def _read_by_rules(words: MessageWords, heard: InterviewMessage) -> Iterator[Finding]:
    for finding in extract(heard).findings:
        if finding.words and _overlap(finding.words, words):
            yield finding


def _people(caller: Caller, heard: InterviewMessage) -> Iterator[Finding]:
    """Who the patient is: the model points at the words, the rules read them."""

    def check(reply: Any) -> list[MessageWords]:
        return [_quoted(one["quote"], heard) for one in reply["stated"]]

    for words in call(caller, COLLECT_DEMOGRAPHICS, heard.text, check=check):
        for rule in _read_by_rules(words, heard):
            if rule.category is Category.DEMOGRAPHIC:
                yield replace(rule, by=FindingSource.MODEL)


def model_proposer(caller: Callable[[], Caller]) -> Callable[[Consult], list[Differential]]:
    """Suggests differentials from the findings; each finding that it names must be in the list."""

    def propose(consult: Consult) -> list[Differential]:
        known = {finding.id: finding for finding in consult.settled}
        listed = "\n".join(f"{finding.id}: {finding.name} ({finding.polarity.value})" for finding in consult.settled)
        text = f"{summary(consult)}\n\nFindings:\n{listed}"
        used = caller()

        def check(reply: Any) -> list[Differential]:
            return [_differential(one, known) for one in reply["differentials"]]

        try:
            return call(used, GENERATE_DIFFERENTIALS, text, check=check)
        finally:
            used.model.close()

    return propose


def _differential(told: Any, known: dict[str, Finding]) -> Differential:
    condition = " ".join(told["condition"].split())
    if not condition or len(condition) > 120:
        raise MalformedReply("a condition has no name.")
    if lost := [one for one in (*told["for"], *told["against"]) if one not in known]:
        raise MalformedReply(f"there is no finding {lost[0][:20]}.")
    supports, opposes = (
        tuple(FindingBearing(one, known[one].name) for one in told[side]) for side in ("for", "against")
    )
    return Differential(condition, told["confidence"], FindingSource.MODEL, supports, opposes)
