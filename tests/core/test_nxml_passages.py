"""Real articles, cut into passages: all of their body is there, evidence stands together, rows keep their headers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from lxml import etree

from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.ingest.chunk import chunk, default_chunking
from citewell.ingest.parse import parse
from citewell.minilm.tokenizer import WordPiece
from citewell.types import Chunk, Document, ParseLimits, Source

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "jats"
ARTICLES = 40
MAX_TOKENS = 400
NEAR_ROWS = 3
"""Rows of a table over which one span of evidence may go."""
BLOCKS = frozenset(
    "body sec title p list list-item def-list def-item def term disp-quote boxed-text fig fig-group caption label "
    "table-wrap table-wrap-foot table thead tbody tfoot tr td th fn attrib disp-formula array statement preformat "
    "supplementary-material media alternatives".split()
)
"""Elements at which a run of words ends."""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="the real articles of ../shared/data are not here"),
]


def letters(text: str) -> str:
    """The text without spaces and signs, so that how a line is broken or marked does not matter."""
    return re.sub(r"[\W_]+", "", text)


@cache
def articles() -> dict[str, tuple[Document, tuple[Chunk, ...]]]:
    """Every article with its passages, cut as the library cuts them."""
    words, found = WordPiece.load(), {}
    for path in sorted(DATA.glob("*.nxml")):
        document = parse(Source(path.read_bytes(), path.name), parsers=all_parsers(), limits=ParseLimits())
        passages = chunk(document, chunking=default_chunking(document.media_type), tokenizer=words)
        found[path.stem] = (document, tuple(passages))
    return found


def runs(element: etree._Element) -> Iterator[str]:
    """The words of an element, each run up to where another block begins or ends."""
    run: list[str] = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str):
            inner = list(runs(child))
            is_block = etree.QName(child).localname in BLOCKS
            if is_block:
                yield "".join(run)
                yield from inner
                run = []
            else:
                run.append(inner[0])
                if len(inner) > 1:
                    yield "".join(run)
                    yield from inner[1:-1]
                    run = [inner[-1]]
        run.append(child.tail or "")
    yield "".join(run)


def covered(document: Document, passages: tuple[Chunk, ...]) -> str:
    """What of a document stands in a passage, in order."""
    seen = bytearray(len(document.text))
    for one in passages:
        seen[one.start : one.end] = b"\1" * (one.end - one.start)
    return "".join(char for char, is_seen in zip(document.text, seen, strict=True) if is_seen)


def test_every_run_of_words_of_every_body_stands_in_a_passage() -> None:
    assert len(articles()) == ARTICLES
    lost, wanted = [], 0
    for name, (document, passages) in articles().items():
        kept = letters(covered(document, passages))
        body = etree.parse(DATA / f"{name}.nxml").getroot().find("body")
        for run in map(letters, runs(body)):
            wanted += len(run)
            lost += [(name, run)] if run not in kept else []
    assert wanted > 700_000, "the bodies were read"
    assert lost == []


def test_no_passage_is_longer_than_it_may_be_with_its_path_and_overlap() -> None:
    assert max(one.tokens for _, passages in articles().values() for one in passages) <= MAX_TOKENS


def stands_together(evidence: str, document: Document, passages: tuple[Chunk, ...]) -> bool:
    """Whether evidence is whole within one passage or two that follow each other; of a table, cell by cell."""
    run, cells = letters(evidence), [re.escape(letters(one)) for one in evidence.splitlines() if letters(one)]
    rows = [block for block in document.blocks if block.kind == "table_row"]
    for first, last in zip(passages, (*passages[1:], passages[-1]), strict=True):
        if run in letters(document.text[first.start : last.end]):
            return True
        here = [
            letters(document.text[row.start : row.end])
            for row in rows
            if first.start <= row.start < row.end <= last.end
        ]
        if any(re.search(".*?".join(cells), "".join(here[at : at + NEAR_ROWS])) for at in range(len(here))):
            return True
    return False


def test_the_evidence_that_clinicians_marked_stands_whole_in_one_or_two_neighbouring_passages() -> None:
    spans = [json.loads(line) for line in (DATA / "evidence-spans.jsonl").read_text("utf-8").splitlines()]
    found = [stands_together(span["evidence"], *articles()[f"PMC{span['pmcid']}"]) for span in spans]
    assert len(found) > 150
    assert sum(found) / len(found) >= 0.98


def test_a_row_of_a_table_stands_whole_in_one_passage() -> None:
    rows = split = 0
    for document, passages in articles().values():
        for block in document.blocks:
            if block.kind == "table_row":
                rows += 1
                split += not any(one.start <= block.start and block.end <= one.end for one in passages)
    assert rows > 1_000
    assert split == 0


def simple_tables(name: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Tables with one row of headers and no cell that spans others: the headers, and the rows."""
    for table in etree.parse(DATA / f"{name}.nxml").getroot().find("body").iter("table"):
        head, rows = table.findall("./thead/tr"), table.findall("./tbody/tr")
        cells = [cell for row in (*head, *rows) for cell in row]
        spans = [cell.get(kind) for cell in cells for kind in ("colspan", "rowspan")]
        if len(head) == 1 and rows and all(one in (None, "1") for one in spans):
            headers = [letters("".join(cell.itertext())) for cell in head[0]]
            told = [[letters("".join(cell.itertext())) for cell in row] for row in rows]
            if all(headers[1:]) and all(len(row) == len(headers) for row in told):
                yield headers, told


def test_every_value_of_a_row_stands_behind_its_header_in_the_same_passage() -> None:
    checked, apart = 0, []
    for name, (document, passages) in articles().items():
        texts = [
            letters(document.text[block.start : block.end]) for block in document.blocks if block.kind == "table_row"
        ]
        kept = [letters(one.text) for one in passages]
        for headers, rows in simple_tables(name):
            for row in rows:
                pairs = [header + value for header, value in zip(headers[1:], row[1:], strict=True) if value]
                whole = next((text for text in texts if row[0] in text and all(pair in text for pair in pairs)), None)
                checked += len(pairs)
                if whole is None or not any(whole in passage for passage in kept):
                    apart.append((name, row[0]))
    assert checked > 500
    assert apart == []
