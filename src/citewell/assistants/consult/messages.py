"""Takes a message into a consult: what it says, what it corrects or takes back, and what to ask next."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from citewell.assistants.consult.contradictions import SETTLED
from citewell.assistants.consult.extract import LONGEST, ExtractedFindings, InterviewMessage
from citewell.assistants.consult.interview import complaint_for, features_to_ask, next_question
from citewell.assistants.consult.measurements import find_measures
from citewell.assistants.consult.mentions import find_mentions
from citewell.assistants.consult.patient import patient_of
from citewell.assistants.consult.red_flags import features_for
from citewell.assistants.consult.short_replies import read_reply
from citewell.clinical.phrases import Span, content_words, numbers, phrases
from citewell.clinical.populations import ADULT_YEARS
from citewell.errors import InputError
from citewell.sentences import sentences
from citewell.types.consult import Category, Consult, Finding, Polarity, UnusedWords

NOT_UNDERSTOOD = "not understood"
NO_USE = "the value {value} was not used"


def unused(text: str, position: int, findings: Sequence[Finding]) -> Iterator[UnusedWords]:
    """The phrases of a message that gave no finding; a sentence that gave none at all is one phrase.

    >>> one = unused("I feel okay. The frobnicase is 12 zots.", 1, ())
    >>> [(each.text, each.why) for each in one]
    [('The frobnicase is 12 zots.', 'the value 12 was not used')]
    """
    names = {finding.name for finding in findings}
    told = [
        (finding.words.start, finding.words.end)
        for finding in findings
        if finding.words and finding.category is not Category.LOCATION
    ]
    for start, end in _sentences(text):
        sentence = text[start:end]
        used = [(low - start, high - start) for low, high in told if low < end and start < high]
        used += [
            (mention.start, mention.end) for mention in find_mentions(sentence) if mention.name in names
        ]  # said again
        used += [(measure.start, measure.end) for measure in find_measures(sentence) if measure.trouble]  # asked about
        free = _without(sentence, used)
        for low, high in phrases(sentence, used) if used else [(0, len(sentence))]:
            if why := _why(sentence[low:high], free[low:high]):
                yield UnusedWords(position, start + low, start + high, sentence[low:high], why)


def _without(sentence: str, spans: Sequence[Span]) -> str:
    """The sentence with blanks where these spans stand."""
    left = list(sentence)
    for low, high in spans:
        left[max(low, 0) : high] = " " * (min(high, len(left)) - max(low, 0))
    return "".join(left)


def _sentences(text: str) -> Iterator[Span]:
    """The sentences of each line; one that goes on for longer than anybody speaks is cut."""
    at = 0
    for line in text.splitlines(keepends=True):
        for start, end in sentences(text, at, at + len(line)):
            low = start
            while end - low > LONGEST:
                space = text.rfind(" ", low + 1, low + LONGEST)
                cut = space if space > 0 else low + LONGEST
                yield low, cut
                low = cut
            yield low, end
        at += len(line)


def _why(phrase: str, free: str) -> str | None:
    """Why a phrase is told; None where something was taken from it, or where it says nothing to take."""
    if values := numbers(free):
        return NO_USE.format(value=values[0])
    is_taken = phrase != free
    return None if is_taken or not content_words(phrase, without=("function", "talk")) else NOT_UNDERSTOOD


MAX_MESSAGE = 20_000
_AGREES = re.compile(
    r"\s*(?:yes|yeah|yep|correct|right|confirmed|it is|that(?:'s| is) (?:right|correct|true))\b[^\d]*$", re.IGNORECASE
)
_CORRECTS = re.compile(
    r"\b(?:actually|sorry|correction|i meant|i mean|in fact|on second thoughts?|i was wrong|that was wrong|not right"
    r"|to correct|rather|instead|i misspoke|my mistake|turns out|it turns out|now i remember)\b",
    re.IGNORECASE,
)
_TAKES_BACK = re.compile(
    r"\b(?:forget|scratch|ignore|strike|take back|disregard|retract|remove)\s+(?:what i said about\s+"
    r"|that about\s+|the\s+|my\s+|about\s+)*(?P<what>[^.;!?]{0,60})",
    re.IGNORECASE,
)
_LAST = re.compile(r"^(?:that|it|this|last one|last)?\s*$", re.IGNORECASE)

Reader = Callable[[InterviewMessage, ExtractedFindings], ExtractedFindings]
"""What a model adds to the rules, checked."""


@dataclass(frozen=True, slots=True)
class MessageEvents:
    """What a message changes: bodies of events, in order."""

    events: tuple[tuple[str, dict[str, Any]], ...]
    troubles: tuple[str, ...] = ()


def hear(consult: Consult, text: str, *, also: Reader | None = None) -> MessageEvents:
    """The events that a message of the patient or clinician makes; the message itself is always one of them."""
    if not text.strip():
        raise InputError("Enter what the patient reports, or an answer to the question.")
    if len(text) > MAX_MESSAGE:
        raise InputError(f"The message is too long. The limit is {MAX_MESSAGE:,} characters; send it in parts.")
    heard = _heard(consult, text)
    taken_back = list(_taken_back(consult, text))
    features = features_for(_complaints(consult), consult.findings)
    features = features_to_ask(consult)[1] if consult.asked == "features" else features
    reply = read_reply(heard, asked=_topic(consult), features=features)
    extracted = reply.extracted if also is None or taken_back else also(heard, reply.extracted)
    findings = [_timeless(finding) for finding in extracted.findings]
    fresh = [] if taken_back else list(_numbered(consult, _settled(consult, findings, text)))
    agreed = list(_agreed(consult, text))
    is_read = bool(taken_back or agreed or reply.is_unknown)
    idle = [] if is_read else unused(text, heard.position, extracted.findings)
    said: tuple[str, dict[str, Any]] = (
        "said",
        {"role": "user", "text": text, "unused": [asdict(unused_words) for unused_words in idle]},
    )
    events = [said, *taken_back, *agreed]
    if fresh:
        events.append(("found", {"findings": fresh}))
    is_asked = consult.asked not in (None, "contradiction")
    if is_asked and (
        reply.is_unknown or consult.asked in ("flags", "features", "medical_history") or _tried(consult, fresh)
    ):
        events.append(("skipped", {"key": consult.asked}))
    return MessageEvents(tuple(events), extracted.troubles)


def _agreed(consult: Consult, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """“Yes, that is right” to a value that was doubted confirms it."""
    if consult.asked == "contradiction" and consult.contradictions and _AGREES.match(text):
        doubted = consult.contradictions[0]
        if doubted.first == doubted.second:
            yield "confirmed", {"ids": [doubted.first]}


def _timeless(finding: Finding) -> Finding:
    """What is denied without a duration, whoever read it: nothing that is absent lasts."""
    return replace(finding, onset=None, duration_days=None) if finding.polarity is Polarity.ABSENT else finding


def ask_next(consult: Consult) -> tuple[str, dict[str, Any]] | None:
    """The event of the next question, unless it is being asked already."""
    question = next_question(consult)
    if question is None:
        return ("asked", {"role": "assistant", "key": None, "text": "No more questions."}) if consult.asked else None
    if consult.asked == question.key and consult.messages[-1:] and consult.messages[-1].text == question.text:
        return None
    return "asked", {"role": "assistant", "key": question.key, "text": question.text}


def _topic(consult: Consult) -> str | None:
    """What is being asked for: of two values that contradict each other, what they measure."""
    if consult.asked != "contradiction" or not consult.contradictions:
        return consult.asked
    disputed = next(finding for finding in consult.findings if finding.id == consult.contradictions[0].first)
    return disputed.name if disputed.value is not None else consult.asked


def _heard(consult: Consult, text: str) -> InterviewMessage:
    patient = patient_of(consult)
    age = patient.age_years
    complaint = complaint_for(consult.asked, consult)
    return InterviewMessage(
        text,
        len(consult.messages) + 1,
        is_child=age is not None and age < ADULT_YEARS,
        has_complaint=complaint is not None,
        knows_who=age is not None and patient.sex is not None,
        complaint=None if complaint is None else complaint.name,
    )


def _complaints(consult: Consult) -> list[str]:
    return [finding.name for finding in consult.findings if finding.polarity is Polarity.PRESENT]


def _tried(consult: Consult, fresh: Sequence[dict[str, Any]]) -> bool:
    """Whether an optional question got words that are no answer: it is not asked a second time."""
    optional = consult.asked in ("severity", "location", "character", "aggravating", "relieving")
    return optional and not any(entry["category"] == consult.asked for entry in fresh)


def _settled(
    consult: Consult, findings: Sequence[Finding], text: str
) -> Iterator[tuple[Finding, list[tuple[str, str]]]]:
    """Each new finding with those that it takes the place of, and why; what is known already is left out."""
    is_correcting = _CORRECTS.search(text) is not None
    disputed = consult.doubted
    for finding in findings:
        same = [old for old in consult.findings if old.key == finding.key]
        if any(_says_no_more(old, finding) for old in same) and not (
            consult.asked == "contradiction" and _of(same, disputed)
        ):
            continue
        replaced = []
        for old in same:
            if old.id in disputed and consult.asked == "contradiction":
                replaced.append((old.id, "resolved by a later answer"))
            elif is_correcting and _differs(old, finding):
                replaced.append((old.id, "corrected by a later message"))
            elif finding.name in SETTLED and finding.category is Category.VITAL:
                replaced.append((old.id, "measured again"))
            elif not _differs(old, finding):
                replaced.append((old.id, "replaced by a fuller statement"))
            elif old.polarity in (Polarity.HYPOTHETICAL, Polarity.UNCLEAR):
                replaced.append((old.id, "resolved by a later answer"))
        if finding.category in (Category.ALLERGY, Category.MEDICATION):
            replaced += _against_none(finding, consult, disputed, is_correcting=is_correcting)
        complete = _with_what_was_known(finding, same, {old_id for old_id, _ in replaced})
        is_again = consult.asked == "contradiction" and any(
            old.id in disputed and old.value == complete.value for old in same
        )
        yield (replace(complete, is_confirmed=True) if is_again and complete.value is not None else complete), replaced


def _with_what_was_known(finding: Finding, same: Sequence[Finding], replaced: set[str]) -> Finding:
    """A finding that takes the place of one that says the same keeps since when it is there, and its amount: weeks."""
    old = next((old for old in reversed(same) if old.id in replaced and old.polarity is finding.polarity), None)
    if old is None:
        return finding
    if finding.value is None and old.value is not None:
        finding = replace(finding, value=old.value, unit=old.unit)
    if finding.onset or finding.duration_days is not None:
        return finding
    return replace(finding, onset=old.onset, duration_days=old.duration_days)


def _against_none(
    finding: Finding, consult: Consult, disputed: frozenset[str], *, is_correcting: bool
) -> Iterator[tuple[str, str]]:
    """“None” that a named allergy or medicine corrects or settles; named ones that “none” settles."""
    is_answer = consult.asked == "contradiction"
    for old in consult.findings:
        is_other = old.category is finding.category and (old.name == "any") is not (finding.name == "any")
        if is_other and is_answer and old.id in disputed:
            yield old.id, "resolved by a later answer"
        elif is_other and is_correcting and old.name == "any":
            yield old.id, "corrected by a later message"


def _of(same: Sequence[Finding], disputed: frozenset[str]) -> bool:
    return any(finding.id in disputed for finding in same)


def _differs(old: Finding, new: Finding) -> bool:
    return (old.polarity, old.value, old.unit) != (new.polarity, new.value, new.unit)


def _says_no_more(old: Finding, new: Finding) -> bool:
    same = (old.polarity, old.value, old.unit) == (new.polarity, new.value, new.unit)
    more = (new.duration_days is not None and old.duration_days is None) or (new.onset and not old.onset)
    return same and not more


def _numbered(consult: Consult, found: Iterator[tuple[Finding, list[tuple[str, str]]]]) -> Iterator[dict[str, Any]]:
    number = len(consult.findings) + len(consult.gone)
    for number, (finding, replaced) in enumerate(found, number + 1):  # noqa: B020
        yield {**asdict(replace(finding, id=f"f{number}")), "replaces": [list(pair) for pair in replaced]}


def _taken_back(consult: Consult, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """“Forget what I said about the cough”; “scratch that” takes back all of the message before."""
    match = _TAKES_BACK.search(text)
    if match is None:
        return
    what = match["what"]
    if _LAST.match(what):
        last = max((finding.words.message for finding in consult.findings if finding.words), default=0)
        meant = [finding for finding in consult.findings if finding.words and finding.words.message == last]
    else:
        named = {mention.name for mention in find_mentions(what)}
        meant = [
            finding for finding in consult.findings if finding.name in named or finding.name in what.casefold().split()
        ]
    for one in meant:
        yield "retracted", {"id": one.id, "why": "withdrawn in a later message"}
