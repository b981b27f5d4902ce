"""Findings that the consult takes from notes and dialogues, held against what a clinician marked.

    python -m bench.quality.findings --set bench/clinical/sets/dev/notes.txt [--misses] [--json FILE]
    python -m bench.quality.findings --set bench/clinical/sets/dev/real_notes.json --data ../shared/data
    python -m bench.quality.findings --set bench/clinical/sets/dev/real_dialogues.json --data ../shared/data

A marked finding is found where a finding of the consult stands on its words, or on other words for the same thing, and
holds in the same way; a finding of the consult is right where it stands on marked words and holds in the same way.
Tests and details of a complaint are left out on both sides. What is told of somebody else counts as told of the family.
In a whole dialogue a finding is looked up by its name or one of the words that were used for it.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bench.clinical.material import read_marked

from citewell.assistants.consult.extract import InterviewMessage, extract
from citewell.clinical import mentions
from citewell.types.consult import Category, Finding, Polarity

TAKEN = (
    Category.SYMPTOM, Category.ASSOCIATED, Category.MEDICAL_HISTORY, Category.MEDICATION, Category.ALLERGY,
)  # fmt: skip
SAME = {"other": "family"}
THOUGHT_OF = ("hypothetical", "intended")


@dataclass(frozen=True)
class Gold:
    """A marked finding: a place in the text, or the words that it goes by."""

    status: str
    words: str = ""
    start: int = -1
    end: int = -1
    names: tuple[str, ...] = ()

    def is_met(self, finding: Finding) -> bool:
        """Whether a finding of the consult is this one."""
        assert finding.words is not None
        if self.start >= 0:
            is_there = finding.words.start < self.end and self.start < finding.words.end
            is_same = finding.concept is not None and finding.concept in self._concepts
            return is_there or is_same or _plain(finding.words.text) == _plain(self.words)
        said = {_plain(finding.name), _plain(finding.words.text)}
        return any(name and (name in words or words in name) for name in self.names for words in said if words)

    @cached_property
    def _concepts(self) -> frozenset[str]:
        """What the marked words name as a whole: the consult tells a thing once, in the words that come first."""
        named = (one for one in mentions(self.words) if one.end - one.start >= len(self.words.strip()))
        return frozenset(name for one in named for name in one.ids)


def _plain(words: str) -> str:
    return re.sub(r"[^a-z0-9 ]", "", words.lower()).strip()


def cases(path: Path, data: Path) -> Iterator[tuple[str, list[Gold]]]:
    """Texts with their marked findings."""
    if path.suffix == ".txt":
        for document in read_marked(path):
            marks = [mark for mark in document.marks if mark.type != "test"]
            yield (
                document.text,
                [Gold(mark.status, document.text[mark.start : mark.end], mark.start, mark.end) for mark in marks],
            )
        return
    for name, marks in json.loads(path.read_text("utf-8")).items():
        kept = [mark for mark in marks if mark["type"] != "test"]
        base = name.removesuffix(".json")
        if "note" in path.name:
            text = json.loads((data / "dialogues" / f"{base}.json").read_text("utf-8"))["note"]
            yield (
                text,
                [Gold(mark["status"], text[mark["start"] : mark["end"]], mark["start"], mark["end"]) for mark in kept],
            )
        else:
            named = [tuple(_plain(one) for one in (mark["name"], *mark.get("aliases", ()))) for mark in kept]
            yield (
                dialogue(data / "dialogues", base),
                [Gold(mark["status"], names=names) for mark, names in zip(kept, named, strict=True)],
            )


_INTERVAL = re.compile(r"xmin = ([\d.]+)\s+xmax = [\d.]+\s+text = \"(.*?)\"", re.DOTALL)


def dialogue(folder: Path, base: str) -> str:
    """The turns of both speakers in the order of time."""
    turns = []
    for speaker in ("doctor", "patient"):
        text = (folder / f"{base}_{speaker}.TextGrid").read_text("utf-8")
        for start, words in _INTERVAL.findall(text):
            said = re.sub(r"<[^>]*>", "", words).strip()
            if said:
                turns.append((float(start), f"{speaker.title()}: {' '.join(said.split())}"))
    return "\n".join(line for _, line in sorted(turns))


def statuses(status: str) -> tuple[str, ...]:
    """The statuses that count as the same."""
    return THOUGHT_OF if status in THOUGHT_OF else (SAME.get(status, status),)


def measure(sets: Iterator[tuple[str, list[Gold]]], *, show: bool) -> dict[str, object]:
    """Recall over what is marked, precision over what is found."""
    found = marked = right = told = 0
    for text, golds in sets:
        read = extract(InterviewMessage(text, 1)).findings
        findings = [one for one in read if one.category in TAKEN and one.words]
        findings = [one for one in findings if one.polarity not in (Polarity.HYPOTHETICAL, Polarity.INTENDED)]
        asked = [gold for gold in golds if gold.status not in THOUGHT_OF]
        for gold in asked:
            met = [one for one in findings if gold.is_met(one)]
            is_right = any(_same(one.polarity.value, gold.status) for one in met)
            found += is_right
            if show and not is_right:
                name = text[gold.start : gold.end] if gold.start >= 0 else gold.names[0]
                got = sorted({(one.name, one.polarity.value) for one in met})
                print(f"  missed {gold.status:12} {name!r:40} got {got}")
        for one in findings:
            met_gold = [gold for gold in golds if gold.is_met(one)]
            is_right = any(_same(one.polarity.value, gold.status) for gold in met_gold)
            right += is_right
            if show and not is_right and one.words:
                marks = sorted({gold.status for gold in met_gold})
                print(f"  extra  {one.polarity.value:12} {one.words.text!r:40} marked {marks}")
        marked += len(asked)
        told += len(findings)
    return {
        "marked": marked,
        "found": told,
        "recall": round(found / max(marked, 1), 3),
        "precision": round(right / max(told, 1), 3),
    }


def _same(one: str, other: str) -> bool:
    return bool(set(statuses(one)) & set(statuses(other)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure one set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    figures = measure(cases(chosen.set, chosen.data), show=chosen.misses)
    for name, value in figures.items():
        print(f"{name:12} {value}")
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
