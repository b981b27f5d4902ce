"""Reads XML without trusting it: nothing outside the file is opened, and no entity grows without end."""

from __future__ import annotations

import re
from html.entities import html5

from lxml import etree

from citewell.errors import DamagedFile, InputError, TooLarge
from citewell.ingest.decode import decode

ENCODING_ERRORS = (etree.ErrorTypes.ERR_INVALID_ENCODING, etree.ErrorTypes.ERR_INVALID_CHAR)
HARMLESS_ERRORS = frozenset({"NS_ERR_UNDEFINED_NAMESPACE", "DTD_XMLID_VALUE"})
_PREDEFINED = frozenset({"lt", "gt", "amp", "quot", "apos"})
_REFERENCE = re.compile(rb"&([A-Za-z][A-Za-z0-9]{1,31});")
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")


DECLARES = (
    "The file declares a document type or entities of its own, which no word processor writes. It may be malicious: "
    "open it, save it again, and add that copy."
)


def read_plain_tree(data: bytes) -> etree._Element:
    """The root of XML that may declare nothing: no document type, and so no entity, is read at all."""
    try:
        root = etree.fromstring(data, _parser(entities=False))
    except etree.XMLSyntaxError:
        return read_tree(data, declares=False)[0]
    if root.getroottree().docinfo.internalDTD is not None:
        raise DamagedFile(DECLARES)
    return root


def read_tree(data: bytes, *, declares: bool = True) -> tuple[etree._Element, str | None]:
    """The root of an XML file, and a note when its encoding had to be guessed."""
    if not declares and b"<!DOCTYPE" in data.replace(b"\0", b""):
        raise DamagedFile(DECLARES)
    data = _spell_out_entities(data)
    try:
        return _tree(data), None
    except etree.XMLSyntaxError as error:
        if getattr(error, "code", None) not in ENCODING_ERRORS:
            raise _damaged(error) from error
    text, note = decode(data)
    try:
        return _tree(_DECLARATION.sub("", text).encode()), note
    except etree.XMLSyntaxError as error:
        raise _damaged(error) from error


def _tree(data: bytes) -> etree._Element:
    parser = _parser()
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        # A prefix that is not declared or an odd identifier costs no text; anything else might.
        if any(entry.type_name not in HARMLESS_ERRORS for entry in parser.error_log):
            raise
        return etree.fromstring(data, _parser(recover=True))


def _parser(*, recover: bool = False, entities: bool = True) -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities="internal" if entities else False,  # type: ignore[arg-type]
        load_dtd=False,
        dtd_validation=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        recover=recover,
    )


def _spell_out_entities(data: bytes) -> bytes:
    """Names such as &alpha; are declared in a DTD that is not read; their characters are well known."""
    declared = set(re.findall(rb"<!ENTITY\s+([\w.-]+)", data[: 1024 * 1024]))

    def character(match: re.Match[bytes]) -> bytes:
        name = match.group(1)
        known = html5.get(name.decode() + ";")
        if known is None or name in declared or name.decode() in _PREDEFINED:
            return match.group()
        return "".join(f"&#{ord(letter)};" for letter in known).encode()

    return _REFERENCE.sub(character, data)


def _damaged(error: etree.XMLSyntaxError) -> InputError:
    message = str(error)
    if "entity" in message.lower() and "no name" not in message:
        return DamagedFile(
            "The XML uses entities that are undefined, external or expand without limit. Save it with its entities "
            "resolved and add that."
        )
    if "depth" in message:
        return DamagedFile("The XML is nested too deeply to be read. Check how it was made.")
    if "huge" in message.lower() or "too long" in message.lower():
        return TooLarge("The XML contains a single piece of text that is too long to read. Split it and add the parts.")
    return DamagedFile(f"The XML is incomplete or malformed at line {error.lineno}. Download or export it again.")
