"""Sorts a message to the chat into seven classes by whole words; emergencies and red flags come before all else."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, get_args

from citewell.assistants.example_nearness import Embed, nearness_to
from citewell.assistants.guidelines.chat_cues import has, names, patterns, spelled, weight, without
from citewell.assistants.guidelines.chat_queries import goes_on, is_follow_up
from citewell.assistants.guidelines.concept_match import is_clinical
from citewell.assistants.guidelines.guideline_topics import NOTHING, TOPICS, GuidelineTopics
from citewell.assistants.guidelines.retrieve import RULE_ID
from citewell.assistants.guidelines.shared_terms import focus
from citewell.assistants.guidelines.tables import rows
from citewell.clinical import broader, mentions
from citewell.clinical.emergencies import EmergencyReading, find_emergencies
from citewell.clinical.medicines import medicine_words
from citewell.ports import Vectors

InputClass = Literal[
    "smalltalk",
    "meta",
    "chitchat_redirect",
    "safety_urgent",
    "medical_out_of_scope",
    "needs_clarification",
    "proceed",
]


@dataclass(frozen=True, slots=True)
class ClassifiedMessage:
    """What a message is, and what else has to be said or left out with its answer."""

    input_class: InputClass
    needs_safety: bool = False
    """Someone may be in danger: the way to emergency care comes first, whatever follows."""
    wants_diagnosis: bool = False
    """It asks for a diagnosis, which no answer gives."""
    topics: frozenset[str] = frozenset()
    """What it asks for that only some guidelines speak of."""
    is_foreign: bool = False
    """It asks for what none of the guidelines at hand speaks of, such as treatment where all are about referral."""
    is_open: bool = False
    """It names too little for anything that is found to be an answer to it."""


Nearness = Callable[[str], Mapping[InputClass, float]]
"""For each class, how near in meaning a message is to the examples of it."""

STRONG = 2
"""The weight from which a message asks for what a guideline on referral gives."""
LIKE = 0.25
"""From here on an example is near enough to say what a message is that no cue settles."""
CLEARLY = 0.02
"""How much nearer another class must be than the one that cues suggest."""
ALARMING = 0.60
"""From here on a message that is nearest to one that does without a doctor is one, whatever cues say."""
NOTABLE, CAUTION = 0.35, 0.05
"""From where on, and how much farther than the nearest, such a message counts where no cue settles it."""
RED_FLAGS = frozenset({"coughing blood", "vomiting blood", "black stool", "chest pain", "blind"})
"""Meanings of `emergency_words.tsv` that need a doctor soon where a person has them."""
CLASSES: dict[str, InputClass] = {name: name for name in get_args(InputClass)}


@cache
def examples() -> tuple[tuple[InputClass, ...], list[str]]:
    """The classes of the examples and their words."""
    found = rows("chat_examples.tsv")
    return tuple(CLASSES[name] for name, _ in found), [text for _, text in found]


def nearness(embed: Embed, vectors: Vectors) -> Nearness:
    """Measures messages against the examples, whose vectors are given."""
    return nearness_to(examples()[0], vectors, embed)


def classify(
    message: str,
    loaded: GuidelineTopics = NOTHING,
    *,
    near: Nearness | None = None,
    is_answered: bool = False,
    is_emergency: bool | None = None,
) -> ClassifiedMessage:
    """The class of a message: cues decide, and examples where cues leave it open.

    `is_answered` says that something was answered before, which a follow-up goes on from; `is_emergency` that the
    message tells of one, where that is known already.
    """
    text = spelled(message)
    is_own = has("own", without("own not", text))
    scope = weight("scope", text)
    wants_diagnosis = has("self-diagnosis", text)
    if find_emergencies(message) is not None if is_emergency is None else is_emergency:
        asks = scope >= STRONG and not wants_diagnosis and ("?" in message or not is_own)
        return ClassifiedMessage(
            "proceed" if asks else "safety_urgent", needs_safety=True, wants_diagnosis=wants_diagnosis
        )
    if has("unsafe", text):
        return ClassifiedMessage("safety_urgent", needs_safety=True, wants_diagnosis=wants_diagnosis)
    if is_own and not RED_FLAGS.isdisjoint(span.meaning for span in EmergencyReading.of(message).live):
        asks = scope >= STRONG and not wants_diagnosis
        return ClassifiedMessage("proceed" if asks else "safety_urgent", needs_safety=True, wants_diagnosis=not asks)
    if _is_small_talk(text):
        return ClassifiedMessage("smalltalk")
    read = ReadMessage.of(text, message, loaded, is_own=is_own)
    by_cues, is_settled = _by_cues(read, loaded)
    is_settled |= by_cues.input_class == "proceed" and is_answered and goes_on(message)
    if near is None:
        return by_cues
    return _by_examples(read, by_cues, near(message), is_settled=is_settled)


def _by_examples(
    read: ReadMessage, by_cues: ClassifiedMessage, nearness: Mapping[InputClass, float], *, is_settled: bool
) -> ClassifiedMessage:
    """What cues say, unless the examples say otherwise where they may."""
    best = max(nearness, key=lambda one: nearness[one])
    danger, asks = nearness["safety_urgent"], read.scope >= STRONG
    is_alarming = best == "safety_urgent" and danger >= ALARMING and not asks and not is_settled
    is_close = not is_settled and danger >= max(NOTABLE, nearness[best] - CAUTION) and by_cues.input_class != "proceed"
    if is_alarming or (is_close and not asks):
        return replace(by_cues, input_class="safety_urgent", needs_safety=True)
    if best == "safety_urgent" and asks:
        return by_cues
    is_clear = nearness[best] >= LIKE and nearness[best] >= nearness[by_cues.input_class] + CLEARLY
    if is_settled or not is_clear:
        return by_cues
    return replace(by_cues, input_class=best, needs_safety=best == "safety_urgent")


@dataclass(frozen=True, slots=True)
class ReadMessage:
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
    def of(cls, text: str, message: str, loaded: GuidelineTopics, *, is_own: bool) -> ReadMessage:
        """Read once, asked often."""
        scope, has_age, names_term = weight("scope", text), _AGE.search(text) is not None, names(loaded.terms, text)
        is_specific = _is_specific(message) or names(loaded.sites, text)
        plain = without("vague", message)
        names_finding = is_specific and any((unit | broader(unit)) & loaded.findings for unit in focus(plain))
        speaks = bool(mentions(message)) or is_specific or has_age or names_term or scope >= STRONG
        told = (scope, is_specific, speaks or has("vague", text), has_age, names_term, names_finding)
        return cls(text, message, is_own, *told)


def _by_cues(read: ReadMessage, loaded: GuidelineTopics) -> tuple[ClassifiedMessage, bool]:
    """What the cues say of a message that is no emergency, and whether that settles it."""
    if has("meta", read.text) and not (read.is_specific and read.scope):
        return ClassifiedMessage("meta"), True
    if has("chitchat", read.text) and not (read.is_clinical and read.scope):
        return ClassifiedMessage("chitchat_redirect"), True
    if read.is_clinical or _topics(read) or is_follow_up(read.message):
        return _of_health(read, loaded)
    return ClassifiedMessage("chitchat_redirect"), False


def _topics(read: ReadMessage) -> dict[str, int]:
    """What a message asks for that only some guidelines speak of, and how strongly."""
    asked = without("treatment not", read.text)
    return {topic: found for topic in TOPICS if (found := weight(topic, asked))}


def _is_foreign(read: ReadMessage, subject: frozenset[str]) -> bool:
    """Whether a message names diseases, findings or medicines, and a guideline's words hold none of them."""
    asked = read.message
    for topic in TOPICS:
        asked = without(topic, asked)
    named = [unit for unit in focus(asked) if is_clinical(unit) or unit & medicine_words()]
    return bool(named) and not any((unit | broader(unit)) & subject for unit in named)


def _is_of_another_illness(read: ReadMessage, subject: frozenset[str]) -> bool:
    """Whether a message names illnesses, and a guideline's words hold none of them."""
    named = [mention.ids for mention in mentions(read.message) if mention.kind == "condition"]
    return bool(named) and not any((unit | broader(unit)) & subject for unit in named)


def _of_health(read: ReadMessage, loaded: GuidelineTopics) -> tuple[ClassifiedMessage, bool]:
    """Out of scope, too little to go by, or a question that can be looked up."""
    topics = _topics(read)
    wants_diagnosis = has("self-diagnosis", read.text)
    is_open = not read.is_specific and read.scope < STRONG
    spoken_of = {topic for topic in topics if topic in loaded.topics}
    covered = {topic for topic in spoken_of if loaded.is_open or not _is_foreign(read, loaded.subjects[topic])}
    if sum(asked for topic, asked in topics.items() if topic not in covered) > read.scope:
        is_foreign = any(
            topic not in loaded.topics or _is_of_another_illness(read, loaded.subjects[topic]) for topic in topics
        )
        return ClassifiedMessage("medical_out_of_scope", topics=frozenset(topics), is_foreign=is_foreign), True
    if wants_diagnosis and is_open:
        return ClassifiedMessage("medical_out_of_scope", wants_diagnosis=True, is_open=True), True
    if has("vague", read.text) and is_open and (read.is_own or not read.has_age):
        return ClassifiedMessage("needs_clarification", is_open=True), True
    is_asked = read.has_age or bool(covered) or (read.names_term and not read.is_own)
    is_named = read.is_specific and (read.scope >= STRONG or all(is_clinical(one) for one in focus(read.message)))
    is_named |= read.names_finding
    proceed = ClassifiedMessage("proceed", wants_diagnosis=wants_diagnosis, topics=frozenset(topics))
    return proceed, read.is_clinical and (is_asked or is_named)


def _is_small_talk(text: str) -> bool:
    """Whether a message says hello, thank you or goodbye and nothing else."""
    if not has("smalltalk", text):
        return False
    return not re.search(r"\w", without("smalltalk filler", without("smalltalk", text)))


_AGE = re.compile(r"(?<!\w)(?:aged? \d|\d{1,3}[- ]year|(?:under|over|below|above) \d{1,3}s?)", re.IGNORECASE)


def _is_specific(message: str) -> bool:
    """Whether a message names a finding, a test or a disease that can be looked up; “tired” and “cancer” are none."""
    plain = without("vague", message)
    vague = patterns("vague name")
    is_named = any(not any(pattern.fullmatch(mention.name) for _, pattern in vague) for mention in mentions(plain))
    return is_named or RULE_ID.search(message) is not None
