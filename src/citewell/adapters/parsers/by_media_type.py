"""One file per format; a vendor library is imported when its parser is first used."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from citewell.ingest import media_types
from citewell.ports import Parser
from citewell.types import Document, ParseLimits, Source

PARSERS = {
    media_types.PDF: ("pdf", "PdfParser"),
    media_types.DOCX: ("docx", "DocxParser"),
    media_types.JATS: ("nxml", "JatsParser"),
    media_types.CDA: ("cda", "CdaParser"),
    media_types.FHIR: ("fhir", "FhirParser"),
    media_types.XML: ("xml", "XmlParser"),
    media_types.HTML: ("html", "HtmlParser"),
    media_types.MARKDOWN: ("markdown", "MarkdownParser"),
    media_types.TEXT: ("text", "TextParser"),
}
"""The module and the class that read each media type."""


class _LazyParser:
    """Imports its parser on first use: a command that reads no PDF pays for no PDF library."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name
        self._parser: Parser | None = None

    def parse(self, source: Source, *, media_type: str, limits: ParseLimits) -> Document:
        if self._parser is None:
            module = import_module(f"citewell.adapters.parsers.{self._module}")
            self._parser = cast(Parser, getattr(module, self._name)())
        return self._parser.parse(source, media_type=media_type, limits=limits)


def all_parsers() -> dict[str, Parser]:
    """A parser for every media type that can be read."""
    return {media_type: _LazyParser(module, name) for media_type, (module, name) in PARSERS.items()}
