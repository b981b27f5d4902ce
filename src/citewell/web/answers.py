"""What the Ask and the Check page show of an answer: each sentence with the way to its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from citewell.answer.answer_json import left_out_words
from citewell.answer.service import CitedPassage
from citewell.history import RoutedQuestion
from citewell.web.source_highlights import SourceTarget

LEAST_CELLS = 3
"""Of a row that is shown as one: two could be a sentence with a colon in each half."""
GIVEN = "given"
"""The name of words that were sent along, which stand in no document."""


@dataclass(frozen=True, slots=True)
class Chip:
    """A number that opens the words it stands for."""

    n: int
    document: str
    place: str
    quote: str
    document_id: str
    query: str
    is_suspicious: bool = False
    """The passage reads like an instruction to the assistant."""

    @property
    def title(self) -> str:
        """What a person reads before opening it."""
        where = f"{self.document}, {self.place}" if self.place else self.document
        return f"{where}: “{self.quote}”"


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A question and what it got; no answer while it waits for one."""

    question: str
    answer: Mapping[str, Any] | None
    chips: Mapping[int, Chip]
    searched: Sequence[Chip]
    """The passages that the writer was shown."""
    reply: str | None = None
    """What the person answered to whom it was handed."""
    left_out: str | None = None
    """What of the passages the writer was not shown."""
    notice: str = ""
    """The way to help, where the question tells of an emergency; it stands first and apart."""
    text: str = ""
    """What was said without it."""
    is_sent: bool = False
    """The question waits for a person, or was answered by one."""
    may_send: bool = False
    """The question is whole enough for a person to answer."""
    earlier: RoutedQuestion | None = None
    """The reply that the same question got before."""
    nearest: Sequence[tuple[Chip, str]] = ()
    """Of an unanswered question: the passages nearest to it, with their words."""

    @property
    def blocks(self) -> list[AnswerBlock]:
        """The answer's sentences and tables."""
        return answer_blocks((self.answer or {}).get("sentences", ()))


@dataclass(frozen=True, slots=True)
class EvidenceQuote:
    """Words that decided, and where they open; given words open nowhere."""

    text: str
    chip: Chip | None


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence of any text, with its verdict and the words that decided."""

    text: str
    verdict: str
    reasons: Sequence[str]
    quotes: Sequence[EvidenceQuote]


def turn(question: str, answer: Mapping[str, Any], *, reply: str | None = None) -> ShownTurn:
    """An answer in its JSON shape, ready to be shown."""
    chips = {one["n"]: _chip(one["n"], one, one["quote"]) for one in answer["citations"]}
    searched = [_chip(at, one, "") for at, one in enumerate(answer.get("evidence", ()), start=1)]
    left_out = left_out_words(answer["left_out"], answer.get("shortened", 0), len(searched))
    notice = notice_of(answer)
    text = answer["text"].removeprefix(notice).strip()
    return ShownTurn(question, answer, chips, searched, reply, left_out, notice, text)


@dataclass(frozen=True, slots=True)
class AnswerBlock:
    """A part of an answer: sentences, or the rows of one table under the names of its columns."""

    sentences: Sequence[Mapping[str, Any]]
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def answer_blocks(sentences: Sequence[Mapping[str, Any]]) -> list[AnswerBlock]:
    """The sentences of an answer in their order, rows of a table that follow each other as a table.

    >>> row = {"text": "Drug: A; Dose: 5 mg; Days: 3"}
    >>> [block.columns for block in answer_blocks([row, {"text": "Stop: it hurts."}])]
    [['Drug', 'Dose', 'Days'], ()]
    """
    blocks = []
    for columns, group in groupby(sentences, key=lambda sentence: [name for name, _ in table_row(sentence["text"])]):
        members = list(group)
        rows = [[value for _, value in table_row(member["text"])] for member in members]
        blocks.append(AnswerBlock(members, columns, rows) if columns else AnswerBlock(members))
    return blocks


def table_row(text: str) -> list[tuple[str, str]]:
    """The cells of a row as a document's table is quoted, each with the name of its column; none for a sentence.

    >>> table_row("Drug: A; Dose: 5 mg: slowly; Days: 3")
    [('Drug', 'A'), ('Dose', '5 mg: slowly'), ('Days', '3')]
    >>> table_row("Fever: give fluids; rest.")
    []
    """
    cells = [part.partition(": ") for part in text.split("; ")]
    is_row = len(cells) > LEAST_CELLS - 1 and all(name and split and value for name, split, value in cells)
    return [(name, value) for name, _, value in cells] if is_row else []


def notice_of(answer: Mapping[str, Any]) -> str:
    """The way to help that an answer begins with; answers from before it had a field of its own have it in a note."""
    if answer.get("emergency"):
        return str(answer["emergency"]["text"])
    notes = answer.get("notes", {})
    is_old = "emergency" not in answer and notes.get("emergency")
    return str(notes.get("before") or answer["text"]).split("\n\n")[0] if is_old else ""


def waiting(question: str) -> ShownTurn:
    """A question whose answer failed: it is kept, and can be asked again."""
    return ShownTurn(question, None, {}, ())


def _chip(n: int, cited: Mapping[str, Any], quote: str) -> Chip:
    parts = (innermost(cited["section"]), f"page {cited['page']}" if cited["page"] else None)
    place = ", ".join(part for part in parts if part)
    query = SourceTarget(chunk_of(cited["source_id"]), cited["start"], cited["end"]).query
    is_suspicious = bool(cited.get("is_suspicious"))
    return Chip(n, cited["document"], place, quote, cited["document_id"], query, is_suspicious)


def passage_chip(n: int, passage: CitedPassage) -> Chip:
    """A passage beside a question that was handed on."""
    return _chip(n, asdict(passage), "")


def innermost(section: str | None) -> str | None:
    """The title of the section that holds the words; those round it say little beside a document's name.

    >>> innermost("7 Dehydration > 7.3 Fluids")
    '7.3 Fluids'
    """
    return None if section is None else section.rpartition(" > ")[2]


def chunk_of(named: str) -> int:
    """The passage that a source id names.

    >>> chunk_of("550e8400-e29b-41d4-a716-446655440000:3")
    3
    """
    return int(named.rpartition(":")[2])


def checked_sentences(shown: Sequence[Mapping[str, Any]], titles: Mapping[str, str]) -> list[CheckedSentence]:
    """The sentences of a check; the words are opened where they stand in a document."""
    return [_checked(at, entry, titles) for at, entry in enumerate(shown, start=1)]


def _checked(n: int, entry: Mapping[str, Any], titles: Mapping[str, str]) -> CheckedSentence:
    quotes = [_quoted(n, words, titles) for words in entry["evidence"]]
    return CheckedSentence(entry["text"], entry["verdict"], entry["reasons"], quotes)


def _quoted(n: int, words: Mapping[str, Any], titles: Mapping[str, str]) -> EvidenceQuote:
    if words["source_id"] == GIVEN:
        return EvidenceQuote(words["quote"], None)
    document_id = words["source_id"].rpartition(":")[0]
    query = SourceTarget(chunk_of(words["source_id"]), words["start"], words["end"]).query
    return EvidenceQuote(
        words["quote"], Chip(n, titles.get(document_id, "Source"), "", words["quote"], document_id, query)
    )


def tally(sentences: Sequence[CheckedSentence]) -> list[tuple[str, int]]:
    """How many sentences got each verdict, the worst first."""
    counts = Counter(sentence.verdict for sentence in sentences)
    order = ("contradicted", "not_found", "partly", "supported")
    return [(verdict, counts[verdict]) for verdict in order if counts[verdict]]
