"""Looks through a guideline piece by piece: rules, the texts they are matched by, rows of the index, definitions."""

from __future__ import annotations

from dataclasses import dataclass

from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.search_entries import SearchEntry, pieces


@dataclass(frozen=True, slots=True)
class BrowseFilter:
    """Which pieces to show; what is not said matches all."""

    kind: str = ""
    page: int | None = None
    site: str = ""
    action: str = ""
    system: str = ""
    words: str = ""

    def fits(self, piece: SearchEntry, system: str) -> bool:
        """Whether a piece is wanted; `system` is that of a row of the index."""
        text = f"{piece.id} {piece.text}".casefold()
        return (
            self.kind in ("", piece.kind)
            and self.page in (None, piece.page)
            and (not self.site or any(rule.site == self.site for rule in piece.rules))
            and (not self.action or any(rule.action.label == self.action for rule in piece.rules))
            and self.system in ("", system)
            and all(word in text for word in self.words.casefold().split())
        )


@dataclass(frozen=True, slots=True)
class BrowseOptions:
    """What there is to choose from."""

    kinds: tuple[str, ...]
    sites: tuple[str, ...]
    actions: tuple[str, ...]
    systems: tuple[str, ...]


def choices(guideline: Guideline) -> BrowseOptions:
    """What the pieces of a guideline can be told apart by."""
    held = {
        "rule": guideline.rules,
        "search": guideline.rules,
        "table": guideline.tables,
        "symptom": guideline.symptoms,
        "definition": guideline.definitions,
        "section": guideline.sections,
    }
    return BrowseOptions(
        tuple(kind for kind, some in held.items() if some),
        tuple(dict.fromkeys(rule.site for rule in guideline.rules if rule.site)),
        tuple(sorted({rule.action.label for rule in guideline.rules})),
        tuple(dict.fromkeys(row.system for row in guideline.symptoms)),
    )


def browse(guideline: Guideline, text: str, wanted: BrowseFilter) -> list[SearchEntry]:
    """The pieces that are wanted, in the order of the document; `text` is the document's."""
    systems = {f"B{number}": row.system for number, row in enumerate(guideline.symptoms, 1)}
    search_entries = pieces(guideline, text)
    return [
        search_entry
        for search_entry in search_entries
        if wanted.fits(search_entry, systems.get(search_entry.id, "") if search_entry.kind == "symptom" else "")
    ]
