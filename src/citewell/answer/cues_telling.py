"""What the words of a text look like that recommend, weigh, explain or find: tables to be reviewed."""

from __future__ import annotations

import re

RECOMMENDS = re.compile(
    r"\b(?:who|we|nice|guideline|committee|panel|society|college) (?:strongly |conditionally )?"
    r"(?:recommends?|suggests?)\b"
    r"|\b(?:is|are) (?:strongly |conditionally )?(?:not )?"
    r"(?:recommended|suggested|preferable|preferred|contraindicated)\b"
    r"|^(?:\d[\w.]*\s+|•\s+)?(?:(?:for|in|if|when|before|after)\b[^.;:]{3,160}, )?"
    r"(?:advise|avoid|consider|do not|give|offer|refer|start|stop|use)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""What a sentence says that tells what to do."""
RECOMMENDED_IN = re.compile(
    r"(?:\d[\d.]*\s+)?(?:(?:strong|conditional|key|practice)\s+)?recommendations?\b(?!\s+for\s+(?:further\s+)?research)",
    re.IGNORECASE,
)
"""Titles of sections in which what stands is recommended."""
DELIBERATES = re.compile(
    r"\b(?:gdg|panel|committee|guideline development group) (?:also )?(?:acknowledged|agreed|considered|discussed|felt"
    r"|identified|inferred|intended|judged|noted|recogni[sz]ed)\b"
    r"|\bpriority questions\b|\bresearch priorit|\bfurther research\b",
    re.IGNORECASE,
)
"""What a sentence says that tells how a recommendation came about."""
WEIGHING = (
    "systematic review",
    "95% ci",
    "ci 95%",
    "relative risk",
    "risk of bias",
    "imprecision",
    "indirectness",
    "certainty of evidence",
    "certainty of the evidence",
    "low certainty",
    "low-certainty",
    "moderate certainty",
    "high certainty",
    "per 1000",
    " rct",
    "randomized",
    "randomised",
    "comparator:",
)
"""What is said where it is told what studies found, and how sure that is; no pattern, which would be slow."""
GRADED = re.compile(r"\[[^\]\n]{0,60}certainty evidence\]", re.IGNORECASE)
"""How sure a recommendation is, written after it: that is no telling of evidence."""


def weighings(text: str) -> int:
    """How often a text tells what studies found, and how sure that is.

    >>> weighings("Two RCTs (very low certainty) found no effect (RR 0.9, 95% CI 0.7 to 1.2).")
    3
    >>> weighings("WHO suggests paracetamol. [Conditional recommendation, low certainty evidence]")
    0
    """
    folded = GRADED.sub("", text).casefold()
    return sum(folded.count(phrase) for phrase in WEIGHING)


EXPLAINS = re.compile(
    r"""(?:\d[\d.]*\s+)? (?: why\b | rationale\b | justification\b
    | how\ the\ recommendations?\ (?:might|may)\ affect\b | evidence\ (?:review|behind|to\ decision)\b
    | certainty\ of\b | update\ information\b | recommendations?\ for\ (?:further\ )?research\b
    | (?:guideline-relevant\ |areas\ for\ |further\ )*research
      (?:\ (?:recommendations?|needs|gaps|implications|priorities)\b | $) )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Titles of sections that say why or on what grounds, not what to do."""
ENLARGES = re.compile(
    r"(?:\d[\d.]*\s+)?(?:remarks?|background|summary of (?:the )?(?:findings|evidence)|values and preferences)\b",
    re.IGNORECASE,
)
"""Titles of sections that say more of a matter; no worse to find, but no recommendations."""

FINDS = re.compile(
    r"\b(?:conclu\w+|results?|suggests?|indicates?d?|demonstrates?d?|shows?|showed|shown|found|reveal\w*|associated"
    r"|significant\w*|increase[sd]?|decrease[sd]?|reduce[sd]?|lower|higher)\b",
    re.IGNORECASE,
)
"""What a sentence says that tells a result."""
PURPOSE = re.compile(
    r"\b(?:objectives?|aims?|background|methods?|design|setting|participants|hypothesi[sz]ed?)\b"
    r"|\bwe (?:sought|aimed|investigated|examined|studied|reviewed)\b"
    r"|\bto (?:determine|investigate|assess|evaluate|examine)\b"
    r"|\bthis (?:chapter|guideline|policy|document|section|leaflet|review) "
    r"(?:explains|covers|says|describes|helps|aims)\b",
    re.IGNORECASE,
)
"""What a sentence says that tells what a text is for, and not what it found."""
