"""Cuts a document into passages: contiguous slices of its canonical text, none over its limit, no text lost."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from citewell.ports import Tokenizer
from citewell.sentences import list_mark, sentences
from citewell.types import Block, Chunk, Chunking, Document

MAX_LEAD_WORDS = 14
"""A longer line above a list that does not end in a colon says something of its own."""

Leads = tuple[int, ...]
"""Where what an item leans on begins: the lead-in of its list, and the item of the outermost level above it."""


def leads(text: str, blocks: Sequence[Block]) -> dict[int, Leads]:
    """By the place of an item that is not the first of its list: where its list and the item above it begin."""
    found: dict[int, Leads] = {}
    first = outer = -1
    outermost = ""
    for before, block in zip((None, *blocks), blocks, strict=False):
        mark = list_mark(text, block.start, block.end) if block.kind == "list_item" else ""
        if not mark:
            first = -1
            continue
        if first < 0:
            first, outer, outermost = block.start, block.start, mark
            if before is not None and _leads_in(text, before):
                first = before.start
        elif mark == outermost:
            outer = block.start
        if block.start != first:
            found[block.start] = (first,) if outer in (first, block.start) else (first, outer)
    return found


def captioned(text: str, blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks; a caption and the rows below it are a section of their own, for it says whom they are for."""
    found: list[Block] = []
    title: str | None = None
    for block, following in zip(blocks, (*blocks[1:], None), strict=False):
        if block.kind == "caption" and following is not None and following.kind == "table_row":
            title = " ".join(text[block.start : block.end].split())
        elif block.kind != "table_row":
            title = None
        found.append(block if title is None else replace(block, section=(*block.section, title)))
    return tuple(found)


def _leads_in(text: str, block: Block) -> bool:
    """Whether a block leads in the list below it: it ends in a colon, or is a title."""
    words = text[block.start : block.end].rstrip()
    if block.kind == "heading" or words.endswith(":"):
        return True
    return len(words.split()) <= MAX_LEAD_WORDS and words[-1:] not in ".!?;,"


SECTIONS = Chunking(strategy="sections", size=400, overlap=100, unit="tokens")
HEADINGS = Chunking(strategy="headings", size=400, overlap=100, unit="tokens")
CHARACTERS = Chunking(strategy="characters", size=1_500, overlap=200, unit="characters")

STRATEGY = {
    "application/pdf": SECTIONS,
    "application/jats+xml": SECTIONS,
    "application/cda+xml": SECTIONS,
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": SECTIONS,
    "text/html": SECTIONS,
    "text/markdown": HEADINGS,
    "text/plain": CHARACTERS,
    "application/xml": CHARACTERS,
}
"""How each kind of document is cut unless the person who adds it says otherwise."""

MAX_HEAD_WORDS = 2
"""A “sentence” of no more words is a head that runs into the next one: “Haemoptysis. Coughing up blood.”"""
MAX_DEPTH = 12
MAX_PATH_TOKENS = 80
MAX_TITLE_CHARACTERS = 160
MAX_CHARACTERS_PER_TOKEN = 12
"""A run without word breaks counts as one token whatever its length: this bounds it."""

WHITE = frozenset(("", " ", "\n", "\t", "\r"))
"""What parts words for every tokenizer; nothing, at either end of a text."""


def default_chunking(media_type: str) -> Chunking:
    """The strategy for a kind of document.

    >>> default_chunking("text/plain").unit
    'characters'
    """
    return STRATEGY.get(media_type, SECTIONS)


def chunk(document: Document, *, chunking: Chunking, tokenizer: Tokenizer) -> list[Chunk]:
    """The passages of a document, in reading order."""
    cut = ChunkCutter(document, chunking, tokenizer)
    slices = cut.characters() if chunking.strategy == "characters" else cut.sections()
    max_tokens = chunking.size if chunking.unit == "tokens" else len(document.text)
    return list(_chunks(cut, slices, max_tokens))


@dataclass(frozen=True, slots=True)
class SectionSlice:
    """A part of the canonical text and the section it belongs to."""

    start: int
    end: int
    section: tuple[str, ...]


class ChunkCutter:
    """One document being cut; sizes are looked up in tables made once."""

    def __init__(self, document: Document, chunking: Chunking, tokenizer: Tokenizer) -> None:
        self.document = replace(document, blocks=captioned(document.text, document.blocks))
        self.chunking = chunking
        self.tokenizer = tokenizer
        self._starts = tokenizer.starts(document.text)
        self._paths: dict[tuple[str, ...], tuple[tuple[str, ...], int]] = {}
        self._path_tokens: dict[str, int] = {}
        self._leads = leads(document.text, document.blocks)

    # ------------------------------------------------------------------------------------------------ by sections

    def sections(self) -> Iterator[SectionSlice]:
        """Whole sections where they fit, their subsections where not, then paragraphs, sentences, tokens."""
        if self.document.blocks:
            yield from self._section(self.document.blocks, depth=0)

    def _section(self, blocks: Sequence[Block], depth: int) -> Iterator[SectionSlice]:
        """The slices of a run of blocks that share their first `depth` section titles."""
        path = _common_path(blocks)
        if self.chunking.strategy == "sections" and self._fits(blocks[0].start, blocks[-1].end, path):
            yield SectionSlice(blocks[0].start, blocks[-1].end, self._path(path)[0])
            return
        headings: list[Block] = []  # those with no text of their own go with what follows them
        for children in _children(blocks, depth):
            group, headings = [*headings, *children], []
            if all(block.kind == "heading" for block in group):
                headings = group
            elif len(children[0].section) <= depth or depth == MAX_DEPTH:
                yield from self._leaf(group)
            else:
                yield from self._section(group, depth + 1)
        if headings:
            yield from self._leaf(headings)

    def _leaf(self, blocks: Sequence[Block]) -> Iterator[SectionSlice]:
        """Paragraphs gathered up to the limit; each slice after the first repeats the end of the one before."""
        section = _common_path(blocks)
        path, path_tokens = self._path(section)
        room = self.chunking.size - path_tokens
        start, end = blocks[0].start, blocks[-1].end
        if self._fits(start, end, section):
            yield SectionSlice(start, end, path)
            return
        shared = self.chunking.overlap
        pieces = [
            piece for block in blocks for piece in self._pieces(block, room - shared * (block.kind != "table_row"))
        ]
        begin, position = start, 0
        while position < len(pieces):
            stop = position
            while stop + 1 < len(pieces) and self._tokens(begin, pieces[stop + 1][1]) <= room:
                stop += 1
            if stop + 1 < len(pieces):
                stop = self._before_list(begin, pieces, position, stop, room)
            yield SectionSlice(begin, pieces[stop][1], path)
            position = stop + 1
            if position < len(pieces):
                begin = self._overlap_start(begin, pieces[stop][1], pieces[position], room)

    def _before_list(self, begin: int, pieces: Sequence[tuple[int, int]], position: int, stop: int, room: int) -> int:
        """The last piece before the list that a cut would part, where a slice up to there is at least half full."""
        for lead in self._leads.get(pieces[stop + 1][0], ()):
            if lead > begin and 2 * self._tokens(begin, lead) >= room:
                before = bisect_left(pieces, (lead, 0), position, stop + 1) - 1
                return max(position, before)
        return stop

    def _overlap_start(self, begin: int, end: int, following: tuple[int, int], room: int) -> int:
        """Where the next slice begins: at the lead-in of the list it goes on with, or up to `overlap` tokens before."""
        for lead in self._leads.get(following[0], ()):
            if lead > begin and 2 * self._tokens(lead, end) <= room and self._tokens(lead, following[1]) <= room:
                return lead
        return self._outside_list(self._shared_from(begin, end, following[1], room), end)

    def _outside_list(self, start: int, end: int) -> int:
        """The first place from `start` on that is not within a list whose beginning was left behind."""
        blocks = self.document.blocks
        at = bisect_right(blocks, start, key=lambda block: block.start) - 1
        while start < end and self._leads.get(blocks[at].start, (start,))[0] < start:
            at += 1
            start = blocks[at].start if at < len(blocks) else end
        return min(start, end)

    def _shared_from(self, begin: int, end: int, next_end: int, room: int) -> int:
        """Up to `overlap` tokens before `end`, at a sentence where one starts there."""
        earliest = bisect_left(self._starts, end) - self.chunking.overlap
        latest_fit = bisect_left(self._starts, next_end) - room
        first = max(earliest, latest_fit, bisect_right(self._starts, begin))
        following = bisect_left(self._starts, end)
        if first >= following:
            return end
        low = self._starts[first]
        return next((start for start, _ in sentences(self.document.text, low, end) if start > low), low)

    def _pieces(self, block: Block, room: int) -> Iterator[tuple[int, int]]:
        """A block whole, or its sentences, or runs of tokens: each at most `room` tokens."""
        if self._tokens(block.start, block.end) <= room and not self._too_long(block.start, block.end):
            yield block.start, block.end
            return
        for start, end in sentences(self.document.text, block.start, block.end):
            if self._tokens(start, end) <= room and not self._too_long(start, end):
                yield start, end
            else:
                yield from self._hard(start, end, room)

    def _hard(self, start: int, end: int, room: int) -> Iterator[tuple[int, int]]:
        """Runs of whole tokens; a run without any break is cut by characters."""
        longest = room * MAX_CHARACTERS_PER_TOKEN
        while start < end:
            following = bisect_left(self._starts, start) + room
            stop = min(self._starts[following] if following < len(self._starts) else end, end, start + longest)
            yield start, stop
            start = stop

    def _tokens(self, start: int, end: int) -> int:
        return bisect_left(self._starts, end) - bisect_left(self._starts, start)

    def _too_long(self, start: int, end: int) -> bool:
        return end - start > self.chunking.size * MAX_CHARACTERS_PER_TOKEN

    def _fits(self, start: int, end: int, section: tuple[str, ...]) -> bool:
        path_tokens = self._path(section)[1]
        return self._tokens(start, end) + path_tokens <= self.chunking.size and not self._too_long(start, end)

    def _path(self, section: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
        """The innermost titles that leave room for text, and what they cost with their separators."""
        if section not in self._paths:
            titles = tuple(_shortened(title) for title in section)
            while titles and self.tokenizer.count(" > ".join(titles)) > min(MAX_PATH_TOKENS, self.chunking.size // 4):
                titles = titles[1:]
            self._paths[section] = titles, self.tokenizer.count(" > ".join(titles))
        return self._paths[section]

    # ---------------------------------------------------------------------------------------------- by characters

    def characters(self) -> Iterator[SectionSlice]:
        """At most `size` characters, cut at the coarsest break there is: paragraph, line, sentence, word, none."""
        text, size, overlap = self.document.text, self.chunking.size, self.chunking.overlap
        start = 0
        while start < len(text):
            end = _break_before(text, start, min(start + size, len(text)))
            end = next((lead for lead in self._leads.get(end, ()) if 2 * (lead - start) >= size), end)
            yield SectionSlice(start, end, self._section_at(start))
            if end >= len(text):
                return
            shared = self._outside_list(_break_after(text, max(end - overlap, start + 1), end), end)
            led = (lead for lead in self._leads.get(end, ()) if lead > start and 2 * (end - lead) <= size)
            start = next(led, shared)

    def _section_at(self, offset: int) -> tuple[str, ...]:
        blocks = self.document.blocks
        position = bisect_right(blocks, offset, key=lambda block: block.start) - 1
        return self._path(blocks[position].section)[0] if position >= 0 else ()

    # --------------------------------------------------------------------------------------------------- to measure

    def halved(self, piece: SectionSlice, max_tokens: int) -> Iterator[tuple[SectionSlice, int]]:
        """The slice without outer white space; halved where a cut inside a word made more tokens than the word had."""
        words = self.document.text[piece.start : piece.end]
        start = piece.start + len(words) - len(words.lstrip())
        words = words.strip()
        if not words:
            return
        end = start + len(words)
        tokens = self._passage_tokens(start, end, piece.section)
        if tokens <= max_tokens or len(words) == 1:
            yield SectionSlice(start, end, piece.section), tokens
            return
        middle = (start + end) // 2
        yield from self.halved(SectionSlice(start, middle, piece.section), max_tokens)
        yield from self.halved(SectionSlice(middle, end, piece.section), max_tokens)

    def _passage_tokens(self, start: int, end: int, section: tuple[str, ...]) -> int:
        """The tokens of a passage and its titles; looked up where no word is cut, as none then reaches over an end."""
        text, path = self.document.text, " > ".join(section)
        if text[start - 1 : start] in WHITE and text[end : end + 1] in WHITE:
            if path not in self._path_tokens:
                self._path_tokens[path] = self.tokenizer.count(path)
            return self._path_tokens[path] + self._tokens(start, end)
        return self.tokenizer.count(f"{path}\n{text[start:end]}")


def _break_before(text: str, start: int, end: int) -> int:
    """The last good place to stop in the second half of `text[start:end]`."""
    if end == len(text):
        return end
    half = start + (end - start) // 2
    for separator in ("\n\n", "\n"):
        if (found := text.rfind(separator, half, end)) > start:
            return found + len(separator)
    ends = [stop for _, stop in sentences(text, half, end)][:-1]
    if ends:
        return ends[-1]
    found = text.rfind(" ", half, end)
    return found + 1 if found > start else end


def _break_after(text: str, low: int, end: int) -> int:
    """The first good place to start at or after `low`, not past `end`."""
    starts = [start for start, _ in sentences(text, low, end)][1:]
    if starts:
        return starts[0]
    found = text.find(" ", low, end)
    return found + 1 if found >= 0 else end


def _shortened(title: str) -> str:
    return title if len(title) <= MAX_TITLE_CHARACTERS else title[: MAX_TITLE_CHARACTERS - 1].rstrip() + "…"


def _common_path(blocks: Sequence[Block]) -> tuple[str, ...]:
    """The section titles that all of the blocks share; bare headings count only where there is nothing else."""
    told = [block for block in blocks if block.kind != "heading"] or blocks
    first = told[0].section
    length = len(first)
    for block in told:
        while block.section[:length] != first[:length]:
            length -= 1
    return first[:length]


def _children(blocks: Sequence[Block], depth: int) -> Iterator[list[Block]]:
    """Runs of blocks that lie directly at `depth`, or in the same section below it."""
    group: list[Block] = []
    for block in blocks:
        opens_section = block.kind == "heading" and len(block.section) == depth + 1
        if group and (opens_section or block.section[: depth + 1] != group[-1].section[: depth + 1]):
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _chunks(cut: ChunkCutter, slices: Iterator[SectionSlice], max_tokens: int) -> Iterator[Chunk]:
    """Number the slices, with their sentences and page."""
    document = cut.document
    spans = _sentence_spans(document)
    ends = [end for _, end in spans]
    fitting = (part for piece in slices for part in cut.halved(piece, max_tokens))
    for index, (part, tokens) in enumerate(fitting):
        first, last = bisect_right(ends, part.start), bisect_left(spans, (part.end, 0))
        inside = tuple((max(low, part.start), min(high, part.end)) for low, high in spans[first:last])
        text, page = document.text[part.start : part.end], document.layout.page_at(part.start)
        yield Chunk(index, part.start, part.end, text, part.section, page, tokens, inside)


def _sentence_spans(document: Document) -> list[tuple[int, int]]:
    """All sentences; a row of a table is one, since its cells make sense together only."""
    spans: list[tuple[int, int]] = []
    for block in document.blocks:
        whole = block.kind == "table_row"
        cut = [(block.start, block.end)] if whole else sentences(document.text, block.start, block.end)
        spans += _with_heads(document.text, cut)
    return spans


def _with_heads(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sentences, each run-in head and item number as the beginning of what it heads.

    >>> text = "Haemoptysis. Coughing up blood. 2. Rest."
    >>> [text[start:end] for start, end in _with_heads(text, sentences(text))]
    ['Haemoptysis. Coughing up blood.', '2. Rest.']
    """
    found: list[tuple[int, int]] = []
    for start, end in spans:
        is_headed = bool(found) and len(text[slice(*found[-1])].split()) <= MAX_HEAD_WORDS
        found.append((found.pop()[0] if is_headed else start, end))
    return found
