"""What a record has that is nearest in meaning to a question: looked for before anybody is told “no”."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from citewell.assistants.records.fact_query import GatheredFacts, count
from citewell.assistants.records.known_facts import KnownFacts
from citewell.assistants.records.named_facts import names_of
from citewell.assistants.records.paper_mentions import PaperMention
from citewell.assistants.records.plain_question import plain_question
from citewell.assistants.records.sections import SectionRow
from citewell.sentences import terms
from citewell.types.coded_names import name_of_test
from citewell.types.facts import Appointment, Fact, Professional, RecordOwner

Alike = Callable[[str, Sequence[str]], Sequence[float]]
"""For each of some names, how near it is in meaning to a question."""

NEAR, NEAR_BESIDE_NO, STRONG = 0.35, 0.42, 0.5
"""From here on a name may be what is meant: where nothing else tells, beside a “no”, and instead of a “no”
(bench/notes/answering.md)."""
ALONE = 0.07
"""By how much the words that say what is asked for lie nearer to any name than a whole question does."""
MARGIN = 0.12
"""How far behind the nearest another may be."""
SAID = 0.1
"""What it adds that the very words stand there."""
MOST = 4
"""Names and rows that are told."""
KINDS = {
    "medication": "medicine",
    "result": "test result",
    "allergy": "allergy",
    "diagnosis": "condition",
    "symptom": "symptom",
    "procedure": "operation or procedure",
    "vaccination": "vaccination",
    "referral": "referral",
    "professional": "doctor for",
}
"""What names are held against a question as."""
CLOSEST = "The closest match in your record, which may be something different:"
CALLED = "Nothing in your record is called exactly {words}. The closest match, which may be something different:"


@dataclass(frozen=True, slots=True)
class NearMatch:
    """A name of facts, or a row of an export, that may be what a question means."""

    score: float
    facts: tuple[Fact, ...] = ()
    row: SectionRow | None = None


def nearest(
    question: str, phrases: Sequence[str], known: KnownFacts, every: Sequence[SectionRow], alike: Alike
) -> list[NearMatch]:
    """What is near to a question, or to the words that say what it is about, nearest first."""
    called: dict[tuple[str, str], list[Fact]] = {}
    for fact in known.facts:
        if not isinstance(fact, RecordOwner | Appointment):
            names = names_of(fact) if not isinstance(fact, Professional) else filter(None, [fact.specialty])
            for name in names:
                called.setdefault((KINDS[fact.kind], name_of_test(name)), []).append(fact)
    plain, of_kind = [name for _, name in called], [f"{kind}: {name}" for kind, name in called]
    of_rows = [row.words for row in every]
    if not plain and not of_rows:
        return []
    asked = plain_question(question).text
    by_name = _scores(asked, phrases, plain, alike)
    of_facts = zip(map(max, by_name, _scores(asked, phrases, of_kind, alike)), called.values(), strict=True)
    found = [NearMatch(score, facts=tuple(facts)) for score, facts in of_facts]
    found += [
        NearMatch(score, row=row) for score, row in zip(_scores(asked, phrases, of_rows, alike), every, strict=True)
    ]
    return sorted(found, key=lambda match: -match.score)


def _scores(question: str, phrases: Sequence[str], words: Sequence[str], alike: Alike) -> list[float]:
    """How near each name or row is to a question, or to the words that say what it is about."""
    if not words:
        return []
    scores = list(alike(question, words))
    for phrase in phrases:
        said, nearness = set(terms(phrase)), alike(phrase, words)
        alone = [
            one - ALONE + SAID * (bool(said) and said <= set(terms(word)))
            for one, word in zip(nearness, words, strict=True)
        ]
        scores = list(map(max, scores, alone))
    return scores


def with_nearest(
    gathered: GatheredFacts | None,
    phrases: Sequence[str],
    near: Sequence[NearMatch],
    known: KnownFacts,
    *,
    is_known_name: bool,
) -> tuple[GatheredFacts | None, list[PaperMention]]:
    """What was gathered, with what is nearest in meaning instead of a “no” or beside it, and where papers say it.

    That a name which tables know is not there is said; what they do not know may be another word for what is there.
    """
    best = near[0].score if near else 0.0
    is_strong = best >= STRONG and not is_known_name
    least = max(NEAR if gathered is None else STRONG if is_strong else NEAR_BESIDE_NO, best - MARGIN)
    chosen = [match for match in near if match.score >= least][:MOST]
    if not chosen:
        return gathered if is_known_name else _with_others(gathered), []
    facts = tuple(known.newest_of(dict.fromkeys(fact for match in chosen for fact in match.facts)))
    places = [match.row.place for match in chosen if match.row is not None]
    if gathered is None or is_strong:
        named = ", ".join(f"“{phrase}”" for phrase in phrases)
        lead = CALLED.format(words=named) if named and gathered is not None else CLOSEST
        after = "" if gathered is None else gathered.after
        return GatheredFacts(lead, facts, with_papers=lead, after=after, is_near=True), places
    lead = f"{gathered.lead} {CLOSEST}"
    if gathered.facts:
        return replace(gathered, if_mentioned=f"{gathered.lead.rstrip(':')}. {CLOSEST}"), places
    return replace(gathered, lead=lead, if_mentioned=lead, facts=facts), places


def _with_others(gathered: GatheredFacts | None) -> GatheredFacts | None:
    """A “no” with all of its kind beside it, so that what has another name there is not missed."""
    if gathered is None or gathered.facts or not gathered.others:
        return gathered
    lead = f"{gathered.lead} It lists {count(gathered.others)} of that kind:"
    return replace(gathered, lead=lead, facts=gathered.others)
