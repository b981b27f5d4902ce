"""A FHIR R4 bundle as it is given: its entries, what refers to what, and which entry is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from citewell.adapters.records.fhir_earlier import as_r4
from citewell.errors import CitewellError, DamagedFile

Json = Mapping[str, Any]
RECORD_SYSTEM = "urn:citewell:record"
"""Marks a bundle that Citewell wrote: it holds a whole record, with its documents."""
FACT_EXTENSION = "urn:citewell:fact"
"""A bundle that Citewell wrote carries every fact whole, so that it is read again as it was."""
DOCUMENT_EXTENSION = "urn:citewell:document"
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
"""Where JSON spells one half of a character."""
BOM = b"\xef\xbb\xbf"
MOST_NESTED = 3
"""Bundles in bundles that are read."""
MISTAKEN = frozenset({"entered-in-error", "refuted"})


@dataclass(frozen=True, slots=True)
class BundleEntry:
    """One resource, and where it stands in the bundle (the first is 1)."""

    number: int
    kind: str
    id: str
    resource: Json

    @property
    def is_mistaken(self) -> bool:
        """Whether the record itself says that it does not hold."""
        status = self.resource.get("verificationStatus")
        codings = status.get("coding") if isinstance(status, Mapping) else None
        held = codings if isinstance(codings, list) else []
        given = [entry.get("code") for entry in held if isinstance(entry, Mapping)]
        return any(isinstance(one, str) and one in MISTAKEN for one in (self.resource.get("status"), *given))


@dataclass(frozen=True, slots=True)
class Bundle:
    """All entries of one file, and what each can be called in a reference."""

    entries: tuple[BundleEntry, ...]
    called: Mapping[str, BundleEntry]
    is_own: bool = False
    """Whether Citewell wrote it."""
    refused: tuple[str, ...] = ()
    """Entries that are none, or that call themselves as another does: why each was left out."""

    def of(self, *kinds: str) -> list[BundleEntry]:
        """The entries of these kinds that hold, in the order of the file."""
        return [entry for entry in self.entries if entry.kind in kinds and not entry.is_mistaken]

    def referred(self, reference: Any, *, within: Json | None = None) -> BundleEntry | None:
        """What a reference leads to, in the file or in the resource itself; None where it leads out, as it may."""
        name = reference.get("reference") if isinstance(reference, Mapping) else None
        if not isinstance(name, str):
            return None
        if name.startswith("#"):
            return _contained(within or {}, name.removeprefix("#"))
        plain = name.partition("/_history/")[0]
        return self.called.get(name) or self.called.get(plain) or self.called.get("/".join(plain.split("/")[-2:]))

    def is_outside(self, entry: BundleEntry) -> bool:
        """Whether an entry refers by a name that only something in the file can have, and that nothing there has."""
        held = [*entry.resource.values()]
        for one in held:
            held += one if isinstance(one, list) else [*one.values()] if isinstance(one, Mapping) else []
            name = one.get("reference") if isinstance(one, Mapping) else None
            if isinstance(name, str) and name.startswith("urn:uuid:") and name not in self.called:
                return True
        return False


def _contained(resource: Json, name: str) -> BundleEntry | None:
    """A resource that stands inside another one."""
    held = resource.get("contained")
    inside = [one for one in (held if isinstance(held, list) else []) if isinstance(one, Mapping)]
    return next(
        (BundleEntry(0, str(one.get("resourceType")), name, one) for one in inside if one.get("id") == name), None
    )


def read_json(data: bytes) -> Any:
    """A bundle, a resource on its own, or one resource in each line, as a bundle."""
    told = _parsed(data)
    if not _is_loose(told):
        return told
    resources = told if isinstance(told, list) else [told]
    return {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": one} for one in resources]}


def holds_loose_resources(data: bytes) -> bool:
    """Whether a file holds resources outside a bundle, which may be any part of a record."""
    try:
        return _is_loose(_parsed(data))
    except (ValueError, RecursionError, DamagedFile):
        return False  # whoever reads it says what is wrong


def _is_loose(told: Any) -> bool:
    return isinstance(told, list) or (isinstance(told, dict) and told.get("resourceType") not in (None, "Bundle"))


def _parsed(data: bytes) -> Any:
    try:
        return _json(data)
    except ValueError:
        lines = [line for line in data.removeprefix(BOM).splitlines() if line.strip()]
        if len(lines) < 2 or not all(line.lstrip().startswith(b"{") for line in lines):
            raise
        return [_json(line) for line in lines]


def _json(data: bytes) -> Any:
    told = json.loads(data, parse_constant=_refuse)
    if _HALF.search(data) and not _is_text(told):
        raise DamagedFile("The bundle contains an invalid character (a lone surrogate). Export it again and add that.")
    return told


def flat_entries(entries: Sequence[Any], depth: int = 0) -> Iterator[Any]:
    """The entries of a bundle and of bundles in it; one that only answers or deletes holds nothing to read."""
    for entry in entries:
        resource = entry.get("resource") if isinstance(entry, dict) else None
        inner = (
            resource.get("entry") if isinstance(resource, dict) and resource.get("resourceType") == "Bundle" else None
        )
        if isinstance(inner, list) and depth < MOST_NESTED:
            yield from flat_entries(inner, depth + 1)
        elif resource is not None or not isinstance(entry, dict) or not {"request", "response"} & entry.keys():
            yield entry


def read_bundle(data: bytes) -> Bundle:
    """The bundle in a file; one that is broken says which entry is wrong."""
    try:
        told = read_json(data)
    except (ValueError, RecursionError) as error:
        raise DamagedFile("The bundle is not complete JSON. Export it again and add that.") from error
    if not isinstance(told, dict) or told.get("resourceType") != "Bundle" or not isinstance(told.get("entry"), list):
        raise DamagedFile("The file is not a FHIR bundle with entries. Export the whole record as one bundle.")
    identifier = told.get("identifier")
    is_own = isinstance(identifier, dict) and identifier.get("system") == RECORD_SYSTEM
    entries, refused, called = list[BundleEntry](), list[str](), dict[str, BundleEntry]()
    for number, one in enumerate(flat_entries(told["entry"]), 1):
        try:
            entry = _entry(number, one)
            _call(entry, one.get("fullUrl"), called)
        except DamagedFile as error:
            if is_own:  # a record that is restored is whole
                raise DamagedFile(f"{error} Nothing was imported. Export it again.") from error
            refused.append(str(error))
        else:
            entries.append(entry)
    if refused and not entries:
        raise DamagedFile(f"{refused[0]} Nothing was imported. Export it again.")
    return Bundle(tuple(entries), called, is_own, tuple(refused))


def _call(entry: BundleEntry, url: Any, called: dict[str, BundleEntry]) -> None:
    """Make an entry known by what a reference may call it; the same name for two things names neither."""
    names = [name for name in (f"{entry.kind}/{entry.id}", f"urn:uuid:{entry.id}", url) if isinstance(name, str)]
    if any(name in called and called[name].resource != entry.resource for name in names):
        raise DamagedFile(f"Entry {entry.number} ({entry.kind}) has the same ID as another entry.")
    called.update(dict.fromkeys(names, entry))


def _is_text(told: Any) -> bool:
    """Whether every word can be written down again."""
    try:
        json.dumps(told, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def written(kind: str, identifier: tuple[str, str], at: str, resources: Sequence[Json]) -> bytes:
    """A bundle as a file; its identifier is a system and a value in it."""
    system, value = identifier
    bundle = {
        "resourceType": "Bundle",
        "type": kind,
        "identifier": {"system": system, "value": value},
        "timestamp": at,
        "entry": [{"fullUrl": url_of(resource), "resource": resource} for resource in resources],
    }
    return json.dumps(bundle, ensure_ascii=False, indent=1).encode()


def url_of(resource: Json) -> str:
    """How the other entries of a bundle refer to a resource."""
    return f"urn:uuid:{resource['id']}"


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")


def _entry(number: int, entry: Any) -> BundleEntry:
    resource = entry.get("resource") if isinstance(entry, dict) else None
    if not isinstance(resource, dict) or not isinstance(resource.get("resourceType"), str):
        raise DamagedFile(f"Entry {number} of the bundle has no resource.")
    name = resource.get("id") or entry.get("fullUrl") or json.dumps(resource, sort_keys=True)
    told = as_r4(resource)
    return BundleEntry(number, str(told["resourceType"]), str(name).removeprefix("urn:uuid:"), told)


@contextmanager
def in_entry(entry: BundleEntry) -> Iterator[None]:
    """Say which entry is wrong, and why, without its words."""
    try:
        yield
    except (CitewellError, ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError) as error:
        why = str(error) if isinstance(error, CitewellError | ValueError) else "a part of it is missing or misplaced"
        raise DamagedFile(f"Entry {entry.number} ({entry.kind}) is invalid: {why.rstrip('.')}.") from error
