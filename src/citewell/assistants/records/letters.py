"""What a letter says as a whole: that of the doctor whom a question names, or the newest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from citewell.assistants.records.intents import Intent, Intents
from citewell.assistants.records.known_facts import LONG_AGO
from citewell.assistants.records.named_facts import Names, surname
from citewell.assistants.records.paper_mentions import Paper, PaperMention, said_in, spoken_of
from citewell.assistants.records.papers import day_of, tells, writer_of

MOST = 10
"""Sentences of a letter that one answer quotes; the paper itself has them all."""


@dataclass(frozen=True, slots=True)
class LetterFinding:
    """What a letter says, and the words that lead to it."""

    lead: str
    said: tuple[PaperMention, ...]


def letter(names: Names, wanted: Intents, papers: Sequence[Paper]) -> LetterFinding | None:
    """The letter that a question asks for; None where it asks for none, or there is none."""
    if Intent.SAID not in wanted and Intent.LETTER not in wanted:
        return None
    written = [(paper, writer_of(paper[0].title, paper[1].text)) for paper in papers]
    by = [one for one, who in written if who and surname(who).casefold() in names.words]
    about = [] if by else spoken_of(names)
    if not by and about:  # “the heart doctor”: the newest letter that speaks of it
        by = [paper for paper in papers if any(fits(paper[1].text) for fits in about)] if Intent.SAID in wanted else []
    if not by and (about or not _is_newest_meant(wanted)):
        return None
    found = _newest(by or papers, wanted)
    if found is None:
        return None
    entry, document = found
    spans = [(start, end) for start, end in said_in(document.text) if tells(document.text[start:end])]
    about = spoken_of(names) if Intent.LETTER in wanted or _ABOUT.search(names.text) else []
    topic = [span for span in spans if any(fits(document.text[slice(*span)]) for fits in about)]
    quoted = tuple(PaperMention(entry.id, start, end) for start, end in (topic or spans)[:MOST])
    return LetterFinding(_lead(found, len(topic or spans)), quoted) if quoted else None


_ABOUT = re.compile(r"\b(?:about|of|regarding|on)\b")
"""“What did she say about my knee” is about the knee; “what did the heart doctor say” is about all."""


def _is_newest_meant(wanted: Intents) -> bool:
    """Whether no letter is named because the newest is meant."""
    return Intent.SAID in wanted or Intent.LATEST in wanted


def _newest(papers: Sequence[Paper], wanted: Intents) -> Paper | None:
    """The newest of the time that is asked for; one without a day counts as old."""
    dated = [(day_of(*paper) or LONG_AGO, paper) for paper in papers]
    inside = [(day, one) for day, one in dated if wanted.is_inside(day)]
    return max(inside, key=lambda pair: pair[0])[1] if inside else None


def _lead(paper: Paper, count: int) -> str:
    day, who = day_of(*paper), writer_of(paper[0].title, paper[1].text)
    of = f" of {day.day} {day:%B %Y}" if day else ""
    by = f", by {who}" if who else ""
    more = f" (the first {MOST} sentences; open it for the rest)" if count > MOST else ""
    return f"Your document{of} (“{paper[0].title}”{by}) says{more}:"
