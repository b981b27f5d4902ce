"""What the words look like that answer kinds of questions, and which words of a question no answer needs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from citewell.words import terms


@dataclass(frozen=True, slots=True)
class Cue:
    """A cue of `clinical/tables/question_cues.tsv`, and what the answers to such questions hold."""

    name: str
    answers: re.Pattern[str]


def _cue(name: str, answers: str) -> Cue:
    return Cue(name, re.compile(answers, re.IGNORECASE))


CUES = (
    _cue(
        "dose",
        r"\d\s?(?:mg|g|kg|mcg|µg|micrograms?|nanograms?|ml|l|units?|mmol|tablets?|puffs?|drops?|%)(?![a-z])",
    ),
    _cue(
        "time",
        r"\d\s?(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b"
        r"|\b(?:immediately|urgently|same day|straight away|at once|within|until|once|twice|daily|before|after)\b",
    ),
    _cue(
        "number",
        r"\d",
    ),
    _cue(
        "timing",
        r"\d\s?(?:minutes?|hours?|days?|weeks?|months?)\b|\b(?:same day|evening|morning|immediately|at once)\b",
    ),
    _cue(
        "frequency",
        r"\b(?:every|each|once|twice|times) (?:\d|an?\b|per\b|few\b|other\b|(?:two|three|four|six|twelve)\b"
        r"|(?:hour|day|week|month|year|morning|night)s?\b)|\b(?:hour|dai|night|week|month|quarter|year|annual)ly\b"
        r"|\b(?:hours?|days?|weeks?|months?) apart\b|\b(?:after|before|at) each\b|\b\d per (?:day|week|month|year)\b"
        r"|\bat \d+(?:, \d+)* and \d+ (?:hours|days|weeks|months)\b",
    ),
    _cue(
        "duration",
        r"\bfor (?:at least |at most |up to |about |another |a further )*"
        r"(?:\d|an?\b|(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve)\b)[^.;:]{0,12}"
        r"(?:minutes?|hours?|days?|weeks?|months?|years?)\b|\b\d+[- ](?:day|week|month)\b(?! old)"
        r"|\bstop\b[^.;:]{0,40}\bafter \d"
        r"|\b(?:lasts?|life-?long|for life|long-term|indefinitely|throughout|course of)\b",
    ),
    _cue(
        "target",
        r"\b(?:targets?|aim(?:s|ing)?|goals?|range|keep|maintain|reach)\b[^.;]{0,60}\d"
        r"|\d[^.;]{0,30}\b(?:target|in range)\b",
    ),
    _cue(
        "referral",
        r"\b(?:refer|admit|transfer|come back|return|seek|go|call|send)\b[^.;]{0,60}"
        r"\b(?:hospital|same day|immediately|urgently|emergency|ambulance|at once)\b",
    ),
    _cue(
        "who",
        r"\b(?:patients?|people|persons?|adults?|children|infants?|women|men|nurse|doctor|surgeon|pharmacist|clinician)\b",
    ),
    _cue(
        "advice",
        r"\b(?:do not|don['’]t|avoid|offer|consider|refer|give|take|stop|never|should|must|recommend\w*|phone|call|use|"
        r"advise|ask|tell|start|measure|arrange|can)\b",
    ),
    _cue(
        "avoid",
        r"\b(?:do not|don['’]t|avoid|never|contraindicated|stop|not (?:recommended|offer|use)|unless|without)\b",
    ),
    _cue(
        "diagnosis",
        r"\b(?:measure|test|examine|scan|criteri\w+|defined as|thresholds?)\b"
        r"|\d\s?(?:mmhg|mmol|mg|g|ng|micrograms?|units?|%|points?)(?![a-z])",
    ),
    _cue(
        "why",
        r"\b(?:because|due to|caused? by|since|so that|reason|leads? to|results? in)\b",
    ),
)
"""Reviewed as a table: a question may sound like several."""

TOLD = frozenset({"frequency", "duration", "target", "referral"})
"""Kinds of questions for one thing, which an answer says in so many words."""

NOT_DEFINING = re.compile(
    r"(?:if|when|while|although|because|since|there (?:is|are|was|were|have|has)|in \d{4}|do not|avoid"
    r"|his|her|their|my|your)\b",
    re.IGNORECASE,
)
"""How a sentence begins that says of nothing what it is."""
DEFINES = re.compile(
    r"(?:an?\s+|the\s+)?(?P<subject>[^.:;]{2,80}?)(?:\s*\([^)]{1,60}\))?,?\s+"
    r"(?:is|are|means?|refers? to|describes?|is defined as|are defined as|(?P<lists>includes?|consists? of))\s+"
    r"(?!called|known|termed)\w"
    r"|.{2,80}?\s(?:is|are) (?:called|known as|termed)\s+(?P<name>[^.:;]{2,80})"
    r"|(?P<head>[^.:;]{2,60})(?:[.:]| [–—-])\s",
    re.IGNORECASE,
)
"""A sentence that says what its subject is, what a thing is called, or an entry of a glossary."""

ASKS_BY = re.compile(r"\s*(?:\d[\d.]*\s+)?(?P<word>who|when|how|why|where)\b", re.IGNORECASE)
"""The word by which a question asks, or a heading: “Who needs bridging” answers no “when”."""
HEADING_NUMBER = re.compile(r"^\s*(?:[A-Z]?\d[\d.]*)\s+")
EXAMPLE = re.compile(r"\b(?:worked example|case (?:study|report|example|history)|vignette)\b", re.IGNORECASE)
"""Titles of sections on one person, whose amounts are no one else's."""

ASKING = re.compile(
    r"(?:^|—)\s*(?:and\s+)?(?:for\s+)?(?:(?:what|how)\s+about\b|(?:what|who|whom|when|where|which|why|how)(?:['’]s)?"
    r"(?:\s+(?:much|many|long|often|soon|quickly|happens))?"
    r"|define|explain|(?:the )?(?:definition|meaning) of|tell me|please)\b|\bwith or without\b"
    r"|\byou define\b|\b(?:counts?|qualifies) as\b|\b(?:meant|mean) by\b|\b(?:definition|meaning) of\b"
    r"|\b(?:all right|alright|ok|okay|fine) to\b"
    r"|\b(?:mean|happens?)\s*\??\s*$|\b[a-z]+n['’]t\b|['’](?:s|m|re|ve|ll|d)\b",
    re.IGNORECASE,
)
"""Words by which a question asks, and not what it asks for."""

EMPTY = frozenset(
    terms(
        "do does did should can could may must will would shall am i me my we us he she him they them there please any "
        "most need needs get done old someone somebody anyone anybody person people patient"
    )
)
"""Words of a question that no answer needs."""

TALK = frozenset(
    terms(
        "today tonight yesterday tomorrow now still next go going come place role best good right okay wonder want "
        "work affect influence"
    )
)
"""Words of a person's tale that no answer needs, where it is a question and not a claim."""

DOING = frozenset(
    terms(
        "take taken give given use used receive offer offered recommend recommended allow allowed permit avoid avoided"
    )
)
"""Words that no answer needs where it is asked what to do: what is taken counts, and not that it is."""

GENRE = frozenset(
    terms(
        "guideline guidance recommendation policy protocol leaflet handbook manual kit report clinical diagnosis "
        "diagnosing assessment recognition referral management managing treatment treating prevention monitoring "
        "screening care support adults period"
    )
)
"""Words by which the title of a document says what kind of document it is, and not of what."""

MEDICINE_WORDS = frozenset(terms("drug drugs medicine medicines medication medications tablet tablets agent agents"))
"""Words in such a question for which the name of any medicine stands."""
ASKS_ONE_OF = re.compile(r"\b(?:which|what)(?:\s+\w+)?\s*$", re.IGNORECASE)
"""What stands before a class of medicines where one of them is asked for: “which antibiotic”."""
NOT_TAKEN = re.compile(r"\s*(?:allerg|hypersensitiv|intoleran)", re.IGNORECASE)
"""What stands after the name of a medicine that is not told there as one to take."""

FIRST_LINE = re.compile(
    r"\bfirst[- ](?:line|choice)\b|\b(?:start|begin|try|give|use|offer)\w*(?: with)? first\b"
    r"|\b(?:drugs?|medicines?|medications?|treatments?) first\b|\bfirst (?:drug|medicine|medication)\b",
    re.IGNORECASE,
)
"""A question for what is given first; a document may call that step 1."""
SAYS_FIRST = re.compile(r"\bfirst[- ](?:line|choice)\b|\binitial (?:\w+ )?(?:treatment|therapy|drug)\b", re.IGNORECASE)

TO_THE_READER = re.compile(r"\b(?:you|your|you['’]re|you['’]ve)\b", re.IGNORECASE)
"""A text that speaks to those who ask for themselves."""

NEGATIONS = frozenset(terms("no not nor never none without cannot neither avoid stop unless contraindicated"))
"""Words that turn a statement round."""

REFERENCE_NUMBERS = re.compile(r"^\s*(?:\d+(?:\.\d+)+|\d{1,3}[a-h]?[.)])\s|\[[^\]]*\]")
"""Numbers that name a recommendation, an item or a year of review."""
