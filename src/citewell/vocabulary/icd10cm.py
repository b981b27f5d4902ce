"""The names of ICD-10-CM, in the public domain; NOTICE says where the table is from."""

from __future__ import annotations

from functools import cache

from citewell.types.codes import ICD_10_CM, Code
from citewell.vocabulary import packed_lines
from citewell.vocabulary.uk_us_spelling import us_spelling


def icd10cm_name(code: str) -> str | None:
    """What a code is called; None for one that the table does not have.

    >>> icd10cm_name("E11.9"), icd10cm_name("e119"), icd10cm_name("E99.9")
    ('Type 2 diabetes mellitus without complications', 'Type 2 diabetes mellitus without complications', None)
    """
    return _names().get(code.replace(".", "").upper())


def codes_named(name: str) -> tuple[Code, ...]:
    """The one code that is called exactly so, in UK or US spelling; the wider one where a narrower has its name too.

    >>> [code.code for name in ("Haemoptysis", "type 2 diabetes mellitus", "diabetes") for code in codes_named(name)]
    ['R04.2', 'E11']
    """
    code = _by_name().get(_plain(name))
    return () if code is None else (Code(ICD_10_CM, _written(code)),)


def _plain(name: str) -> str:
    return " ".join(us_spelling(word) for word in name.casefold().split())


def _written(code: str) -> str:
    return f"{code[:3]}.{code[3:]}" if len(code) > 3 else code


@cache
def _by_name() -> dict[str, str]:
    """The code of each name; names of several codes that are not one below the other are no name of any."""
    codes: dict[str, str] = {}
    for code, name in _names().items():
        plain = " ".join(name.casefold().split())
        before = codes.setdefault(plain, code)
        if not code.startswith(before):
            codes[plain] = ""
    return {name: code for name, code in codes.items() if code}


@cache
def _names() -> dict[str, str]:
    rows = (line.partition("\t") for line in packed_lines("icd10cm.tsv.gz"))
    return {code: name for code, _, name in rows}
