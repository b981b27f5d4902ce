"""Sorts a message to the chat into seven classes by whole words; red flags come before everything else."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from citewell.assistants.guidelines.entries import facts
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.match import broader, mentions, units
from citewell.assistants.guidelines.queries import goes_on, is_follow_up
from citewell.assistants.guidelines.retrieve import RULE_ID
from citewell.assistants.guidelines.tables import rows
from citewell.assistants.guidelines.words_shared import focus, is_clinical, put_together

InputClass = Literal[
    "smalltalk",
    "meta",
    "chitchat_redirect",
    "safety_urgent",
    "medical_out_of_scope",
    "needs_clarification",
    "proceed",
]
TOPICS = ("treatment", "prognosis", "staging")
"""What a guideline may or may not speak of; its title, headings and terms tell."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """What a message is, and what else has to be said or left out with its answer."""

    input_class: InputClass
    needs_safety: bool = False
    """Someone may be in danger: the way to emergency care comes first, whatever follows."""
    wants_diagnosis: bool = False
    """It asks for a diagnosis, which no answer gives."""
    topics: frozenset[str] = frozenset()
    """What it asks for that only some guidelines speak of."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the guidelines at hand speak of, as far as it tells messages apart."""

    topics: frozenset[str] = frozenset()
    terms: frozenset[str] = frozenset()
    """What they define, in lower case."""
    sites: frozenset[str] = frozenset()
    findings: frozenset[str] = frozenset()
    """The concepts of all findings that their criteria speak of."""

    @classmethod
    def of(cls, guidelines: Iterable[Guideline]) -> Loaded:
        """Told of titles, headings, terms and sites."""
        found = list(guidelines)
        terms = [one.term for each in found for one in each.definitions]
        titles = [each.title for each in found] + [rule.section for each in found for rule in each.rules]
        sites = {rule.site.casefold() for each in found for rule in each.rules if rule.site}
        phrases = {one.phrase for each in found for rule in each.rules for one in facts(rule).findings}
        findings = {name for phrase in phrases for unit in units(phrase) if is_clinical(unit) for name in unit}
        return cls(
            topics_covered([*titles, *terms]),
            frozenset(term.casefold() for term in terms),
            frozenset(sites),
            frozenset(findings),
        )


NOTHING = Loaded()


@cache
def _patterns(what: str) -> tuple[tuple[int, re.Pattern[str]], ...]:
    return tuple(
        (int(weight), re.compile(rf"(?<![\w&])(?:{pattern})(?![\w&])", re.IGNORECASE))
        for name, weight, pattern in rows("chat_cues.tsv")
        if name == what
    )


def has(what: str, text: str) -> bool:
    """Whether a text has a cue of this kind."""
    return any(pattern.search(text) for _, pattern in _patterns(what))


def _weight(what: str, text: str) -> int:
    """The weights of all cues of a kind that a text has, each kind of cue once."""
    return sum(weight for weight, pattern in _patterns(what) if pattern.search(text))


def _without(what: str, text: str) -> str:
    for _, pattern in _patterns(what):
        text = pattern.sub(" ", text)
    return text


_SHORT = (
    (r"won[’']t", "will not"),
    (r"can[’']?t\b(?! scan)", "cannot"),
    (r"can not", "cannot"),
    (r"shan[’']t", "shall not"),
    (r"(\w)n[’']t", r"\1 not"),
    (r"(\w)[’']m\b", r"\1 am"),
    (r"(\w)[’']ve\b", r"\1 have"),
    (r"(\w)[’']re\b", r"\1 are"),
    (r"(\w)[’']ll\b", r"\1 will"),
    (r"\b(it|that|this|what|who|where|how|there|he|she|something|let)[’']?s\b(?!\w)", r"\1 is"),
    (r"\bdont\b", "do not"),
    (r"\bim\b", "i am"),
    (r"\bive\b", "i have"),
    (r"\bwont\b", "will not"),
)


def spelled(message: str) -> str:
    """A message as the cues have it: short forms in full, one space between words.

    >>> spelled("It’s bad, I can't   breathe")
    'it is bad, i cannot breathe'
    """
    text = " ".join(unicodedata.normalize("NFKC", message).casefold().split())
    for short, full in _SHORT:
        text = re.sub(short, full, text)
    return text


Nearness = Callable[[str], Mapping[InputClass, float]]
"""For each class, how near in meaning a message is to the examples of it."""

STRONG = 2
"""The weight from which a message asks for what a guideline on referral gives."""
LIKE = 0.25
"""From here on an example is near enough to say what a message is that no cue settles."""
CLEARLY = 0.02
"""How much nearer another class must be than the one that cues suggest."""
ALARMING = 0.60
"""From here on a message that is nearest to an emergency is one, whatever cues say."""
NOTABLE, CAUTION = 0.35, 0.05
"""From where on, and how much farther than the nearest, an emergency counts where no cue settles a message."""


def classify(
    message: str, loaded: Loaded = NOTHING, *, near: Nearness | None = None, is_answered: bool = False
) -> Sorted:
    """The class of a message: cues decide, and examples where cues leave it open or know nothing of an emergency.

    `is_answered` says that something was answered before, which a follow-up goes on from.
    """
    text = spelled(message)
    is_own = has("own", _without("own not", text))
    scope = _weight("scope", text)
    if has("emergency", text) or has("unsafe", text):
        is_asked = scope >= STRONG and not is_own and has("in general", text) and not has("here and now", text)
        wants_diagnosis = has("self-diagnosis", text)
        return Sorted("proceed" if is_asked else "safety_urgent", needs_safety=True, wants_diagnosis=wants_diagnosis)
    if is_own and has("red flag", text):
        asks = scope >= STRONG and not has("self-diagnosis", text)
        return Sorted("proceed" if asks else "safety_urgent", needs_safety=True, wants_diagnosis=not asks)
    if _is_small_talk(text):
        return Sorted("smalltalk")
    by_cues, is_settled = _by_cues(Read.of(text, message, loaded, is_own=is_own), loaded)
    is_settled |= by_cues.input_class == "proceed" and is_answered and goes_on(message)
    return by_cues if near is None else _heard(by_cues, near(message), is_settled=is_settled, asks=scope >= STRONG)


def _heard(by_cues: Sorted, nearness: Mapping[InputClass, float], *, is_settled: bool, asks: bool) -> Sorted:
    """What cues say, unless the examples say otherwise where they may."""
    best = max(nearness, key=lambda one: nearness[one])
    danger = nearness["safety_urgent"]
    is_alarming = best == "safety_urgent" and danger >= ALARMING and not asks and not is_settled
    is_close = not is_settled and danger >= max(NOTABLE, nearness[best] - CAUTION) and by_cues.input_class != "proceed"
    if is_alarming or is_close:
        return replace(by_cues, input_class="safety_urgent", needs_safety=True)
    is_clear = nearness[best] >= LIKE and nearness[best] >= nearness[by_cues.input_class] + CLEARLY
    if is_settled or not is_clear:
        return by_cues
    return replace(by_cues, input_class=best, needs_safety=best == "safety_urgent")


@dataclass(frozen=True, slots=True)
class Read:
    """A message, and what its words tell before any class is thought of."""

    text: str
    message: str
    is_own: bool
    scope: int
    is_specific: bool
    """It names a finding, a test, a site or a rule that can be looked up; “tired” and “cancer” are none."""
    is_clinical: bool
    has_age: bool
    names_term: bool
    names_finding: bool
    """It names a symptom, a sign or a result that criteria speak of, and not only that someone is tired."""

    @classmethod
    def of(cls, text: str, message: str, loaded: Loaded, *, is_own: bool) -> Read:
        """Read once, asked often."""
        scope, has_age, names_term = _weight("scope", text), _AGE.search(text) is not None, names(loaded.terms, text)
        is_specific = _is_specific(message) or names(loaded.sites, text)
        plain = _without("vague", message)
        names_finding = is_specific and any((unit | broader(unit)) & loaded.findings for unit in focus(plain))
        speaks = bool(mentions(message)) or is_specific or has_age or names_term or scope >= STRONG
        told = (scope, is_specific, speaks or has("vague", text), has_age, names_term, names_finding)
        return cls(text, message, is_own, *told)


def _by_cues(read: Read, loaded: Loaded) -> tuple[Sorted, bool]:
    """What the cues say of a message that is no emergency, and whether that settles it."""
    if has("meta", read.text) and not (read.is_specific and read.scope):
        return Sorted("meta"), True
    if has("chitchat", read.text) and not (read.is_clinical and read.scope):
        return Sorted("chitchat_redirect"), True
    if read.is_clinical or _topics(read) or is_follow_up(read.message):
        return _of_health(read, loaded)
    return Sorted("chitchat_redirect"), False


def _topics(read: Read) -> dict[str, int]:
    """What a message asks for that only some guidelines speak of, and how strongly."""
    asked = _without("treatment not", read.text)
    return {topic: weight for topic in TOPICS if (weight := _weight(topic, asked))}


def _of_health(read: Read, loaded: Loaded) -> tuple[Sorted, bool]:
    """Out of scope, too little to go by, or a question that can be looked up."""
    topics = _topics(read)
    wants_diagnosis = has("self-diagnosis", read.text)
    is_open = not read.is_specific and read.scope < STRONG
    if sum(weight for topic, weight in topics.items() if topic not in loaded.topics) > read.scope:
        return Sorted("medical_out_of_scope", topics=frozenset(topics)), True
    if wants_diagnosis and is_open:
        return Sorted("medical_out_of_scope", wants_diagnosis=True), True
    if has("vague", read.text) and is_open and (read.is_own or not read.has_age):
        return Sorted("needs_clarification"), True
    is_asked = read.has_age or bool(topics.keys() & loaded.topics) or (read.names_term and not read.is_own)
    is_named = read.is_specific and (read.scope >= STRONG or all(is_clinical(one) for one in focus(read.message)))
    is_named |= read.names_finding
    proceed = Sorted("proceed", wants_diagnosis=wants_diagnosis, topics=frozenset(topics))
    return proceed, read.is_clinical and (is_asked or is_named)


def names(terms: Iterable[str], text: str) -> bool:
    """Whether a text has one of these terms as whole words."""
    return any(re.search(rf"(?<!\w){re.escape(one)}(?!\w)", text) for one in terms)


def _is_small_talk(text: str) -> bool:
    """Whether a message says hello, thank you or goodbye and nothing else."""
    if not has("smalltalk", text):
        return False
    return not re.search(r"\w", _without("smalltalk filler", _without("smalltalk", text)))


_AGE = re.compile(r"(?<!\w)(?:aged? \d|\d{1,3}[- ]year|(?:under|over|below|above) \d{1,3}s?)", re.IGNORECASE)


def _is_specific(message: str) -> bool:
    """Whether a message names a finding, a test or a disease that can be looked up; “tired” and “cancer” are none."""
    plain = _without("vague", message)
    names = [*(one.concept.name for one in mentions(plain)), *(name for name, _ in put_together(plain))]
    vague = _patterns("vague name")
    is_named = any(not any(pattern.fullmatch(name) for _, pattern in vague) for name in names)
    return is_named or RULE_ID.search(message) is not None


def topics_covered(titles: Iterable[str]) -> frozenset[str]:
    """What guidelines speak of, by their titles, headings and terms.

    >>> sorted(topics_covered(["Treating and monitoring hypertension"]))
    ['treatment']
    """
    told = list(titles)
    return frozenset(topic for topic in TOPICS if any(has(f"covers {topic}", one) for one in told))
