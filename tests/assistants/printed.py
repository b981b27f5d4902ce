"""A small guideline printed as a PDF, for tests that need a file of an edition of their own."""

from __future__ import annotations

from pathlib import Path

from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate

TITLE = "Green spots: recognition and referral"

FIRST = (
    "Refer people using a suspected cancer pathway referral for green spots if they are aged 40 and over and have "
    "unexplained weight loss. [2015]",
    "Consider a suspected cancer pathway referral for green spots in people aged 60 and over with jaundice. [2015]",
    "Offer an urgent chest X-ray to people aged 50 and over with haemoptysis. [2015]",
)
SECOND = (
    "Refer people using a suspected cancer pathway referral for green spots if they are aged 50 and over and have "
    "unexplained weight loss. [2015, amended 2025]",
    "Offer a full blood count to people aged 30 and over with unexplained bruising. [2025]",
    "Consider a suspected cancer pathway referral for green spots in people aged 60 and over with jaundice. [2015]",
)


def print_edition(path: Path, published: str, rules: tuple[str, ...], *, title: str = TITLE) -> Path:
    """Print these rules as 1.1.1, 1.1.2, … under one heading."""
    styles = getSampleStyleSheet()
    flow = [Paragraph(title, styles["Title"]), Paragraph(f"Published: {published}", styles["Normal"]), PageBreak()]
    flow += [Paragraph("Recommendations", styles["Heading1"]), Paragraph("1.1 Spot cancer", styles["Heading2"])]
    flow += [Paragraph(f"1.1.{number} {text}", styles["Normal"]) for number, text in enumerate(rules, 1)]
    SimpleDocTemplate(str(path), pagesize=A4, title=title, invariant=1).build(flow)
    return path
