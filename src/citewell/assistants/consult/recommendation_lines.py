"""Reads the numbered recommendations of a guideline as lines of a plan: whole, with number and purpose."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from citewell.assistants.consult.advice_sections import may_advise
from citewell.assistants.consult.advice_sentences import is_warning
from citewell.assistants.consult.chapter_lines import GuidelineLine, role_of
from citewell.assistants.consult.guideline_choice import ChosenGuideline, plain
from citewell.assistants.consult.weight_based_doses import has_dose
from citewell.assistants.guidelines.guideline import Guideline, GuidelineRule
from citewell.assistants.guidelines.read_guideline import read
from citewell.clinical.medicines import medicines
from citewell.errors import InputError
from citewell.types import Document

_REVIEWS = re.compile(r"\W*(?:review|monitor|follow[- ]?up|reassess|arrange (?:a )?(?:follow|review))", re.IGNORECASE)
_TELLS = re.compile(
    r"\W*(?:explain|advise|inform|encourage|discourage"
    r"|(?:discuss|give|provide|offer) (?:\w+ ){0,3}?(?:advice|information|lifestyle|support|help))\b",
    re.IGNORECASE,
)


def recommendations_of(document: Document) -> Guideline | None:
    """A document's numbered recommendations; None where it has none."""
    try:
        guideline = read(document)
    except InputError:
        return None
    return guideline if guideline.rules else None


def recommendation_lines(chosen: ChosenGuideline, guideline: Guideline) -> tuple[GuidelineLine, ...]:
    """The recommendations on the illness, and the warnings that stand between them."""
    found = [*_numbered(chosen, guideline), *_warnings(chosen, guideline), *_rows(chosen, guideline)]
    return tuple(sorted(found, key=lambda line: line.start))


def _numbered(chosen: ChosenGuideline, guideline: Guideline) -> Iterator[GuidelineLine]:
    blocks = chosen.document.blocks
    starts = [block.start for block in blocks]
    for rule in guideline.rules:
        section = blocks[bisect_right(starts, rule.start) - 1].section
        if chosen.covers(section) and may_advise(section):
            text = plain(rule.text)
            yield GuidelineLine(f"{rule.id} {text}", text, _role(rule, section), section, rule.start, rule.end, rule.id)


def _warnings(chosen: ChosenGuideline, guideline: Guideline) -> Iterator[GuidelineLine]:
    """Paragraphs between the recommendations that say what must not be given."""
    taken = [(rule.start, rule.end) for rule in guideline.rules]
    first, last = min(taken)[0], max(taken)[1]
    for block in chosen.document.blocks:
        words = plain(chosen.document.text[block.start : block.end])
        is_between = first < block.start < last and not any(
            block.start < end and start < block.end for start, end in taken
        )
        if is_between and block.kind in ("paragraph", "box") and chosen.covers(block.section) and _is_warning(words):
            yield GuidelineLine(words, words, "caution", block.section, block.start, block.end)


def _rows(chosen: ChosenGuideline, guideline: Guideline) -> Iterator[GuidelineLine]:
    """Rows of tables between the recommendations that give doses, each with the caption that says for whom."""
    first, last = guideline.rules[0].start, guideline.rules[-1].end
    caption = ""
    for block in chosen.document.blocks:
        words = plain(chosen.document.text[block.start : block.end])
        caption = words if block.kind == "caption" else caption
        is_row = block.kind == "table_row" and first < block.start < last and chosen.covers(block.section)
        if is_row and has_dose(words) and medicines(words):
            section = (*block.section, caption) if caption else block.section
            yield GuidelineLine(words, words, "treat", section, block.start, block.end)


def _is_warning(words: str) -> bool:
    return (is_warning(words) or "should not be used" in words or "not for use" in words) and bool(medicines(words))


def _role(rule: GuidelineRule, section: tuple[str, ...]) -> str:
    """What a recommendation is for: by what it tells to do, else by its headings."""
    action = rule.action
    under = [role for title in reversed(section) if (role := role_of(title)) not in (None, "none")]
    if action.deed == "referral" and action.strength != "do not":
        return "refer"
    if action.strength == "do not" or rule.text.casefold().startswith(("do not", "avoid")):
        return "avoid"
    if _REVIEWS.match(rule.text):
        return "follow"
    if "follow" in under[:1] or medicines(action.text):
        return "follow" if "follow" in under[:1] else "treat"
    if action.deed == "investigation":
        return "investigate"
    return "support" if _TELLS.match(rule.text) else next((role for role in under if role), "treat")
