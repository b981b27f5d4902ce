"""How each mention in a text holds: present, absent, unclear, past, of the family, of others, hypothetical, intended.

A trained reader says so: all-MiniLM-L6-v2, which is installed anyway, with an adapter (`reader.npz`) that
`bench/clinical` trained. It tags every token of a text at once, so that the order of a list does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Literal, cast

import numpy as np

from citewell.clinical.windows import Piece, pieces
from citewell.minilm.adapter import Adapter
from citewell.minilm.forward import Array, hidden_states
from citewell.minilm.tokenizer import CLASSIFIER, SEPARATOR, WordPiece
from citewell.minilm.weights import Tensors
from citewell.types.consult import Polarity

Kind = Literal["symptom", "condition", "medicine", "allergen", "test", "procedure", "lifestyle"]

ADAPTER = Path(__file__).parent / "reader.npz"
SHA256 = "ef1012615616ae8df9714e80749208dff0b7ec11f7bdbeca787b0c5fb66f00f4"
REMEMBERED = 2_000
LONGEST_REMEMBERED = 2_000
SURE, RIVAL = 0.6, 0.25
"""Below the first share a status is unclear where “present” or “absent” has at least the second: a wrong “no” is worse
than a question."""


_OF_OTHERS = re.compile(
    r"\s*(?:(?:my|his|her|our)\s+)?(?:(?:older|younger|elder|late|twin)\s+)?(?:(?P<family>mother|father|mum|mom|dad"
    r"|sister|brother|aunt|uncle|grand(?:mother|father|ma|pa|dad|mum)|son|daughter|cousin)"
    r"|wife|husband|partner|boyfriend|girlfriend|friend|flatmate|neighbour)\b"
    r"(?=\s+(?:is|was|has|had|died|suffers?|suffered|gets?|got|takes?|took|coughs?|vomits?|also|recently)\b)",
    re.IGNORECASE,
)
"""A sentence whose subject is somebody else: “My father had chest pain”."""
_NEGATIVE_NAME = re.compile(r"(?:no|not|can(?:no|')?t|cannot|unable|never|loss of|lost)\b\s*\w", re.IGNORECASE)
_OF_PATIENT = re.compile(
    r"[,;]|\b(?:but|and (?:i|he|she|now)|i|i've|i'm|noticed|says?|said|thinks?|found|reports?|worried|told|patient)\b",
    re.IGNORECASE,
)
"""What leads back to the patient, or shows that the other person only reports."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """How a mention holds, and how sure the reader is."""

    status: Polarity
    share: float


@dataclass(frozen=True, slots=True)
class Span:
    """Words that the reader takes for a mention."""

    start: int
    end: int
    kind: Kind
    share: float


@dataclass(frozen=True, eq=False)
class Context:
    """What the reader says of one text, token by token."""

    text: str
    starts: Array
    ends: Array
    kinds: Array
    """For each token the shares of no mention and of each kind."""
    begins: Array
    statuses: Array
    """For each token the logarithms of the shares of the statuses."""
    labels: tuple[tuple[str, ...], tuple[Polarity, ...]]

    def assertion(self, start: int, end: int) -> Assertion:
        """How the words from `start` to `end` hold.

        >>> text = "No fever, haemoptysis for 2 days"
        >>> [read_context(text).assertion(*place).status.value for place in ((3, 8), (10, 21))]
        ['absent', 'present']
        """
        inside = (self.starts < end) & (self.ends > start)
        if not inside.any():
            return Assertion(Polarity.PRESENT, 0.0)
        shares = np.exp(self.statuses[inside]).mean(axis=0)
        known = dict(zip(self.labels[1], map(float, shares), strict=True))
        best = status = max(known, key=known.__getitem__)
        rival = Polarity.ABSENT if status is Polarity.PRESENT else Polarity.PRESENT
        is_sure = known[status] >= SURE or known[rival] < RIVAL
        status = status if is_sure else Polarity.UNCLEAR
        if status is Polarity.ABSENT and _NEGATIVE_NAME.match(self.text, start, end):
            status = Polarity.PRESENT  # “no appetite” is a complaint: its own “no” does not deny it
        if status in (Polarity.PRESENT, Polarity.PAST) and (others := self._of_whom(start)) is not None:
            status = others
        return Assertion(status, known[best])

    def _of_whom(self, at: int) -> Polarity | None:
        """The relative or other person whom a sentence is about from its first word on; None for the patient."""
        begin = max(self.text.rfind(mark, 0, at) for mark in ".;:?!\n") + 1
        match = _OF_OTHERS.match(self.text, begin)
        if match is None or match.end() > at or _OF_PATIENT.search(self.text, match.end(), at):
            return None
        return Polarity.FAMILY if match["family"] else Polarity.OTHER

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The mentions that the reader sees, known to the lexicon or not."""
        return tuple(self._spans())

    def _spans(self) -> Iterator[Span]:
        """Neighbouring words of one kind; a word is of the kind that its tokens are together."""
        words = list(self._words())
        at = 0
        while at < len(words):
            first, last, kind, share = words[at]
            at += 1
            if not kind:
                continue
            shares = [share]
            while at < len(words) and words[at][2] == kind and self.begins[words[at][0]] < 0.5:
                last = words[at][1]
                shares.append(words[at][3])
                at += 1
            name = cast(Kind, self.labels[0][kind])
            yield Span(int(self.starts[first]), int(self.ends[last]), name, sum(shares) / len(shares))

    def _words(self) -> Iterator[tuple[int, int, int, float]]:
        """First and last token of each word, its kind and the share of that."""
        count, at = len(self.starts), 0
        while at < count:
            stop = at + 1
            while stop < count and self.starts[stop] == self.ends[stop - 1] and self._is_letter(stop):
                stop += 1
            shares = self.kinds[at:stop].mean(axis=0)
            best = int(shares.argmax())
            yield at, stop - 1, best, float(shares[best])
            at = stop

    def _is_letter(self, at: int) -> bool:
        return self.text[int(self.starts[at]) - 1].isalnum() and self.text[int(self.starts[at])].isalnum()


class ClinicalReader:
    """Reads the context of mentions and the danger in a text; safe to call from several threads."""

    def __init__(self, tensors: Tensors, layers: int, labels: Mapping[str, Sequence[str]]) -> None:
        self._tensors, self._layers = tensors, layers
        self._labels = tuple(labels["types"]), tuple(map(Polarity, labels["statuses"]))
        self._dangers = tuple(labels["dangers"])
        self._remembered: dict[str, Context] = {}
        self.dangers = lru_cache(maxsize=REMEMBERED)(self._danger)

    @classmethod
    @cache
    def load(cls) -> ClinicalReader:
        """The reader that ships with Citewell; read once."""
        adapter = Adapter.load(ADAPTER, SHA256, ("types", "statuses", "dangers"))
        return cls(adapter.tensors, adapter.layers, adapter.labels)

    def context(self, text: str) -> Context:
        """What the reader says of a text, whatever its length."""
        return self.contexts([text])[0]

    def contexts(self, texts: Sequence[str]) -> list[Context]:
        """What the reader says of several texts, read together: that takes hardly longer than one."""
        remembered = self._remembered
        known = {text: found for text in texts if (found := remembered.get(text)) is not None}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known |= dict(zip(new, self._read(new), strict=True))
        if len(self._remembered) + len(new) > REMEMBERED:
            self._remembered = {}
        self._remembered.update((text, known[text]) for text in new if len(text) <= LONGEST_REMEMBERED)
        return [known[text] for text in texts]

    def _read(self, texts: Sequence[str]) -> list[Context]:
        parts: list[tuple[int, Piece]] = []
        read: list[tuple[Sequence[int], Sequence[tuple[int, int]]]] = []
        for number, text in enumerate(texts):
            for part in pieces(text):
                ids, places = WordPiece.load().placed(text[part.start : part.end].replace("\n", "|"))
                for low in range(0, len(ids), MOST_AT_ONCE):  # one piece, unless nearly every character is a token
                    parts.append((number, part))
                    read.append((ids[low : low + MOST_AT_ONCE], places[low : low + MOST_AT_ONCE]))
        rows: list[list[tuple[int, int, Array]]] = [[] for _ in texts]
        for group in _groups([len(ids) for ids, _ in read]):
            hidden = hidden_states(
                self._tensors, [[CLASSIFIER, *read[at][0], SEPARATOR] for at in group], layers=self._layers
            )
            for at, states in zip(group, hidden, strict=True):
                number, part = parts[at]
                rows[number] += _own(part, read[at][1], self._scores(states[1:-1]))
        return [self._context(text, tokens) for text, tokens in zip(texts, rows, strict=True)]

    def _context(self, text: str, rows: Sequence[tuple[int, int, Array]]) -> Context:
        types, statuses = self._labels
        scores = np.array([row for _, _, row in rows], np.float32).reshape(len(rows), len(types) + 1 + len(statuses))
        return Context(
            text,
            np.array([start for start, _, _ in rows], np.float32),
            np.array([end for _, end, _ in rows], np.float32),
            np.exp(_log_shares(scores[:, : len(types)])),
            (1 / (1 + np.exp(-scores[:, len(types)]))).astype(np.float32),
            _log_shares(scores[:, len(types) + 1 :]),
            self._labels,
        )

    def _scores(self, states: Array) -> Array:
        scores: Array = states @ self._tensors["token_head.weight"].T + self._tensors["token_head.bias"]
        return scores

    def _danger(self, text: str) -> dict[str, float]:
        """The share of each kind of danger that a text tells of, “none” among them."""
        ids = WordPiece.load().ids([text.replace("\n", "|")], max_tokens=MOST_OF_A_MESSAGE)
        (states,) = hidden_states(self._tensors, ids, layers=self._layers)
        both = np.concatenate([states[0], states.mean(axis=0)])
        scores = self._tensors["text_head.weight"] @ both + self._tensors["text_head.bias"]
        shares = np.exp(_log_shares(scores[None, :])[0])
        return dict(zip(self._dangers, map(float, shares), strict=True))


def read_context(text: str) -> Context:
    """What the reader that ships with Citewell says of a text."""
    return ClinicalReader.load().context(text)


def read_danger(text: str) -> dict[str, float]:
    """How probable each kind of danger is in a text, “none” among them."""
    return ClinicalReader.load().dangers(text)


def read_contexts(texts: Sequence[str]) -> list[Context]:
    """What the reader says of several texts, read together."""
    return ClinicalReader.load().contexts(texts)


MOST_AT_ONCE = 500
"""Tokens of one piece; the model has places for 512."""
MOST_OF_A_MESSAGE = 160
"""Tokens of a message that are read for danger at once."""
MOST_TOKENS = 2_000
"""Tokens that are read in one go: more take memory and gain no time."""


def _groups(lengths: Sequence[int]) -> Iterator[list[int]]:
    group: list[int] = []
    total = 0
    for at, length in enumerate(lengths):
        if group and total + length > MOST_TOKENS:
            yield group
            group, total = [], 0
        group.append(at)
        total += length
    if group:
        yield group


def _own(part: Piece, places: Sequence[tuple[int, int]], scores: Array) -> Iterator[tuple[int, int, Array]]:
    """The tokens of a piece that are not context."""
    for (low, high), row in zip(places, scores, strict=True):
        if part.own_start <= part.start + low < part.own_end:
            yield part.start + low, part.start + high, row


def _log_shares(scores: Array) -> Array:
    raised = scores - scores.max(axis=1, keepdims=True) if len(scores) else scores
    shares: Array = raised - np.log(np.exp(raised).sum(axis=1, keepdims=True))
    return shares
