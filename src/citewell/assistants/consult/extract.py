"""Finds what a message says, by rules: every finding with its category, how it holds, and its exact words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from citewell.assistants.consult.complaint_details import Detail, find_details
from citewell.assistants.consult.measurements import Measure, find_measures
from citewell.assistants.consult.mentions import ANY, SentenceMention, all_mentions
from citewell.clinical.assertion import AssertionContext, read_context
from citewell.clinical.medicines import medicines
from citewell.clinical.populations import ADULT_YEARS, Trait, find_traits, kidney_stage_at
from citewell.clinical.quantities import ages
from citewell.sentences import sentences
from citewell.types.consult import QUALIFYING, Category, Finding, FindingSource, MessageWords, Polarity

_PARTS = r"(?:lips?|tongue|face|throat|eyes?|eyelids?|mouth|airways?)"
_RASH_OR_SWELLING = (
    r"(?:anaphyla\w+|hives|urticaria\w*|nettle ?rash|rash(?:es)?|wh?eals?|welts?|blotch(?:es|y)|angio-?o?edema"
    r"|blister\w*|bronchospasm|stevens[- ]johnson|SJS|(?:out|covered) in (?:\w+ )?spots|skin (?:\w+ )?peel\w*"
    rf"|{_PARTS}(?:\s*(?:&|and|\+|,|/)\s*{_PARTS})*\s+(?:all )?"
    r"(?:sw[eo]ll?\w*|blew|blown|clos\w+|tight\w*|puff\w+)"
    rf"|swell\w* (?:up|of (?:the |his |her )?{_PARTS})|swollen {_PARTS}|(?:skin |allergic )?reaction)"
)
_TIME = (
    r"(?:(?:\s+(?:in|at|as|when|aged?|last|back)\b)?(?:\s+(?:an?\s+)?\w+){0,3}?\s+(?:19|20)\d\d|\s+(?:last|as an?) \w+)"
)
_LEADS = (
    r"(?:\s*\([^()]{1,20}\))?(?:"
    rf"{_TIME}?\s*(?:[-–—=]+>|→|=+|:|[-–—]|\()\s*|{_TIME}\s*,\s*|,?\s+(?:which |it |has |had |have )*"
    r"(?:caus\w+|g[ai]ve[sn]?|gets?|got|brings?|brought|made|makes|le(?:ft|ads?|d)|trigger\w*|reacts?)\s+)"
)
"""What stands between a medicine and what it did."""
_FEW_WORDS = r"(?:(?!(?:no|not|for|without|never|nil|settle\w*|stop\w*|treat\w*)\b)[\w'’&+/-]+[,\s]+){0,4}?"
_DID = re.compile(rf"{_LEADS}{_FEW_WORDS}(?:itch\w*|wheez\w*|collaps\w+|{_RASH_OR_SWELLING})\b", re.IGNORECASE)
_FADED = re.compile(
    r"\W*(?:\w+\W+){0,2}?(?:better|settl\w+|gone|clear\w*|improv\w+|resolv\w+|went|less|fad\w+)\b", re.I
)
_HAD_FROM = re.compile(
    rf"\b(?:{_RASH_OR_SWELLING}|wheez\w*|swell(?:ed|s) up|react(?:s|ed)?)"
    r"(?:\s+(?:badly|severely|once|before|all over|twice))*\s+"
    r"(?:to|with|after|from|following|(?:after |on |when )?taking|caused by|due to|secondary to)\s+"
    r"(?:(?:an?|the|any|some|all|oral|iv|taking|having)\s+)*$",
    re.IGNORECASE,
)
_EACH_TIME = re.compile(
    r"\b(?:whenever|(?:any|each|every) ?time|(?:if|when) (?:i|he|she|they|you|the child|the baby))\b"
    r"(?:\W+\w+){0,3}?\W+(?:take[sn]?|took|ha[sd]|have|gets?|given|uses?|swallows?)\b",
    re.IGNORECASE,
)
_HARM = re.compile(rf"\b(?:itch\w*|wheez\w*|collaps\w+|{_RASH_OR_SWELLING})\b", re.IGNORECASE)
_SPARED = re.compile(
    r"\b(?:no|not|never|without|nil|fine|settle\w*|(?:is|are|was|were|do|does|did)n['’]?t)\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.;\n]")
_NOT_TOLERATED = re.compile(
    r"\b(?:(?:(?:do|does|did|could)(?:n['’]?t| not)|can(?:['’]?t|not)|unable to)"
    r"\s+tolerate|not tolerated|sensitive to)\s+(?:(?:an?|the|any|all|oral)\s+)*$",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:no|not|never|without|denies|denied|nil|any)\b[^.;,]{0,25}$", re.IGNORECASE)
_AGAINST_REACTIONS = frozenset(("antihistamine", "corticosteroid", "sympathomimetic", "bronchodilator", "skin drug"))
"""What is given for a rash or a wheeze: beside one, it is more likely its treatment than its cause."""


def did_harm(text: str, start: int, end: int) -> bool:
    """Whether a sentence says that the medicine between two places did harm, or was not tolerated.

    >>> notes = ("Ampiclox 2019 -> throat closed up", "Came out in a rash with ampiclox", "Can't tolerate ampiclox")
    >>> [did_harm(note, note.lower().index("ampiclox"), note.lower().index("ampiclox") + 8) for note in notes]
    [True, True, True]
    >>> did_harm("Any time he takes Ampiclox his body comes out in big rashes", 18, 26)
    True
    >>> others = ("Ampiclox -> rash cleared", "No rash with ampiclox", "Ampiclox for a rash", "Ampiclox 500 mg. Hives")
    >>> [did_harm(note, note.lower().index("ampiclox"), note.lower().index("ampiclox") + 8) for note in others]
    [False, False, False, False]
    """
    before = text[:start]
    if _NOT_TOLERATED.search(before):
        return True
    if any(medicine.family in _AGAINST_REACTIONS for medicine in medicines(text[start:end])):
        return False
    did = _DID.match(text, end)
    if did is not None and not _FADED.match(text, did.end()):
        return True
    had = _HAD_FROM.search(before)
    if had is not None and not _DENIED.search(before[: had.start()]):
        return True
    ends = [match.end() for match in _SENTENCE_END.finditer(before)]
    stop = _SENTENCE_END.search(text, end)
    said = text[ends[-1] if ends else 0 : stop.start() if stop else len(text)]
    return bool(_EACH_TIME.search(said) and _HARM.search(said) and not _SPARED.search(said))


_REPLY = re.compile(
    r"\s*(?:(?:um|er|uh|well|oh)[\s,]+)*(?:(?:as|when|in|at|only|once|years) [\w\s']{1,25},\s*)?"
    r"(?:yes|yeah|yep|yup|no|nope|nah|none|never|not|a bit|some|sometimes"
    r"|definitely|i do|i have|(?:he|she|mum|dad|patient) (?:says|said) (?:not|no|yes))\b",
    re.IGNORECASE,
)
_YES = re.compile(
    r"[\s\"]*(?:(?:um|er|uh|well|oh)[\s,]+)*(?:yes|yeah|yep|yup|definitely|it is|it does|i do)\b", re.IGNORECASE
)
_REACTION = re.compile(
    r"[\s,;]*(?:[(:>=-]+\s*|(?:(?:got|gets|had|caused|causes|gives?|gave|came up in|comes out in)\s+)(?:an?\s+)?)",
    re.IGNORECASE,
)
"""What stands between an allergen and what it did."""
_ALLERGIES = re.compile(
    r"(?:^|(?<!\W)(?=\W*[.;]))\W*+(?:known\s+|drug\s+){0,4}(?:allerg(?:y|ies|ic)|intoleran(?:ces?|t)|sensitivit(?:y|ies))"
    r"(?:\s+to)?\s*[:=–-]\s*",
    re.IGNORECASE,
)
_LISTED = re.compile(r"(?:[\w-]++(?:/[\w-]++)*+(?:\s*+\([^)]{0,100}\))?\s*+(?:,|/|&|\band\b|\+)\s*+)*+", re.IGNORECASE)
_DISPROVED = re.compile(
    r"\bde-?labell?ed|\boutgr(?:ew|own)|\bnot (?:truly |really )?allergic|\bno longer|\bchallenge|\btolerat(?:ed|es)\b",
    re.IGNORECASE,
)
"""What says that somebody is not allergic any more, or never was."""
_GAVE = re.compile(
    r"\b(?:mum|mother|dad|father|parents?|wife|husband|gran\w*|carers?|chemist|pharmacist|nurse|neighbour)\b"
    r"(?:\s+(?:has|have|had|been))*\s+(?:gave|given|gives|giving)\b[^.;]{0,30}$",
    re.IGNORECASE,
)
"""Who gave a medicine did not take it: “mum gave aspirin” is of the patient."""
_SINCE = re.compile(
    r"\b(?:19|20)\d\d\s*+(?:[-–—:(]|on|takes)\s*+(?:\w++(?:\s++and|,|\s*+[+&])\s*+){0,12}+$", re.IGNORECASE
)
"""The year of an illness before what is taken for it: “AF 2015 - warfarin”."""
_OWN_CHILD = re.compile(r"\b(?:my|our) (?:\w+ )?(?:son|daughter|boy|girl|baby|child|toddler|kid|one)\b", re.IGNORECASE)
"""Whom a parent speaks of: the patient."""
_NAME_OF = re.compile(r"^(?:an?|the|my|his|her|some)\s+", re.IGNORECASE)
OF_OTHERS = (Polarity.FAMILY, Polarity.OTHER)
OPPOSITE = {Polarity.PRESENT: Polarity.ABSENT, Polarity.ABSENT: Polarity.PRESENT}
OUTWEIGHS = 1.9
"""How many times as much must speak for the opposite before a yes or no of one message is left out."""
LONGEST = 800
"""Characters of one statement that are read together."""
UNCLEAR = "“{name}”: yes or no? The message is not clear. Answer in a separate sentence."
BOTH = "“{name}”: the message says both yes and no, and was read as {status}. Check that this is right."
TIMES = (Category.ONSET, Category.DURATION)
"""What is denied has none: “no pain since Monday” tells how long there was none."""


@dataclass(frozen=True, slots=True)
class InterviewMessage:
    """One message, and what is known when it is read."""

    text: str
    position: int
    is_child: bool = False
    has_complaint: bool = False
    """A complaint was told before: what comes now goes with it."""
    knows_who: bool = False
    """Age and sex are known already."""
    complaint: str | None = None
    """What a detail without a complaint of its own is about."""

    @property
    def is_adult(self) -> bool:
        """Whether the patient is known, and no child."""
        return self.knows_who and not self.is_child


@dataclass(frozen=True, slots=True)
class ExtractedFindings:
    """What was found, and what has to be asked again."""

    findings: tuple[Finding, ...]
    troubles: tuple[str, ...] = ()


@lru_cache(maxsize=16)
def extract(heard: InterviewMessage) -> ExtractedFindings:
    """Every finding of a message, in the order of its words; their ids are given when they are kept."""
    found: list[Finding] = []
    troubles: list[str] = []
    traits = find_traits(heard.text, is_adult=heard.is_adult)
    if any(trait.name == "age" and (trait.value or 0) < ADULT_YEARS for trait in traits):
        heard = replace(heard, is_child=True)
    complaint = heard.complaint
    context = read_context(heard.text)
    for start, end in _statements(heard.text):
        sentence = heard.text[start:end]
        mentions = all_mentions(context, start, end)
        has_complaint = heard.has_complaint or any(map(_is_felt, found))
        read = _Sentence(heard, sentence, start, context, mentions, has_complaint)
        named = list(read.findings(complaint))
        complaint = _complaint(named) or complaint
        found += named
        troubles += [measure.trouble for measure in find_measures(sentence) if measure.trouble]
        troubles += [age.problem for age in ages(sentence) if age.problem]
    findings, left_out = _once(found, context)
    asked = [UNCLEAR.format(name=finding.name.lower()) for finding in findings if finding.polarity is Polarity.UNCLEAR]
    asked += [
        BOTH.format(name=finding.name.lower(), status=OPPOSITE[finding.polarity].value)
        for finding in left_out
        if finding.polarity in OPPOSITE
    ]
    return ExtractedFindings(tuple(findings), (*troubles, *dict.fromkeys(asked)))


def _is_felt(finding: Finding) -> bool:
    return finding.category in (Category.SYMPTOM, Category.ASSOCIATED)


def _complaint(named: Sequence[Finding]) -> str | None:
    """What the next sentence may go on about: a symptom, else an illness that is there now."""
    symptoms = [finding for finding in named if finding.category is Category.SYMPTOM]
    held = [
        finding
        for finding in named
        if finding.category is Category.MEDICAL_HISTORY and finding.polarity is Polarity.PRESENT
    ]
    return next((finding.name for finding in (*symptoms, *held)), None)


def _statements(text: str) -> list[tuple[int, int]]:
    """Sentences; a question stays with the short answer behind it."""
    spans = [span for line in _lines(text) for span in sentences(text, *line)]
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and text[joined[-1][1] - 1] == "?" and _REPLY.match(text, start):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return [piece for span in joined for piece in _pieces(text, *span)]


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A statement that goes on for longer than anybody speaks, cut at its commas: reading costs the square of it."""
    while end - start > LONGEST:
        comma = text.rfind(",", start, start + LONGEST)
        cut = (comma if comma > start else text.rfind(" ", start, start + LONGEST)) + 1
        cut = cut if cut > start else start + LONGEST
        yield start, cut
        start = cut
    yield start, end


def _lines(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for line in text.splitlines(keepends=True):
        yield at, at + len(line)
        at += len(line)


def _once(findings: Sequence[Finding], context: AssertionContext) -> tuple[list[Finding], list[Finding]]:
    """Each finding once, and those that were left out because far more speaks for the opposite."""
    kept: dict[tuple[str, Polarity], Finding] = {}
    weights: dict[tuple[str, Polarity], float] = {}
    for finding in findings:
        key = (finding.key, finding.polarity)
        weights[key] = weights.get(key, 0.0) + _weight(finding, context)
        before = kept.get(key)
        if before is None:
            kept[key] = finding
        elif before.duration_days is None and finding.duration_days is not None:
            kept[key] = replace(before, duration_days=finding.duration_days, onset=before.onset or finding.onset)
    left_out = [other for key, other in kept.items() if _is_outweighed(key, weights)]
    return [one for one in kept.values() if one not in left_out], left_out


def _weight(finding: Finding, context: AssertionContext) -> float:
    return context.assertion(finding.words.start, finding.words.end).share if finding.words else 1.0


def _is_outweighed(key: tuple[str, Polarity], weights: Mapping[tuple[str, Polarity], float]) -> bool:
    """Whether a doubt is settled by another mention, or a yes or no by far more mentions of the opposite."""
    thing, polarity = key
    if polarity is Polarity.UNCLEAR:
        return any((thing, other) in weights for other in OPPOSITE)
    return polarity in OPPOSITE and weights.get((thing, OPPOSITE[polarity]), 0.0) >= OUTWEIGHS * weights[key]


@dataclass(frozen=True, slots=True)
class _Sentence:
    heard: InterviewMessage
    text: str
    offset: int
    context: AssertionContext
    mentions: Sequence[SentenceMention]
    """With places in the sentence."""
    has_complaint: bool

    def findings(self, complaint: str | None) -> Iterator[Finding]:
        """What one sentence says."""
        measures = find_measures(self.text)
        traits = find_traits(self.text, is_adult=self.heard.is_adult)
        yield from (self._trait(trait) for trait in traits)
        yield from (self._measure(measure) for measure in measures if measure.trouble is None)
        details = [
            other
            for other in find_details(self.text)
            if not _covered(other, traits, measures) and not _is_only_asked(self.text, other)
        ]
        yield from (self._mention(mention, details) for mention in self.mentions if not _covers(mention, traits))
        for detail in details:
            named = self._about(detail)
            about = complaint if named is None else named.name
            is_of_nothing = named is not None and detail.category in TIMES and self._is_denied(named)
            is_bare = named is None and detail.category is Category.DURATION and detail.name[:1].isdigit()
            if about is not None and not is_of_nothing and not is_bare and not _is_part(detail, self.mentions):
                yield self._detail(detail, about)

    def _words(self, start: int, end: int) -> MessageWords:
        return MessageWords(self.heard.position, self.offset + start, self.offset + end, self.text[start:end])

    def _polarity(self, start: int, end: int) -> Polarity:
        status = self.context.assertion(self.offset + start, self.offset + end).status
        is_of_others = status in OF_OTHERS
        return Polarity.PRESENT if is_of_others and self.heard.is_child and _OWN_CHILD.search(self.text) else status

    def _trait(self, trait: Trait) -> Finding:
        polarity = Polarity.ABSENT if trait.is_denied else Polarity.PRESENT
        polarity = Polarity.HYPOTHETICAL if trait.is_doubtful else polarity
        is_sex = trait.name == "sex"
        return Finding(
            "", Category.DEMOGRAPHIC, trait.name, polarity, FindingSource.RULES, self._words(trait.start, trait.end),
            value=trait.value, unit=trait.words if is_sex else trait.unit, arithmetic=None if is_sex else trait.words,
        )  # fmt: skip

    def _measure(self, measure: Measure) -> Finding:
        words = self._words(measure.start, measure.end)
        return Finding(
            "", Category.VITAL, measure.name, Polarity.PRESENT, FindingSource.RULES, words,
            value=measure.value, unit=measure.unit, arithmetic=measure.arithmetic,
        )  # fmt: skip

    def _mention(self, mention: SentenceMention, details: Sequence[Detail]) -> Finding:
        polarity = self._polarity(mention.start, mention.end)
        category = mention.category
        if category is Category.MEDICATION and mention.name != ANY:
            if self._is_labelled_allergen(mention):
                category = Category.ALLERGY
                polarity = Polarity.ABSENT if polarity is Polarity.ABSENT else Polarity.PRESENT
            elif polarity not in OF_OTHERS and did_harm(self.text, mention.start, mention.end):
                category, polarity = Category.ALLERGY, Polarity.PRESENT
        if category is Category.ALLERGY and polarity is Polarity.PAST and not _DISPROVED.search(self.text):
            polarity = Polarity.PRESENT  # what somebody reacted to once is still to be kept from them
        if category is Category.MEDICATION and polarity is Polarity.PAST and _SINCE.search(self.text, 0, mention.start):
            polarity = Polarity.PRESENT
        if category is Category.MEDICATION and _GAVE.search(self.text, 0, mention.start):
            polarity = Polarity.PRESENT if polarity in (Polarity.FAMILY, Polarity.OTHER) else polarity
        if category is Category.SYMPTOM and polarity is Polarity.PRESENT and self._is_reaction(mention):
            polarity = Polarity.PAST
        if category is Category.SYMPTOM and (self.has_complaint or mention is not _first(self.mentions)):
            category = Category.ASSOCIATED
        if category in (Category.SYMPTOM, Category.ASSOCIATED) and polarity in (Polarity.PAST, Polarity.FAMILY):
            category = Category.MEDICAL_HISTORY
        own = [detail for detail in details if self._about(detail) is mention and polarity is not Polarity.ABSENT]
        onset = next((detail.name for detail in own if detail.category is Category.ONSET), None)
        days = next((detail.days for detail in own if detail.days is not None), None)
        words = self._words(*kidney_stage_at(self.text, mention.start, mention.end))
        return Finding(
            "", category, mention.name, polarity, FindingSource.RULES, words, mention.concept,
            onset=onset, duration_days=days, corrected=mention.corrected,
        )  # fmt: skip

    def _is_reaction(self, mention: SentenceMention) -> bool:
        """Whether a symptom is what an allergen did: “allergic to ramipril, got angioedema”."""
        allergens = [other for other in self.mentions if other.category is Category.ALLERGY and other.name != ANY]
        return any(_REACTION.fullmatch(self.text, other.end, mention.start) for other in allergens)

    def _is_labelled_allergen(self, mention: SentenceMention) -> bool:
        """Whether a medicine stands in a list under “Allergies:”; when it happened does not end an allergy."""
        label = _ALLERGIES.search(self.text, 0, mention.start)
        return label is not None and _LISTED.fullmatch(self.text, label.end(), mention.start) is not None

    def _about(self, detail: Detail) -> SentenceMention | None:
        """The complaint that a detail is about: the nearest one, of two the one before it.

        Behind a comma it is about no illness and nothing denied where something else is named: “smoker, cough, 5 days”.
        """
        felt = [
            mention for mention in self.mentions if mention.category in (Category.SYMPTOM, Category.MEDICAL_HISTORY)
        ]
        if detail.category.value not in QUALIFYING or not felt:
            return None
        near = [sentence_mention for sentence_mention in felt if not self._is_apart(sentence_mention, detail)]
        return min(near or felt, key=lambda mention: _distance(mention, detail))

    def _is_apart(self, mention: SentenceMention, detail: Detail) -> bool:
        between = self.text[min(mention.end, detail.end) : max(mention.start, detail.start)]
        return "," in between and (mention.category is not Category.SYMPTOM or self._is_denied(mention))

    def _is_denied(self, mention: SentenceMention) -> bool:
        return self._polarity(mention.start, mention.end) is Polarity.ABSENT

    def _detail(self, detail: Detail, about: str) -> Finding:
        words = self._words(detail.start, detail.end)
        name = _NAME_OF.sub("", detail.name)
        return Finding(
            "", detail.category, name, Polarity.PRESENT, FindingSource.RULES, words,
            value=detail.value, unit=detail.unit, duration_days=detail.days, about=about,
        )  # fmt: skip


def _first(mentions: Sequence[SentenceMention]) -> SentenceMention | None:
    return next((mention for mention in mentions if mention.category is Category.SYMPTOM), None)


def _covers(mention: SentenceMention, traits: Sequence[Trait]) -> bool:
    """Whether a mention only repeats who the patient is: “pregnant”, “breastfeeding”."""
    return any(trait.start < mention.end and mention.start < trait.end for trait in traits if trait.name != "sex")


def _covered(detail: Detail, traits: Sequence[Trait], measures: Sequence[Measure]) -> bool:
    spans = [(trait.start, trait.end) for trait in traits] + [(measure.start, measure.end) for measure in measures]
    return any(detail.start < end and start < detail.end for start, end in spans)


def _is_only_asked(sentence: str, detail: Detail) -> bool:
    """Whether a detail stands in a question that offers a choice, or that “yes” does not answer."""
    asked = sentence.find("?", detail.end)
    if asked < 0:
        return False
    start = max(sentence.rfind(mark, 0, detail.start) for mark in ".?!") + 1
    return " or " in sentence[start:asked] or _YES.match(sentence, asked + 1) is None


def _is_part(detail: Detail, mentions: Sequence[SentenceMention]) -> bool:
    """Whether a detail only repeats words of a finding's own name: “burning on passing urine”."""
    return any(mention.start <= detail.start and detail.end <= mention.end for mention in mentions)


def _distance(mention: SentenceMention, detail: Detail) -> float:
    if mention.end <= detail.start:
        return detail.start - mention.end
    return 1.5 * max(mention.start - detail.end, 0)
