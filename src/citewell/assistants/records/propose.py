"""Facts that a model proposes from a document: kept only where the document's own words hold them, and unverified."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from citewell.assistants.records.source_sentences import is_denied
from citewell.prompts import Template
from citewell.types.facts import (
    Allergy,
    Diagnosis,
    DiagnosisStatus,
    Fact,
    FactOrigin,
    LabResult,
    Medication,
    MedicationStatus,
    fact_id,
)
from citewell.types.facts_json import read_fact

PROMPT = Template.read(Path(__file__).parent / "propose.txt")
PART_CHARACTERS = 2_400
"""How much of a document a model reads at once."""
NAMES = {
    Medication.kind: "generic_name",
    Allergy.kind: "allergen",
    Diagnosis.kind: "name",
    LabResult.kind: "test_name",
}
"""What may be proposed, and what its name is called."""
FIELDS = {
    Medication.kind: ("dose", "frequency"),
    Allergy.kind: ("reaction",),
    Diagnosis.kind: (),
    LabResult.kind: ("value", "unit"),
}
SCHEMA: Mapping[str, object] = {
    "type": "object",
    "required": ["facts"],
    "properties": {
        "facts": {
            "type": "array",
            "maxItems": 30,
            "items": {
                "type": "object",
                "required": ["kind", "name", "quote"],
                "properties": {
                    "kind": {"type": "string", "enum": list(NAMES)},
                    **{name: {"type": "string"} for name in ("name", "dose", "frequency", "reaction", "value", "unit")},
                    "quote": {"type": "string"},
                },
            },
        }
    },
}
_STOPPED = re.compile(
    r"\b(?:stopp?ed|discontinued|ceased|withdrawn|no longer|arrêtée?s?|interrompue?s?|abgesetzt|beendet)\b",
    re.IGNORECASE,
)

_OVER = re.compile(r"\b(?:resolved|in remission|history of|healed|guérie?|geheilt|zustand nach)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ProposedFacts:
    """What a model proposed: the facts that stand, and how many of its lines the document does not hold."""

    facts: tuple[Fact, ...]
    dropped: int


def propose(text: str, document_id: str, *, ask: Callable[[str], str]) -> ProposedFacts:
    """Have each part of a document read; `ask` gives the model's reply to one part."""
    found: dict[str, Fact] = {}
    dropped = 0
    for start, part in _parts(text):
        block = f"<document>\n{escape(part, quote=False)}\n</document>"
        for line in _lines(ask(block)):
            fact = _held(line, part, start, document_id)
            dropped += fact is None
            if fact is not None:
                found.setdefault(fact.id, fact)
    return ProposedFacts(tuple(found.values()), dropped)


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """A text in parts that end at a line where one does."""
    at = 0
    while at < len(text):
        end = min(at + PART_CHARACTERS, len(text))
        if end < len(text):
            end = max(text.rfind("\n", at + 1, end), 0) or end
        if text[at:end].strip():
            yield at, text[at:end]
        at = end


def _lines(reply: str) -> Iterable[Mapping[str, Any]]:
    """The lines of a reply; one that cannot be read has none."""
    try:
        entry = json.loads(reply[reply.index("{") : reply.rindex("}") + 1])
    except ValueError:
        return []
    found = entry.get("facts") if isinstance(entry, dict) else None
    return [other for other in found if isinstance(other, dict)] if isinstance(found, list) else []


def _held(entry: Mapping[str, Any], part: str, start: int, document_id: str) -> Fact | None:
    """The fact of a line whose words stand in the document; None where they do not, or deny it."""
    kind, name, quote = (str(entry.get(key) or "").strip() for key in ("kind", "name", "quote"))
    place = _place(quote, part)
    if kind not in NAMES or place is None or not name or _place(name, quote) is None or is_denied(quote):
        return None
    begin, end = start + place[0], start + place[1]
    written = {field: str(entry.get(field) or "").strip() for field in FIELDS[kind]}
    kept: dict[str, Any] = {field: value for field, value in written.items() if value and _place(value, quote)}
    if kind == LabResult.kind:
        kept = _result(kept)
    if kind == Medication.kind and _STOPPED.search(quote):
        kept["status"] = MedicationStatus.STOPPED.value
    if kind == Diagnosis.kind:
        kept["status"] = (DiagnosisStatus.RESOLVED if _OVER.search(quote) else DiagnosisStatus.ACTIVE).value
    made = {"kind": kind, NAMES[kind]: name, **kept, "is_verified": False}
    return read_fact(
        {
            **made,
            "id": fact_id("proposed", document_id, kind, str(begin), name.casefold()),
            "origin": {"via": FactOrigin.DOCUMENT.value, "document_id": document_id, "start": begin, "end": end},
        }
    )


def _result(kept: Mapping[str, Any]) -> dict[str, Any]:
    """A result's value as a number where it is one, else as words; a unit only beside a number."""
    value = kept.get("value")
    if value is None:
        return {}
    try:
        return {"value": float(value.replace(",", ".")), **({"unit": kept["unit"]} if "unit" in kept else {})}
    except ValueError:
        return {"value_text": value}


def _place(words: str, text: str) -> tuple[int, int] | None:
    r"""Where words stand in a text as whole words, whatever the case and the space between them.

    >>> _place("warfarin 5 mg", "Take Warfarin\n5 mg daily"), _place("war", "Warfarin"), _place("", "x")
    ((5, 18), None, None)
    """
    parts = [re.escape(one) for one in words.split()]
    if not parts:
        return None
    pattern = r"\s+".join(parts)
    match = re.search(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE)
    return match.span() if match else None
