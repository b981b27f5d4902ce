"""Lifts passages by what their document says elsewhere: the title above them, the meaning of its abbreviations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from citewell.answer.calibration import Calibration
from citewell.answer.cues_telling import RECOMMENDED_IN, RECOMMENDS, weighings
from citewell.answer.defined import Same, said_otherwise
from citewell.answer.expand import Expansion
from citewell.answer.fuse import with_more
from citewell.answer.of_medicines import names_any
from citewell.answer.wanted import Held, Wanted, beyond, wanted
from citewell.types import Hit
from citewell.words import terms


@dataclass(frozen=True, slots=True)
class Lift:
    """How much a passage gains; a table to be reviewed."""

    meant: float = 0.3
    """For all of the question, where an abbreviation or a member of a class says it: what words count in the order."""
    titled: float = 0.15
    """For all of the question, where only the title of the document says it."""

    recommending_share: float = 1.1
    """A passage that recommends counts this much of its score, where advice is asked for."""
    naming_share: float = 1.15
    """One that names a medicine and recommends counts so much more, where the name of a medicine is asked for."""
    numbered_share: float = 1.25
    """One under the heading of the step or stage that is asked for counts this much."""
    misnumbered_share: float = 0.5
    """One under the heading of another step counts this part: nothing of it will be quoted."""
    referring_share: float = 1.25
    """One that says whom to send to hospital, or when to call for help, counts this much where that is asked."""
    weighing_share: float = 0.85
    """One that tells what studies found counts this part."""
    min_weighings: int = 2
    """How often it must do so."""


LIFT = Lift()


def lift(hits: Sequence[Hit], question: str, expansions: Iterable[Expansion], *, calibration: Calibration) -> list[Hit]:
    """The same hits, with what each document calls words of the question, and scored with its title in mind."""
    asked, same = wanted(question, expansions), _same(hits, question)
    passages = [frozenset(terms("\n".join((*hit.section, hit.text)))) for hit in hits]
    plain = [asked.said(passage) for passage in passages]
    asked = asked.weighed(plain)
    meant = [
        asked.also(same[hit.document_id]).said(passage) | asked.by_kin(passage) | asked.admitted(hit.text, held)
        for hit, passage, held in zip(hits, passages, plain, strict=True)
    ]
    return [_lifted(*one, asked, same[one[0].document_id], calibration) for one in zip(hits, plain, meant, strict=True)]


def _lifted(  # noqa: PLR0917 - one row of what is known of a hit
    hit: Hit, held: Held, meant: Held, asked: Wanted, names: tuple[Same, ...], calibration: Calibration
) -> Hit:
    more = asked.part(beyond(meant, held))
    titled = asked.part(beyond(asked.titled(hit.document), meant))
    share = _share(hit) if asked.asks_advice else 1.0
    if asked.asks_medicine and share > 1.0 and names_any(hit.text):
        share *= LIFT.naming_share
    share *= _numbered(hit, asked)
    if any(cue.name == "referral" and cue.answers.search(hit.text) for cue in asked.cues):
        share *= LIFT.referring_share
    score = (hit.rank_score + LIFT.meant * more + LIFT.titled * titled) * share
    relevance = with_more(hit.relevance, more, calibration=calibration)
    return replace(hit, rank_score=score, relevance=relevance, why=replace(hit.why, same=names))


def _same(hits: Sequence[Hit], question: str) -> dict[str, tuple[Same, ...]]:
    """By document, the words of the question for which it has another name."""
    told: dict[str, tuple[list[str], set[str]]] = {}
    for hit in hits:
        texts, titles = told.setdefault(hit.document_id, ([], set()))
        texts.append(hit.text)
        titles.update((hit.document, *hit.section))
    return {document: said_otherwise(question, texts, sorted(titles)) for document, (texts, titles) in told.items()}


def _share(hit: Hit) -> float:
    """What part of its score a passage is worth to who asks what to do."""
    if weighings(hit.text) >= LIFT.min_weighings:
        return LIFT.weighing_share
    recommends = RECOMMENDS.search(hit.text) or RECOMMENDED_IN.match(hit.section[-1] if hit.section else "")
    return LIFT.recommending_share if recommends else 1.0


def _numbered(hit: Hit, asked: Wanted) -> float:
    """What part of its score a passage is worth where a numbered step is asked for."""
    heading = hit.section[-1] if hit.section and asked.labels else ""
    if asked.is_of_another(heading):
        return LIFT.misnumbered_share
    return LIFT.numbered_share if heading and asked.is_of_this(heading) else 1.0
