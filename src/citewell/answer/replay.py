"""Asks a recorded question again on the versions that answered then, and compares the answers by sentence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, Literal, Protocol

from citewell.answer.answer_json import action_name
from citewell.answer.audit import Documents, claim_record, digest, numbers_of, scope_of
from citewell.answer.cited_notices import Notices
from citewell.answer.events import AnswerDone, Event
from citewell.answer.gate import with_help, with_notices
from citewell.errors import NotFound
from citewell.history import AuditRecord
from citewell.types import EVERY, Answer, Emergency, Message, Scope, User

Claimed = Mapping[str, Any]
"""A checked sentence as it is recorded."""

NOT_SETTLED = "The library changed while the question was being answered; what was searched may differ slightly."
OTHER_VERSIONS = "Different document versions are now in scope: documents have been re-filed since."
EMBEDDED_ANEW = "The library has been re-indexed since: the versions are the same but their vectors are not."
UNFINISHED = "The original answer was never finished; only the part that was shown is compared."
NARROWED = "You may have less access now than when this was asked; documents you cannot see are left out."
TAKEN_OUT = "Words from a document erased since were removed from the record and cannot be compared."
OTHER_MODEL = "The name {name} now refers to a different model: its server reports a different digest."
OTHER_QUERY = "The search was for “{was}” then and “{now}” now: the follow-up is now worded differently."
UPGRADED = "Citewell was {was} then and is {now} now. It may read, search and check differently."


class PastAssistant(Protocol):
    """The assistant over what was current then."""

    def ask(self, question: str, *, scope: Scope, history: Sequence[Message]) -> Iterator[Event]: ...

    def setup(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class RecordedQuestion:
    """A recorded question, as far as this person may ask it again."""

    record: AuditRecord
    scope: Scope
    is_narrowed: bool

    @classmethod
    def of(cls, record: AuditRecord, asker: User) -> RecordedQuestion:
        """Never more than the scope of then, nor than what the person may see now."""
        then = scope_of(record.words["scope"])
        scope = then if asker.is_admin else replace(then, subject=None)  # a person's papers are for administrators
        if not asker.is_admin and EVERY not in asker.scope.tags:
            tags = asker.scope.tags if EVERY in then.tags else then.tags & asker.scope.tags
            scope = replace(scope, tags=tags)
        return cls(record, scope, is_narrowed=scope != then)

    @property
    def stamp(self) -> int:
        return int(self.record.words["library"]["stamp"])

    @property
    def generations(self) -> frozenset[int]:
        return numbers_of(self.record.words["library"]["generations"])

    def is_embedded_anew(self, still: Sequence[tuple[int, str]]) -> bool:
        """Whether all generations were replaced at once: none of then is left, though versions of then are."""
        return bool(still) and self.generations.isdisjoint(generation for generation, _ in still)

    def only(self, still: Sequence[tuple[int, str]]) -> Collection[int] | None:
        """The generations to ask; all of that moment once they have other numbers."""
        return None if self.is_embedded_anew(still) else self.generations

    def claims(self) -> list[Claimed]:
        """The sentences of then, those that were withheld too: who asked has seen them."""
        return list(self.record.words["claims"])


@dataclass(frozen=True, slots=True)
class SentenceChange:
    """One sentence, then and now."""

    kind: Literal["same", "changed", "gone", "new"]
    then: Claimed | None
    now: Claimed | None


@dataclass(frozen=True, slots=True)
class ErasedSource:
    """A version that the answer rested on and that is no more."""

    document_id: str
    document: str
    version: int


@dataclass(frozen=True, slots=True)
class Replay:
    """What a question got then, what it gets now, and why they may differ."""

    record: AuditRecord
    now: Answer | Mapping[str, Any]
    """An answer, or what else an assistant gives, as its views show it."""
    text_then: str | None
    text_now: str
    action_then: str | None
    action_now: str
    changes: tuple[SentenceChange, ...]
    erased: tuple[ErasedSource, ...]
    notes: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Whether action and every sentence are as they were."""
        return self.action_then == self.action_now and all(change.kind == "same" for change in self.changes)


class KnownDocuments(Documents, Notices, Protocol):
    """Opens documents, and knows what was published about them."""


def replay(
    then: RecordedQuestion,
    still: Sequence[tuple[int, str]],
    *,
    assistant: PastAssistant,
    library: KnownDocuments,
    emergency: Callable[[str], Emergency | None] = lambda _question: None,
) -> Replay:
    """Ask again and compare; `still` are the versions of then that are kept and may be seen."""
    words = then.record.words
    history = [Message(turn["role"], turn["text"]) for turn in words["history"]]
    *_, last = assistant.ask(words["question"], scope=then.scope, history=history)
    assert isinstance(last, AnswerDone)
    answer = with_notices(with_help(last.answer, emergency(words["question"])), library)
    now = [claim_record(claim) for claim in answer.claims]
    erased = erased_since(words["evidence"], library, then.scope.tenant)
    return Replay(
        record=then.record,
        now=answer,
        text_then=words["answer"]["text"] if words["answer"] else None,
        text_now=answer.text,
        action_then=words["answer"]["action"] if words["answer"] else None,
        action_now=action_name(answer.action),
        changes=tuple(compare(then.claims(), now)),
        erased=erased,
        notes=(*_notes(then, still, erased, setup=assistant.setup()), *_query_notes(words["answer"], answer)),
    )


def compare(then: Sequence[Claimed], now: Sequence[Claimed]) -> Iterator[SentenceChange]:
    """Sentences side by side; one with the same words but another verdict or place is changed.

    The numbers of citations count the passages of one answer and say nothing about another's.

    >>> old = [{"text": "A.", "verdict": "supported"}, {"text": "B.", "verdict": "supported"}]
    >>> new = [{"text": "A.", "verdict": "partly"}, {"text": "C.", "verdict": "supported"}]
    >>> [change.kind for change in compare(old, new)]
    ['changed', 'gone', 'new']
    """
    texts = [claim["text"] for claim in then], [claim["text"] for claim in now]
    for kind, first, last, begin, end in SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        if kind == "equal":
            for before, after in zip(then[first:last], now[begin:end], strict=True):
                yield SentenceChange("same" if _as_judged(before) == _as_judged(after) else "changed", before, after)
        else:
            yield from (SentenceChange("gone", claim, None) for claim in then[first:last])
            yield from (SentenceChange("new", None, claim) for claim in now[begin:end])


def _as_judged(claim: Claimed) -> dict[str, Any]:
    """A sentence without its numbers and the wording of its reasons, which a newer version may change."""
    return {name: value for name, value in claim.items() if name not in ("citations", "reasons")}


def erased_since(evidence: Sequence[Mapping[str, Any]], library: Documents, tenant: str) -> tuple[ErasedSource, ...]:
    """The versions among the evidence that are no more."""
    erased = {}
    for passage in evidence:
        try:
            library.entry(passage["document_id"], Scope.owner(tenant))
        except NotFound:
            erased[passage["document_id"]] = ErasedSource(
                passage["document_id"], passage["document"], passage["version"]
            )
    return tuple(erased.values())


def _notes(
    then: RecordedQuestion,
    still: Sequence[tuple[int, str]],
    erased: Sequence[ErasedSource],
    *,
    setup: Mapping[str, Any],
) -> Iterator[str]:
    """Why then and now may differ, in plain words."""
    words = then.record.words
    library = words["library"]
    if words["answer"] is None:
        yield UNFINISHED
    if not library["is_settled"]:
        yield NOT_SETTLED
    for gone in erased:
        yield f"Version {gone.version} of “{gone.document}”, which the answer used, has since been erased."
    if words.get("erased"):
        yield TAKEN_OUT
    if then.is_narrowed:
        yield NARROWED
    elif then.is_embedded_anew(still):
        yield EMBEDDED_ANEW
        if digest(document_id for _, document_id in still) != library["digest"]:
            yield OTHER_VERSIONS
    else:
        missing = len(then.generations.difference(generation for generation, _ in still))
        if missing:
            yield f"{missing} of the {library['documents']} documents searched then have been removed or re-filed."
    if _is_other_model(words["setup"].get("writer", {}), setup.get("writer", {})):
        yield OTHER_MODEL.format(name=setup["writer"]["name"])
    changed = _changed(words["setup"], setup)
    if "citewell" in changed:
        yield UPGRADED.format(was=words["setup"].get("citewell", "an earlier version"), now=setup["citewell"])
    yield from (f"The {name} setting has changed since." for name in changed if name != "citewell")


def _query_notes(then: Mapping[str, Any] | None, now: Answer) -> Iterator[str]:
    """What was searched for, where that is another now; an older record does not tell."""
    was = (then or {}).get("query")
    if was and now.query and was != now.query:
        yield OTHER_QUERY.format(was=was, now=now.query)


def _is_other_model(then: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether the same name stands for another model; where one of both was not told, nobody can say."""
    was, is_now = then.get("digest"), now.get("digest")
    return then.get("name") == now.get("name") and None not in (was, is_now) and was != is_now


def _changed(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return sorted(name for name in {*then, *now} if _set(then.get(name)) != _set(now.get(name)))


def _set(setting: Any) -> Any:
    """What a person sets; what a server has under a model's name is none of it."""
    if isinstance(setting, Mapping):
        return {name: value for name, value in setting.items() if name != "digest"}
    return setting
