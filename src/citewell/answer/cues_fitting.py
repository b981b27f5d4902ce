"""The wordings by which a statement is told to answer no question at all, or not the one for a dose."""

from __future__ import annotations

import re

INTRODUCES = re.compile(
    r"""\b(?:this|the\ present)\ (?:chapter|guideline|guidance|policy|document|section|leaflet|review|handbook|manual)
        \ (?:explains|covers|says|describes|helps|aims|sets\ out|gives|provides|outlines|summari[sz]es|contains|presents
        |is\ (?:about|for))\b
    | ^(?:table|figure|box|chapter|section|annex|appendix)\ [\w.]{1,6}
        \ (?:gives|shows|lists|summari[sz]es|describes|sets\ out)\b
    | ^(?:two|three|four|five|several)\ [\w ]{3,40}\ (?:is|are)\ (?:given|listed|shown|described)\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
"""A sentence that says what a text is for, and nothing of its matter."""
INTRODUCES_MORE = re.compile(r"It (?:also )?(?:says|covers|aims|describes|explains|gives|sets out|is for)\b")
"""A sentence that goes on with one that does."""
OF_DOCUMENT = re.compile(
    r"\b(?:guidelines?|guidance|policy|leaflet|chapter|document|handbook|manual|covers?|covered|scope|appl(?:y|ies))\b",
    re.IGNORECASE,
)
"""A question on what a document is for."""

ASKS_DOSE = re.compile(
    r"\b(?:what|which)(?:['’]s| is| are| was)?(?: [\w-]+){0,4}? (?:dose|doses|dosage|dosing)\b"
    r"|^\s*(?:[\w-]+ ){0,3}(?:dose|dosage|dosing) (?:of|for)\b"
    r"|(?P<much>\bhow (?:much|many (?:mg|tablets|capsules|sachets|drops|puffs|units|ml)(?: of)?)\b)",
    re.IGNORECASE,
)
"""A question for the dose of a medicine."""
ABOUT_DOSES = re.compile(
    r"\b(?:miss\w*|forg[eo]t\w*|skip\w*|double|extra|too many)\b.{0,30}\bdos"
    r"|\bdos(?:e|age|ing) (?:adjust|chang|reduc|increas|interval|titrat|form)",
    re.IGNORECASE,
)
"""A question for what to do about a dose that was missed, or how one is changed."""
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
