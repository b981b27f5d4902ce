"""Reads a NICE guideline another way (pdfplumber: words, ruled table cells) and compares it with Citewell's reading.

    python scripts/check_ng12.py ../shared/data/guidelines/nice-ng12-2025-05.pdf

Prints what differs, rule by rule and row by row; leaves with 1 when something does.
docs/guidelines.md explains each difference.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pdfplumber

from citewell.adapters.parsers.pdf import PdfParser
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.read_guideline import read
from citewell.types import ParseLimits, Source

NUMBER = re.compile(r"^(\d{1,2}\.\d{1,2}\.\d{1,2})(?=\s|$)")
DATE = re.compile(r"\[(?:19|20)\d\d[^\]]*\]")
REFERENCE = re.compile(r"\d{1,2}\.\d{1,2}\.\d{1,2}")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of words on a page."""

    page: int
    left: float
    text: str


@dataclass(frozen=True, slots=True)
class Differences:
    """What the two readings do not agree on."""

    rules: tuple[str, ...]
    rows: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.rules or self.rows)


def lines(pdf: pdfplumber.PDF) -> list[Line]:
    """The lines of all pages outside tables, without those that many pages repeat."""
    found = []
    for number, page in enumerate(pdf.pages, 1):
        boxes = [table.bbox for table in page.find_tables()]
        for line in page.extract_text_lines(return_chars=False, x_tolerance=2):
            middle = (line["top"] + line["bottom"]) / 2
            if not any(box[1] <= middle <= box[3] for box in boxes):
                found.append(Line(number, line["x0"], " ".join(line["text"].split())))
    repeated = Counter(re.sub(r"\d+", "#", line.text) for line in found)
    limit = len(pdf.pages) / 3
    return [line for line in found if repeated[re.sub(r"\d+", "#", line.text)] < limit]


def rules(found: list[Line]) -> dict[str, tuple[int, int, str]]:
    """Each rule's first and last page and its words: from its number at the margin to its first date tag."""
    margin = Counter(round(line.left) for line in found if NUMBER.match(line.text)).most_common(1)[0][0]
    read_rules: dict[str, tuple[int, int, str]] = {}
    starts = [at for at, line in enumerate(found) if (NUMBER.match(line.text)) and abs(line.left - margin) < 3]
    for at, until in zip(starts, [*starts[1:], len(found)], strict=True):
        match = NUMBER.match(found[at].text)
        assert match is not None
        words, last = [found[at].text[match.end() :]], found[at].page
        for line in found[at + 1 : until]:
            if DATE.search(" ".join(words)):
                break
            words.append(line.text)
            last = line.page
        text = " ".join(words)
        dated = DATE.search(text)
        text = text[: dated.start()] if dated else text
        read_rules.setdefault(match.group(1), (found[at].page, last, text))
    return read_rules


def rows(pdf: pdfplumber.PDF) -> list[tuple[int, str, tuple[str, ...]]]:
    """The rows of tables with three ruled columns of symptom, cancer, advice; a row that runs on is one."""
    found: list[tuple[int, str, tuple[str, ...]]] = []
    for number, page in enumerate(pdf.pages, 1):
        tables = page.extract_tables()
        if not found and not any(
            "Possible cancer" in (cell or "") for table in tables for row in table for cell in row
        ):
            continue  # other tables stand before the index
        for table in tables:
            for cells in table:
                texts = [" ".join((cell or "").split()) for cell in cells]
                if len(texts) != 3 or any("Possible cancer" in text for text in texts):
                    continue
                references = tuple(dict.fromkeys(_bracketed(texts[2])))
                if not texts[0] and not texts[1] and found:
                    page_before, symptom, before = found.pop()
                    found.append((page_before, symptom, tuple(dict.fromkeys((*before, *references)))))
                else:
                    found.append((number, texts[0], references))
    return found


def _bracketed(text: str) -> Iterator[str]:
    for match in REFERENCE.finditer(text):
        around = text[max(0, match.start() - 1) : match.end() + 1]
        if "[" in around or "]" in around:
            yield match.group()


def squeezed(text: str) -> str:
    """Letters and digits only: bullets, line ends and spaces are set differently by the two readings."""
    return re.sub(r"[\W_]", "", text).lower()


def compared(guideline: Guideline, path: Path) -> Differences:
    """What differs between Citewell's reading and this one."""
    with pdfplumber.open(path) as pdf:
        other_rules = rules(lines(pdf))
        other_rows = rows(pdf)
    ours = guideline.by_id
    wrong = [f"{one}: only in the other reading" for one in other_rules if one not in ours]
    wrong += [f"{one}: only in Citewell's" for one in ours if one not in other_rules]
    for one, rule in ours.items():
        if one in other_rules:
            page, page_end, text = other_rules[one]
            if (rule.page, rule.page_end) != (page, page_end):
                wrong.append(f"{one}: pages {rule.page}–{rule.page_end} here, {page}–{page_end} there")
            if squeezed(rule.text) != squeezed(text):
                wrong.append(f"{one}: {len(squeezed(rule.text))} letters here, {len(squeezed(text))} there")
    here = Counter((row.page, squeezed(row.symptom), row.references) for row in guideline.symptoms)
    there = Counter((page, squeezed(symptom), references) for page, symptom, references in other_rows)
    strange = [f"only here: p.{page} {symptom[:50]} {list(refs)}" for page, symptom, refs in (here - there)]
    strange += [f"only there: p.{page} {symptom[:50]} {list(refs)}" for page, symptom, refs in (there - here)]
    return Differences(tuple(wrong), tuple(strange))


def main() -> int:
    """Compare the file named on the command line."""
    path = Path(sys.argv[1])
    source = Source(path.read_bytes(), path.name)
    guideline = read(PdfParser().parse(source, media_type="application/pdf", limits=ParseLimits()))
    found = compared(guideline, path)
    print(f"{guideline.name}: {len(guideline.rules)} rules, {len(guideline.symptoms)} symptom rows")
    for line in (*found.rules, *found.rows):
        print("  " + line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
