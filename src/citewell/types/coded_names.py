"""Names of codes as records and patient files write them."""

from __future__ import annotations

import re

_KIND = re.compile(
    r"\s*\((?:finding|disorder|situation|procedure|person|morphologic abnormality|substance|regime/therapy|event|"
    r"observable entity|qualifier value)\)$"
)
UNSEEN = re.compile(r"[\u00ad\u200b-\u200f\u2060\ufeff]")
"""Characters without a width, which some systems put into long names; they make two tests of one."""


def plain_name(written: str) -> str:
    """A name on one line, without the kind that SNOMED CT puts behind it, and without what nobody sees.

    >>> plain_name("Leukocytes [#/\u200bvolume]  in Blood (procedure)")
    'Leukocytes [#/volume] in Blood'
    """
    return _KIND.sub("", " ".join(UNSEEN.sub("", written).split()))


_UNITS = tuple(
    (re.compile(code), written)
    for code, written in (
        (r"\{1\.73_m2\}|\(1\.73\.m2\)|\b1\.73\.m2\b", "1.73 m²"),
        (r"\{(?:beats?|breaths?)\}(?=/min)", ""),
        (r"^\{[^}]*\}(?=/)", "1"),
        (r"\{[^}]*\}", ""),
        (r"mm\[Hg\]", "mmHg"),
        (r"\[degF\]", "°F"),
        (r"^Cel$", "°C"),
        (r"\[lb_(?:av|us)\]", "lb"),
        (r"\[oz_av\]", "oz"),
        (r"\[in_(?:us|i)\]", "in"),
        (r"\[ft_(?:us|i)\]", "ft"),
        (r"\[(?:iU|IU)\]", "IU"),
        (r"\[pH\]", ""),
        (r"\b(?:10\*3|10\+3|x?10E3|10\^3|K)(?=/[um]?L)", "thousand"),
        (r"\b(?:10\*6|10\+6|x?10E6|10\^6)(?=/[um]?L)", "million"),
        (r"\b(?:10\*9|10\+9|x?10E9|10\^9)(?=/L)", "×10⁹"),
        (r"\bu(?=[LgM](?:ol)?\b|mol\b)", "µ"),
        (r"\bm2$", "m²"),
        (r"^1$", ""),
    )
)


def unit_name(code: str | None) -> str:
    """A unit as people write it; what only annotates is left out.

    >>> [unit_name(code) for code in ("mm[Hg]", "Cel", "{score}", "kg/m2", "10*3/uL", "mL/min/{1.73_m2}", "mg/dL")]
    ['mmHg', '°C', '', 'kg/m²', 'thousand/µL', 'mL/min/1.73 m²', 'mg/dL']
    """
    name = (code or "").strip()
    for written, plain in _UNITS:
        name = written.sub(plain, name)
    return name


_METHOD = re.compile(r" \[[^\]]*\](?: in (?:serum or plasma|serum|plasma|blood)\b)?(?: by [\w ]+)?", re.IGNORECASE)
_REPORTED = re.compile(r" \[score\]|(?: -)? reported$| - 0-10 verbal numeric rating", re.IGNORECASE)


def name_of_test(written: str) -> str:
    """What a test is called, without the property, the sample and the method that LOINC puts behind it.

    >>> name_of_test("Leukocytes [#/volume] in Blood by Automated count")
    'Leukocytes'
    >>> name_of_test("Hemoglobin.gastrointestinal [Presence] in Stool by Immunologic method")
    'Hemoglobin.gastrointestinal in Stool by Immunologic method'
    """
    return " ".join(_METHOD.sub("", _REPORTED.sub("", written)).split()) or written
