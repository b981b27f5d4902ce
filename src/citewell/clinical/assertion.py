"""How each mention in a text holds: present, absent, unclear, past, of the family, of others, hypothetical, intended.

A trained reader says so: all-MiniLM-L6-v2, which is installed anyway, with an adapter (`reader.npz`) that
`bench/clinical` trained. It tags every token of a text at once, so that the order of a list does not matter.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, cast

import numpy as np

from citewell.clinical.quantities import known_tests, results
from citewell.clinical.reader_windows import LONGEST_AT_ONCE, Window, pieces
from citewell.minilm.adapter import Adapter
from citewell.minilm.forward import Array, hidden_states
from citewell.minilm.tokenizer import CLASSIFIER, SEPARATOR, WordPiece
from citewell.minilm.weights import Tensors
from citewell.types.consult import Polarity
from citewell.work import spend

Kind = Literal["symptom", "condition", "medicine", "allergen", "test", "procedure", "lifestyle"]

ADAPTER = Path(__file__).parent / "reader.npz"
SHA256 = "bade7eae5a639d57ef3f0ef6ebbd3f458046938074a84b2f68d2cf1b9d715b70"
REMEMBERED = 2_000
LONGEST_REMEMBERED = 4_000
CHARACTERS_REMEMBERED = 1_000_000
STATUSES = tuple(map(Polarity, ("present", "absent", "unclear", "past", "family", "other", "hypothetical", "intended")))
LIKELY = 0.02
"""The share from which something is named among what words may mean."""
SURE, HALF, RIVAL = 0.6, 0.5, 0.25
"""Below the first share a status is unclear where “present” or “absent” has at least the third, and where any but
“present” has less than the second: a wrong “no” is worse than a question."""


_OF_OTHERS = re.compile(
    r"\s*(?:(?:my|his|her|our)\s+)?(?:(?:older|younger|elder|late|twin)\s+)?(?:(?P<family>mother|father|mum|mom|dad"
    r"|sister|brother|aunt|uncle|grand(?:mother|father|ma|pa|dad|mum)|son|daughter|cousin)"
    r"|wife|husband|partner|boyfriend|girlfriend|friend|flatmate|neighbour)\b"
    r"(?=\s+(?:is|was|has|had|died|suffers?|suffered|gets?|got|takes?|took|coughs?|vomits?|also|recently)\b)",
    re.IGNORECASE,
)
"""A sentence whose subject is somebody else: “My father had chest pain”."""
_ALL_DENIED = re.compile(
    r"[^.;\n?]*?[:–-]\s*(?:(?:all|both)\s+)?(?:denied|none|nil|absent|negative|no to (?:all|both|any))"
    r"(?=\s*(?:[.;\n]|$))",
    re.IGNORECASE,
)
"""Denies the list before it: “haemoptysis, weight loss: none”."""
FAR = 160
"""How many characters of a list may stand before its denial."""
_OF_PATIENT = re.compile(
    r"[,;]|\b(?:but|and (?:i|he|she|now)|i|i've|i'm|noticed|says?|said|thinks?|found|reports?|worried|(?<!been )told"
    r"|patient)\b",
    re.IGNORECASE,
)
"""What leads back to the patient, or shows that the other person only reports."""


_COUNTED = re.compile(r"\s*(?:x\s?\d{1,2}|once|twice)\b(?! (?:as|in))(?!.{0,20}\bago\b)", re.IGNORECASE)
"""What is counted was there: “PMB x2”."""
_SUPPOSED = re.compile(
    r"\s*(?:what )?if (?:i|he|she|they|we|my \w+) (?:ever|were to|should|got|went|had|started)\b"
    r"|\s*(?:what if|suppose)\b",
    re.IGNORECASE,
)
"""What is only thought of."""


_TEMPERATURE = re.compile(r"temp(?:erature)?\b[^\d\n;]{0,20}\d[\d.,]*\s?(?:°?\s?[CF]\b)?", re.IGNORECASE)
"""A temperature that is measured: the word alone says fever (“has a temp”), with a value the value decides."""


_TESTED = re.compile(
    r"""\s*(?:rapid\s|blood\s)?
        (?:tests?|rdt|film|smear|pcr|screen(?:ing)?|swab|serology|antigen|antibod(?:y|ies)|ns1|culture)
        [\s:=,-]*(?:(?:is|was|came\ back|today)\s+){0,2}
        (?:(?P<absent>neg(?:ative|s)?\b|-ve|non-?reactive|not\ detected|clear\b|nad\b)
        |(?P<present>pos(?:itive)?\b|\+|reactive|detected))""",
    re.IGNORECASE | re.VERBOSE,
)
"""The result of a test that is named after an illness: “malaria RDT neg”."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """How a mention holds, and how sure the reader is."""

    status: Polarity
    share: float


@dataclass(frozen=True, slots=True)
class MentionSpan:
    """Words that the reader takes for a mention."""

    start: int
    end: int
    kind: Kind
    share: float
    meanings: tuple[tuple[str, float], ...]
    """The names of the lexicon that the words may stand for, with the share of each; “none” stands for nothing."""


@dataclass(frozen=True, eq=False)
class AssertionContext:
    """What the reader says of one text, token by token."""

    text: str
    starts: Array
    ends: Array
    statuses: Array
    """For each token the logarithms of the shares of the statuses."""
    spans: tuple[MentionSpan, ...]
    """The mentions that the reader sees, known to the lexicon or not."""
    dangers: Mapping[str, float] | None = None
    """The share of each kind of danger, “none” among them; None for a text that is too long for a message."""

    def assertion(self, start: int, end: int) -> Assertion:
        """How the words from `start` to `end` hold.

        >>> text = "No fever, haemoptysis for 2 days"
        >>> [read_context(text).assertion(*place).status.value for place in ((3, 8), (10, 21))]
        ['absent', 'present']
        >>> text = "Malaria RDT neg, HIV test +ve"
        >>> [read_context(text).assertion(*place).status.value for place in ((0, 7), (17, 20))]
        ['absent', 'present']
        """
        spend()
        if tested := _TESTED.match(self.text, end):
            return Assertion(Polarity.ABSENT if tested["absent"] else Polarity.PRESENT, 1.0)
        inside = (self.starts < end) & (self.ends > start)
        if not inside.any():
            return Assertion(Polarity.PRESENT, 0.0)
        shares = np.exp(self.statuses[inside]).mean(axis=0)
        known = dict(zip(STATUSES, map(float, shares), strict=True))
        status = max(known, key=known.__getitem__)
        rival = Polarity.ABSENT if status is Polarity.PRESENT else Polarity.PRESENT
        is_sure = known[status] >= SURE or (
            known[rival] < RIVAL and (status is Polarity.PRESENT or known[status] >= HALF)
        )
        share, status = known[status], status if is_sure else Polarity.UNCLEAR
        if status is Polarity.UNCLEAR and _COUNTED.match(self.text, end):
            status = Polarity.PRESENT
        if status in (Polarity.PRESENT, Polarity.UNCLEAR) and self._is_supposed(start):
            return Assertion(Polarity.HYPOTHETICAL, share)
        if status in (Polarity.PRESENT, Polarity.UNCLEAR) and self._is_no_fever(start):
            return Assertion(Polarity.ABSENT, share)
        if status in (Polarity.PRESENT, Polarity.UNCLEAR) and _ALL_DENIED.match(self.text, end, end + FAR):
            return Assertion(Polarity.ABSENT, share)
        if status in (Polarity.PRESENT, Polarity.PAST) and (others := self._of_whom(start)) is not None:
            status = others
        return Assertion(status, share)

    def _is_no_fever(self, start: int) -> bool:
        """Whether words are the name of a temperature that is not high.

        >>> [read_context(text).assertion(0, 4).status.value for text in ("temp 36.8", "Temp ok 36.1", "temp 38.6")]
        ['absent', 'absent', 'present']
        """
        match = _TEMPERATURE.match(self.text, start)
        limit = known_tests()["temperature"].high_above
        assert limit is not None
        read = results(match.group()) if match else ()
        return any(reading.values and reading.sign != ">" and max(reading.values) <= limit for reading in read)

    def _is_supposed(self, at: int) -> bool:
        """Whether a sentence supposes what it says: “If I ever went off my food”."""
        begin = max(self.text.rfind(mark, 0, at) for mark in ".;:?!,\n") + 1
        return _SUPPOSED.match(self.text, begin) is not None

    def _of_whom(self, at: int) -> Polarity | None:
        """The relative or other person whom a sentence is about from its first word on; None for the patient."""
        begin = max(self.text.rfind(mark, 0, at) for mark in ".;:?!\n") + 1
        match = _OF_OTHERS.match(self.text, begin)
        if match is None or match.end() > at or _OF_PATIENT.search(self.text, match.end(), at):
            return None
        return Polarity.FAMILY if match["family"] else Polarity.OTHER


@dataclass(frozen=True, eq=False, slots=True)
class _Tokens:
    """What the reader says of each token of a text: first the kinds of mentions, whether one begins, the statuses."""

    text: str
    starts: Array
    ends: Array
    kinds: Array
    begins: Array
    states: Array

    def spans(self) -> Iterator[tuple[int, int, int, float]]:
        """First token, token behind the last, kind and share of each mention: neighbouring words of one kind."""
        words = list(self._words())
        at = 0
        while at < len(words):
            first, behind, kind, share = words[at]
            at += 1
            if not kind:
                continue
            shares = [share]
            while at < len(words) and words[at][2] == kind and self.begins[words[at][0]] < 0.5:
                behind = words[at][1]
                shares.append(words[at][3])
                at += 1
            yield first, behind, kind, sum(shares) / len(shares)

    def _words(self) -> Iterator[tuple[int, int, int, float]]:
        """First token, token behind the last, kind and share of each word; its tokens have one kind together."""
        count, at = len(self.starts), 0
        while at < count:
            stop = at + 1
            while stop < count and self.starts[stop] == self.ends[stop - 1] and self._is_letter(stop):
                stop += 1
            shares = self.kinds[at:stop].mean(axis=0)
            best = int(shares.argmax())
            yield at, stop, best, float(shares[best])
            at = stop

    def _is_letter(self, at: int) -> bool:
        return self.text[int(self.starts[at]) - 1].isalnum() and self.text[int(self.starts[at])].isalnum()


class ClinicalReader:
    """Reads the context of mentions and the danger in a text; safe to call from several threads."""

    def __init__(self, tensors: Tensors, layers: int, labels: Mapping[str, Sequence[str]]) -> None:
        self._tensors, self._layers = tensors, layers
        self._types, self._names = tuple(labels["types"]), tuple(labels["names"])
        self._kinds_of_danger = tuple(labels["dangers"])
        self._remembered: dict[str, AssertionContext] = {}
        self._longer_dangers = lru_cache(maxsize=REMEMBERED)(self._dangers_of_longer)

    @classmethod
    @cache
    def load(cls) -> ClinicalReader:
        """The reader that ships with Citewell; read once."""
        adapter = Adapter.load(ADAPTER, SHA256, ("types", "statuses", "dangers", "names"))
        assert tuple(adapter.labels["statuses"]) == tuple(STATUSES)  # the file is the one expected
        return cls(adapter.tensors, adapter.layers, adapter.labels)

    def context(self, text: str) -> AssertionContext:
        """What the reader says of a text, whatever its length."""
        return self.contexts([text])[0]

    def contexts(self, texts: Sequence[str]) -> list[AssertionContext]:
        """What the reader says of several texts, read together: that takes hardly longer than one."""
        remembered = self._remembered
        known = {text: context for text in texts if (context := remembered.get(text)) is not None}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known |= dict(zip(new, self._read(new), strict=True))
        is_full = sum(map(len, (*self._remembered, *new))) > CHARACTERS_REMEMBERED
        if is_full or len(self._remembered) + len(new) > REMEMBERED:
            self._remembered = {}
        self._remembered.update((text, known[text]) for text in new if len(text) <= LONGEST_REMEMBERED)
        return [known[text] for text in texts]

    @classmethod
    def forget(cls) -> None:
        """Let go of all texts that the reader that ships with Citewell has read, where it was loaded at all."""
        if cls.load.cache_info().currsize:
            reader = cls.load()
            reader._remembered = {}
            reader._longer_dangers.cache_clear()

    def _read(self, texts: Sequence[str]) -> list[AssertionContext]:
        parts: list[tuple[int, Window]] = []
        read: list[tuple[Sequence[int], Sequence[tuple[int, int]]]] = []
        for number, text in enumerate(texts):
            for part in pieces(text):
                ids, places = WordPiece.load().placed(text[part.start : part.end].replace("\n", "|"))
                for low in range(0, len(ids), MOST_AT_ONCE):  # one piece, unless nearly every character is a token
                    parts.append((number, part))
                    read.append((ids[low : low + MOST_AT_ONCE], places[low : low + MOST_AT_ONCE]))
        rows: list[list[tuple[int, int, Array]]] = [[] for _ in texts]
        """For each text its tokens: start, end and state."""
        dangers: list[Mapping[str, float] | None] = [None] * len(texts)
        count = Counter(number for number, _ in parts)
        for group in _groups([len(ids) for ids, _ in read]):
            hidden = hidden_states(
                self._tensors, [[CLASSIFIER, *read[at][0], SEPARATOR] for at in group], layers=self._layers
            )
            for at, states in zip(group, hidden, strict=True):
                number, part = parts[at]
                rows[number] += _own(part, read[at][1], states[1:-1])
                if count[number] == 1 and len(states) <= MOST_OF_A_MESSAGE:
                    dangers[number] = self._dangers(states)
        return [self._context(*each) for each in zip(texts, rows, dangers, strict=True)]

    def _context(
        self, text: str, rows: Sequence[tuple[int, int, Array]], dangers: Mapping[str, float] | None
    ) -> AssertionContext:
        states = np.array([state for _, _, state in rows], np.float32).reshape(len(rows), self._head.shape[1])
        scores = states @ self._head.T + self._tensors["token_head.bias"]
        starts = np.array([start for start, _, _ in rows], np.float32)
        ends = np.array([end for _, end, _ in rows], np.float32)
        kinds = np.exp(_log_shares(scores[:, : len(self._types)]))
        begins = (1 / (1 + np.exp(-scores[:, len(self._types)]))).astype(np.float32)
        spans = self._spans(_Tokens(text, starts, ends, kinds, begins, states))
        statuses = _log_shares(scores[:, len(self._types) + 1 :])
        return AssertionContext(text, starts, ends, statuses, tuple(spans), dangers)

    def _spans(self, tokens: _Tokens) -> Iterator[MentionSpan]:
        """The mentions of a text, each with what it may mean."""
        found = list(tokens.spans())
        if not found:
            return
        means = np.array([tokens.states[first:behind].mean(axis=0) for first, behind, _, _ in found])
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        scores = means @ self._tensors["meanings"].T + self._tensors["commonness"]
        for (first, behind, kind, share), row in zip(found, np.exp(_log_shares(scores)), strict=True):
            likely = sorted(np.flatnonzero(row >= LIKELY), key=lambda number: -row[number])
            meanings = tuple((self._names[number], float(row[number])) for number in likely)
            start, end = int(tokens.starts[first]), int(tokens.ends[behind - 1])
            yield MentionSpan(start, end, cast(Kind, self._types[kind]), share, meanings)

    @property
    def _head(self) -> Array:
        return self._tensors["token_head.weight"]

    def dangers(self, text: str) -> Mapping[str, float]:
        """The share of each kind of danger that a text tells of, “none” among them."""
        read = self.context(text).dangers if len(text) <= LONGEST_AT_ONCE else None
        return self._longer_dangers(text) if read is None else read

    def _dangers_of_longer(self, text: str) -> Mapping[str, float]:
        ids = WordPiece.load().ids([text.replace("\n", "|")], max_tokens=MOST_OF_A_MESSAGE)
        return self._dangers(hidden_states(self._tensors, ids, layers=self._layers)[0])

    def _dangers(self, states: Array) -> Mapping[str, float]:
        both = np.concatenate([states[0], states.mean(axis=0)])
        scores = self._tensors["text_head.weight"] @ both + self._tensors["text_head.bias"]
        shares = np.exp(_log_shares(scores[None, :])[0])
        return dict(zip(self._kinds_of_danger, map(float, shares), strict=True))


def read_context(text: str) -> AssertionContext:
    """What the reader that ships with Citewell says of a text."""
    return ClinicalReader.load().context(text)


def read_danger(text: str) -> Mapping[str, float]:
    """How probable each kind of danger is in a text, “none” among them."""
    return ClinicalReader.load().dangers(text)


def read_contexts(texts: Sequence[str]) -> list[AssertionContext]:
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


def _own(part: Window, places: Sequence[tuple[int, int]], states: Array) -> Iterator[tuple[int, int, Array]]:
    """The tokens of a piece that are not context."""
    for (low, high), row in zip(places, states, strict=True):
        if part.own_start <= part.start + low < part.own_end:
            yield part.start + low, part.start + high, row


def _log_shares(scores: Array) -> Array:
    raised = scores - scores.max(axis=1, keepdims=True) if len(scores) else scores
    shares: Array = raised - np.log(np.exp(raised).sum(axis=1, keepdims=True))
    return shares
