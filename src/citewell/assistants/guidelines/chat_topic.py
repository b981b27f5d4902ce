"""What a talk is about: read from the citations of its last cited answer, so that nothing else has to be kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from citewell.assistants.guidelines.concept_match import units
from citewell.assistants.guidelines.guideline import GuidelineRule
from citewell.assistants.guidelines.search_entries import SearchEntry, facts
from citewell.assistants.guidelines.search_index import SearchableGuideline
from citewell.clinical import mentions
from citewell.types import Citation, Message

MAX_TERMS = 2
_MARKED = re.compile(r"\s?\[[^\[\]\n]+?(?:§[^\[\]\n]*|, p\.\d+)\]")
_CITED = re.compile(r"\[(?P<label>[^\[\]\n]+?)(?:, p\.(?P<page>\d+))?\]")


def mark(citation: Citation) -> str:
    """How the chat cites: “[NG12 §1.1.1, p.9]”."""
    label = citation.section[-1] if citation.section else citation.document
    return f"[{label}, p.{citation.page}]" if citation.page else f"[{label}]"


def without_marks(message: Message) -> Message:
    """A turn as a model sees it: it is to cite what it is shown now, and not as the chat did before.

    >>> without_marks(Message("assistant", "Refer at once [NG12 §1.1.1, p.9]. [new 2025]")).text
    'Refer at once. [new 2025]'
    """
    return replace(message, text=_MARKED.sub("", message.text)) if message.role == "assistant" else message


def topic(history: Sequence[Message], books: Iterable[SearchableGuideline]) -> str | None:
    """The commonest site among what the last cited answer cites, and up to two clinical terms.

    An answer without citations changes nothing: it is passed over, and the one before it counts.
    """
    shelves = list(books)
    for at in range(len(history) - 1, -1, -1):
        message = history[at]
        if message.role != "assistant" or not (cited := _cited(message.text, shelves)):
            continue
        asked = history[at - 1].text if at else ""
        return _told(cited, asked)
    return None


def _cited(text: str, books: Iterable[SearchableGuideline]) -> list[SearchEntry]:
    """The pieces that an answer cites, as far as the guidelines at hand still have them."""
    wanted = {(match["label"], int(match["page"] or 0)) for match in _CITED.finditer(text)}
    return [
        piece
        for book in books
        for piece in book.pieces
        if piece.kind != "search" and (piece.label, piece.page) in wanted
    ]


def _told(cited: Sequence[SearchEntry], asked: str) -> str | None:
    """Site and terms as words to search by; numbers of sections would only be noise."""
    rules = [rule for piece in cited for rule in piece.rules]
    site = _commonest(rule.site or re.sub(r"^[\d.]+\s*", "", rule.section) for rule in rules)
    named = [
        asked_term
        for asked_term in _asked_terms(asked, rules)
        if site is None or asked_term.casefold() not in site.casefold()
    ]
    return " ".join([*([site] if site else []), *named[:MAX_TERMS]]) or None


def _asked_terms(asked: str, rules: Sequence[GuidelineRule]) -> list[str]:
    """What was asked about and the cited rules speak of, under the guideline's names."""
    phrases = [finding.phrase for rule in rules for finding in facts(rule).findings]
    wanted = {name for mention in mentions(asked) for name in mention.ids}
    return [phrase for phrase in dict.fromkeys(phrases) if any(wanted & unit for unit in units(phrase))]


def _commonest(names: Iterable[str]) -> str | None:
    counted = Counter(name for name in names if name)
    return counted.most_common(1)[0][0] if counted else None
