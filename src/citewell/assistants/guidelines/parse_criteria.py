"""Parses the criteria of a rule into a tree; what cannot be expressed is kept as text that needs reading."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from citewell.assistants.guidelines.concept_match import is_known
from citewell.assistants.guidelines.criteria import (
    Absence,
    AllOf,
    AnyOf,
    Criteria,
    Exposure,
    FindingCriterion,
    MeetsOtherRules,
    NeedsReading,
    Quality,
    all_of,
    any_of,
)
from citewell.assistants.guidelines.parse_numbers import parse_age, parse_banded, parse_threshold
from citewell.assistants.guidelines.parse_phrase import parse_phrase, qualified
from citewell.assistants.guidelines.populations import Terms
from citewell.assistants.guidelines.read_rules import Item
from citewell.assistants.guidelines.tables import rows

_LIGHT = re.compile(
    r"(?:,|:|and|who|whose|if|when|they|that|with|are|is|have|has|had|having|been|presenting|presents?|reports?|reported"
    r"|reporting|experienced?|also|either(?! of\b)|both(?! of\b)|on examination|being|their|there is|there are"
    r"|physical examination identifies|tests show|assessed by an? \w+ as)(?![\w-])\s*",
    re.IGNORECASE,
)
_ALTERNATIVE = re.compile(r"(?:,|(?<!\s))\s+or\s+(?=(?:if|who)\b)", re.IGNORECASE)
_FOLLOWING = re.compile(
    r"(?P<count>(?<!\d)\d+|any|one|either|all|both)(?: or more)? of the following(?P<narrowed>(?: [\w-]+){0,12}?)?"
    r"(?: (?:symptoms|signs|findings|features))?(?P<suffix> (?:in|on) [^,:;]{1,200}?)?"
    r"(?=,? or if\b|,? and\b|,|:|\s{0,20}[–—]|\s{0,20}$)",
    re.IGNORECASE,
)
_BOUNDARY = re.compile(
    r"(?:,|(?<!\s))\s+(?:(?<!consistent )(?<!compatible )with (?!or without\b)|(?:unless|except)\b)"
    r"|(?<!\s)(?<!even)\s+if\b"
    r"|(?:,|(?<!\s))\s+(?:and|plus) (?=(?:they |she |he )?(?:have|has|are|is|report|either|with|ever|aged|an?)\b)"
    r"|,\s+and |(?<!\s)\s+(?:and (?=(?:any|\d+|one|either) (?:or more )?of\b)|who\b)|,\s+with ",
    re.IGNORECASE,
)
_PLAIN_AND = re.compile(r"(?<!\s)\s+and\s+", re.IGNORECASE)
_BECAUSE = re.compile(r",\s+(?:because|which (?:is|are)|as this)\b.*$", re.IGNORECASE)
_ASIDE = re.compile(
    r"(?:(?<!\s)\s+)?\((?:especially|particularly|see|for example)\b[^()]*\)"
    r"|(?:(?<!\s)\s+)?[–—-]\s*particularly [^,:;]+",
    re.IGNORECASE,
)
_BASIS = re.compile(r"(?<!\s)\s+on an? (?P<names>[\w -]{1,120}?) basis$", re.IGNORECASE)
_ONE_ONLY = re.compile(r"in one (?P<part>\w+) only$", re.IGNORECASE)
_SAID_BY = re.compile(
    r"\(?\b(?:as specified in|see) recommendations? (?P<first>[\d.]+\d)(?: to (?P<last>[\d.]+\d))?\)?", re.IGNORECASE
)
_ABSENT = re.compile(
    r"(?:without|no|unless|except(?: if| when| where| for)?)\s+(?:(?:they|those|the person|people) )?(?:also )?"
    r"(?:(?:have|has|with|are|is) )?(?:also )?(?:an? |the )?(?P<what>.+)$",
    re.IGNORECASE,
)
_TURNED = re.compile(r"\b(?:no|not|but|without|unless)\b", re.IGNORECASE)
_THERE = re.compile(r"(?<!\s)\s+(?:is|are) (?:present|found|identified|detected)$", re.IGNORECASE)
_CONNECTOR = re.compile(r"(?:,|(?<!\s))\s+(?P<word>or|and)$", re.IGNORECASE)


MAX_CHARACTERS = 3_000
"""A sentence that is longer than any recommendation is left to be read by a person."""


@dataclass(frozen=True, slots=True)
class RuleText:
    """What a rule's criteria are parsed from, and what the guideline says round it."""

    terms: Terms
    rule_ids: tuple[str, ...]
    table: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Branch:
    text: str
    children: tuple[Item, ...]
    connector: str | None


def parse_criteria(text: str, items: Sequence[Item], words: RuleText) -> Criteria:
    """The tree of one rule: the words before its list, then the list."""
    text = _mended(text)
    if len(text) > MAX_CHARACTERS:
        return NeedsReading(text)
    if match := _SAID_BY.search(text):
        if _TURNED.search(text, 0, match.start()):
            return NeedsReading(text)
        rest = (text[: match.start()] + text[match.end() :]).strip(" ,")
        return _referring(rest, match, words)
    told = _BECAUSE.sub("", text)
    return _whole(_expression(_ASIDE.sub("", told), tuple(items), words), told)


def _whole(tree: Criteria, text: str) -> Criteria:
    """The tree, in which what is left to be read has the asides again that were taken out before."""
    if isinstance(tree, NeedsReading):
        between = rf"(?:{_ASIDE.pattern})?\s+"
        match = re.search(between.join(map(re.escape, tree.text.split())), text, re.IGNORECASE)
        return NeedsReading(match.group()) if match else tree
    if isinstance(tree, AllOf | AnyOf):
        return replace(tree, parts=tuple(_whole(part, text) for part in tree.parts))
    return tree


def _mended(text: str) -> str:
    """Words that the print ran together: “persistentunexplained”."""
    names = "|".join(re.escape(name) for name, kind, *_ in rows("qualities.tsv") if kind != "note")
    return re.sub(rf"\b({names})(?=(?:{names})\b|[a-z]{{5,}}\b)(?!ly\b)", r"\1 ", " ".join(text.split()))


def _referring(text: str, match: re.Match[str], words: RuleText) -> Criteria:
    """Criteria that are those of other rules, with what is said beside them."""
    first, last = match.group("first"), match.group("last") or match.group("first")
    spread = [rule_id_ for rule_id_ in words.rule_ids if _number(first) <= _number(rule_id_) <= _number(last)]
    named = MeetsOtherRules(" ".join(match.group().strip("() ").split()), tuple(spread))
    population, rest = words.terms.leading(text)
    _, _, after = rest.partition(" if ")
    parts: list[Criteria] = [*population, named]
    if after:
        parts.append(_expression(after, (), words))
    return all_of(*parts)


def _number(rule_id: str) -> tuple[int, ...]:
    return tuple(int(part) for part in rule_id.split("."))


def _expression(text: str, items: tuple[Item, ...], words: RuleText) -> Criteria:
    """Alternatives that the sentence spells out, each with its conditions; a population before them belongs to all."""
    text = re.sub(r"(?:(?<!\s)\s+(?:and|or|with|who))?[ ,.:;]{0,40}$", "", _mended(text).strip(" ,.:;"))
    population, rest = words.terms.leading(text)
    ages: list[Criteria] = []
    while (aged := parse_age(rest := _without_light(rest))) is not None:
        ages.append(aged[0])
        rest = rest[aged[1] :]
    branches = _ALTERNATIVE.split(rest)
    if len(branches) == 1:
        return _joined([*population, *ages, *_conditions(rest, items, words)], text)
    # A list at the end belongs to every branch that speaks of it.
    return _joined([*population, *ages, any_of(*(_branch(branch, items, words) for branch in branches))], text)


def _branch(text: str, items: tuple[Item, ...], words: RuleText) -> Criteria:
    return _joined(_conditions(text, items if _FOLLOWING.search(text) else (), words), text)


def _joined(parts: Sequence[Criteria], text: str) -> Criteria:
    return all_of(*parts) if parts else NeedsReading(text)


def _without_light(text: str) -> str:
    while match := _LIGHT.match(text := text.strip()):
        text = text[match.end() :]
    return text


def _conditions(text: str, items: tuple[Item, ...], words: RuleText) -> list[Criteria]:
    """The conditions of one branch, all of which must hold."""
    found: list[Criteria] = []
    used = False
    rest = _without_light(text)
    while rest:
        if (aged := parse_age(rest)) is not None:
            found.append(aged[0])
            rest = rest[aged[1] :]
        elif (exposed := _exposure(rest)) is not None:
            found.append(exposed[0])
            rest = rest[exposed[1] :]
        elif (match := _FOLLOWING.match(rest)) is not None and items:
            found.append(_listed(match, items, words))
            used = True
            rest = rest[match.end() :]
            if basis := _BASIS.match(rest):
                rest = rest[basis.end() :]
        elif items and not used and not (narrowed := qualified(rest))[0] and narrowed[1]:
            found.append(_narrowed(_list(items, words), narrowed[1]))  # “with unexplained:”
            used, rest = True, ""
        else:
            chunk, rest = _chunk(rest)
            found.append(_simple(chunk, words))
        rest = _without_light(rest)
    if items and not used:
        found.append(_list(items, words))
    return found


def _exposure(text: str) -> tuple[Exposure, int] | None:
    for name, wording, *_ in rows("exposures.tsv"):
        if match := re.match(rf"(?:{wording})\b", text, re.IGNORECASE):
            return Exposure(match.group(), name), match.end()
    return None


def _chunk(text: str) -> tuple[str, str]:
    """The words up to the next “and” or “with” that adds a condition."""
    end = next((match.start() for match in _BOUNDARY.finditer(text) if match.start() > 0), len(text))
    for match in _PLAIN_AND.finditer(text, 0, end):
        before, after = text[: match.start()], text[match.end() :]
        if _stands_alone(before) and _stands_alone(after):
            return before, text[match.start() :]
    return text[:end], text[end:]


def _stands_alone(text: str) -> bool:
    return not isinstance(parse_phrase(_BOUNDARY.split(_PLAIN_AND.split(text, 1)[0], 1)[0]), NeedsReading)


def _simple(text: str, words: RuleText) -> Criteria:
    """One condition without a list: a number to be compared, or findings."""
    if match := _ABSENT.match(text):
        return Absence(text, match.group("what")) if is_known(match.group("what")) else NeedsReading(text)
    banded = parse_banded(text, words.table)
    if banded is not None:
        return banded
    threshold = parse_threshold(text)
    if threshold is not None:
        return threshold
    there = parse_phrase(_THERE.sub("", text))  # “if a mass is present”
    return parse_phrase(text) if isinstance(there, NeedsReading) else there


def _listed(match: re.Match[str], items: tuple[Item, ...], words: RuleText) -> Criteria:
    """“2 or more of the following unexplained symptoms”: so many of the items, each narrowed in the same way."""
    count = match.group("count").lower()
    _, narrowed = qualified((match.group("narrowed") or "").strip())
    suffix = (match.group("suffix") or "").strip()
    if basis := _BASIS.search(" " + suffix):
        names = tuple(name.strip() for name in re.split(r"\bor\b", basis.group("names")))
        narrowed, suffix = (*narrowed, Quality(" or ".join(names), names)), ""
    if one := _ONE_ONLY.search(suffix):
        narrowed = (*narrowed, Quality(suffix, ("one-sided",)))
        items = tuple(replace(item, text=_about(item.text, one.group("part"))) for item in items)
    parts = [_narrowed(_expression(branch.text, branch.children, words), narrowed) for branch in _branches(items)]
    if count in ("all", "both"):
        return all_of(*parts)
    return AnyOf(tuple(parts), int(count)) if count.isdigit() and int(count) > 1 else any_of(*parts)


def _about(text: str, part: str) -> str:
    connector = _CONNECTOR.search(text)
    bare = text[: connector.start()] if connector else text.rstrip(". ")
    return f"{bare} in {part}" + (connector.group() if connector else "")


def _narrowed(tree: Criteria, narrowed: tuple[Quality, ...]) -> Criteria:
    """Every finding of the tree with these qualities too."""
    if isinstance(tree, FindingCriterion):
        new = tuple(
            quality
            for quality in narrowed
            if not any(set(quality.names) & set(other.names) for other in tree.qualities)
        )
        return replace(tree, qualities=(*new, *tree.qualities))
    if isinstance(tree, AnyOf):
        return AnyOf(tuple(_narrowed(part, narrowed) for part in tree.parts), tree.at_least)
    return all_of(*(_narrowed(part, narrowed) for part in tree.parts)) if hasattr(tree, "parts") else tree


def _list(items: tuple[Item, ...], words: RuleText) -> Criteria:
    """A list whose items say by “or” and “and” how they belong together; “or” where they do not."""
    branches = _branches(items)
    parts = [_expression(branch.text, branch.children, words) for branch in branches]
    is_and = any(branch.connector == "and" for branch in branches) and not any(
        branch.connector == "or" for branch in branches
    )
    join: Callable[..., Criteria] = all_of if is_and else any_of
    return join(*parts)


def _branches(items: tuple[Item, ...]) -> list[_Branch]:
    """The outer items with their inner ones; an item that says “the following” without any borrows the next one's."""
    top = min(item.depth for item in items)
    grouped: list[tuple[str, list[Item]]] = []
    for item in items:
        if item.depth == top or not grouped:
            grouped.append((item.text, []))
        else:
            grouped[-1][1].append(item)
    branches: list[_Branch] = []
    for text, children in grouped:
        last = (children[-1].text if children else text).strip()
        connector = _CONNECTOR.search(last)
        word = connector.group("word").lower() if connector else None
        bare = last[: connector.start()] if connector else last
        if children:
            branches.append(_Branch(text, (*children[:-1], replace(children[-1], text=bare)), word))
        else:
            branches.append(_Branch(bare, (), word))
    lent: tuple[Item, ...] = ()
    for at in range(len(branches) - 1, -1, -1):
        if branches[at].children:
            lent = branches[at].children
        elif lent and _FOLLOWING.search(branches[at].text):
            branches[at] = replace(branches[at], children=lent)
    return branches
