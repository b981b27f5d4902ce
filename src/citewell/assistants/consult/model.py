"""What a model adds to the rules: findings whose words are in the message, differentials from what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from citewell.assistants.consult.extract import ExtractedFindings, InterviewMessage, extract
from citewell.assistants.consult.hear import Reader
from citewell.assistants.consult.mentions import concept_of
from citewell.assistants.consult.summary import summary
from citewell.assistants.consult.tools import (
    COLLECT_DEMOGRAPHICS,
    GENERATE_DIFFERENTIALS,
    RECORD_FINDINGS,
    Caller,
    MalformedReply,
    call,
)
from citewell.clinical.context import read_context
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

    def read(heard: InterviewMessage, found: ExtractedFindings) -> ExtractedFindings:
        try:
            told, who = _read(caller(), heard, found)
        except (ModelError, MissingExtra, TokenBudgetExceededError) as error:
            return replace(found, troubles=(*found.troubles, FAILED.format(why=str(error).rstrip("."))))
        named = [one for one in found.findings if one.concept or one.category in MEASURED or one.words is None]
        known = {one.key for one in named}
        added = {one.key: one for one in (*told, *who) if one.key not in known and not _overlaps(one, named)}
        kept = [one for one in found.findings if one in named or not _overlaps(one, added.values())]
        return replace(
            found, findings=tuple({(one.key, one.polarity): one for one in (*kept, *added.values())}.values())
        )

    return read


def _read(used: Caller, heard: InterviewMessage, found: ExtractedFindings) -> tuple[list[Finding], list[Finding]]:
    """What a model finds in a message, and who it says that the patient is."""
    try:
        told = call(used, RECORD_FINDINGS, heard.text, check=lambda reply: _findings(reply, heard))
        who = [] if heard.knows_who or _tells_who(found) else list(_people(used, heard))
        return told, who
    finally:
        used.model.close()


def _tells_who(found: ExtractedFindings) -> bool:
    return any(one.category is Category.DEMOGRAPHIC for one in found.findings)


def _overlap(one: MessageWords, other: MessageWords) -> bool:
    return one.start < other.end and other.start < one.end


def _overlaps(finding: Finding, others: Iterable[Finding]) -> bool:
    words = finding.words
    return words is None or any(one.words is not None and _overlap(words, one.words) for one in others)


def _findings(reply: Any, heard: InterviewMessage) -> list[Finding]:
    """The findings of a reply; each must quote words of the message, and how it holds is read from those words."""
    found = []
    for one in reply["findings"]:
        words = _quoted(one["quote"], heard)
        category = Category(one["category"])
        if category in MEASURED:
            found += [replace(read, by=FindingSource.MODEL) for read in _read_by_rules(words, heard)]
            continue
        name, concept, _ = concept_of(one["quote"])
        name = name if concept else " ".join(one["name"].split())[:120]
        polarity = _held(words, heard, Polarity(one["polarity"]))
        found.append(Finding("", category, name, polarity, FindingSource.MODEL, words, concept))
    return found


def _quoted(quote: str, heard: InterviewMessage) -> MessageWords:
    """Where the message has these words; a reply that quotes others is wrong."""
    at = heard.text.find(quote) if quote.strip() else -1
    if at < 0:
        at = heard.text.casefold().find(quote.casefold()) if quote.strip() else -1
    if at < 0:
        raise MalformedReply("a quote is not in the message.")
    return MessageWords(heard.position, at, at + len(quote), heard.text[at : at + len(quote)])


def _held(words: MessageWords, heard: InterviewMessage, told: Polarity) -> Polarity:
    """How a finding holds: as the reader says; a model's word counts only where the reader sees nothing special."""
    read = read_context(heard.text).assertion(words.start, words.end).status
    return told if read is Polarity.PRESENT else read


def _read_by_rules(words: MessageWords, heard: InterviewMessage) -> Iterator[Finding]:
    for one in extract(heard).findings:
        if one.words and _overlap(one.words, words):
            yield one


def _people(caller: Caller, heard: InterviewMessage) -> Iterator[Finding]:
    """Who the patient is: the model points at the words, the rules read them."""

    def check(reply: Any) -> list[MessageWords]:
        return [_quoted(one["quote"], heard) for one in reply["stated"]]

    for words in call(caller, COLLECT_DEMOGRAPHICS, heard.text, check=check):
        for one in _read_by_rules(words, heard):
            if one.category is Category.DEMOGRAPHIC:
                yield replace(one, by=FindingSource.MODEL)


def model_proposer(caller: Callable[[], Caller]) -> Callable[[Consult], list[Differential]]:
    """Suggests differentials from the findings; each finding that it names must be in the list."""

    def propose(consult: Consult) -> list[Differential]:
        known = {one.id: one for one in consult.settled}
        listed = "\n".join(f"{one.id}: {one.name} ({one.polarity.value})" for one in consult.settled)
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
    sides = [tuple(FindingBearing(one, known[one].name) for one in told[side]) for side in ("for", "against")]
    return Differential(condition, told["confidence"], FindingSource.MODEL, *sides)
