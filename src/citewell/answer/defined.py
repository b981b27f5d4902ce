"""What a document itself says that its words stand for: “sickle-cell disease (SCD)” makes the two one there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from citewell.answer.cues import GENRE
from citewell.words import terms

Same = tuple[str, str]
"""Words of a question, and what a document calls the same."""

MAX_SAME = 8
MAX_LONG_WORDS = 8
MIN_COMPOUND = 8
"""Letters below which a word with a hyphen and one without may have nothing to do with each other."""
MAX_TITLE_CHARACTERS = 400
"""What comes after is no title, and could take long to look through."""
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_COMPOUND = re.compile(r"\b[^\W\d_]++(?:-[^\W\d_]++)+")
_SHORT = r"[^\W\d_a-z][\w-]{1,9}"
_IN_BRACKETS = re.compile(rf"\((?P<short>{_SHORT})(?=[);,])")
"""“… sickle-cell disease (SCD)”."""
_CLAUSE = re.compile(r"[^.;:()\[\]\n]{5,}\Z")
"""What comes before an abbreviation in brackets, as far as it may be what that stands for."""
_IN_LIST = re.compile(
    rf"(?:^|;\s)(?P<short>{_SHORT})(?::|\s[–—-])?\s+(?P<long>[^.;:()\n]{{5,90}})(?=[.;\n]|$)", re.MULTILINE
)
"""“CRT capillary refill time”, on a line of its own; “BP: blood pressure; …”, below a table."""
MAX_LONG_CHARACTERS = 90
_MEMBER = r"[^\W\d_][\w’'-]*(?: [\w’'-]+){0,2}"
_GROUP = re.compile(
    rf"(?P<group>[^\W\d_][\w-]+ [^\W\d_][\w-]+)(?:: | \()"
    rf"(?P<members>{_MEMBER}(?:, {_MEMBER})+,? (?:and|or) {_MEMBER})(?=$|[)\n.])"
)
"""“arboviral diseases: dengue, chikungunya, Zika and yellow fever”, in a title."""
_BETWEEN = re.compile(r",? (?:and|or) |, ")


def groups(title: str) -> Iterator[Same]:
    """Each member of a group that a title lists, with the name of the group; words for a kind of document are none.

    >>> list(groups("Care for enteric infections: cholera, typhoid and shigellosis"))[:2]
    [('cholera', 'enteric infections'), ('typhoid', 'enteric infections')]
    >>> list(groups("Tension headaches: diagnosis, management and referral"))
    []
    """
    for match in _GROUP.finditer(title[:MAX_TITLE_CHARACTERS]):
        members = _BETWEEN.split(match["members"])
        if not any(GENRE.issuperset(terms(member)) for member in members):
            yield from ((member, match["group"]) for member in members)


def said_otherwise(question: str, texts: Sequence[str], titles: Iterable[str] = ()) -> tuple[Same, ...]:
    """The words of a question for which the texts of one document have a shorter or a longer name.

    >>> said_otherwise("Iron in sickle cell disease?", ["Women with sickle-cell disease (SCD) need care."])
    (('sickle-cell disease', 'SCD'),)
    >>> said_otherwise("Is CRT of use?", ["CRT capillary refill time"])
    (('CRT', 'capillary refill time'),)
    """
    asked = terms(question)
    found: dict[Same, None] = {}
    for short, long in dict.fromkeys(pair for text in texts for pair in definitions(text)):
        if re.search(rf"\b{re.escape(short)}s?\b", question):
            found[short, long] = None
        elif _stands_in(terms(long), asked):
            found[long, short] = None
    found |= dict.fromkeys(_joined_otherwise(question, texts))
    for member, group in dict.fromkeys(pair for title in titles for pair in groups(title)):
        if _stands_in(terms(member), asked):
            found[member, group] = None
    return tuple(found)[:MAX_SAME]


def definitions(text: str) -> Iterator[Same]:
    """Each abbreviation that a text explains, with what it stands for."""
    for match in _IN_BRACKETS.finditer(text):
        short = _singular(match["short"])
        clause = _CLAUSE.search(text[max(0, match.start() - MAX_LONG_CHARACTERS) : match.start()])
        long = _long_form(short, clause.group().rstrip()) if clause else None
        if long is not None:
            yield short, long
    for match in _IN_LIST.finditer(text):
        short, long = _singular(match["short"]), match["long"].strip()
        if _long_form(short, long) == long:
            yield short, long


def _singular(short: str) -> str:
    return short[:-1] if short.endswith("s") and short[:-1].isupper() else short


def _long_form(short: str, before: str) -> str | None:
    """The last words before an abbreviation that hold its letters in order, the first at the beginning of a word.

    After Schwartz and Hearst, “A simple algorithm for identifying abbreviation definitions in biomedical text” (2003).

    >>> _long_form("SMBP", "the self-monitoring of blood pressure"), _long_form("SMBP", "see below")
    ('self-monitoring of blood pressure', None)
    """
    letters = [letter for letter in short.casefold() if letter.isalnum()]
    if sum(letter.isupper() for letter in short) < 2:
        return None
    folded, at = before.casefold(), len(before)
    for place, letter in reversed(list(enumerate(letters))):
        at -= 1
        while at >= 0 and (folded[at] != letter or (place == 0 and at > 0 and folded[at - 1].isalnum())):
            at -= 1
        if at < 0:
            return None
    long = before[before.rfind(" ", 0, at) + 1 :].strip()
    is_name = len(terms(long)) > 1 and len(long.split()) <= min(MAX_LONG_WORDS, 2 * len(letters))
    return long if is_name else None


def _joined_otherwise(question: str, texts: Sequence[str]) -> Iterator[Same]:
    """Words of the question that the texts write only with a hyphen, or only without.

    >>> list(_joined_otherwise("Is postmenopausal bleeding urgent?", ["Refer for post-menopausal bleeding."]))
    [('postmenopausal', 'post-menopausal')]
    >>> list(_joined_otherwise("Is post-menopausal bleeding urgent?", ["Refer for postmenopausal bleeding."]))
    [('post-menopausal', 'postmenopausal')]
    """
    whole = "\n".join(texts).casefold()
    absent = {word for word in _WORD.findall(question.casefold()) if len(word) >= MIN_COMPOUND and word not in whole}
    for word in sorted(absent):
        if "-" in word and word.replace("-", "") in whole:
            yield word, word.replace("-", "")
    if absent:
        yield from (
            (word.replace("-", ""), word) for word in _COMPOUND.findall(whole) if word.replace("-", "") in absent
        )


def _stands_in(phrase: list[str], said: list[str]) -> bool:
    """Whether the words of a phrase stand one after another."""
    return any(said[at : at + len(phrase)] == phrase for at in range(len(said) - len(phrase) + 1))
