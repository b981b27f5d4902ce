"""Records of PubMed and Europe PMC as articles, and an article as JATS, which the library reads."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any

from lxml import etree

from citewell.adapters.parsers.markup_flow import child_named, children_named, descendants_named, local_name
from citewell.adapters.parsers.xml_tree import read_tree
from citewell.errors import DamagedFile, InputError
from citewell.types.literature import Article, ArticleId, Notice, NoticeKind
from citewell.vocabulary.months import month_number

RETRACTED = "retracted publication"
"""The type under which both indexes list an article that was retracted."""
NOTICES: Mapping[str, NoticeKind] = {
    "retractionin": "retraction",
    "partialretractionin": "retraction",
    "expressionofconcernin": "concern",
    "erratumin": "correction",
    "correctedandrepublishedin": "correction",
}
"""What was said of an article later, by the name that PubMed gives it; Europe PMC writes the same with spaces."""
LANGUAGES = {"eng": "en", "fre": "fr", "ger": "de", "spa": "es", "ita": "it", "por": "pt", "dut": "nl"}
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
_TAG = re.compile(r"<[^<>]{0,200}>")
_HEADING = re.compile(r"<h4[^>]{0,100}>(.{0,300}?)</h4>", re.IGNORECASE)


# -------------------------------------------------------------------------------------------------------------- PubMed


def pubmed_articles(data: bytes) -> Iterator[Article]:
    """The articles of a PubMed XML answer."""
    root, _ = read_tree(data)
    for element in descendants_named(root, "PubmedArticle"):
        citation = child_named(element, "MedlineCitation")
        article = None if citation is None else child_named(citation, "Article")
        if citation is not None and article is not None:
            yield _pubmed_article(element, citation, article)


def _pubmed_article(element: etree._Element, citation: etree._Element, article: etree._Element) -> Article:
    journal = child_named(article, "Journal")
    issue = child_named(journal, "JournalIssue")
    known = child_named(child_named(element, "PubmedData"), "ArticleIdList")  # those of what it cites stand deeper
    ids = {one.get("IdType"): _text(one) for one in children_named(known, "ArticleId")}
    kinds = [_text(kind) for kind in descendants_named(article, "PublicationType")]
    languages = [LANGUAGES.get(_text(spoken)) for spoken in children_named(article, "Language")]
    return Article(
        title=_text(child_named(article, "ArticleTitle")).removesuffix("."),
        authors=tuple(filter(None, map(_author, descendants_named(article, "Author")))),
        journal=_text(child_named(journal, "Title")),
        volume=_text(child_named(issue, "Volume")),
        issue=_text(child_named(issue, "Issue")),
        pages=_text(child_named(child_named(article, "Pagination"), "MedlinePgn")),
        published=_date(child_named(issue, "PubDate")) or _date(child_named(article, "ArticleDate")),
        abstract=tuple(
            (part.get("Label") or "", text)
            for part in children_named(child_named(article, "Abstract"), "AbstractText")
            if (text := _text(part))
        ),
        language=next(filter(None, languages), None),
        pmid=_text(child_named(citation, "PMID")) or None,
        pmcid=ids.get("pmc") or None,
        doi=ids.get("doi", "").lower() or None,
        notices=notices_of(_comments(citation), kinds),
    )


def _comments(citation: etree._Element) -> Iterator[tuple[str, str, str | None]]:
    for element in children_named(child_named(citation, "CommentsCorrectionsList"), "CommentsCorrections"):
        where = _text(child_named(element, "RefSource"))
        yield element.get("RefType") or "", where, _text(child_named(element, "PMID")) or None


def notices_of(comments: Iterator[tuple[str, str, str | None]], kinds: Sequence[str]) -> tuple[Notice, ...]:
    """What was said of an article later; one that is only listed as retracted has a notice without a place."""
    found = [
        Notice(NOTICES[named], where, pmid)
        for kind, where, pmid in comments
        if (named := kind.lower().replace(" ", "")) in NOTICES
    ]
    is_retracted = any(kind.lower() == RETRACTED for kind in kinds)
    if is_retracted and not any(notice.kind == "retraction" for notice in found):
        found.insert(0, Notice("retraction"))
    return tuple(dict.fromkeys(found))


def _author(element: etree._Element) -> str:
    group = _text(child_named(element, "CollectiveName"))
    names = (_text(child_named(element, "ForeName")), _text(child_named(element, "LastName")))
    return group or " ".join(filter(None, names))


def _date(element: etree._Element | None) -> date | None:
    if element is None:
        return None
    year, month, day = (_text(child_named(element, part)) for part in ("Year", "Month", "Day"))
    year = year or _text(child_named(element, "MedlineDate"))[:4]
    return day_of(year, month, day)


def day_of(year: str, month: str = "", day: str = "") -> date | None:
    """A date of which the month and the day may be missing, or words; None where it has no year.

    >>> day_of("2024", "May"), day_of("2024", "13", "40"), day_of("soon")
    (datetime.date(2024, 5, 1), datetime.date(2024, 1, 1), None)
    """
    if not (year.isascii() and year.isdigit() and len(year) == 4 and int(year)):
        return None
    number = int(month) if month.isdigit() else month_number(month) or 1
    with suppress(ValueError):
        return date(int(year), number, int(day) if day.isdigit() else 1)
    return date(int(year), 1, 1)


def _text(element: etree._Element | None) -> str:
    return "" if element is None else " ".join("".join(str(part) for part in element.itertext()).split())


# ---------------------------------------------------------------------------------------------------------- Europe PMC


def europepmc_article(found: Mapping[str, Any]) -> Article:
    """An article of a Europe PMC answer, in its “core” form."""
    issue = _mapping(found.get("journalInfo"))
    comments = _items(found.get("commentCorrectionList"), "commentCorrection")
    said = ((_word(one, "type"), _word(one, "reference"), _pmid_of(one)) for one in comments)
    kinds = [str(kind) for kind in _listed(_mapping(found.get("pubTypeList")).get("pubType"))]
    first = _word(found, "firstPublicationDate") or _word(issue, "printPublicationDate")
    source, own_id = _word(found, "source"), _word(found, "id")
    authors = _items(found.get("authorList"), "author")
    return Article(
        title=_unmarked(_word(found, "title")).removesuffix("."),
        authors=tuple(filter(None, (_word(one, "fullName") or _word(one, "collectiveName") for one in authors))),
        journal=_word(_mapping(issue.get("journal")), "title"),
        volume=_word(issue, "volume"),
        issue=_word(issue, "issue"),
        pages=_word(found, "pageInfo"),
        published=day_of(*first.split("-")[:3]) or day_of(_word(found, "pubYear")),
        abstract=tuple(_abstract(_word(found, "abstractText"))),
        language=LANGUAGES.get(_word(found, "language")),
        pmid=_word(found, "pmid") or (own_id if source == "MED" else "") or None,
        pmcid=_word(found, "pmcid") or None,
        doi=_word(found, "doi").lower() or None,
        notices=notices_of(said, kinds),
    )


def _pmid_of(comment: Mapping[str, Any]) -> str | None:
    return _word(comment, "id") or None if _word(comment, "source") == "MED" else None


def _abstract(text: str) -> Iterator[tuple[str, str]]:
    """The parts of an abstract, which stand under headings in HTML."""
    before, *rest = _HEADING.split(text)
    for heading, part in [("", before), *zip(rest[::2], rest[1::2], strict=True)]:
        if words := _unmarked(part):
            yield _unmarked(heading).rstrip(":"), words


def _unmarked(text: str) -> str:
    return " ".join(html.unescape(_TAG.sub("", text)).split())


def _word(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return " ".join(str(value).split()) if isinstance(value, str | int) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if isinstance(value, str) else []


def _items(value: Any, name: str) -> list[Mapping[str, Any]]:
    return [one for one in _listed(_mapping(value).get(name)) if isinstance(one, Mapping)]


# ---------------------------------------------------------------------------------------------------------------- JATS


def full_text(data: bytes, article: Article) -> bytes | None:
    """The one article of a full-text answer as a file of its own; None where it has no body or is another's."""
    root, _ = read_tree(data)
    found = root if local_name(root) == "article" else next(iter(descendants_named(root, "article")), None)
    if found is None or child_named(found, "body") is None:
        return None
    meta = next(iter(descendants_named(found, "article-meta")), None)
    own = set() if meta is None else set(_own_ids(meta))
    wrong = {one for one in own for known in article.ids if one.kind == known.kind and one.value != known.value}
    if wrong:
        raise DamagedFile(
            f"The full text that was sent for {article.ids[0].label} is another article's. Try again later."
        )
    if meta is not None:
        missing = [one for one in article.ids if one.kind not in {known.kind for known in own}]
        for one in reversed(missing):
            meta.insert(0, _article_id(one))
    found.tail = None
    return etree.tostring(found, encoding="utf-8", xml_declaration=True)


def _own_ids(meta: etree._Element) -> Iterator[ArticleId]:
    for element in children_named(meta, "article-id"):
        kind, value = element.get("pub-id-type") or "", _text(element)
        if kind in ("pmid", "pmc", "pmcid", "doi"):
            with suppress(InputError):
                yield ArticleId.parse(f"PMC{value}" if kind == "pmc" and value.isdigit() else value)


def _article_id(one: ArticleId) -> etree._Element:
    element = etree.Element("article-id")
    element.set("pub-id-type", one.kind)
    element.text = one.value
    return element


def jats(article: Article) -> bytes:
    """An article of which only the abstract is known, as JATS: the same record always gives the same bytes."""
    root = etree.Element("article")
    root.set("article-type", "abstract")
    if article.language:
        root.set(_LANGUAGE, article.language)
    front = etree.SubElement(root, "front")
    journal = etree.SubElement(front, "journal-meta")
    _put(etree.SubElement(journal, "journal-title-group"), "journal-title", article.journal)
    _put(etree.SubElement(journal, "publisher"), "publisher-name", article.publisher)
    meta = etree.SubElement(front, "article-meta")
    meta.extend(_article_id(one) for one in article.ids)
    _put(meta, "isbn", article.isbn)
    _put(etree.SubElement(meta, "title-group"), "article-title", article.title)
    group = etree.SubElement(meta, "contrib-group")
    for name in article.authors:
        person = etree.SubElement(group, "contrib")
        person.set("contrib-type", "author")
        _put(person, "string-name", name)
    if day := article.published:
        when = etree.SubElement(meta, "pub-date")
        when.set("pub-type", "epub")
        for part, number in (("day", day.day), ("month", day.month), ("year", day.year)):
            _put(when, part, str(number))
    for part, value in (("volume", article.volume), ("issue", article.issue), ("page-range", article.pages)):
        _put(meta, part, value)
    if article.url.startswith(("https://", "http://")):
        etree.SubElement(meta, "self-uri").set(_XLINK_HREF, article.url)
    abstract = etree.SubElement(meta, "abstract")
    for heading, text in article.abstract:
        section = etree.SubElement(abstract, "sec") if heading else abstract
        _put(section, "title", heading)
        _put(section, "p", text)
    return etree.tostring(root, encoding="utf-8", xml_declaration=True)


def _put(parent: etree._Element, name: str, text: str) -> None:
    """An element with a text, where there is one."""
    plain = "".join(letter for letter in text if letter.isprintable() or letter.isspace())
    if plain.strip():
        etree.SubElement(parent, name).text = plain
