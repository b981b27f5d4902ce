"""FHIR R4 bundles: a health record as lines that a person can read."""

from __future__ import annotations

from citewell.adapters.records.fhir_import import read_fhir
from citewell.types import Document, ParseLimits, Source


class FhirParser:
    """Reads a bundle as a plain document; its facts are left to the record importer."""

    def parse(self, source: Source, *, media_type: str, limits: ParseLimits) -> Document:  # noqa: ARG002
        return read_fhir(source.data).document
