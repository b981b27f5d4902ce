"""Joins what the ends of columns and pages cut, and sets footnotes apart."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.adapters.parsers.pdf_blocks import TERMINAL, Draft, LineBlock, Typography

_NOTE_MARK = re.compile(r"^(?:[\d¹²³⁴-⁹]{1,3}|[a-zᵃ-ᶻ]|[*†‡§¶#]{1,3})[.)]?\s")
_DATED = re.compile(r"[\])]$")


def mark_footnotes(drafts: Sequence[Draft], typography: Typography) -> None:
    """Paragraphs in small type with a mark, at the end of a page, are footnotes."""
    for draft in reversed(drafts):
        if draft.kind not in ("paragraph", "list_item") or draft.lines[0].size > 0.9 * typography.body_size:
            return
        if _NOTE_MARK.match(draft.text):
            draft.kind = "footnote"


def run_on(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts with sentences joined across columns and pages; footnotes in between go before the sentence."""
    joined: list[Draft] = []
    for draft in drafts:
        place = len(joined) - 1
        while place >= 0 and joined[place].kind == "footnote":
            place -= 1
        if draft.opens_column and place >= 0 and _runs_on(joined[place], draft):
            sentence = joined.pop(place)
            sentence.parts = [LineBlock([*sentence.lines, *draft.lines])]
            joined.append(sentence)
        else:
            joined.append(draft)
    return joined


def _runs_on(last: Draft, draft: Draft) -> bool:
    """Whether a block goes on with the sentence that the block before it left open."""
    if draft.kind not in ("paragraph", "heading") or last.kind not in ("paragraph", "list_item", "caption"):
        return False
    above, below = last.lines[-1], draft.lines[0]
    if abs(above.size - below.size) > 0.6 or above.bold != below.bold:
        return False
    if last.kind == "caption" or draft.kind == "heading":
        # A title over a table that the end of the page cut in two.
        return last.kind == "caption" and above.bold and not above.text.endswith(TERMINAL)
    opening = below.text.lstrip("\"'“‘([")[:1]
    if above.text.endswith(TERMINAL) or (_DATED.search(above.text) and not opening.islower()):
        return False
    return opening.islower() or _is_full(last)


def _is_full(draft: Draft) -> bool:
    """Whether the last line of a block goes as far as its longest: then the block need not have ended there."""
    rights = [other.right for other in draft.lines]
    return len(rights) > 1 and rights[-1] >= max(rights) - 0.12 * (max(rights) - draft.lines[0].left)
