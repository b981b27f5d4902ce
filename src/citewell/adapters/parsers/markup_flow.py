"""What all marked-up formats share: a walk without recursion, inline text, and blocks cut from it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import ClassVar, Protocol

from lxml import etree

from citewell.adapters.parsers.markup_line import Inline
from citewell.ingest.canonical import Canonical
from citewell.types import BlockKind

BULLETS = ("•", "◦", "▪")


class SectionedText(Canonical):
    """A canonical text whose sections can also be closed without opening another."""

    def close(self, level: int) -> None:
        """Leave the sections at or below `level`."""
        self._path = [entry for entry in self._path if entry[0] < level]


def local_name(element: etree._Element) -> str:
    """The name of an element without its namespace; nothing for comments, instructions and entities."""
    tag: object = element.tag
    if not isinstance(tag, str):
        return ""
    # A prefix stays in the name where the file forgot to declare it.
    return tag.rpartition("}")[2].rpartition(":")[2]


def child_named(element: etree._Element | None, *names: str) -> etree._Element | None:
    """The first child that has one of these names; None in None."""
    return None if element is None else next(element.iterchildren(*_any_namespace(names)), None)


def children_named(element: etree._Element | None, *names: str) -> list[etree._Element]:
    """All children that have one of these names; none in None."""
    return [] if element is None else list(element.iterchildren(*_any_namespace(names)))


def descendants_named(element: etree._Element, *names: str) -> Iterable[etree._Element]:
    """All elements inside that have one of these names, in document order."""
    return element.iterdescendants(*_any_namespace(names))


@lru_cache(maxsize=512)
def _any_namespace(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names as lxml looks for them itself, which is several times faster than asking each element."""
    return tuple(f"{{*}}{name}" for name in names)


def has_own_text(element: etree._Element) -> bool:
    """Whether words or punctuation stand between the children of an element."""
    return bool((element.text or "").strip()) or any((child.tail or "").strip() for child in element)


def holds_only(element: etree._Element, structure: frozenset[str], leaves: frozenset[str]) -> bool:
    """Whether an element is built of these alone: structure without own text, down to leaves with any content."""
    open_elements = [element]
    while open_elements:
        outer = open_elements.pop()
        if has_own_text(outer):
            return False
        for child in outer:
            name = local_name(child)
            if name in structure:
                open_elements.append(child)
            elif name and name not in leaves:
                return False
    return True


class ElementVisitor(Protocol):
    """What a walk calls."""

    def enter(self, element: etree._Element) -> bool: ...

    def write(self, text: str | None) -> None: ...

    def leave(self, element: etree._Element) -> None: ...


def walk(root: etree._Element, visitor: ElementVisitor) -> None:
    """Visit a tree in document order without recursion; a subtree that is not entered is left out."""
    if not visitor.enter(root):
        return
    visitor.write(root.text)
    stack = [(root, iter(root))]
    while stack:
        element, children = stack[-1]
        child = next(children, None)
        if child is None:
            stack.pop()
            visitor.leave(element)
            if stack:
                visitor.write(element.tail)
        elif local_name(child) and visitor.enter(child):
            visitor.write(child.text)
            stack.append((child, iter(child)))
        else:
            visitor.write(child.tail)


class LineReader:
    """Reads an element as one line of text."""

    skipped: ClassVar[frozenset[str]] = frozenset()
    """Names of elements that are not read."""

    def __init__(self) -> None:
        self._inlines = [Inline()]

    @property
    def inline(self) -> Inline:
        """Where text goes now."""
        return self._inlines[-1]

    def enter(self, element: etree._Element) -> bool:
        name = local_name(element)
        if name in self.skipped:
            return False
        if name in ("sup", "sub"):
            self._inlines.append(Inline())
        elif self.is_apart(name):
            self.inline.gap()
        else:
            self._open_maths(element, name)
        return True

    def write(self, text: str | None) -> None:
        self.inline.write(text)

    def leave(self, element: etree._Element) -> None:
        name = local_name(element)
        if name in ("sup", "sub"):
            script = self._inlines.pop()
            spaced = script.last == " "
            text = script.take() + (" " if spaced else "")
            if name == "sup":
                self.inline.superscript(text, following=following_text(element), citation=self.is_citation(element))
            else:
                self.inline.subscript(text)
        elif self.is_apart(name):
            self.inline.gap()
        else:
            self._close_maths(element, name)

    def is_apart(self, name: str) -> bool:  # noqa: ARG002
        """Whether an element of this name is no part of the word before or after it."""
        return False

    def is_citation(self, superscript: etree._Element) -> bool:  # noqa: ARG002
        """Whether a superscript points into the reference list."""
        return False

    def _open_maths(self, element: etree._Element, name: str) -> None:
        """MathML says by place what is raised, lowered or divided; text needs a sign for it."""
        parent = element.getparent()
        if name in ("msqrt", "mroot"):
            self.write("√(")
        sign = _MATHS_SIGNS.get(local_name(parent)) if parent is not None else None
        if sign and parent is not None and len(parent) > 1:
            place = _place(element, parent)
            if 1 <= place <= len(sign):
                self.write(sign[place - 1] + ("(" if len(element) > 1 else ""))
            elif place == 0 and sign == "/" and len(element) > 1:
                self.write("(")

    def _close_maths(self, element: etree._Element, name: str) -> None:
        parent = element.getparent()
        sign = _MATHS_SIGNS.get(local_name(parent)) if parent is not None else None
        if sign and parent is not None and len(parent) > 1 and len(element) > 1:
            place = _place(element, parent)
            if 1 <= place <= len(sign) or (place == 0 and sign == "/"):
                self.write(")")
        if name in ("msqrt", "mroot"):
            self.write(")")


def _place(element: etree._Element, parent: etree._Element) -> int:
    """0, 1 or 2 for the first children; more than that has no meaning in a formula."""
    return next((place for place in range(min(3, len(parent))) if parent[place] is element), 3)


MATHS = frozenset(
    """math maction menclose merror mfenced mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow
    ms mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none semantics""".split()
)
"""The elements of MathML, which are part of one formula."""
_MATHS_SIGNS = {"msup": "^", "msub": "_", "msubsup": "_^", "mfrac": "/"}


def following_text(element: etree._Element) -> str:
    """The characters right after an element, also when they stand in the next one."""
    tail = element.tail or ""
    following = element.getnext()
    return tail if tail or following is None else following.text or ""


def read_line(element: etree._Element | None, reader: LineReader) -> str:
    """The text of an element as one line."""
    if element is not None:
        walk(element, reader)
    return reader.inline.take()


class OpenLists:
    """The lists that are open, one in another: for each the number of its next item, None without numbers."""

    def __init__(self) -> None:
        self._numbers: list[int | None] = []

    def open(self, first: int | None) -> None:
        self._numbers.append(first)

    def close(self) -> None:
        self._numbers.pop()

    def next_marker(self) -> str:
        """What stands before the next item of the innermost list."""
        number = self._numbers[-1] if self._numbers else None
        if number is None:
            return BULLETS[max(0, len(self._numbers) - 1) % len(BULLETS)]
        self._numbers[-1] = number + 1
        return f"{number}."


class BlockReader(LineReader):
    """Cuts inline text into blocks: knows which kind of block is open and the mark that it starts with."""

    def __init__(self, flow: SectionedText) -> None:
        super().__init__()
        self.flow = flow
        self._kinds: list[BlockKind] = ["paragraph"]
        self._marker = ""

    @property
    def in_script(self) -> bool:
        """Whether a superscript or subscript is open; no block can be cut inside it."""
        return len(self._inlines) > 1

    @property
    def kind(self) -> BlockKind:
        """The kind of block that is open."""
        return self._kinds[-1]

    def open(self, kind: BlockKind) -> None:
        """Blocks are of this kind until it is closed."""
        self.flush()
        self._kinds.append(kind)

    def close(self) -> None:
        """Go back to the kind before."""
        self.flush()
        self._kinds.pop()

    def mark(self, marker: str) -> None:
        """The next block starts with this mark, such as a bullet."""
        self._marker = marker

    def flush(self) -> None:
        """Write what has been read as a block of the open kind."""
        text = self.inline.take()
        if text:
            self.flow.add(self.kind, f"{self._marker} {text}" if self._marker else text)
            self._marker = ""
