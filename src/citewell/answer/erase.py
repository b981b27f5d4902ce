"""Takes the words of erased documents out of a record: what was said is gone, that it was said and on what stays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

ERASED = "(words of a document that was erased)"
"""What stands in the place of words that are gone."""

MIN_CHARACTERS = 12
"""Shorter words are no quote: to take them out everywhere would break other sentences."""

KEPT = frozenset(("question", "query", "scope", "asker", "setup", "library", "id", "document", "section", "erased"))
"""Parts of a record that hold no words of a document's text: the question, and what it stands for, is the asker's."""

Fingerprint = Callable[[str], str]


def quoted(words: Mapping[str, Any], document_ids: Collection[str]) -> dict[str, str]:
    """All words of a record that rest on these documents, each with the document; the longest first."""
    found: dict[str, str] = {}
    _gather(words, document_ids, found)
    rests = [one["document_id"] for one in words.get("evidence", ()) if one["document_id"] in document_ids]
    for claim in words.get("claims", ()):
        span = claim.get("span")
        places = (span, *claim.get("beside", ())) if span else ()
        named = [place["source_id"].rpartition(":")[0] for place in places] or rests[:1]
        document_id = next((one for one in named if one in document_ids), None)
        if document_id is not None:
            found[claim["text"]] = document_id
    return {text: found[text] for text in sorted(found, key=len, reverse=True) if len(text) >= MIN_CHARACTERS}


def _gather(part: Any, document_ids: Collection[str], found: dict[str, str]) -> None:
    """The quotes of citations, wherever in a record they stand."""
    if isinstance(part, Mapping):
        document_id = part.get("document_id")
        if document_id in document_ids and isinstance(part.get("quote"), str):
            found[part["quote"]] = str(document_id)
        for inner in part.values():
            _gather(inner, document_ids, found)
    elif isinstance(part, list | tuple):
        for inner in part:
            _gather(inner, document_ids, found)


def without(
    words: Mapping[str, Any], gone: Mapping[str, str], *, fingerprint: Fingerprint, document_ids: Collection[str] = ()
) -> dict[str, Any] | None:
    """The record without these words, saying what was erased; None where it holds none of them.

    A fingerprint of each stays, so that whoever still has the document can show that it was said. A draft that was
    written from one of the documents goes as a whole.

    >>> words = {"question": "Dose?", "claims": [{"text": "Give 5 mg of iron.", "reasons": []}], "history": []}
    >>> without(words, {"Give 5 mg of iron.": "d1"}, fingerprint=len)["claims"][0]["text"]
    '(words of a document that was erased)'
    >>> without(words, {"Give 7 mg of iron.": "d1"}, fingerprint=len) is None
    True
    """
    taken: dict[str, str] = {}
    cleaned: dict[str, Any] = {
        name: part if name in KEPT else _cleaned(part, gone, taken) for name, part in words.items()
    }
    if (draft := _draft_of(words, document_ids)) is not None:
        cleaned["answer"] = {**cleaned["answer"], "raw_text": ERASED}
        taken[words["answer"]["raw_text"]] = draft
    if not taken:
        return None
    before = list(words.get("erased", ()))
    erased = [{"document_id": document_id, "fingerprint": fingerprint(text)} for text, document_id in taken.items()]
    return {**cleaned, "erased": [*before, *erased]}


def _draft_of(words: Mapping[str, Any], document_ids: Collection[str]) -> str | None:
    """The document that a kept draft was written from; its words have marks between them, so that no quote is found."""
    if (words.get("answer") or {}).get("raw_text") in (None, "", ERASED):
        return None
    return next((one["document_id"] for one in words.get("evidence", ()) if one["document_id"] in document_ids), None)


def _cleaned(part: Any, gone: Mapping[str, str], taken: dict[str, str]) -> Any:
    if isinstance(part, str):
        return cleaned_text(part, gone, taken)
    if isinstance(part, Mapping):
        return {name: inner if name in KEPT else _cleaned(inner, gone, taken) for name, inner in part.items()}
    if isinstance(part, list | tuple):
        return [_cleaned(inner, gone, taken) for inner in part]
    return part


def cleaned_text(text: str, gone: Mapping[str, str], taken: dict[str, str]) -> str:
    """A text without these words; notes which of them it held."""
    for words, document_id in gone.items():
        if words in text:
            taken[words] = document_id
            text = text.replace(words, ERASED)
    return text
