"""Parses the words for findings: “unexplained vulval lump, ulceration or bleeding” is three of them."""

from __future__ import annotations

import re
from functools import cache

from citewell.assistants.guidelines.concept_match import is_known
from citewell.assistants.guidelines.criteria import (
    Absence,
    Criteria,
    FindingCriterion,
    NeedsReading,
    Quality,
    all_of,
    any_of,
)
from citewell.assistants.guidelines.record_clauses import qualities
from citewell.assistants.guidelines.tables import rows_of
from citewell.clinical import concept_ids
from citewell.clinical.quantities import days_in

_ARTICLE = re.compile(r"^(?:an?|the|their|her|his|any|some)\s+", re.IGNORECASE)
_LASTING = re.compile(
    r"(?:(?<!\s)\s+)?\blasting (?:for )?(?:more than|longer than|over) (?P<count>\d+) (?P<unit>day|week|month|year)s?\b"
)
_WITHIN = re.compile(r"(?:(?<!\s)\s+)?\b(?:within|in) the last (?P<count>\d+) (?P<unit>day|week|month|year)s?\b")
_WITHOUT = re.compile(r"(?<!\s)\s+(?:without|in the absence of) (?P<what>[^,;]{1,400})$")
_EXCEPT = re.compile(r"(?:(?<!\s)\s+)?\((?:which|that) (?:is|are) not (?:obviously )?(?P<what>[^()]+)\)")
_DROPPED = re.compile(
    r"(?<!\s)\s+(?:with or without [^,;]+?(?=,|;|$)|on a blood test\b)|(?:,|(?<!\s))\s+even in the absence of [^,;]+"
    r"|(?<!\s)\s+(?:outlined|described|specified|listed) in recommendations? [\d.]+\d(?: to [\d.]+\d)?"
)
_SUCH_AS = re.compile(r"(?:,|(?<!\s))\s+(?:such as|including|for example,?)\s+(?P<examples>.{1,400})$")
_PARTICULARLY = re.compile(r",?(?:(?<!\s)\s+)?(?:[–—-]\s*+)?\b(?:particularly|especially)\s+(?P<what>[^,;]+)(?:,|$)")
_PERSISTS = re.compile(r"(?<!\s)\s+that (?P<what>persists? or recurs?|persists?|recurs?)\b")
_STATEMENT = re.compile(
    r"\b(?:is|are|was|were|not|no|do|does|offer|consider|despite|but|unable|between)\b|\d", re.IGNORECASE
)
"""Words of a statement, not of a thing: it is not taken for a finding."""
_PREPOSITION = re.compile(r"\b(?:in|on|of|at|to|affecting|from)\b")
_OR = re.compile(r"(?:,|(?<!\s))\s+(?:and/or|or)\s+|,\s+")
_KEEP_OR = re.compile(r"\b(?:in or at|\d+ or (?:more|greater|over|above|less))\b")


@cache
def _details() -> re.Pattern[str]:
    return re.compile(
        r"(?:^|,?\s+)(?P<detail>(?:" + "|".join(row[0] for row in rows_of("grammar.tsv", "detail")) + r")\b.*)$"
    )


@cache
def _quality_words() -> re.Pattern[str]:
    names = sorted(qualities(), key=len, reverse=True)
    return re.compile(rf"(?:{'|'.join(map(re.escape, names))})(?![\w-])", re.IGNORECASE)


def parse_phrase(text: str) -> Criteria:
    """One noun phrase of a guideline as findings; words that name nothing known are kept to be read.

    >>> from citewell.assistants.guidelines.criteria import render
    >>> render(parse_phrase("an unexplained vulval lump, ulceration or bleeding"))
    'unexplained vulval lump OR unexplained vulval ulceration OR unexplained vulval bleeding'
    >>> render(parse_phrase("persistent bone pain, particularly back pain, or unexplained fracture"))
    'persistent bone pain OR persistent back pain OR unexplained fracture'
    """
    original = text = _ARTICLE.sub("", " ".join(text.split()).strip(" ,.:;"))
    absences: list[Criteria] = []
    aside = _EXCEPT.search(text)
    if aside:
        text = text[: aside.start()] + text[aside.end() :]
    text = _DROPPED.sub("", re.sub(r"(?:(?<!\s)\s+)?\([^()]*\)", "", text))
    text, more = _particular(text)
    if match := _WITHOUT.search(text):
        absences.append(Absence(match.group().strip(), match.group("what")))
        text = text[: match.start()]
    text, shared = _taken_out(text)
    detail = None
    if (match := _details().search(text)) and match.start() > 0:
        text, detail = text[: match.start()], match.group("detail")
    if detail and not is_known(text) and is_known(detail):
        text, detail = f"{text} {detail}", None  # “symptoms that suggest …”: what is suggested is the finding
    pieces = _pieces(text, more)
    findings: list[Criteria] = [_finding(piece, inherited, shared, detail) for piece, inherited in pieces]
    if not findings or any(isinstance(finding, NeedsReading) for finding in findings):
        return NeedsReading(original)
    if aside:
        findings = _but_not(findings, aside)
    return all_of(any_of(*findings), *absences)


def _but_not(findings: list[Criteria], aside: re.Match[str]) -> list[Criteria]:
    """What brackets exclude, with the findings that end in the word before them, and with no other.

    >>> from citewell.assistants.guidelines.criteria import render
    >>> render(parse_phrase("ascites and/or a pelvic or abdominal mass (which is not obviously uterine fibroids)"))
    'ascites OR ((pelvic mass OR abdominal mass) AND no uterine fibroids)'
    """
    head = aside.string[: aside.start()].split()[-1:]
    meant = [
        finding for finding in findings if isinstance(finding, FindingCriterion) and finding.phrase.split()[-1:] == head
    ] or findings
    others = [finding for finding in findings if finding not in meant]
    return [*others, all_of(any_of(*meant), Absence(aside.group().strip(" ()"), aside.group("what")))]


def _taken_out(text: str) -> tuple[str, tuple[Quality, ...]]:
    """The text without the clauses that narrow all of it, and these: how long, how recent, whether it persists."""
    shared: list[Quality] = []
    if match := _LASTING.search(text):
        days = int(int(match.group("count")) * days_in(match.group("unit")))
        shared.append(Quality(match.group().strip(), ("lasting",), more_than_days=days))
        text = text[: match.start()] + text[match.end() :]
    if match := _WITHIN.search(text):
        days = int(int(match.group("count")) * days_in(match.group("unit")))
        shared.append(Quality(match.group().strip(), ("recent",), within_days=days))
        text = text[: match.start()] + text[match.end() :]
    if match := _PERSISTS.search(text):
        names = tuple(
            name for stem, name in (("persist", "persistent"), ("recur", "recurrent")) if stem in match.group()
        )
        shared.append(Quality(match.group().strip(), names))
        text = text[: match.start()] + text[match.end() :]
    return text, tuple(shared)


def _particular(text: str) -> tuple[str, list[str]]:
    """The text without “particularly …”, and the kind that it named, which counts too."""
    match = _PARTICULARLY.search(text)
    if match is None:
        return text, []
    what = match.group("what").strip()
    rest = (text[: match.start()] + " " + text[match.end() :].lstrip(" ,")).strip()
    return rest, [what] if concept_ids(what) else []


def _pieces(text: str, more: list[str]) -> list[tuple[str, tuple[Quality, ...]]]:
    """The alternatives of a phrase, each with the qualities that it shares with the one before."""
    examples: list[str] = []
    if match := _SUCH_AS.search(text):
        text, examples = text[: match.start()], _split(match.group("examples"))
    words = _joined(_split_qualified(text))
    found: list[tuple[str, tuple[Quality, ...]]] = []
    carried: tuple[Quality, ...] = ()
    for piece in words:
        bare, own = qualified(_ARTICLE.sub("", piece))
        has_article = _ARTICLE.match(piece) is not None
        carried = own if own or has_article else carried
        found.append((bare, carried))
        if more and found[:1] == found:
            found += [(one, carried) for one in more]
    found += [(bare, own) for bare, own in map(qualified, _joined(examples))]
    return found


def _split_qualified(text: str) -> list[str]:
    """Split at “or”, but not inside “persistent or recurrent” or “progressive, sub-acute”."""
    opening = re.match(rf"(?:(?:{_quality_words().pattern})(?:,? (?:or|and) |, | ))+", text, re.IGNORECASE)
    at = opening.end() if opening else 0
    pieces = _split(text[at:])
    return [text[:at] + pieces[0], *pieces[1:]] if pieces else [text]


def _split(text: str) -> list[str]:
    kept = {match.group(): match.group().replace(" ", "_") for match in _KEEP_OR.finditer(text)}
    for words, joined in kept.items():
        text = text.replace(words, joined)
    return [piece.replace("_", " ").strip() for piece in _OR.split(text) if piece.strip()]


def _joined(pieces: list[str]) -> list[str]:
    """Give each piece the words that it shares with its neighbours: “pelvic or abdominal pain”."""
    done: list[str] = []
    tail = re.search(r"(?<!\s)\s+of the [\w ]{1,200}$", pieces[-1]) if len(pieces) > 1 else None
    if tail:
        pieces = [*pieces[:-1], pieces[-1][: tail.start()]]
    for at, piece in enumerate(pieces):
        bare, own = qualified(_ARTICLE.sub("", piece))
        opening = piece[: len(piece) - len(bare)]
        before = None if own or not done else done[-1]
        done.append(opening + _completed(bare, before, pieces[at + 1 :]))
    return [piece + tail.group() for piece in done] if tail else done


def _completed(bare: str, before: str | None, after: list[str]) -> str:
    """One piece with the words it shares: of the piece before it, or of the one after it."""
    if before is not None:
        stem, _ = qualified(_ARTICLE.sub("", before))
        place = list(_PREPOSITION.finditer(stem))
        if re.match(r"(?:in|on|at|of)\s", bare):
            return f"{stem[: place[0].start()].strip()} {bare}" if place else bare
        fused = " ".join([*stem.split()[:-1], bare])
        if (
            not place
            and " " in stem
            and (concept_ids(fused) if " " not in bare else not is_known(bare) and is_known(fused))
        ):
            return fused
        if place and (not is_known(bare) or place[-1].group() == "affecting"):
            article = re.match(r"\s+(?:the\s+)?", stem[place[-1].end() :])
            return stem[: place[-1].end()] + (article.group() if article else " ") + bare
    if not is_known(bare) and after:
        words = qualified(_ARTICLE.sub("", after[0]))[0].split()
        shared = [
            " ".join([bare, *words[at:]])
            for at in range(1 if len(words) > 1 else 0, len(words))
            if words[at] not in ("and", "or")
        ]
        return next((one for one in shared if concept_ids(one)), next((one for one in shared if is_known(one)), bare))
    return bare


def qualified(text: str) -> tuple[str, tuple[Quality, ...]]:
    """A phrase without the words that narrow it, and these; words joined by “or” are one quality.

    >>> [quality.names for quality in qualified("recurrent or persistent unexplained infection")[1]]
    [('recurrent', 'persistent'), ('unexplained',)]
    """
    groups: list[list[str]] = []
    rest, is_or = text.strip(), False
    while match := _quality_words().match(rest):
        name = match.group().lower()
        if qualities()[name][0] != "note":
            if is_or and groups:
                groups[-1].append(name)
            else:
                groups.append([name])
        rest = rest[match.end() :]
        joint = re.match(r"\s*,?\s*(?P<word>or|and)?\s*", rest)
        assert joint is not None
        is_or = joint.group("word") == "or"
        rest = rest[joint.end() :]
    return rest, tuple(Quality(" or ".join(names), tuple(names)) for names in groups)


def _finding(
    piece: str, own: tuple[Quality, ...], shared: tuple[Quality, ...], detail: str | None
) -> FindingCriterion | NeedsReading:
    if not is_known(piece) or _STATEMENT.search(piece):
        return NeedsReading(piece)
    return FindingCriterion(piece, piece, (*own, *shared), detail)
