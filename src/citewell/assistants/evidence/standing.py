"""What has become of a document that an answer cites: whether its words may still be opened, and if not, why."""

from __future__ import annotations

from enum import StrEnum


class CitationStanding(StrEnum):
    """Where a cited document version stands now, for those who asked in a journey."""

    OPEN = "open"
    REPLACED = "replaced"
    WITHDRAWN = "withdrawn"
    ELSEWHERE = "elsewhere"
    ERASED = "erased"

    @property
    def is_open(self) -> bool:
        """Whether its words are still shown."""
        return self in (CitationStanding.OPEN, CitationStanding.REPLACED)

    @property
    def words(self) -> str:
        """What is said beside a citation; nothing where there is nothing to say."""
        return _WORDS[self]


_WORDS = {
    CitationStanding.OPEN: "",
    CitationStanding.REPLACED: "A newer version is now in use; this is the one that was cited.",
    CitationStanding.WITHDRAWN: "This document has since been withdrawn, so its text is no longer shown.",
    CitationStanding.ELSEWHERE: (
        "This document is no longer in this journey or not open to you, so its text is not shown."
    ),
    CitationStanding.ERASED: "This document has since been erased.",
}
