"""Retrieval for consults on question cards over three WHO guidelines: is the right section among the first five?

    python bench/quality/consult.py --data ../shared/data --json bench/results/consult.json

On sixty of the cards the retrieval was fitted; thirty more were written afterwards, and twenty after what those showed
was mended; thirty more after retrieval was made faster. The baseline is one search for the condition and the findings
in one line, its first five passages.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import citewell
from citewell.answer.retrieve import Search
from citewell.app import App
from citewell.assistants.consult.gather import SHOWN, gather
from citewell.types import Hit
from citewell.types.consult import Category, Finding, FindingSource, Patient, Polarity

CARDS = Path(__file__).with_name("consult_cards.tsv")
KEPT = Path(__file__).with_name("consult_cards_kept.tsv")
LAST = Path(__file__).with_name("consult_cards_last.tsv")
FOURTH = Path(__file__).with_name("consult_cards_fourth.tsv")


@dataclass(frozen=True)
class Card:
    """A patient with a condition, and where the guideline speaks of them."""

    file: str
    section: str
    pages: tuple[range, ...]
    condition: str
    patient: Patient
    findings: tuple[str, ...]
    general: str

    def is_right(self, hit: Hit, name: str) -> bool:
        numbered = any(re.match(rf"(?:{self.section})\b", title) for title in hit.section)
        worded = any(re.search(self.section, title) for title in hit.section)
        on_page = hit.page is not None and any(hit.page in pages for pages in self.pages)
        return name == self.file and on_page and (numbered or worded)


def cards(file: Path) -> list[Card]:
    found = []
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        file, section, pages, condition, age, sex, pregnant, findings, general = (line + "\t" * 8).split("\t")[:9]
        spans = tuple(range(int(one.split("-")[0]), int(one.split("-")[1]) + 1) for one in pages.split("|"))
        patient = Patient(
            age_years=float(age), sex=sex, is_pregnant={"yes": True, "no": False}.get(pregnant), setting=None
        )
        found.append(Card(file, section, spans, condition, patient, tuple(findings.split("; ")), general))
    return found


def measure(app: App, file: Path) -> dict[str, object]:
    """How many cards are answered from the right section, by the consult and by one plain search."""
    names = {entry.id: entry.name for entry in app.entries()}
    search = Search(app.library, app.index, app.embedder, app.lexicon)
    scope = app.scope_of_owner()
    right = plain = above = pairs = 0
    misses = []
    asked = cards(file)
    for number, card in enumerate(asked, 1):
        findings = [
            Finding(f"f{at}", Category.SYMPTOM, name, Polarity.PRESENT, FindingSource.CLINICIAN)
            for at, name in enumerate(card.findings)
        ]
        (found,), _ = gather([card.condition], findings, card.patient, scope=scope, search=search)
        hits = [one.hit for one in found.passages][:SHOWN]
        is_hit = any(card.is_right(hit, names[hit.document_id]) for hit in hits)
        right += is_hit
        if not is_hit:
            misses.append(number)
        line = f"{card.condition}. {'. '.join(card.findings)}"
        plain += any(card.is_right(hit, names[hit.document_id]) for hit in app.search(line, limit=SHOWN).hits)
        if card.general:
            pairs += 1
            ranks = {
                kind: next((at for at, hit in enumerate(hits) if test(hit)), SHOWN)
                for kind, test in (
                    ("own", lambda hit, card=card: card.is_right(hit, names[hit.document_id]) and not _is(card, hit)),
                    ("general", lambda hit, card=card: _is(card, hit)),
                )
            }
            above += ranks["own"] < ranks["general"]
    total = len(asked)
    return {
        "cards": total,
        "hit@5": round(right / total, 3),
        "baseline_hit@5": round(plain / total, 3),
        "ratio": round(right / max(plain, 1), 2),
        "own_above_general": round(above / max(pairs, 1), 3),
        "pairs": pairs,
        "missed": misses,
    }


def _is(card: Card, hit: Hit) -> bool:
    return any(re.search(card.general, title) for title in hit.section)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--home", type=Path, help="A library that holds the three guidelines already.")
    parser.add_argument("--fitted-only", action="store_true", help="Leave the kept cards alone.")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, citewell.open(chosen.home or Path(folder)) as app:
        wanted = sorted({card.file for card in cards(CARDS)})
        here = {entry.name for entry in app.entries()}
        for name in wanted:
            if name not in here:
                app.add(chosen.data / "guidelines" / name)
        found = measure(app, CARDS)
        if not chosen.fitted_only:
            for part, file in (("kept", KEPT), ("last", LAST), ("fourth", FOURTH)):
                found |= {f"{part}_{name}": value for name, value in measure(app, file).items()}
    for name, value in found.items():
        print(f"{name:24} {value}")
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
