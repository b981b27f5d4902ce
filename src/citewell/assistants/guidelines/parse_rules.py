"""Turns each rule's words into its site, its action and its criteria."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import cast

from citewell.assistants.guidelines.criteria import AgeRange, AllOf, AnyOf, Criteria, Sex, all_of, conditions
from citewell.assistants.guidelines.guideline import Action, Deed, GuidelineRule, Strength, Urgency
from citewell.assistants.guidelines.parse_criteria import RuleText, parse_criteria
from citewell.assistants.guidelines.parse_numbers import parse_age
from citewell.assistants.guidelines.populations import Terms
from citewell.assistants.guidelines.read_rules import SECTION, Item, RawRule
from citewell.assistants.guidelines.tables import rows, rows_of
from citewell.clinical.populations import organ_of, people_pattern, sex_with, with_article
from citewell.sentences import sentences

__all__ = ["Terms", "parse_rules"]

_SEVERAL = re.compile(
    r"several cancers,? including (?P<names>[^:.]+?)(?: cancers?)?(?<!\s)\s*+(?=[:.]|$)", re.IGNORECASE
)
_REASON = re.compile(r"(?:because|although|given that|since)\b", re.IGNORECASE)
_REFERRED = r"(?:urgently |immediately )?(?:consider )?refer(?:ring)?"
_HOW = r"(?:\s(?:using|urgently|immediately|to a|for)\b.*)?"


def parse_rules(passages: Sequence[RawRule], terms: Terms) -> tuple[GuidelineRule, ...]:
    """All rules; criteria that refer to other rules may name any of them."""
    ids = tuple(passage.id for passage in passages)
    return tuple(_rule(passage, RuleText(terms, ids, _rows(passage))) for passage in passages)


def _rows(passage: RawRule) -> tuple[str, ...]:
    """The rows of its one table: of several, none is known to be meant."""
    tables = passage.tables if len(passage.tables) == 1 else ()
    return tuple(
        table.text[start - table.start : end - table.start] for table in tables for start, end, _ in table.rows
    )


def _rule(passage: RawRule, words: RuleText) -> GuidelineRule:
    action, criteria = _understood(passage, words)
    site = _site(passage)
    if criteria is not None:
        criteria = _scoped(criteria, passage, site, words.terms)
    sections = [title for title in passage.headings if SECTION.match(title)]
    return GuidelineRule(
        id=passage.id,
        section=sections[-1] if sections else (passage.headings[-1] if passage.headings else ""),
        site=site,
        page=passage.page,
        page_end=passage.page_end,
        start=passage.start,
        end=passage.end,
        text=passage.text,
        date=passage.date,
        boxes=passage.boxes,
        action=action,
        criteria=criteria,
        tables=passage.tables,
    )


def _scoped(criteria: Criteria, passage: RawRule, site: str | None, terms: Terms) -> Criteria:
    """The criteria with whom the section applies to, and who has the organ."""
    before: list[Criteria] = []
    if passage.scope:
        before += _applied(passage.scope, terms)
    if not any(isinstance(one, Sex) for one in [*before, *conditions(criteria)]):
        before += _organ(site)
    has_group = any(
        isinstance(age_range, AgeRange) and age_range.population for age_range in [*before, *conditions(criteria)]
    )
    if not has_group and passage.headings:
        before += terms.heading(passage.headings[-1])
    if any(isinstance(one, Sex) for one in before):
        criteria = _without_sex(criteria, {sex.sex for sex in before if isinstance(sex, Sex)})
    return _with_organ(all_of(*before, criteria) if before else criteria, site)


def _applied(text: str, terms: Terms) -> list[Criteria]:
    """The group and the age at the start of “women aged 18 and over”."""
    group, rest = terms.leading(text)
    aged = parse_age(rest.strip(" ,"))
    return [*group, *([aged[0]] if aged else [])]


def _without_sex(criteria: Criteria, sexes: set[str]) -> Criteria:
    """The criteria without a sex that is asked for already."""
    parts = getattr(criteria, "parts", None)
    if parts is None or getattr(criteria, "at_least", None) is not None:
        return criteria
    kept = [part for part in parts if not (isinstance(part, Sex) and part.sex in sexes)]
    return all_of(*kept) if kept else criteria


def _organ(site: str | None) -> list[Criteria]:
    organ = organ_of(site)
    sex = sex_with(organ) if organ else None
    return [Sex(f"has {with_article(organ)}", sex, organ)] if organ and sex else []


def _with_organ(tree: Criteria, site: str | None) -> Criteria:
    """The criteria with the organ that “women” or “men” stands for in a rule about a cancer of it."""
    match tree:
        case Sex(organ=None) if (organ := organ_of(site)) and sex_with(organ) == tree.sex:
            return replace(tree, organ=organ)
        case AllOf(parts=parts):
            return replace(tree, parts=tuple(_with_organ(part, site) for part in parts))
        case AnyOf(parts=parts):
            return replace(tree, parts=tuple(_with_organ(part, site) for part in parts))
        case _:
            return tree


def _site(passage: RawRule) -> str | None:
    """The disease that a rule is about: the innermost heading that names one; several where the rule says so."""
    words = " ".join(passage.text.split())
    if several := _SEVERAL.search(words):
        return f"Several cancers, including {several.group('names')}"
    named = re.compile(rf"\b(?:{'|'.join(row[0] for row in rows_of('grammar.tsv', 'site'))})\b", re.IGNORECASE)
    for title in reversed(passage.headings):
        if named.search(title) and not re.search(r"\borganised by\b", title):
            bare = re.sub(r"^\d+(?:\.\d+)*\s+", "", title)
            return re.sub(r"(?<!\s)\s+in (?:adults|children(?: and young people)?|young people|people)$", "", bare)
        if SECTION.match(title):
            return None
    return None


# --------------------------------------------------------------------------------------------------- action, criteria


def _understood(passage: RawRule, words: RuleText) -> tuple[Action, Criteria | None]:
    """The action of the first sentence that refers or tests, and the criteria in it."""
    spans = sentences(passage.head) or [(0, len(passage.head))]
    told = [passage.head[start:end] for start, end in spans]
    first: Action | None = None
    for at, sentence in enumerate(told):
        items = passage.items if at == len(told) - 1 else ()
        action_text, criteria_text, listed = _split(" ".join(sentence.split()), items)
        action = parse_action(action_text)
        first = first or action
        if action.deed != "advice" and action.strength != "do not" and criteria_text is not None:
            return action, parse_criteria(criteria_text, listed, words)
    assert first is not None
    return first, None


Split = tuple[str, str | None, tuple[Item, ...]]
"""The words of the action, those of the criteria, and the list where it belongs to the criteria."""


def _split(sentence: str, items: tuple[Item, ...]) -> Split:
    """A sentence of a rule: criteria first (“If …, refer”), or the action first (“Refer … if”)."""
    bare = _after_reason(sentence.strip(" .:"))
    masked = _masked(bare)
    group = people_pattern()
    return _criteria_first(bare, masked, items, group) or _action_first(bare, masked, items, group)


@cache
def _verbs() -> str:
    """What a recommendation begins with to say what to do."""
    return rf"(?:{'|'.join(words for (words,) in rows_of('grammar.tsv', 'verb'))})\b"


def tells(text: str) -> bool:
    """Whether words say what to do: a clause of them begins with a verb of recommendations.

    >>> tells("For people with a fever, offer rest"), tells("The trial had two arms")
    (True, False)
    """
    return re.search(rf"(?:^|[.,:;]\s+|\bdo not (?:\w+ )?)(?:routinely )?{_verbs()}", text, re.IGNORECASE) is not None


def _after_reason(bare: str) -> str:
    """A sentence without the reason that it begins with: an “if” in there is no criterion.

    >>> _after_reason("Because cuffs slip if arms are thin (rare), inspect the cuff, then measure")
    'inspect the cuff, then measure'
    """
    masked = _masked(bare)
    ends = [match.end() for match in re.finditer(r",\s+", masked)] if _REASON.match(masked) else []
    verb = re.compile(_verbs(), re.IGNORECASE)
    return bare[next((end for end in ends if verb.match(masked, end)), ends[-1]) :] if ends else bare


def _masked(text: str) -> str:
    """A text whose brackets hold nothing that could end a clause."""
    return re.sub(r"\([^()]*\)", lambda match: "\0" * len(match.group()), text)


def _criteria_first(bare: str, masked: str, items: tuple[Item, ...], group: str) -> Split | None:
    if match := re.match(rf"if (?P<criteria>.+?), (?P<action>{_verbs()}.+)$", masked, re.IGNORECASE):
        return _cut(bare, match, "action"), _cut(bare, match, "criteria"), ()
    pattern = (
        rf"(?:for|in) (?P<criteria>{group}.*?)"
        rf"(?:, which\b.*|(?:, (?={_verbs()})|\s(?=(?:offer|consider|refer)\b))(?P<action>.+))?$"
    )
    if match := re.match(pattern, masked, re.IGNORECASE):
        return _cut(bare, match, "action") or _told(items), _cut(bare, match, "criteria"), ()
    return None


def _action_first(bare: str, masked: str, items: tuple[Item, ...], group: str) -> Split:
    ends = r"(?:\s+(?:with|without|aged|who|whose|presenting|if|when|and)\b.*|,.*|)$"
    if match := re.match(rf"(?P<action>.+?)\s(?:in|for|to)\s(?P<criteria>{group}{ends})", masked, re.IGNORECASE):
        done, text = _cut(bare, match, "action"), _cut(bare, match, "criteria")
        return (f"{done}: {_told(items)}", text, ()) if _is_offered(bare) else (done, text, items)
    referred = rf"(?P<action>(?:consider )?refer(?:ring)? (?P<group>{group})(?P<middle>.*?)),?\sif(?P<criteria>\s.+)?$"
    if match := re.match(referred, masked, re.IGNORECASE):
        middle = re.match(r"(with .+?)(?:,|(?<!\s))\s++using\b", _cut(bare, match, "middle"))
        between = f" {middle.group(1)} if " if middle else " "
        return _cut(bare, match, "action"), _cut(bare, match, "group") + between + _cut(bare, match, "criteria"), items
    if match := re.match(r"(?P<action>.+?),?\sif(?P<criteria>\s.+)?$", masked, re.IGNORECASE):
        return _cut(bare, match, "action"), _cut(bare, match, "criteria"), items
    named = rf"{_REFERRED} (?P<criteria>{group}\s(?:with|aged|who|presenting)\b.*?){_HOW}$"
    if match := re.match(named, masked, re.IGNORECASE):
        return bare, _cut(bare, match, "criteria"), items
    return bare, None, ()


def _cut(text: str, match: re.Match[str], name: str) -> str:
    return text[match.start(name) : match.end(name)].strip(" ,") if match.group(name) else ""


def _told(items: tuple[Item, ...]) -> str:
    """A list of things to do, as one text; the deed that matters most comes first in no case: the words are kept."""
    return "; ".join(re.sub(r"(?:,|(?<!\s))\s+(?:and|or)$", "", item.text.strip()) for item in items).replace(":;", ":")


def _is_offered(sentence: str) -> bool:
    """Whether the list is what is done, not whom for: “Offer the following … in people with …:”."""
    return re.match(r"\w+ (?:all of |both of )?the following\b", sentence, re.IGNORECASE) is not None


@cache
def _patterns(what: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((value, re.compile(cue, re.IGNORECASE)) for kind, value, cue in rows("actions.tsv") if kind == what)


def parse_action(text: str) -> Action:
    """What the words of an action ask for.

    >>> parse_action("Consider a very urgent full blood count (within 48 hours) to assess for leukaemia").label
    'consider very urgent investigation'
    """
    text = " ".join(text.split())

    def first(what: str) -> str | None:
        return next((value for value, cue in _patterns(what) if cue.search(text)), None)

    deed, strength = cast(Deed, first("deed") or "advice"), cast(Strength, first("strength") or "do")
    return Action(text, deed, strength, cast("Urgency | None", first("urgency")))
