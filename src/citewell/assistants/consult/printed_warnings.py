"""Holds what is printed with a medicine against the patient: contraindications, interactions, kidneys, pregnancy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from citewell.assistants.consult.advice_sections import NUMBER
from citewell.assistants.consult.applicability import applicability_of
from citewell.assistants.consult.conflicts import PatientMedicines
from citewell.assistants.consult.guideline_cautions import FORBIDS, is_one_of, named_of
from citewell.assistants.consult.guideline_choice import is_label, plain
from citewell.clinical.medicines import Medicine, medicines
from citewell.sentences import list_mark, sentences
from citewell.types import Document, LibraryEntry
from citewell.types.consult import Patient
from citewell.types.consult_plan import Conflict

_KINDS = (
    ("against", re.compile(r"\bcontra-?indicat|\b(?:should not|do not|must not) (?:take|use)", re.IGNORECASE)),
    ("interaction", re.compile(r"\binteract|\bother medicines\b|\bmedicines and\b", re.IGNORECASE)),
    (
        "people",
        re.compile(r"\b(?:specific|special) populations\b|\bspecial warnings\b|\bpregnan|\brenal\b", re.IGNORECASE),
    ),
)
"""What a section is, by its heading."""
_EXCEPT = re.compile(
    r"\b(?:except|unless|other than)\b.*|\[\s*see\b[^\]]{0,300}\]|\([\s\d.,]++\)", re.IGNORECASE | re.DOTALL
)
"""Words of whom or what a warning is not."""
LONGEST = 600
"""Characters of a warning that is quoted."""


@dataclass(frozen=True, slots=True)
class _Printed:
    """A sentence, an item or a row that warns, and what kind of section it is from."""

    text: str
    kind: str
    section: tuple[str, ...]

    @property
    def heading(self) -> str:
        return NUMBER.sub("", self.section[-1]).capitalize()


@dataclass(frozen=True, slots=True)
class _Held:
    """What the warnings are held against."""

    patient: PatientMedicines
    conditions: Sequence[str]
    taken: Mapping[str, Medicine]
    others: Mapping[str, Medicine]
    """What is taken, and what a plan names."""


def printed_warnings(
    shelf: Iterable[LibraryEntry],
    opened: Callable[[str], Document],
    held: PatientMedicines,
    conditions: Sequence[str],
    planned: Iterable[Medicine],
) -> tuple[Conflict, ...]:
    """What is printed with the medicines that the patient takes, or that a plan names, and speaks against one of them.

    Each is of the medicine that it speaks against, so that it stands beside what gives this medicine.
    """
    taken = {one.name: one for finding in held.taken for one in medicines(finding.name)}
    others = {**{one.name: one for one in planned if not one.is_class}, **taken}
    asked = _Held(held, conditions, taken, others)
    found: list[Conflict] = []
    for entry in shelf:
        own = medicines(entry.title)[0].name if is_label(entry.title) else None
        if own is not None and own in others:
            found += _of_one(entry.title, own, opened(entry.id), asked)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Reason:
    """Why a sentence that is printed with a medicine speaks against one."""

    kind: str
    medicine: str
    told: tuple[str, ...]
    about: str
    """What is told once, by the first sentence that names it."""
    is_by_class: bool = False
    """Only a class of the other medicine is named."""


def _of_one(title: str, own: str, document: Document, asked: _Held) -> Iterator[Conflict]:
    """What is printed with one medicine: each illness, group and other medicine once, each sentence once."""
    warning = [printed for printed in _read(document) if _is_for(printed.section, asked.patient.patient)]
    found = [(printed, reason) for printed in warning for reason in _reasons(printed, own, asked)]
    once: dict[tuple[str, str], tuple[_Printed, _Reason]] = {}
    for printed, reason in sorted(found, key=lambda one: one[1].is_by_class):
        once.setdefault((reason.kind, reason.about), (printed, reason))
    together: dict[tuple[_Printed, str, str], list[str]] = {}
    for printed, reason in once.values():
        together.setdefault((printed, reason.kind, reason.medicine), []).extend(reason.told)
    for (printed, kind, medicine), told in together.items():
        why = "; ".join(dict.fromkeys(told))
        quoted = f"The product information for {own} says ({printed.heading}): “{printed.text}”"
        is_grave = printed.kind == "against"
        yield Conflict(kind, medicine, f"{why[:1].upper()}{why[1:]}. {quoted}", title, is_grave)


def _reasons(printed: _Printed, own: str, asked: _Held) -> Iterator[_Reason]:
    """Why a sentence speaks against the medicine that it is printed with, or against another beside it."""
    if printed.kind == "interaction":
        for name, is_named in _named_others(printed.text, own, asked):
            both = tuple(f"{one} is {'taken' if one in asked.taken else 'in the plan'}" for one in (own, name))
            yield _Reason("interaction", name if own in asked.taken else own, both, name, not is_named)
        return
    bare = _EXCEPT.sub("", printed.text)
    is_telling = printed.kind == "against" or FORBIDS.search(bare) is not None
    for kind, told in named_of(bare, asked.patient, "", asked.conditions):
        if is_telling or kind == "renal":
            yield _Reason(kind, own, (told,), told)


@lru_cache(maxsize=10_000)
def _is_for(section: tuple[str, ...], patient: Patient) -> bool:
    """Whether the headings name no other people: “Use in pregnant women” warns nobody else."""
    return applicability_of(section, "", patient).applies


def _named_others(text: str, own: str, asked: _Held) -> Iterator[tuple[str, bool]]:
    """The medicines that a warning names beside its own, themselves or by a class; one of the two is taken."""
    warned = [one for one in medicines(text) if one.name != own]
    for name, other in asked.others.items():
        if name != own and (name in asked.taken or own in asked.taken):
            is_named = any(one.name == name for one in warned)
            if is_named or any(is_one_of(other, one) for one in warned):
                yield name, is_named


def _read(document: Document) -> Iterator[_Printed]:
    caption, row = "", ""
    section: tuple[str, ...] = ()
    for block in document.blocks:
        if _kind(block.section) is None and not row:
            continue
        words = plain(document.text[block.start : block.end])
        is_next = block.kind == "table_row" and row and block.section == section and _label(words) == _label(row)
        if row and not is_next:
            yield from _as_printed(f"{caption}: {row}" if caption else row, section)
            row = ""
        if block.section != section:
            caption = ""
        section = block.section
        if block.kind == "caption":
            caption = words
        elif block.kind == "table_row":
            row = f"{row}; {words[len(_label(words)) :].lstrip('; ')}" if row else words
        elif block.kind == "list_item":
            mark = list_mark(words)
            yield from _as_printed(words.lstrip("•●▪◦○–- ") if mark else words, section)
        elif block.kind == "paragraph":
            for start, end in sentences(words):
                yield from _as_printed(words[start:end].strip(), section)
    if row:
        yield from _as_printed(f"{caption}: {row}" if caption else row, section)


def _label(row: str) -> str:
    return row.partition(";")[0]


def _as_printed(text: str, section: tuple[str, ...]) -> Iterator[_Printed]:
    """Words as what their section makes them; those of no such section warn of nothing."""
    kind = _kind(section)
    if kind is not None and len(text) <= LONGEST and not text.endswith(":"):
        yield _Printed(text, kind, section)


def _kind(section: Sequence[str]) -> str | None:
    """What a section warns of."""
    return next((kind for kind, pattern in _KINDS if any(map(pattern.search, section))), None)
