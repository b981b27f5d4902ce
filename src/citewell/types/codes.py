"""Codes of terminologies as a record brings them, each with the terminology that it is of."""

from __future__ import annotations

from dataclasses import dataclass

LOINC, SNOMED, RXNORM = (
    "http://loinc.org",
    "http://snomed.info/sct",
    "http://www.nlm.nih.gov/research/umls/rxnorm",
)
ICD_10_CM, HPO = "http://hl7.org/fhir/sid/icd-10-cm", "http://human-phenotype-ontology.org"
SYSTEMS = {
    LOINC: "LOINC",
    SNOMED: "SNOMED CT",
    RXNORM: "RxNorm",
    "http://hl7.org/fhir/sid/icd-10": "ICD-10",
    ICD_10_CM: "ICD-10-CM",
    "http://hl7.org/fhir/sid/icd-9-cm": "ICD-9-CM",
    "http://hl7.org/fhir/sid/cvx": "CVX",
    "http://hl7.org/fhir/sid/ndc": "NDC",
    "http://www.whocc.no/atc": "ATC",
    HPO: "HPO",
}
"""The names of terminologies by their addresses in FHIR."""
OIDS = {
    "2.16.840.1.113883.6.1": LOINC,
    "2.16.840.1.113883.6.96": SNOMED,
    "2.16.840.1.113883.6.88": RXNORM,
    "2.16.840.1.113883.6.3": "http://hl7.org/fhir/sid/icd-10",
    "2.16.840.1.113883.6.90": ICD_10_CM,
    "2.16.840.1.113883.6.103": "http://hl7.org/fhir/sid/icd-9-cm",
    "2.16.840.1.113883.12.292": "http://hl7.org/fhir/sid/cvx",
    "2.16.840.1.113883.6.69": "http://hl7.org/fhir/sid/ndc",
}
"""The same by the numbers that C-CDA knows them by."""


@dataclass(frozen=True, slots=True)
class Code:
    """A code of a terminology; the terminology by its address in FHIR."""

    system: str
    code: str

    @property
    def shown(self) -> str:
        """The code as people write it.

        >>> Code(ICD_10_CM, "E11.9").shown, Code("urn:oid:1.2.3", "7").shown
        ('ICD-10-CM E11.9', '7')
        """
        name = SYSTEMS.get(self.system)
        return f"{name} {self.code}" if name else self.code


def is_loinc(code: str | None) -> bool:
    """Whether a code is one of LOINC, by its last digit, which checks the others.

    >>> [is_loinc(code) for code in ("8867-4", "8867-5", "855332", None)]
    [True, False, False, False]
    """
    number, dash, check = (code or "").partition("-")
    if not (dash and number.isdecimal() and check.isdecimal() and len(check) == 1):
        return False
    digits = [int(digit) for digit in reversed(number)]
    doubled = [sum(divmod(digit * 2, 10)) if place % 2 == 0 else digit for place, digit in enumerate(digits)]
    return (10 - sum(doubled) % 10) % 10 == int(check)
