"""Names of codes as records and patient files write them."""

from __future__ import annotations

import re

_KIND = re.compile(
    r"(?:(?<!\s)\s+)?\((?:finding|disorder|situation|procedure|person|morphologic abnormality|substance|"
    r"regime/therapy|event|observable entity|qualifier value)\)$"
)
UNSEEN = re.compile(r"[\u00ad\u200b-\u200f\u2060\ufeff]")
"""Characters without a width, which some systems put into long names; they make two tests of one."""


def plain_name(written: str) -> str:
    """A name on one line, without the kind that SNOMED CT puts behind it, and without what nobody sees.

    >>> plain_name("Leukocytes [#/\u200bvolume]  in Blood (procedure)")
    'Leukocytes [#/volume] in Blood'
    """
    return _KIND.sub("", " ".join(UNSEEN.sub("", written).split()))


_METHOD = re.compile(
    r" \[[^\]]{0,200}\](?: (?:in|of) (?:serum or plasma|serum|plasma|blood)\b)?(?: by [\w ]+)?", re.IGNORECASE
)
_REPORTED = re.compile(r" \[score\]|(?: -)? reported$| - 0-10 verbal numeric rating", re.IGNORECASE)


def name_of_test(written: str) -> str:
    """What a test is called, without the property, the sample and the method that LOINC puts behind it.

    >>> name_of_test("Leukocytes [#/volume] in Blood by Automated count")
    'Leukocytes'
    >>> name_of_test("Hematocrit [Volume Fraction] of Blood by Automated count")
    'Hematocrit'
    >>> name_of_test("Hemoglobin.gastrointestinal [Presence] in Stool by Immunologic method")
    'Hemoglobin.gastrointestinal in Stool by Immunologic method'
    """
    return " ".join(_METHOD.sub("", _REPORTED.sub("", written)).split()) or written
