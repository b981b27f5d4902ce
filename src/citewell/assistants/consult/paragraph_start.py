"""Gives a passage that was cut within a paragraph the beginning of it, which may say for whom and of what it is."""

from __future__ import annotations

import re
from dataclasses import replace

from citewell.types import Hit

CUT = "this passage starts part-way through a section: read the text before it, which may say who it applies to"
_BREAK = re.compile(r"\n\s*\n")
_LAST = re.compile(r"(?<!\s)(?=[^\S\n]*\n[^\S\n]*\n)\s++$")


def from_its_paragraph(hit: Hit, before: Hit | None) -> tuple[Hit, bool]:
    """The passage from the beginning of its first paragraph, and whether that is known to be where it begins.

    It is where the passage begins with its heading, or the one before it was found too.
    """
    if not hit.section or hit.text.lstrip().startswith(hit.section[-1]):
        return hit, True
    if before is None or not before.start < hit.start <= before.end:
        return hit, False
    lead = before.text[: hit.start - before.start]
    if _LAST.search(lead):
        return hit, True
    begun = max((match.end() for match in _BREAK.finditer(lead)), default=0)
    near = [one for one in before.why.near if before.start + begun <= one[0] and one[1] <= hit.start]
    why = replace(hit.why, near=(*near, *hit.why.near))
    return replace(hit, start=before.start + begun, text=lead[begun:] + hit.text, why=why), True


def in_first_paragraph(hit: Hit, at: int) -> bool:
    """Whether a place of the document stands in the first paragraph of a passage."""
    return _BREAK.search(hit.text, 0, max(at - hit.start, 0)) is None
