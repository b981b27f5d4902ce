"""Composes the one canonical text of a document, block by block."""

from __future__ import annotations

from citewell.types import Block, BlockKind

TIGHT: frozenset[BlockKind] = frozenset({"list_item", "table_row"})
"""Kinds that follow one of their own after a single line break."""


MAX_TITLE_CHARACTERS = 300
"""What a section path keeps of a title; the heading's own block keeps all of it."""


class Canonical:
    """Collects blocks; offsets are those of the text it will give.

    >>> text = Canonical()
    >>> text.heading("Dose", level=1)
    (0, 4)
    >>> text.add("paragraph", "Give 5 mg.")
    (6, 16)
    >>> text.text
    'Dose\\n\\nGive 5 mg.'
    >>> [block.section for block in text.blocks]
    [('Dose',), ('Dose',)]
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._path: list[tuple[int, str]] = []
        self.blocks: list[Block] = []

    @property
    def text(self) -> str:
        return "".join(self._parts)

    @property
    def section(self) -> tuple[str, ...]:
        """The titles of the sections that are open now."""
        return tuple(title for _, title in self._path)

    def heading(self, title: str, *, level: int, page: int | None = None) -> tuple[int, int] | None:
        """Open a section at `level` (1 is outermost), closing those at or below it."""
        if not title.strip():
            return None
        self._path = [entry for entry in self._path if entry[0] < level]
        self._path.append((level, title.strip()[:MAX_TITLE_CHARACTERS]))
        return self.add("heading", title, page=page)

    def add(self, kind: BlockKind, text: str, *, page: int | None = None) -> tuple[int, int] | None:
        """Append a block, stripped of outer white space; nothing for an empty one. Returns its offsets."""
        text = text.strip()
        if not text:
            return None
        if self.blocks:
            gap = "\n" if kind in TIGHT and self.blocks[-1].kind == kind else "\n\n"
            self._parts.append(gap)
            self._length += len(gap)
        start = self._length
        self._parts.append(text)
        self._length += len(text)
        self.blocks.append(Block(kind, start, self._length, self.section, page))
        return start, self._length
