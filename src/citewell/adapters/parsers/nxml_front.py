"""The front matter of JATS and BITS: titles, people, and what the document says about itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from lxml import etree

from citewell.adapters.parsers.markup_flow import child_named, children_named, descendants_named, local_name
from citewell.adapters.parsers.nxml_lines import line
from citewell.types import Metadata
from citewell.vocabulary.months import month_number

METAS = frozenset("article-meta book-meta book-part-meta collection-meta front-stub".split())
ROOTS_WITH_META = frozenset("article book book-part sub-article response collection book-app".split())
DATE_PREFERENCE = ("epub", "electronic", "pub", "ppub", "print", "collection", "")
_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_MAX_LICENCE_CHARACTERS = 300


def meta_of(element: etree._Element) -> etree._Element | None:
    """The element that describes an article, a book or a part of one."""
    front = child_named(element, "front")
    return child_named(front if front is not None else element, *METAS)


def title_of(element: etree._Element, *, labelled: bool = True) -> str:
    """The title of an article, a book or a part of one, with its label and subtitle."""
    meta = meta_of(element)
    if meta is None:
        return ""
    group = child_named(meta, "title-group", "book-title-group")
    parent = group if group is not None else meta
    label = line(child_named(parent, "label")) if labelled else ""
    title = line(child_named(parent, "article-title", "book-title", "title"))
    subtitle = line(child_named(parent, "subtitle"))
    return ": ".join(part for part in (f"{label} {title}".strip(), subtitle) if part)


def front_lines(meta: etree._Element) -> Iterator[tuple[str, str]]:
    """What is printed above an abstract: (kind, text) for people, other titles, keywords and notes."""
    group = child_named(meta, "title-group", "book-title-group")
    for title in (
        children_named(group, "trans-title-group", "trans-title", "trans-subtitle") if group is not None else ()
    ):
        yield "paragraph", line(title)
    yield from (("paragraph", text) for text in _people(meta))
    yield "paragraph", _issue(meta)
    for keywords in descendants_named(meta, "kwd-group"):
        words = [text for word in keywords if local_name(word) != "title" and (text := line(word))]
        yield "paragraph", f"{line(child_named(keywords, 'title')) or 'Keywords'}: {'; '.join(words)}" if words else ""
    for statement in descendants_named(meta, "funding-statement"):
        yield "paragraph", line(statement)
    for affiliation in descendants_named(meta, "aff"):
        yield "footnote", line(affiliation)
    for notes in children_named(meta, "author-notes"):
        for note in notes:
            yield "footnote", line(note)


def metadata_of(root: etree._Element) -> Metadata:
    """What the document says about itself."""
    metas = list(descendants_named(root, *METAS))
    meta = metas[0] if metas else root
    identifiers = tuple(_identifiers(metas))
    doi = next((value for kind, value in identifiers if kind == "doi"), "")
    address = next((uri.get(_XLINK_HREF) or "" for uri in children_named(meta, "self-uri")), "")
    return Metadata(
        language=root.get(_LANGUAGE),
        publisher=next((line(name) for name in descendants_named(root, "publisher-name")), None) or None,
        published=_published(meta),
        licence=_licence(meta),
        source_url=f"https://doi.org/{doi}" if doi else address if address.startswith("http") else None,
        identifiers=identifiers,
    )


def _people(meta: etree._Element) -> Iterator[str]:
    """One line per kind of contributor."""
    groups: dict[str, list[str]] = {}
    for person in descendants_named(meta, "contrib"):
        kind = person.get("contrib-type") or "author"
        name = child_named(person, "name", "string-name", "collab", "anonymous", "name-alternatives")
        if name is not None:
            groups.setdefault(kind, []).append(_name(name))
    for kind, names in groups.items():
        people = ", ".join(name for name in names if name)
        yield people if kind == "author" else f"{kind.replace('-', ' ').capitalize()}: {people}"


def _name(element: etree._Element) -> str:
    if local_name(element) == "name-alternatives" and len(element):
        element = element[0]
    parts = [line(child_named(element, part)) for part in ("prefix", "given-names", "surname", "suffix")]
    return " ".join(part for part in parts if part) if any(parts) else line(element)


def _issue(meta: etree._Element) -> str:
    """Where and when it appeared."""
    front = meta.getparent()
    journal = child_named(front, "journal-meta") if front is not None else None
    titles = [] if journal is None else [line(title) for title in descendants_named(journal, "journal-title")]
    volume, issue = line(child_named(meta, "volume")), line(child_named(meta, "issue"))
    published = _published(meta)
    parts = [
        *titles[:1],
        f"volume {volume}" if volume else "",
        f"issue {issue}" if issue else "",
        published.isoformat() if published else "",
    ]
    return ", ".join(part for part in parts if part) if titles or volume else ""


def _identifiers(metas: list[etree._Element]) -> Iterator[tuple[str, str]]:
    for meta in metas[:2]:
        for element in children_named(meta, "article-id", "book-id", "book-part-id", "isbn"):
            kind = next((value for name, value in element.attrib.items() if str(name).endswith("id-type")), None)
            value = line(element)
            if value:
                yield str(kind or local_name(element)), value


def _published(meta: etree._Element) -> date | None:
    dates = {
        element.get("pub-type") or element.get("date-type") or element.get("publication-format") or "": day
        for element in children_named(meta, "pub-date")
        if (day := _date(element))
    }
    return next((dates[kind] for kind in DATE_PREFERENCE if kind in dates), next(iter(dates.values()), None))


def _date(element: etree._Element) -> date | None:
    year, month, day = (line(child_named(element, part)) for part in ("year", "month", "day"))
    try:
        return date(int(year), month_number(month) or int(month or 1), int(day or 1))
    except ValueError:
        match = re.match(r"\d{4}", year)
        return date(int(match.group()), 1, 1) if match and int(match.group()) else None


def _licence(meta: etree._Element) -> str | None:
    for licence in descendants_named(meta, "license"):
        address = licence.get(_XLINK_HREF)
        if address:
            return address
        if text := line(licence):
            return text[:_MAX_LICENCE_CHARACTERS]
    return next((line(statement) for statement in descendants_named(meta, "copyright-statement")), None)
