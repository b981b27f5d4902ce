"""What measured vital signs show: a fever, a fast pulse for this age."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from citewell.assistants.consult.named_findings import named_in
from citewell.assistants.consult.tables import rows
from citewell.types.consult import Finding

_HOLDS = {">": operator.gt, ">=": operator.ge, "<": operator.lt}


@dataclass(frozen=True, slots=True)
class VitalSign:
    """A sign, and the measurement that shows whether it is there."""

    key: str
    """As `key_of` tells findings apart."""
    name: str
    finding: Finding
    is_present: bool

    @property
    def words(self) -> str:
        return f"{self.name} ({self.finding.name} {self.finding.value:g})"


def vital_signs(findings: Iterable[Finding], age: float | None) -> Iterator[VitalSign]:
    """The signs that measurements show or rule out; without an age, those that are the same at any age.

    >>> from citewell.types.consult import Category, FindingSource, Polarity
    >>> taken = Finding("f1", Category.VITAL, "temperature", Polarity.PRESENT, FindingSource.RULES, value=38.9)
    >>> [sign.words for sign in vital_signs([taken], None)]
    ['fever (temperature 38.9)']
    """
    for finding in (one for one in findings if one.value is not None):
        for sign, measurement, low, high, comparison, limit in rows("vital_signs.tsv"):
            is_of_age = (low, high) == ("0", "200") or (age is not None and float(low) <= age < float(high))
            if finding.name == measurement and is_of_age and finding.value is not None:
                is_present = _HOLDS[comparison](finding.value, float(limit))
                yield from (VitalSign(key, sign, finding, is_present) for key in named_in(sign))
