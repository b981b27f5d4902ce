"""Keeps a model's thoughts out of its reply."""

from __future__ import annotations

OPENED, CLOSED = "<think>", "</think>"


class ThinkingFilter:
    """What a reply says outside of `<think>` blocks, piece by piece; a tag may be split over pieces.

    >>> visible = ThinkingFilter()
    >>> [visible.feed(piece) for piece in ("Take <thi", "nk>hm</", "think> 5 m", "g <b")], visible.rest()
    (['Take ', '', ' 5 m', 'g <b'], '')
    """

    def __init__(self) -> None:
        self._held = ""
        self._is_thinking = False

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        self._held += piece
        shown = []
        while True:
            tag = CLOSED if self._is_thinking else OPENED
            before, found, after = self._held.partition(tag)
            if not found:
                break
            if not self._is_thinking:
                shown.append(before)
            self._held, self._is_thinking = after, not self._is_thinking
        kept = _possible_start(self._held, tag)
        if not self._is_thinking:
            shown.append(self._held[: len(self._held) - kept])
        self._held = self._held[len(self._held) - kept :]
        return "".join(shown)

    def rest(self) -> str:
        """What was held back in case it was a tag, once it is known that nothing follows."""
        rest, self._held = "" if self._is_thinking else self._held, ""
        return rest


def _possible_start(text: str, tag: str) -> int:
    """How many characters at the end of the text may begin the tag."""
    return next((size for size in range(len(tag) - 1, 0, -1) if text.endswith(tag[:size])), 0)
