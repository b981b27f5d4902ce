"""C-CDA documents imported into a vault, held against the XML itself.

    python bench/quality/ccda.py --data ../shared/data/ccda [--damage ids|marks|references] [--json FILE] [--misses]

The XML is read here with lxml alone, by the standard: an allergy or a problem has the state that its status observation
names, else its row of the narrative, else what its times and its concern say; so does a medicine. Prints how many facts
have that state, how many cite words that hold their name, and how many were made of words that state an absence.
Damaged files stand for systems that nobody looked at: without the ids of their narrative, without the marks of
references, or with references that lead anywhere in the document.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import etree

from citewell.config import Settings
from citewell.types.facts import NO_KNOWN, Allergy, Fact
from citewell.types.facts_json import fact_json
from citewell.vaults.vaults import Vaults

N = "{urn:hl7-org:v3}"
ENTRIES = "2.16.840.1.113883.10.20.22.4."
KINDS = {"7": "allergy", "4": "diagnosis", "16": "medication"}
CONCERNS = ("3", "30", "33", "34")
STATES = {
    "55561003": "active",
    "73425007": "over",
    "413322009": "over",
    "421139008": "over",
    "392521001": "over",
    "277022003": "over",
}
ACTIVE = re.compile(r"\b(active|current|ongoing|ordered|taking|chronic)\b", re.IGNORECASE)
OVER = re.compile(
    r"\b(inactive|resolved|no longer|not active|discontinued|stopped|completed|prior|expired|on hold)\b", re.IGNORECASE
)
ABSENT = re.compile(
    r"^\W*(no|none|not|unknown|nil|n/?a|denies|nk[da]+)\b.*"
    r"|\b(no information|not (applicable|available|documented|indicated|recorded)|no known|no data)\b",
    re.IGNORECASE | re.DOTALL,
)
WORD = re.compile(r"[^\W_]+")
PLAIN = frozenset("the and of by in on or with for to a an".split())
HALF = 0.5
Node = etree._Element


@dataclass(frozen=True, slots=True)
class Entry:
    """One coded entry of the file, as the file has it."""

    kind: str
    names: tuple[str, ...]
    state: str
    told_by: str
    start: str
    narrative: str | None


def entries(root: Node) -> Iterator[Entry]:
    """The allergies, problems and medicines of a file that are not denied and have a name."""
    named: dict[str, Node] = {}
    for element in root.iter():
        if isinstance(element.tag, str) and element.get("ID"):
            named.setdefault(str(element.get("ID")), element)
    written = _digits(root.find(N + "effectiveTime"))
    for element in root.iter(N + "observation", N + "substanceAdministration"):
        kind = next((KINDS[held] for held in _templates(element) if held in KINDS), None)
        if kind is None or element.get("negationInd") == "true":
            continue
        outer = _outer(element)
        if kind == "diagnosis" and (outer is None or not set(_templates(outer)) & set(CONCERNS)):
            continue
        if kind == "diagnosis" and outer is not None and _within(outer, "substanceAdministration"):
            continue
        names = tuple(_names(element, kind, named))
        if not names or all(ABSENT.search(name) for name in names):
            continue
        row = _row(element, named)
        state, told_by = _state(element, row, kind, written, named)
        yield Entry(kind, names, state, told_by, _digits(_part(element, "low")) or _digits(_part(element, None)), row)


def _templates(element: Node) -> list[str]:
    return [(held.get("root") or "").removeprefix(ENTRIES) for held in element.findall(N + "templateId")]


def _outer(element: Node) -> Node | None:
    for outer in element.iterancestors():
        if outer.tag == N + "section":
            return None
        if outer.find(N + "templateId") is not None:
            return outer
    return None


def _within(element: Node, name: str) -> bool:
    return any(outer.tag == N + name for outer in element.iterancestors())


def _names(element: Node, kind: str, named: dict[str, Node]) -> Iterator[str]:
    if kind == "allergy":
        entity = element.find(f"{N}participant/{N}participantRole/{N}playingEntity")
        codes = [] if entity is None else entity.findall(N + "code")
        if entity is not None and (entity.findtext(N + "name") or "").strip():
            yield str(entity.findtext(N + "name")).strip()
    elif kind == "medication":
        codes = element.findall(f"{N}consumable//{N}manufacturedMaterial/{N}code")
    else:
        codes = element.findall(N + "value")
    for code in codes:
        for held in (code, *code.findall(N + "translation")):
            if (held.get("displayName") or "").strip():
                yield str(held.get("displayName"))
        words = code.find(N + "originalText")
        if words is not None:
            yield from filter(None, [" ".join("".join(words.itertext()).split())])
            for reference in words.iter(N + "reference"):
                if (target := named.get((reference.get("value") or "").removeprefix("#"))) is not None:
                    yield from filter(None, [" ".join(" ".join(target.itertext()).split())[:200]])


def _row(element: Node, named: dict[str, Node]) -> str | None:
    """The words under “Status” in the row of the narrative that the entry refers to."""
    for reference in element.iter(N + "reference"):
        target = named.get((reference.get("value") or "").removeprefix("#"))
        row = target
        while row is not None and row.tag != N + "tr":
            row = row.getparent()
        table = row
        while table is not None and table.tag != N + "table":
            table = table.getparent()
        if row is None or table is None:
            continue
        heads = ["".join(head.itertext()).strip().casefold() for head in table.findall(f"{N}thead/{N}tr/{N}th")]
        cells = ["".join(cell.itertext()).strip() for cell in row.iterchildren(N + "td", N + "th")]
        told = [
            cell for head, cell in zip(heads, cells, strict=False) if re.fullmatch(r"(\w+ )?status|active\??", head)
        ]
        if told and len(heads) == len(cells):
            return told[0]
    return None


def _state(element: Node, row: str | None, kind: str, written: str, named: dict[str, Node]) -> tuple[str, str]:
    """Whether an entry holds, and what says so."""
    values = (
        inner.find(N + "value")
        for inner in element.findall(f"{N}entryRelationship/{N}observation")
        if any(code.get("code") == "33999-4" for code in inner.findall(N + "code"))
    )
    if told := next((said for value in values if value is not None and (said := _said(value, named))), ""):
        return told, "status observation"
    if row and (said := _of_words(row)):
        return said, "narrative"
    end, outer = _part(element, "high"), _outer(element)
    has_ended = end is not None and bool(end.get("value")) and _digits(end) <= (written or "99999999")
    act = element if kind == "medication" or outer is None else outer
    status = _status(act)
    if kind == "medication" and status in ("suspended", "aborted", "cancelled"):
        return "over", "statusCode"
    if kind == "medication" and status in ("active", "ordered", "new", "held"):
        return "active", "statusCode"
    is_closed = kind != "medication" and status in ("completed", "aborted") and _part(act, "high") is not None
    return ("over" if has_ended or is_closed else "active"), "times"


def _said(value: Node, named: dict[str, Node]) -> str:
    if value.get("code") in STATES:
        return STATES[str(value.get("code"))]
    words = value.get("displayName") or " ".join("".join(value.itertext()).split())
    for reference in value.iter(N + "reference"):
        target = named.get((reference.get("value") or "").removeprefix("#"))
        words += "" if target is None else " " + "".join(target.itertext())
    return _of_words(words)


def _of_words(words: str) -> str:
    return "over" if OVER.search(words) else "active" if ACTIVE.search(words) else ""


def _status(element: Node | None) -> str | None:
    status = None if element is None else element.find(N + "statusCode")
    return None if status is None else status.get("code")


def _part(element: Node, name: str | None) -> Node | None:
    for time in element.findall(N + "effectiveTime"):
        part = time.find(N + name) if name else time
        if part is not None and (name is None or part.get("value") or part.get("nullFlavor")):
            return part
    return None


def _digits(element: Node | None) -> str:
    return "" if element is None else (element.get("value") or "")[:8]


def words(text: str) -> set[str]:
    """Words without those that every sentence has, without the s of the plural; “HeartRate” is two."""
    found = (word.casefold() for word in WORD.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)))
    return {word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found} - PLAIN


def names_of(fact: Fact) -> list[str]:
    """What a fact is called."""
    held = fact_json(fact)
    return [
        str(held[field]) for field in ("generic_name", "brand_name", "allergen", "test_name", "name") if held.get(field)
    ]


def holds(text: str, names: list[str]) -> bool:
    """Whether words hold a name: one of the names, at least half of its words."""
    there = words(text)
    return any(len(words(name) & there) >= max(1, HALF * len(words(name))) for name in names)


def state_of(fact: Fact) -> str:
    """Active, or over."""
    held = fact_json(fact)
    if isinstance(fact, Allergy):
        return "active" if fact.is_active else "over"
    return "active" if held["status"] in ("active", "monitoring") else "over"


def compare(wanted: list[Entry], facts: list[Fact]) -> tuple[Counter[str], list[str]]:
    """Each entry with the fact that is called so and began then."""
    counts: Counter[str] = Counter()
    misses = []
    left = [fact for fact in facts if fact.kind in KINDS.values() and getattr(fact, "code", None) not in NO_KNOWN]
    for entry in wanted:
        fitting = [fact for fact in left if fact.kind == entry.kind and _is_called(fact, entry)]
        fitting.sort(key=lambda fact: _start(fact) != entry.start)
        counts[f"{entry.kind} {entry.state}"] += 1
        if not fitting:
            counts["missing"] += 1
            misses.append(f"missing: {entry}")
            continue
        fact = fitting[0]
        left.remove(fact)
        is_same = state_of(fact) == entry.state
        counts["same" if is_same else "other"] += 1
        counts[f"{entry.kind} {entry.state} {'same' if is_same else 'other'}"] += 1
        if not is_same:
            misses.append(f"state: {entry} is {state_of(fact)}")
    return counts, misses


def _is_called(fact: Fact, entry: Entry) -> bool:
    return any(words(name) & words(" ".join(entry.names)) for name in names_of(fact))


def _start(fact: Fact) -> str:
    held: dict[str, Any] = fact_json(fact)
    return str(held.get("since") or held.get("dated") or held.get("start") or "")[:10].replace("-", "")


def main() -> None:
    """Import every file into a vault of its own and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--damage", choices=("ids", "marks", "references"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--misses", action="store_true")
    given = parser.parse_args()
    total: Counter[str] = Counter()
    for path in sorted(path for path in given.data.rglob("*") if path.suffix.casefold() == ".xml"):
        with tempfile.TemporaryDirectory() as folder:
            counts, misses = of_file(damaged(path, given.damage, Path(folder)) if given.damage else path)
        total += counts
        if given.misses:
            print(f"== {path.name}: {counts['facts']} facts", *misses, sep="\n   ")
    figures = {
        "files": total["files"],
        "entries": total["same"] + total["other"] + total["missing"],
        **{name: count for name, count in sorted(total.items()) if name.split()[0] in KINDS.values()},
        "same state": total["same"],
        "another state": total["other"],
        "missing": total["missing"],
        "facts": total["facts"],
        "cite their name": total["cited"],
        "cite other words": total["wrong"],
        "cite nothing": total["none"],
        "made of an absence": total["invented"],
        "to confirm": total["to confirm"],
    }
    print(json.dumps(figures, indent=1))
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


def damaged(path: Path, damage: str, folder: Path) -> Path:
    """The same document, written worse."""
    root = etree.parse(path).getroot()
    ids = [str(element.get("ID")) for element in root.iter(etree.Element) if element.get("ID")]
    chosen = random.Random(3)
    for element in root.iter(etree.Element):
        if damage == "ids":
            element.attrib.pop("ID", None)
        elif element.tag == N + "reference" and element.get("value"):
            value = str(element.get("value")).removeprefix("#")
            element.set("value", value if damage == "marks" else f"#{chosen.choice(ids)}")
    (folder / path.name).write_bytes(etree.tostring(root))
    return folder / path.name


def of_file(path: Path) -> tuple[Counter[str], list[str]]:
    """One file in a vault of its own."""
    with tempfile.TemporaryDirectory() as folder:
        vaults = Vaults(Settings(home=Path(folder)))
        header, _phrase = vaults.create("bench", "a passphrase for a bench")
        with vaults.open(header.id, "a passphrase for a bench") as vault:
            record = vault.record
            record.import_file(path)
            facts = record.facts.all(record.scope)
            texts = {entry.id: text.text for entry, text in record.paper.read()}
        vaults.close()
    counts, misses = compare(list(entries(etree.parse(path).getroot())), facts)
    counts["files"] += 1
    for fact in facts:
        origin = fact.origin
        cited = texts[origin.document_id or ""][origin.start or 0 : origin.end or 0]
        counts["facts"] += 1
        counts["to confirm"] += not fact.is_verified
        is_told = getattr(fact, "code", None) in NO_KNOWN
        if not cited:
            counts["none"] += 1
            misses.append(f"cites nothing: {fact.kind} {names_of(fact)}")
        elif is_told or holds(cited, names_of(fact)):
            counts["cited"] += 1
        else:
            counts["wrong"] += 1
            misses.append(f"cites other words: {fact.kind} {names_of(fact)} <- {cited[:160]!r}")
        if not is_told and any(ABSENT.search(name) for name in names_of(fact)):
            counts["invented"] += 1
            misses.append(f"made of an absence: {fact.kind} {names_of(fact)}")
    return counts, misses


if __name__ == "__main__":
    main()
