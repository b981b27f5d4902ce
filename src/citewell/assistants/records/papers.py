"""What kind of paper a document is, who wrote it, and how surely it was read: told from its own words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, time
from functools import cache

from citewell.assistants.records.tables import rows
from citewell.clinical.languages import whole_words
from citewell.clinical.quantities import first_day, without_days
from citewell.ingest.media_types import CDA, FHIR
from citewell.ports.records import Paper, PaperKind
from citewell.types import Document, LibraryEntry

SIGNED = 150
"""How many characters after a closing a signature may stand."""
READ = 1_500
"""How many characters from the beginning tell the kind."""

FEWEST_IN_A_SENTENCE, FEWEST_IN_A_LINE = 3, 5
_FRAME = re.compile(
    r"(?:dear|re|to|from|date|yours|sincerely|kind regards|best regards|tel|fax|page|lieber?|sehr geehrte|mit|cher)\b",
    re.IGNORECASE,
)
"""How lines of a letter begin that say nothing of the person."""


@cache
def _cues() -> tuple[tuple[PaperKind, int, re.Pattern[str]], ...]:
    return tuple((PaperKind(kind), int(weight), whole_words(words)) for kind, weight, words in rows("paper_kinds.tsv"))


_SURE = re.compile(r"read by OCR \((\d+)% (?:confidence|sure)\)")
_DOCTOR = re.compile(r"\b(?:Dr|Prof|Doctor|Docteur)\.?(?: (?:med|Dr)\.?)? (?:[A-Z][\w’'-]+ )?[A-Z][\w’'-]+")

_CLOSING = re.compile(
    r"\b(?:yours (?:sincerely|faithfully|truly)|sincerely|(?:kind|best|with kind|warm) regards|signed(?: by)?"
    r"|mit (?:freundlichen|besten) grüßen|hochachtungsvoll|cordialement|salutations)\b",
    re.IGNORECASE,
)
_SPOKEN_TO = re.compile(
    r"\b(?:dear|to|for the attention of|fao|attn|cc|copy to|sehr geehrter?|lieber?|cher|chère|à l'attention du)"
    r"[\s.:,]*(?:(?:herr|frau|monsieur|madame) )?$",
    re.IGNORECASE,
)


def describe(title: str, text: str, notes: Iterable[str]) -> Paper:
    """A document as a paper.

    >>> paper = describe("Discharge summary", "Seen by Dr. Ada Chen.", ["Page 1 was read by OCR (93% confidence)."])
    >>> paper.kind.value, paper.professional, paper.ocr_confidence
    ('discharge_summary', 'Dr. Ada Chen', 0.93)
    >>> describe("Letter", "Dear Dr Chen,\\n\\nThank you. Yours sincerely,\\n\\nDr Anna Meyer", []).professional
    'Dr Anna Meyer'
    """
    head = f"{title}\n{text[:READ]}"
    sums = dict.fromkeys(PaperKind, 0)
    for kind, weight, cue in _cues():
        sums[kind] += weight * (2 if cue.search(title) else 1) if cue.search(head) else 0
    best = max(sums, key=lambda kind: sums[kind])
    sure = next((int(match[1]) / 100 for note in notes if (match := _SURE.search(note))), None)
    return Paper(best if sums[best] else PaperKind.OTHER, writer_of(title, text), sure)


def day_of(entry: LibraryEntry, document: Document) -> datetime | None:
    """The day of a paper: of a letter, the one near its beginning; a scan is often made years later."""
    written = None if entry.media_type in (CDA, FHIR) else first_day(document.text[:READ])
    published = document.metadata.published
    return written or (None if published is None else datetime.combine(published, time(), UTC))


def writer_of(title: str, said: str) -> str | None:
    """Who wrote a paper: who signed it, else the first doctor near its beginning whom it does not speak to."""
    text = f"{title}\n{said}"
    for closing in _CLOSING.finditer(text):
        if signed := _DOCTOR.search(text, closing.end(), closing.end() + SIGNED):
            return signed.group()
    named = _DOCTOR.finditer(text[:READ])
    return next((match.group() for match in named if not _SPOKEN_TO.search(text, 0, match.start())), None)


def tells(line: str) -> bool:
    """Whether it is a sentence, however short, or a line of a table; a heading or an address is neither.

    >>> tells("I have stopped it."), tells("Riverside Practice, 12 October 2026"), tells("Dear Mr Grey, I hope so.")
    (True, False, False)
    """
    bare = without_days(line).strip()
    fewest = FEWEST_IN_A_SENTENCE if bare.endswith((".", "!", "?")) else FEWEST_IN_A_LINE
    return len(bare.split()) >= fewest and not _FRAME.match(bare)
