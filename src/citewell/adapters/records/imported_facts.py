"""What a coded file says: one readable document, and facts whose origins are spans of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from citewell.types import Document, Source
from citewell.types.facts import Fact, FactOrigin, Origin

NOT_YET = Origin(FactOrigin.DOCUMENT, "", 0, 0)
"""Until the document is written, a fact has no place in it."""


@dataclass(frozen=True, slots=True)
class ImportedFacts:
    """A document that has no id yet, and the facts in it."""

    document: Document
    facts: tuple[Fact, ...]
    spans: Mapping[str, tuple[int, int]]
    """Where the words of each fact stand; of one that is only coded, nowhere."""
    left_out: int = 0
    """Coded entries that became no fact: they have no name, say that something was not so, or plan what no
    words tell."""

    papers: tuple[tuple[str, Source], ...] | None = None
    """Of a record that Citewell wrote: its documents, by the ids that its facts know them by."""

    def read_from(self, document_id: str) -> list[Fact]:
        """The facts, once the document has an id; whoever a file says told them, it is the file that says so."""
        return [
            replace(fact, origin=Origin(FactOrigin.DOCUMENT, document_id, *self.spans.get(fact.id, ())))
            for fact in self.facts
        ]

    def restored(self, ids: Mapping[str, str]) -> list[Fact]:
        """The facts of a record that Citewell wrote, read from the same documents under their new ids."""
        return [
            replace(fact, origin=replace(fact.origin, document_id=ids[fact.origin.document_id]))
            if fact.origin.document_id is not None
            else fact
            for fact in self.facts
        ]
