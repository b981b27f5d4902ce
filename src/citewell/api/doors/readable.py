"""Answers as plain text with links, for programs that show what a person reads: emergencies first, sources last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from citewell.answer.events import AnswerDone
from citewell.answer.service import is_whole_question
from citewell.types import Answer, Citation, Qualified, Route, Verdict
from citewell.web.display_words import TURN
from citewell.web.source_highlights import SourceTarget

SCHEME = "citewell"
INSTRUCTION = TURN["instruction"]
SAMPLE = "Sample, invented: not for clinical use"
NO_QUOTE_CHARACTERS = 600
"""A longer quote is shortened in the list of sources; its link leads to all of it."""
VERDICT_WORDS = {
    Verdict.SUPPORTED: "supported",
    Verdict.PARTLY: "partly supported",
    Verdict.CONTRADICTED: "contradicted",
    Verdict.NOT_FOUND: "not found",
}


@dataclass(frozen=True, slots=True)
class Links:
    """The ways to the words of a document: an address of this protocol's own, and a page where there is a site."""

    base: str | None
    """Where the pages are, as `http://127.0.0.1:8477`; None where no server runs."""
    samples: frozenset[str] = frozenset()
    """The documents that are invented samples."""

    def marked(self, words: str, document_id: str | None) -> str:
        """What a document is called; of a sample with the word that it is one.

        >>> Links(None, frozenset({"d1"})).marked("Breathlessness", "d1")
        'Sample, invented: not for clinical use. Breathlessness'
        """
        return f"{SAMPLE}. {words}" if document_id in self.samples else words

    @staticmethod
    def uri(document_id: str, start: int | None = None, end: int | None = None) -> str:
        """A document, or exactly some of its words.

        >>> Links.uri("d1"), Links.uri("d1", 5, 9)
        ('citewell://documents/d1', 'citewell://documents/d1/5-9')
        """
        return f"{SCHEME}://documents/{document_id}" + ("" if start is None else f"/{start}-{end}")

    def page(self, document_id: str, start: int | None = None, end: int | None = None) -> str | None:
        """The page that shows them marked."""
        if self.base is None:
            return None
        if start is None:
            return f"{self.base}/documents/{document_id}"
        return f"{self.base}/documents/{document_id}/source?{SourceTarget(None, start, end).query}#marked"

    def best(self, document_id: str, start: int | None = None, end: int | None = None) -> str:
        """The page, or where there is none the address."""
        return self.page(document_id, start, end) or self.uri(document_id, start, end)


def is_sendable(done: AnswerDone) -> bool:
    """Whether a question that was not answered could still be sent to a person."""
    is_waiting = isinstance(done.answer.action, Route) and done.routed_id is None
    return is_waiting and is_whole_question(done.answer.question)


def answer_text(answer: Answer, links: Links) -> str:
    """An answer with what a reader must know of it: the way to help first, then sentences, checks and sources."""
    return "\n\n".join(filter(None, (answer.text.strip(), *after_the_sentences(answer, links))))


def after_the_sentences(answer: Answer, links: Links) -> Iterator[str]:
    """What is said below an answer: reservations, how its sentences were checked, and its sources."""
    if isinstance(answer.action, Qualified) and answer.action.reason not in answer.text:
        yield f"Note: {answer.action.reason}."
    shown = [claim for claim in answer.claims if claim.is_shown]
    if shown and answer.citations:
        yield _checked(Counter(claim.check.verdict for claim in shown))
        yield sources_text(answer.citations, links)
    for title in answer.suspicious:
        yield f"Note: a passage of {title} {INSTRUCTION} and is left out."


def _checked(counts: Mapping[Verdict, int]) -> str:
    """How many sentences passed the check, by verdict."""
    parts = [f"{counts[verdict]} {VERDICT_WORDS[verdict]}" for verdict in Verdict if counts.get(verdict)]
    return f"Sentences checked against the words below: {', '.join(parts)}."


def sources_text(citations: Iterable[Citation], links: Links) -> str:
    """The sources of an answer, each with its quoted words and the way to them."""
    lines = ["Sources:"]
    for citation in citations:
        place = links.marked(citation_place(citation), citation.document_id)
        link = links.best(citation.document_id, citation.start, citation.end)
        lines.append(f"[{citation.n}] {place}: “{shortened(citation.quote)}” {link}")
    return "\n".join(lines)


def citation_place(citation: Citation) -> str:
    """The document, its version, date, section and page."""
    parts = [
        citation.document,
        f"version {citation.version}",
        *([f"{citation.published:%-d %b %Y}"] if citation.published else []),
        *([" > ".join(citation.section)] if citation.section else []),
        *([f"page {citation.page}"] if citation.page is not None else []),
    ]
    return ", ".join(parts)


def shortened(text: str, limit: int = NO_QUOTE_CHARACTERS) -> str:
    """A text on one line; of a long one the beginning, which says that it goes on.

    >>> shortened("Give  iron.\\nDaily."), shortened("Give iron daily.", 10)
    ('Give iron. Daily.', 'Give iron…')
    """
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[:limit].rsplit(' ', 1)[0].rstrip()}…"


def level_told(level: str, rules: Iterable[Mapping[str, Any]]) -> str:
    """The level of recommendations as an assessment shows them; none of them surely met: if confirmed."""
    states = [rule["state"] for rule in rules if rule["risk_level"] == level]
    return f"{level} if confirmed" if states and "met" not in states else level


def with_links(citation: Mapping[str, Any], links: Links) -> dict[str, Any]:
    """A citation as JSON with the ways to its words."""
    place = (citation["document_id"], citation["start"], citation["end"])
    return {**citation, "uri": links.uri(*place), "link": links.page(*place)}
