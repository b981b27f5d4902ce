"""Cuts evidence into statements: words of a passage that make sense when they stand alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile, zip_longest
from typing import Literal

from citewell.answer.cite import BROKEN, MARK
from citewell.clinical.medicines import medicines
from citewell.clinical.populations import populations
from citewell.orders import is_suspicious
from citewell.sentences import BULLETS, list_mark, sentences
from citewell.types import Evidence
from citewell.work import spend

Kind = Literal["sentence", "term", "list", "item", "row", "recommendation"]
Piece = tuple[int, int]
"""Offsets in the text of one evidence."""

MAX_LIST_CHARACTERS = 1_500
"""A longer list is shown in parts: its lead-in with each item."""
MAX_HEADING_WORDS = 14
MAX_TERM_WORDS = 4
MAX_REFERENCE_CHARACTERS = 350
MAX_NAME_WORDS = 6
"""Words of an item that only names what the items below it are about: “- Paracetamol”, “- Child:”."""

_PARAGRAPH = re.compile(r"\S(?:.|\n(?!\s*\n))*")
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_ROW = re.compile(r"\s*[^:;\n]{1,120}: [^\n]*?; [^:;\n]{1,120}: ")
_LABELLED = re.compile(r"\s*(?![a-z])[^:;.\n]{1,80}(?:; [^:;.\n]{1,60}){1,3}: \S")
"""A row whose first cells have no header: “Care around birth; Mode of birth; Recommendation: 7. Base …”."""
_NUMBERED = re.compile(r"\d{1,2}(?:(?:\.\d{1,3}){1,4}\.?|[a-h]\.)\s+[A-Z]")
_AMOUNT_FIRST = re.compile(
    r"\W*\d[\d.,]*\s?(?:[-–]\s?[\d.,]+\s?)?(?![-–]?\s?(?:year|month|week|day)s?\b)[a-zµμ%]", re.IGNORECASE
)
_LEADS_IN = re.compile(r":\s*+(?:\[[^\]\n]{1,40}\]\s*+)?\Z")
_ITEM_OPENS = re.compile(r"\S+\s+[A-Z0-9“\"]")
_IS_RECOMMENDATION = re.compile(
    r"\S+\s+(?:The |This )?(?:WHO|We|NICE|guideline|committee|panel) (?:strongly |conditionally )?"
    r"(?:recommends?|suggests?)\b",
    re.IGNORECASE,
)
"""An item that is a recommendation by itself: “• WHO suggests …”."""
_ENDS = re.compile(r"[.!?;:]['\"”’)\]]*\s*(?:\[[^\]\n]{1,40}\]\s*)*\Z")
_ENDS_IN_NUMBER = re.compile(r"(?:\A|\n)[^;\n]*+;.*: \d{1,2}[a-h]?\.\Z")
_CAPTION = re.compile(r"(?:table|figure|fig\.|box|panel|chart)\s+[\w.-]{1,8}\s*[:.]\s", re.IGNORECASE)
_LEANS = re.compile(
    r"(?:It|They|He|She|Its|Their|Otherwise|Instead|Then|Afterwards)\b|If (?:it|they|so|not|this|these)\b"
    r"|(?:Send|Give|Offer|Take|Use|Repeat|Stop|Consider|Measure) (?:it|them|one|this)\b"
    r"|(?:In|For) (?:this|that|these|those|such) (?:cases?|people|patients|children|situations?)\b"
    r"|(?:This|That|These|Those) (?:is|are|was|were|can|could|may|might|should|must|will|means?|includes?|suggests?"
    r"|does|do|has|have|applies|apply|makes?|helps?)\b"
)
"""A sentence that opens like this leans on the one before it."""
GIVEN_DOSE = re.compile(
    r"\d\s?(?:mg|g|kg|micrograms?|mcg|[µμ]g|nanograms?|ml|units?|iu|mmol|tablets?|capsules?|puffs?|drops?|sachets?)"
    r"(?![a-z]|\s?/\s?(?:min|d?l|ml)\b)"
    r"|\((?:mg|g|micrograms?|ml|units?)\): \d",
    re.IGNORECASE,
)
"""An amount that can be given; “30 mL/min” and “500 ng/mL” are none."""

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
_VERB = re.compile(
    r"\b(?:is|are|was|were|do|does|can|may|should|must|will|has|have|not|give|take|stop|use|call|avoid|tell|ask|refer|offer"
    r"|consider|measure|check|start|continue|phone|drink|eat|rest|weigh|see|keep|seek|repeat)\b",
    re.IGNORECASE,
)
_BOILERPLATE = re.compile(
    r"©|\bcopyright\b|\ball rights reserved\b|\bnot for clinical use\b|\bterms and conditions\b|\bdownloaded from\b"
    r"|(?:\.\s?){6}|(?:\b\d{1,2}\.\d{1,2}\b[^.]{3,80}\b\d{1,3}\s){3}"  # a table of contents
    r"|\b(?:doi|pmid|pmcid|issn|isbn)\b\s*:?\s*[\d/]|\bcompeting interests?\b|\bconflicts? of interests?\b"
    r"|^\s*(?:keywords?|editors?|authors?|funding|correspondence|received|accepted|citation|updated|published"
    r"|trial registration)\s*:",
    re.IGNORECASE,
)
"""What a document says of itself and not of its subject."""
_REFERENCE = re.compile(
    r"^[A-Z][\w’'-]+ [A-Z]{1,3}[.,].{0,40}\bet al\b"
    r"|\b(?:19|20)\d\d\s?;\s?\d+|\b\d{1,4}\s?\(\d{1,3}\)\s?:\s?[eES]?\d+|\bet al\.,? .{0,120}\b(?:19|20)\d\d\b.{0,40}\Z"
)
_BACK_MATTER = re.compile(
    r"\b(?:declar\w+ (?:of )?interests?"
    r"|references|bibliography|further reading|acknowledge?ments?|abbreviations|author contributions"
    r"|competing interests?|conflicts? of interests?|funding|document control|table of contents|contents"
    r"|supplementary (?:material|information)|about this (?:document|sample)|update information)\b",
    re.IGNORECASE,
)
"""Sections that say nothing of their subject."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, a list with its lead-in, a row of a table, a numbered recommendation: whole, and of one passage."""

    number: int
    """Of the evidence it stands in."""
    kind: Kind
    pieces: tuple[Piece, ...]
    """Offsets in the document, one for each line."""
    lines: tuple[str, ...]
    """The words: white space collapsed, marks of the document's own references left out."""
    titles: tuple[str, ...]
    """Titles of the sections round it, and the headings above it in the passage."""
    previous: Statement | None = None
    """The sentence before it, where it leans on that."""

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def statements(evidence: Evidence) -> list[Statement]:
    """The statements of a passage, in reading order; headings, references and boilerplate are none."""
    spend()
    if any(_BACK_MATTER.search(title) for title in evidence.hit.section[1:]):
        return []
    cut: list[Statement] = []
    for group in _groups(evidence.text, _known_titles(evidence)):
        lines = tuple(_clean(evidence.text[start:end]) for start, end in group.pieces)
        pieces = tuple(_moved(piece, evidence.start) for piece in group.pieces)
        leans = _LEANS.match(lines[0]) is not None or _is_bare_dose(lines[0])
        before = cut[-1] if cut and leans and _adjoin(cut[-1], pieces[0][0], evidence) else None
        headings = tuple(evidence.text[start:end] for start, end in group.headings)
        if any(_BACK_MATTER.search(heading) for heading in headings) or _is_noise(lines, group.kind):
            continue
        titles = (*evidence.hit.section, *headings)
        cut.append(Statement(evidence.number, group.kind, pieces, lines, titles, before))
    return cut


def titled(document: str, statement: Statement) -> str:
    """The title of the document and the last heading above a statement, as the reader of answers is given them."""
    heading = statement.titles[-1] if statement.titles else ""
    return f"{document}: {heading}" if heading and _folded(heading) != _folded(document) else document


def _moved(piece: Piece, by: int) -> Piece:
    return piece[0] + by, piece[1] + by


def _adjoin(before: Statement, start: int, evidence: Evidence) -> bool:
    """Whether only a space lies between, so that both are of one paragraph."""
    between = evidence.text[before.pieces[-1][1] - evidence.start : start - evidence.start]
    return before.kind in ("sentence", "term") and between.isspace() and "\n\n" not in between


def _is_bare_dose(line: str) -> bool:
    """Whether a line gives an amount and does not say of which medicine.

    >>> [_is_bare_dose(line) for line in ("A child of 12 kg needs 180 mg.", "Give 200 mg of ibuprofen.", "Rest.")]
    [True, False, False]
    """
    return is_dose(line) and not medicines(line)


def is_dose(text: str) -> bool:
    """Whether a text gives an amount of a medicine."""
    return GIVEN_DOSE.search(text) is not None


def _known_titles(evidence: Evidence) -> frozenset[str]:
    return frozenset(_folded(title) for title in (evidence.hit.document, *evidence.hit.section))


def _folded(title: str) -> str:
    return " ".join(title.casefold().split()).rstrip(" .:…")


def _clean(text: str) -> str:
    """White space collapsed; a reference such as [3] would read as a mark of ours.

    >>> _clean("Water is lost.[1]\\n It must be replaced [2,3].")
    'Water is lost. It must be replaced.'
    """
    return " ".join(BROKEN.sub("", MARK.sub("", text)).split())


def _is_noise(lines: Sequence[str], kind: Kind) -> bool:
    """Whether the words say nothing of the subject, give orders to a model, or are a part of something not here."""
    text = "\n".join(lines)
    if not text or text.endswith("?") or _BOILERPLATE.search(text) or is_suspicious(text):
        return True
    if kind in ("list", "item") and list_mark(lines[0]) and _leaves_medicine_out(lines[0]):
        return True
    if kind == "sentence" and (len(text.split()) < 3 or text[0].islower() or _is_cut(text)):
        return True
    if kind == "item" and not _stands_alone(text):
        return True
    return kind in ("sentence", "item") and _REFERENCE.search(text) is not None


def _is_cut(sentence: str) -> bool:
    """Whether it does not end, or ends in the number of what comes next: “Mode of birth; Recommendation: 7.”"""
    return _ENDS.search(sentence) is None or _ENDS_IN_NUMBER.search(sentence) is not None


# ------------------------------------------------------------------------------------------------- lines and groups


@dataclass(frozen=True, slots=True)
class StatementLine:
    """A heading, a row, an item or a paragraph; offsets in the text of the evidence."""

    kind: Literal["heading", "row", "item", "prose"]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class LineGroup:
    """Lines or sentences that belong together."""

    kind: Kind
    pieces: tuple[Piece, ...]
    headings: tuple[Piece, ...]


def _groups(text: str, titles: frozenset[str]) -> Iterator[LineGroup]:
    """What belongs together, in reading order, with the headings above it."""
    lines = _without_cut_row(text, list(_lines(text, titles)))
    headings: tuple[Piece, ...] = ()
    position = 0
    while position < len(lines):
        line = lines[position]
        words = text[line.start : line.end]
        position += 1
        items = list(takewhile(lambda statement_line: statement_line.kind == "item", lines[position:]))
        if line.kind == "heading":
            place = (line.start, line.end)
            headings = (*headings[:1], place) if _CAPTION.match(words) and headings else (place,)
        if items and _leads(text, line, items):
            position += len(items)
            place = (line.start, line.end)
            found = _prose(text, line, items) if line.kind == "prose" else _list(text, "list", place, items)
            yield from (LineGroup(*one, headings) for one in found)
        elif line.kind == "item" and _is_outline(text, [line, *items]):
            position += len(items)
            yield from (
                LineGroup("list", (*above, *found), headings) for above, found in _outlined(text, [line, *items])
            )
        elif line.kind == "prose":
            yield from (LineGroup(*one, headings) for one in _prose(text, line, []))
        elif line.kind != "heading":
            yield LineGroup(line.kind, ((line.start, line.end),), headings)


def _leads(text: str, line: StatementLine, items: Sequence[StatementLine]) -> bool:
    """Whether a line leads in the items below it: it ends in a colon, or titles items that are no sentences."""
    if line.kind == "prose":
        return _LEADS_IN.search(text, line.start, line.end) is not None
    are_sentences = (_stands_alone(text[item.start : item.end]) for item in items)
    return line.kind == "heading" and not all(are_sentences)


def _stands_alone(item: str) -> bool:
    """Whether an item is a sentence."""
    return _ITEM_OPENS.match(item) is not None and _ENDS.search(item) is not None


def _lines(text: str, titles: frozenset[str]) -> Iterator[StatementLine]:
    """The lines of a text; a line that neither opens an item nor a row goes on with the one before it."""
    for paragraph in _PARAGRAPH.finditer(text):
        kinds: list[StatementLine] = []
        for match in _LINE.finditer(text, *paragraph.span()):
            start, end = match.start() + len(match.group()) - len(match.group().lstrip()), match.end()
            end -= len(match.group()) - len(match.group().rstrip())
            mark = list_mark(text, start, end)
            if not (mark and mark in BULLETS) and _ROW.match(text, start, end):
                kinds.append(StatementLine("row", start, end))
            elif mark:
                kinds.append(StatementLine("item", start, end))
            elif kinds and _NUMBERED.match(text, start, end) and _ENDS.search(text[kinds[-1].start : kinds[-1].end]):
                kinds.append(StatementLine("prose", start, end))
            elif kinds and kinds[-1].kind != "row" and not _LABELLED.match(text, start, end):
                kinds[-1] = StatementLine(kinds[-1].kind, kinds[-1].start, end)
            else:
                kinds.append(StatementLine("prose", start, end))
        if len(kinds) == 1 and kinds[0].kind != "row" and _is_heading(text[kinds[0].start : kinds[0].end], titles):
            kinds = [StatementLine("heading", kinds[0].start, kinds[0].end)]
        elif len(kinds) == 1 and _is_reference(text[kinds[0].start : kinds[0].end]):
            continue
        yield from kinds


def _without_cut_row(text: str, lines: list[StatementLine]) -> list[StatementLine]:
    """The lines without the end of a row whose beginning is in the passage before: its first column is another's."""
    if len(lines) < 2 or {lines[0].kind, lines[1].kind} != {"row"}:
        return lines
    column, whole = (text[line.start : line.end].split(":", 1)[0] for line in lines[:2])
    return lines if column == whole else lines[1:]


def _is_heading(line: str, titles: frozenset[str]) -> bool:
    """Whether a line that stands alone is a title, a caption or a question put by the document itself.

    >>> [_is_heading(line, frozenset()) for line in ("1.3 Suspected lung cancer", "What is sepsis?", "Rest. Drink.")]
    [True, True, False]
    """
    if _folded(line) in titles or _CAPTION.match(line):
        return True
    if list_mark(line):
        return False
    return len(line.split()) <= MAX_HEADING_WORDS and (line.endswith("?") or not _ENDS.search(line))


def _is_reference(paragraph: str) -> bool:
    """Whether a paragraph is an entry of a bibliography."""
    return len(paragraph) <= MAX_REFERENCE_CHARACTERS and _REFERENCE.search(paragraph) is not None


def _prose(text: str, line: StatementLine, items: Sequence[StatementLine]) -> Iterator[tuple[Kind, tuple[Piece, ...]]]:
    """The statements of a paragraph; its last sentence leads in the items that follow it."""
    if _NUMBERED.match(text, line.start, line.end):
        yield from _list(text, "recommendation", (line.start, line.end), items)
        return
    cut = sentences(text, line.start, line.end)
    if len(cut) > 1 and _is_term(text[slice(*cut[0])]):
        yield "term", ((cut[0][0], cut[1][1]),)
        cut = cut[2:]
    lead = cut.pop() if items and cut else None
    yield from (("sentence", (span,)) for span in cut)
    if lead is not None:
        yield from _list(text, "list", lead, items)


def _list(
    text: str, kind: Kind, lead: Piece, items: Sequence[StatementLine]
) -> Iterator[tuple[Kind, tuple[Piece, ...]]]:
    """A lead-in with its items: all together, or in parts where they are too long, doses of an outline or each its own.

    Each part stands below the items that it belongs to; an outline below a title is cut into what it names.
    """
    pieces = [(item.start, item.end) for item in items]
    are_own = len(pieces) > 1 and all(_IS_RECOMMENDATION.match(text, *piece) for piece in pieces)
    gives_doses = any(is_dose(text[slice(*piece)]) for piece in pieces)
    is_outline, is_title = _is_outline(text, items), kind == "list" and not _LEADS_IN.search(text, *lead)
    if not are_own and not (is_outline and (gives_doses or is_title)) and _fits(lead, pieces):
        yield kind, (lead, *pieces)
    elif is_outline:
        for above, found in _outlined(text, items):
            yield kind, (*(() if above and is_title else (lead,)), *above, *found)
    else:
        yield from ((kind, (lead, piece)) for piece in pieces)


def _fits(lead: Piece, pieces: Sequence[Piece]) -> bool:
    return not pieces or pieces[-1][1] - lead[0] <= MAX_LIST_CHARACTERS


def _is_outline(text: str, items: Sequence[StatementLine]) -> bool:
    """Whether some items stand above others."""
    return any(_names(text, item, following, ()) for item, following in pairwise(items))


def _names(text: str, item: StatementLine, following: StatementLine, path: Sequence[StatementLine]) -> bool:
    """Whether the next item stands below this one: that has a mark of its own, or this one is a medicine or people."""
    words, next_words = (text[line.start : line.end] for line in (item, following))
    mark, next_mark = list_mark(words), list_mark(next_words)
    if mark != next_mark:
        is_back = any(list_mark(text, statement_line.start) == next_mark for statement_line in path)
        return not is_back and (next_mark in BULLETS or words.endswith(":"))
    if not is_dose(words) and medicines(words) and is_dose(next_words) and _is_for_people(next_words):
        return True
    bare = re.sub(r"\([^)]{0,300}+\)", "", words).strip()
    if len(bare.split()) > MAX_NAME_WORDS + 1 or ":" in bare[:-1] or re.search(r"\d|[.;,]$", bare):
        return False
    if words.endswith(":") or populations(bare):
        return True
    return is_dose(next_words) and bool(medicines(words) or populations(next_words))


def _is_for_people(item: str) -> bool:
    """Whether an item says whom it is for, and not what they are given: “- Child under 2 years: 5 mg”."""
    return bool(populations(item)) and not medicines(item)


def _leaves_medicine_out(item: str) -> bool:
    """Whether an item gives an amount of what stands above it: it opens with the amount, or with people.

    >>> [_leaves_medicine_out(item) for item in ("- 25 mg at night", "- Adult: 5 mg", "- Lisinopril: 5 mg")]
    [True, True, False]
    """
    if not is_dose(item) or medicines(item):
        return False
    return _AMOUNT_FIRST.match(item) is not None or bool(populations(item.partition(":")[0]))


def _outlined(text: str, items: Sequence[StatementLine]) -> Iterator[tuple[tuple[Piece, ...], tuple[Piece, ...]]]:
    """The items under those that they belong to: each dose by itself, others together.

    >>> marked = "・ Pain|- Paracetamol|- Adult: 1 g|- Child:|- 6-12 years: 250 mg|・ Advice|- Rest|- Drink"
    >>> text = marked.replace("|", chr(10))
    >>> lines = [StatementLine("item", found.start(), found.end()) for found in _LINE.finditer(text)]
    >>> ["/".join(text[slice(*piece)] for piece in (*above, *below)) for above, below in _outlined(text, lines)][1:]
    ['・ Pain/- Paracetamol/- Child:/- 6-12 years: 250 mg', '・ Advice/- Rest/- Drink']
    """
    path: list[StatementLine] = []
    below: dict[StatementLine, str] = {}  # the mark of the first item under another
    together: list[StatementLine] = []
    for item, following in zip_longest(items, items[1:]):
        words = text[item.start : item.end]
        kept = _above(text, item, path, below, is_name=following is not None and _names(text, item, following, path))
        is_name = following is not None and _names(text, item, following, kept)
        goes_on = not is_name and (not is_dose(words) or (_leaves_medicine_out(words) and not populations(words)))
        if together and (kept != path or not goes_on):
            yield _spans(path), _spans(together)
            together = []
        path = kept
        if path:
            below.setdefault(path[-1], list_mark(words))
        if is_name:
            path.append(item)
        elif is_dose(words):
            yield _spans(path), _spans((*together, item))
            together = []
        else:
            together.append(item)
    if together:
        yield _spans(path), _spans(together)


def _above(
    text: str, item: StatementLine, path: Sequence[StatementLine], below: Mapping[StatementLine, str], *, is_name: bool
) -> list[StatementLine]:
    """The items that one stands below: it closes those of its own mark, and people close other people."""
    words = text[item.start : item.end]
    mark, of_people = list_mark(words), is_name and bool(populations(words))
    kept = [line for line in path if not (of_people and populations(text[line.start : line.end]))]
    closed = (
        at
        for at, statement_line in enumerate(kept)
        if list_mark(text, statement_line.start) == mark
        and (below.get(statement_line, mark) != mark or (is_name and not of_people))
    )
    return kept[: next(closed, len(kept))]


def _spans(lines: Iterable[StatementLine]) -> tuple[Piece, ...]:
    return tuple((line.start, line.end) for line in lines)


def _is_term(sentence: str) -> bool:
    """Whether a sentence is a bare name, as in a glossary: “Haemoptysis. Coughing up blood.”"""
    words = sentence.rstrip(".").split()
    return sentence.endswith(".") and len(words) <= MAX_TERM_WORDS and not _VERB.search(sentence)


def with_doses(cut: Sequence[Statement]) -> Iterator[Statement]:
    """Statements; those that only speak of “this dose” or “start again” with the one of their section that gives it."""
    giving: list[Statement] = []
    renewed: dict[Statement, Statement] = {}
    for statement in cut:
        before = None if statement.previous is None else renewed.get(statement.previous, statement.previous)
        given = [other for other in giving if other.titles == statement.titles and _may_be_of(other, statement)]
        # what was worked out for one person is no one else's
        plain = [other for other in given if not WEIGHS.search(other.text)]
        if given and _leaves_dose_open(statement):
            before = _behind(before, (plain or given)[-1])
        renewed[statement] = replace(statement, previous=before)
        yield renewed[statement]
        giving += [statement] if GIVEN_DOSE.search(statement.text) else []


def _may_be_of(giving: Statement, statement: Statement) -> bool:
    """Whether a dose may be of the medicine that a statement speaks of: they name one in common, or one names none."""
    theirs, ours = ({medicine.name for medicine in medicines(each.text)} for each in (giving, statement))
    return not (theirs and ours) or not theirs.isdisjoint(ours)


def _behind(statement: Statement | None, first: Statement) -> Statement:
    """A statement and those that it leans on, all behind another one."""
    if statement is None:
        return first
    return statement if statement == first else replace(statement, previous=_behind(statement.previous, first))


def _leaves_dose_open(statement: Statement) -> bool:
    """Whether it speaks of a dose that neither it nor the sentence that it leans on gives."""
    refers = REFERS_TO_DOSE.search(statement.text)
    if refers is None or GIVEN_DOSE.search(statement.text, 0, refers.start()):
        return False
    return statement.previous is None or GIVEN_DOSE.search(statement.previous.text) is None
