"""Sentences and words: how every stage cuts a text, with exact offsets."""

from __future__ import annotations

import hashlib
import re
import threading
from functools import lru_cache

import Stemmer

from citewell.vocabulary.uk_us_spelling import us_spelling
from citewell.work import spend

ABBREVIATIONS = frozenset(
    """e.g i.e etc vs cf al approx ca no nos fig figs eq eqs ref refs sec ch vol pp ed eds dr mr mrs ms prof st inc ltd
    dept univ jan feb mar apr jun jul aug sep sept oct nov dec hr hrs min mins wk wks yr yrs b.d t.d.s q.d.s o.d p.o i.v
    i.m s.c resp viz suppl tab spp sp subsp var incl excl max""".split()
)
"""Words after which a full stop does not end a sentence."""
_ENDING = frozenset("no nos hr hrs min mins wk wks yr yrs etc".split())
"""Of these, the ones that close a sentence where the next word has a capital: “80 mL/min. Stop it.”, but “No. 5”."""

BULLETS = "-–•·*▪◦‣●○■□◇◆♦❖➢➔►✓✔∙⁃・"
"""What an item of a list opens with where it has no number."""
_MARKED = re.compile(
    rf"\s*(?:(?P<bullet>[{re.escape(BULLETS)}])|\(?(?:(?P<number>\d{{1,3}})|[a-zA-Z]|[ivx]{{1,4}})[.)])\s+\S"
)

_END = re.compile(
    r"""(?<![.!?])[.!?]++["'”’)\]]*+(?:\s?\[(?:[^\]\n]{1,40}|(?i:SourceId|Doc)\b[^\]\n]{1,400})\])*(?=\s|$)"""
    rf"""|\n{{2,}}|\n(?=[^\S\n]*+(?:[{re.escape(BULLETS)}]|\(?[a-z0-9]{{1,3}}[.)])\s)"""
)
"""Where a sentence may end; possessive, so that a line of dots costs no more than its length."""
_LAST_WORD = re.compile(r"(?<![A-Za-z])([A-Za-z][A-Za-z.]{0,40})$")
_OPENS = re.compile(r"""\s*["'“‘(\[]*([^\W_])""")


def sentences(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Offsets of the sentences in a part of the text, white space round them left out.

    >>> text = "Give 2.4 mg/kg, e.g. by injection. Do not use in pregnancy."
    >>> [text[a:b] for a, b in sentences(text)]
    ['Give 2.4 mg/kg, e.g. by injection.', 'Do not use in pregnancy.']
    >>> text = "See Fig. 2 (Smith et al. 2010). J. Smith agreed."
    >>> [text[a:b] for a, b in sentences(text)]
    ['See Fig. 2 (Smith et al. 2010).', 'J. Smith agreed.']
    >>> text = "Refer within 2 weeks. [2015, amended 2025] Do not wait.[3] Act."
    >>> [text[a:b] for a, b in sentences(text)]
    ['Refer within 2 weeks. [2015, amended 2025]', 'Do not wait.[3]', 'Act.']
    >>> text = "It fell to 30 mL/min. Stop it. See no. 5. Wait 10 min. before that."
    >>> [text[a:b] for a, b in sentences(text)]
    ['It fell to 30 mL/min.', 'Stop it.', 'See no. 5.', 'Wait 10 min. before that.']
    """
    spend()
    end = len(text) if end is None else end
    found: list[tuple[int, int]] = []
    begin = start
    for match in _END.finditer(text, start, end):
        if not match.group().startswith("\n") and not _ends_sentence(text, match.start(), match.end(), begin, end):
            continue
        _append_stripped(found, text, begin, match.end())
        begin = match.end()
    _append_stripped(found, text, begin, end)
    return found


def list_mark(text: str, start: int = 0, end: int | None = None) -> str:
    """The mark that an item of a list opens with, one for all numbers and one for all letters; empty for other lines.

    >>> [list_mark(line) for line in ("• Rest", "2. Drink", "b) Sleep", "Rest.", "2.5 mg")]
    ['•', '1', 'a', '', '']
    """
    match = _MARKED.match(text, start, len(text) if end is None else end)
    if match is None:
        return ""
    return match["bullet"] or ("1" if match["number"] else "a")


def _ends_sentence(text: str, dot: int, after: int, begin: int, end: int) -> bool:
    """Whether the punctuation at `dot` closes a sentence rather than an abbreviation or an initial."""
    opening = _OPENS.match(text, after, end)
    if opening and opening.group(1).islower():
        return False
    if text[dot] != "." or text[dot : dot + 2] in ("..", ".)"):
        return True
    word = _LAST_WORD.search(text, max(begin, dot - 20), dot)
    if word is None:
        return True
    name = word.group(1)
    if name.lower() in _ENDING and opening and opening.group(1).isupper():
        return True
    single_initial = len(name) == 1 and name.isupper() and name not in ("I", "A", "C", "D", "K", "E", "B")
    return not single_initial and name.lower() not in ABBREVIATIONS


def _append_stripped(found: list[tuple[int, int]], text: str, begin: int, end: int) -> None:
    while begin < end and text[begin].isspace():
        begin += 1
    while end > begin and text[end - 1].isspace():
        end -= 1
    if begin < end:
        found.append((begin, end))


def paragraphs(*parts: str) -> str:
    """Texts as paragraphs of one; an empty one is none."""
    return "\n\n".join(part for part in parts if part)


# ------------------------------------------------------------------------------------------------- words for search

STOP_WORDS = frozenset(
    """a an and are as at be but by for from had has have he her his i if in into is it its of on or our she so such
    that the their then there these they this to was we were what when which who will with you your""".split()
)
"""Words that no search weighs. “No”, “not” and “without” stay: they carry meaning in clinical text."""

_WORD = re.compile(r"\d{1,3}(?:,\d{3})+(?![\d,])|\d+\.\d+(?![\w.])|[^\W_]+(?:_[^\W_]+)*")
"""A number with its commas or point, or letters and digits; an underscore is how parsers write a subscript."""
_GREEK_NAMES = dict(
    zip(
        "αβγδεζηθικλμνξοπρςστυφχψω",
        """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma tau
        upsilon phi chi psi omega""".split(),
        strict=True,
    )
)
_RUN = re.compile(r"[α-ω]|\d+|[^\W\d_α-ω]+")
_SAME_STEMS = {"referr": "refer", "diagnos": "diagnosi", "diagnost": "diagnosi", "symptomat": "symptom"}
"""Stems of words of one family that the stemmer keeps apart: referral and refer, diagnose and diagnosis."""
_stemmers = threading.local()


def word_spans(text: str) -> list[tuple[int, int]]:
    """Offsets of the words of a text.

    >>> word_spans("IL-6, 5 mg")
    [(0, 2), (3, 4), (6, 7), (8, 10)]
    >>> word_spans("2.5 or 1,500")
    [(0, 3), (4, 6), (7, 12)]
    """
    spend()
    return [match.span() for match in _WORD.finditer(text)]


def terms(text: str) -> list[str]:
    """The index terms of a text, in order, stop words left out.

    >>> terms("The patient's tumours were treated.")
    ['patient', 's', 'tumor', 'treat']
    >>> terms("H_2O and IL6")  # a subscript, as parsers write it
    ['h2o', 'h', '2', 'o', 'il6', 'il', '6']
    >>> terms("2.5 to 1,500 ng/L")
    ['2.5', '1500', 'ng', 'l']
    """
    spend()
    return [term for word in _WORD.findall(text) for term in word_terms(word)]


@lru_cache(maxsize=200_000)
def word_terms(word: str) -> tuple[str, ...]:
    """The index terms of one word: folded, in US spelling, stemmed; letters, digits and Greek letters also apart.

    >>> word_terms("TNFα"), word_terms("haemoptysis"), word_terms("the")
    (('tnfalpha', 'tnf', 'alpha'), ('hemoptysi',), ())
    """
    whole = folded(word)
    if whole[0].isdigit() and not whole.isalnum():
        return (whole.replace(",", ""),)
    runs = _RUN.findall(whole)
    found = [_GREEK_NAMES.get(run, run) for run in runs]
    if len(runs) > 1:
        found.insert(0, "".join(found))
    return tuple(stem(one) for one in found if one not in STOP_WORDS)


def folded(word: str) -> str:
    """A word as it is looked up.

    >>> folded("SpO_2")
    'spo2'
    """
    return word.casefold().replace("_", "")


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """The stem of a folded word, the same for both spellings of it.

    >>> stem("tumours") == stem("tumor"), stem("referral") == stem("refer")
    (True, True)
    """
    stemmer = getattr(_stemmers, "english", None)
    if stemmer is None:
        stemmer = _stemmers.english = Stemmer.Stemmer("english")
    found = str(stemmer.stemWord(us_spelling(word)))
    return _SAME_STEMS.get(found, found)


@lru_cache(maxsize=200_000)
def term_key(term: str) -> int:
    """A 64-bit key for a term, the same on every machine.

    >>> term_key("dose") == term_key("dose")
    True
    """
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "little")
