"""What has become of a document that an answer cites: whether its words may still be opened, and if not, why."""

from __future__ import annotations

from enum import StrEnum


class Standing(StrEnum):
    """Where a cited document version stands now, for those who asked in a journey."""

    OPEN = "open"
    REPLACED = "replaced"
    WITHDRAWN = "withdrawn"
    ELSEWHERE = "elsewhere"
    ERASED = "erased"

    @property
    def is_open(self) -> bool:
        """Whether its words are still shown."""
        return self in (Standing.OPEN, Standing.REPLACED)

    @property
    def words(self) -> str:
        """What is said beside a citation; nothing where there is nothing to say."""
        return _WORDS[self]


_WORDS = {
    Standing.OPEN: "",
    Standing.REPLACED: "A newer version is now in use; this is the one that was cited.",
    Standing.WITHDRAWN: "This document has since been withdrawn, so its text is no longer shown.",
    Standing.ELSEWHERE: "This document is no longer in this journey or not open to you, so its text is not shown.",
    Standing.ERASED: "This document has since been erased.",
}
