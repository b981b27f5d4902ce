"""The wordings by which a statement is told to answer a question at all, or the very thing that it asks for."""

from __future__ import annotations

import re

from citewell.words import terms

INTRODUCES = re.compile(
    r"""\b(?:this|the\ present)\ (?:chapter|guideline|guidance|policy|document|section|leaflet|review|handbook|manual)
        \ (?:explains|covers|says|describes|helps|aims|sets\ out|gives|provides|outlines|summari[sz]es|contains|presents
        |is\ (?:about|for))\b
    | ^(?:table|figure|box|chapter|section|annex|appendix)\ [\w.]{1,6}
        \ (?:gives|shows|lists|summari[sz]es|describes|sets\ out)\b
    | ^(?:existing|additional|further|more|other|related)\ [^.;:\n]{0,60}
        \b(?:guidelines?|guidance|information|tools?|modules?|resources?|documents?|details?)\b[^.;:\n]{0,60}(?:\b(?:found|available|listed)\b|:?\n)
    | (?:\(\d{4}\)\ \(\d+\)[^\n]{0,200}){2}
    | ^(?:two|three|four|five|several)\ [\w ]{3,40}\ (?:is|are)\ (?:given|listed|shown|described)\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
"""A sentence that says what a text is for or where more is found, and a list of references: nothing of its matter."""
INTRODUCES_MORE = re.compile(r"It (?:also )?(?:says|covers|aims|describes|explains|gives|sets out|is for)\b")
"""A sentence that goes on with one that does."""
ASKS_DOSE = re.compile(
    r"\b(?:what|which)(?:['’]s| is| are| was)?(?: [\w-]+){0,4}? (?:dose|doses|dosage|dosing)\b"
    r"|^\s*(?:[\w-]+ ){0,3}(?:dose|dosage|dosing) (?:of|for)\b"
    r"|(?P<much>\bhow (?:much|many (?:mg|tablets|capsules|sachets|drops|puffs|units|ml)(?: of)?)\b)",
    re.IGNORECASE,
)
"""A question for the dose of a medicine."""
GIVEN_DOSE = re.compile(
    r"\d\s?(?:mg|g|kg|micrograms?|mcg|µg|nanograms?|ml|units?|iu|mmol|tablets?|capsules?|puffs?|drops?|sachets?)"
    r"(?![a-z]|\s?/\s?(?:min|d?l|ml)\b)"
    r"|\((?:mg|g|micrograms?|ml|units?)\): \d",
    re.IGNORECASE,
)
"""An amount that can be given; “30 mL/min” and “500 ng/mL” are none."""
DOSE_RULES = re.compile(
    r"\b(?:do not (?:use|give|offer|take|start|exceed)|not (?:be )?(?:recommended|given|used)|contraindicated"
    r"|(?:reduc|halv|doubl|adjust|lower|increas)\w*\b.{0,40}\bdos|half (?:the|of the) (?:usual )?dose"
    r"|no (?:dose|dosage) (?:adjustment|change))",
    re.IGNORECASE,
)
"""What a sentence says of a dose without an amount."""
REFERS_TO_DOSE = re.compile(
    r"\b(?:this|that|the (?:same|above)) (?:dose|dosage|amount|volume)\b|\b(?:start|begin|try) again\b",
    re.IGNORECASE,
)
"""What a sentence says that speaks of a dose, or of a treatment to go on with, and leaves it to another to give it."""
WEIGHS = re.compile(
    r"\b(?:child|infant|baby|toddler|adult|patient|person|(?:wo)?man) (?:of|who weighs|weighing) \d[\d.]* ?kg\b"
    r"|\(kg\): \d",
    re.IGNORECASE,
)
"""What a text works out for one weight."""

HISTORY = re.compile(
    r"""(?:\d[\d.]*\s+)? (?: changes?\ (?:in|to|since|from)\b | what(?:['’]s|\ is|\ has)\ (?:new|changed)\b
    | update\ information\b | (?:version|revision|change|document|amendment)\ (?:history|control|log)\b
    | (?:summary\ of\ )?(?:changes|amendments)$
    | history\ of\ (?:changes|this)\b | recent\ (?:major\ )?(?:changes|updates)\b )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Titles of sections that tell what was changed, and not what holds."""
CHANGES = re.compile(
    r"^(?:version|edition|revision) \d[\d.]* (?:\w+ ){0,2}(?:lengthens|shortens|adds|removes|changes|replaces|updates"
    r"|introduces|is withdrawn|was|has been)\b"
    r"|^(?:recommendations?|sections?) [\d., and]+ (?:is|are|was|were|has been|have been) "
    r"(?:new|amended|updated|added|removed)",
    re.IGNORECASE,
)
"""A sentence that tells it."""
GLOSSARY = re.compile(r"\b(?:terms used|glossary|definitions)\b", re.IGNORECASE)
"""Titles of sections that explain words."""
SUPPOSES = re.compile(
    r"\bwhat (?:if|happens (?:if|when)|(?:do|should|must|can) (?:i|we|you|they) do (?:if|when)|to do (?:if|when))\b"
    r"(?P<case>[^?—]*)",
    re.IGNORECASE,
)
"""A question for what to do in a case: “what if she is vomiting?”."""
IN_CASE = re.compile(r"\b(?:if|when|whenever|in case)\b(?P<case>[^,;.]*)", re.IGNORECASE)
"""The case in which what a sentence says is done."""
NOT_THE_CASE = re.compile(r"\b(?:without|no)\s+\w+", re.IGNORECASE)
"""What such a case leaves out: “when the child has drunk without vomiting” is no case of vomiting."""

TIMED = {
    word: tuple(frozenset(terms(phrase)) for phrase in phrases)
    for word, phrases in {
        "stop": ("last dose", "leave out", "discontinue", "withhold", "omit"),
        "restart": ("start again", "resume", "next dose"),
        "resum": ("start again", "restart", "next dose"),
    }.items()
}
"""What is asked the time of, before or after something, and the phrases that say the same there."""
NOT_DONE = re.compile(r"\b(?:do|does|should|must|need) not\b|\bnever\b|\bdon['’]t\b", re.IGNORECASE)
"""Where a sentence says that something is not done."""

ASKS_FOR_ALL = re.compile(
    r"\s*(?:which|what)\s+(?!(?:is|are|if|when|happens|do|does|did|should|can|could|would|must|else)\b)"
    r"(?:\w+\s+){1,3}?(?:is|are|have|has|carry|counts? as)\s+(?P<what>[^?]+)",
    re.IGNORECASE,
)
"""A question for all of which something is said: “Which procedures have a high bleeding risk?”."""
SAYS_OF = re.compile(r"\b(?:is|are|have|has|carry|carries|counts? as)\b(?!\s+not\b)(?P<what>[^.;:]*)", re.IGNORECASE)
"""Where a sentence says something of its subject."""

RESULT = r"\b(?:\s+(?:is|was|of|at|now|came back(?: as| at)?|result))*\s*[:=]?\s+(?P<given>\d[\d.,]*)"
"""How a question gives a result after the name of what was measured."""
RESULT_OF = re.compile(rf"\b(?P<name>[A-Za-z][\w-]+){RESULT}", re.IGNORECASE)
"""The same with the last word of that name."""
