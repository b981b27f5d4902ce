"""What kind of paper a document is, who wrote it, and how surely it was read: told from its own words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from citewell.assistants.records.cues import whole_words
from citewell.assistants.records.tables import rows
from citewell.ports.records import Paper, PaperKind

READ = 1_500
"""How many characters from the beginning tell the kind."""


@cache
def _cues() -> tuple[tuple[PaperKind, int, re.Pattern[str]], ...]:
    return tuple((PaperKind(kind), int(weight), whole_words(words)) for kind, weight, words in rows("paper_kinds.tsv"))


_SURE = re.compile(r"read by OCR \((\d+)% sure\)")
_DOCTOR = re.compile(r"\b(?:Dr|Prof|Doctor|Docteur)\.?(?: (?:med|Dr)\.?)? (?:[A-Z][\w’'-]+ )?[A-Z][\w’'-]+")


def describe(title: str, text: str, notes: Iterable[str]) -> Paper:
    """A document as a paper.

    >>> paper = describe("Discharge summary", "Seen by Dr. Ada Chen.", ["Page 1 was read by OCR (93% sure)."])
    >>> paper.kind.value, paper.professional, paper.ocr_confidence
    ('discharge_summary', 'Dr. Ada Chen', 0.93)
    """
    head = f"{title}\n{text[:READ]}"
    sums = dict.fromkeys(PaperKind, 0)
    for kind, weight, cue in _cues():
        sums[kind] += weight * (2 if cue.search(title) else 1) if cue.search(head) else 0
    best = max(sums, key=lambda kind: sums[kind])
    doctor = _DOCTOR.search(head)
    sure = next((int(found[1]) / 100 for note in notes if (found := _SURE.search(note))), None)
    return Paper(best if sums[best] else PaperKind.OTHER, doctor.group() if doctor else None, sure)
