"""What a file is, is found in its content; what comes out of a parser is checked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.errors import DamagedFile, EmptyFile, EncryptedFile, TooLarge, UnsupportedFile
from citewell.ingest.decode import MIXED_NOTE, WINDOWS_NOTE, clean, decode
from citewell.ingest.parse import parse, safe_name, sniff
from citewell.types import Block, Document, ParseLimits, Source

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512)
NAMESPACED = b'<article xmlns="https://jats.nlm.nih.gov/ns/archiving/1.3/"><front><article-meta/></front></article>'


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (b"%PDF-1.7\n...", "report.docx", "application/pdf"),
        (b"junk before\n%PDF-1.4\n1 0 obj endobj", "report.txt", "application/pdf"),
        (b"The header of a PDF is %PDF-1.4, as everybody knows.", "about.txt", "text/plain"),
        (b"PK\x03\x04....word/document.xml....", "report.pdf", DOCX),
        (
            b'<!DOCTYPE article PUBLIC "-//NLM//DTD" "a.dtd"><article><front/></article>',
            "a.txt",
            "application/jats+xml",
        ),
        (b"<!-- a <note> --><?pi x?>\n<article><body><p>x</p></body></article>", "a.html", "application/jats+xml"),
        (NAMESPACED, "a", "application/jats+xml"),
        (b"<book-part-wrapper><book-part><body/></book-part></book-part-wrapper>", "a", "application/jats+xml"),
        (b"<!DOCTYPE book [<!ENTITY a '>'>]><book><book-meta/></book>", "a", "application/jats+xml"),
        (b"<article class='post'><h1>News</h1></article>", "a.xml", "text/html"),
        (b'<?xml version="1.0"?><ClinicalDocument xmlns="urn:hl7-org:v3"/>', "a.html", "application/cda+xml"),
        (b"<html><p>x", "a.xml", "text/html"),
        (b"<!DOCTYPE NETSCAPE-Bookmark-file-1><META><DL><DT>x", "a", "text/html"),
        (b"<!doctype HTML>\n<title>x</title>", "a.txt", "text/html"),
        (b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>', "a", "text/html"),
        (b"<div>Take with food.</div>", "a.txt", "text/html"),
        (b'<?xml version="1.0"?><drugs><drug/></drugs>', "a.txt", "application/xml"),
        (b"<drugs><drug>x</drug></drugs>\n", "a", "application/xml"),
        (b"<5 mg is a low dose.", "a.txt", "text/plain"),
        (b"# Asthma\n\n- mild\n- severe\n", "a.txt", "text/markdown"),
        (b"See [the leaflet](leaflet.html) and **rest**.", "a.txt", "text/markdown"),
        (b"Just words.", "a.md", "text/markdown"),
        (b"<div align=center>Logo</div>\n\nwords", "README.md", "text/markdown"),
        (b"Plain words.\n- a list\n- of two", "a.txt", "text/plain"),
        (b"MZ is the start of a word, too.", "a.txt", "text/plain"),
        ("Größe 5 µg".encode("utf-16"), "a.txt", "text/plain"),
        ("<html><p>Größe".encode("utf-16"), "a.txt", "text/html"),
    ],
)
def test_the_type_is_found_in_the_content(data: bytes, name: str, expected: str) -> None:
    assert sniff(Source(data, name)) == expected


@pytest.mark.parametrize(
    ("data", "looks_like"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a JPEG image"),
        (b"RIFF\x24\0\0\0WAVEfmt ", "a sound recording"),
        (b"MZ\x90\0\x03\0\0\0", "a Windows program"),
        (b"\x7fELF\x02\x01\x01\0", "a program"),
        (b"\x1f\x8b\x08\0\0\0\0\0", "a gzip archive"),
        (b"{\\rtf1\\ansi Hello}", "a rich text (.rtf) file"),
        (b"PK\x03\x04....xl/workbook.xml", "an Excel workbook"),
        (b"PK\x03\x04....readme.txt", "a zip archive"),
        (OLE + "WordDocument".encode("utf-16-le"), "an old Word (.doc) file"),
        (OLE + "Workbook".encode("utf-16-le"), "an old Excel (.xls) file"),
        (OLE, "an old Office file"),
    ],
)
def test_a_file_that_no_parser_reads_is_named_with_advice(data: bytes, looks_like: str) -> None:
    with pytest.raises(UnsupportedFile) as refused:
        sniff(Source(data, "notes.txt"))
    assert str(refused.value).startswith(f"The file looks like {looks_like}, which cannot be read. ")
    assert len(str(refused.value).split(". ")) > 1


def test_a_password_protected_office_file_is_told_apart() -> None:
    with pytest.raises(EncryptedFile, match="password-protected"):
        sniff(Source(OLE + "EncryptedPackage".encode("utf-16-le"), "letter.docx"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_unicode_texts_are_decoded_without_a_note(encoding: str) -> None:
    assert decode("≥ 5 µg of naïve text".encode(encoding)) == ("≥ 5 µg of naïve text", None)


def test_other_texts_are_read_as_windows_1252_with_a_note() -> None:
    assert decode("5 µg – “naïve”".encode("cp1252")) == ("5 µg – “naïve”", WINDOWS_NOTE)


def test_a_stray_byte_does_not_spoil_a_utf_8_text() -> None:
    assert decode("café, naïve, µg".encode() + b" \x93x\x94") == ("café, naïve, µg “x”", MIXED_NOTE)


@pytest.mark.parametrize("data", [b"text with a\0NUL", b"\x01\x02\x03\x04 binary \x05\x06\x07", b"\0\0\0\0a\0"])
def test_binary_data_is_not_taken_for_text(data: bytes) -> None:
    with pytest.raises(UnsupportedFile):
        decode(data)


def test_a_text_that_is_not_what_its_mark_says_is_damaged() -> None:
    with pytest.raises(DamagedFile, match="UTF-16"):
        decode("words".encode("utf-16")[:-1])


def test_clean_text_has_no_controls_surrogates_or_invisible_marks() -> None:
    assert clean("a\0b\x07c\ud800d\u200be\u00adf\ufeff\u202eg e\u0301\tz\n") == "abcdefg é\tz\n"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("../../etc/passwd", "passwd"),
        ("/absolute/plan.pdf", "plan.pdf"),
        ("C:\\folder\\plan.pdf", "plan.pdf"),
        ("plan.pdf/", "plan.pdf"),
        ("\u202efdp.exe\r\n\0", "fdp.exe"),
        ("  a   b.txt ", "a b.txt"),
        ("..", "document"),
        ("", "document"),
        ("x" * 300 + ".pdf", "x" * 115 + "….pdf"),
    ],
)
def test_names_are_made_safe_to_show(name: str, expected: str) -> None:
    assert safe_name(name) == expected


class Fixed:
    """A parser that gives back one document, or fails in one way."""

    def __init__(self, outcome: Document | Exception) -> None:
        self.outcome = outcome

    def parse(self, source: Source, *, media_type: str, limits: ParseLimits) -> Document:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


GOOD = Document("Title", "text/plain", "Some words.", (Block("paragraph", 0, 11),))


def parse_with(outcome: Document | Exception, *, data: bytes = b"words", limits: ParseLimits | None = None) -> Document:
    return parse(Source(data, "dir/notes.txt"), parsers={"text/plain": Fixed(outcome)}, limits=limits or ParseLimits())


def test_a_good_document_passes_unchanged() -> None:
    assert parse_with(GOOD) == GOOD


def test_a_title_is_cleaned_cut_and_never_missing() -> None:
    assert parse_with(replace(GOOD, title=" a\n\0b ")).title == "a b"
    assert len(parse_with(replace(GOOD, title="long " * 200)).title) <= 300
    assert parse_with(replace(GOOD, title="")).title == "notes"


@pytest.mark.parametrize("data", [b"", b"  \n\t", b"\0\0\0"])
def test_an_empty_file_is_refused(data: bytes) -> None:
    with pytest.raises(EmptyFile):
        parse_with(GOOD, data=data)


def test_sizes_over_the_limits_are_refused() -> None:
    with pytest.raises(TooLarge, match="CITEWELL_MAX_FILE_MB"):
        parse_with(GOOD, data=b"x" * 11, limits=ParseLimits(max_bytes=10))
    with pytest.raises(TooLarge, match="CITEWELL_MAX_CHARACTERS"):
        parse_with(GOOD, limits=ParseLimits(max_characters=10))


def test_a_document_without_text_is_refused() -> None:
    with pytest.raises(EmptyFile):
        parse_with(replace(GOOD, text=" ", blocks=()))


@pytest.mark.parametrize(
    "broken",
    [
        replace(GOOD, blocks=(Block("paragraph", 0, 12),)),
        replace(GOOD, blocks=(Block("paragraph", 5, 11), Block("paragraph", 0, 4))),
        replace(GOOD, blocks=(Block("paragraph", 0, 6), Block("paragraph", 5, 11))),
        replace(GOOD, text="Some\0words."),
        replace(GOOD, text="Some\ud800words."),
    ],
)
def test_a_document_that_does_not_hold_together_is_refused(broken: Document) -> None:
    with pytest.raises(DamagedFile):
        parse_with(broken)


def test_a_failing_parser_becomes_a_damaged_file_that_keeps_its_cause() -> None:
    cause = KeyError("secret words of the document")
    with pytest.raises(DamagedFile) as failed:
        parse_with(cause)
    assert failed.value.__cause__ is cause
    assert "secret" not in str(failed.value)


def test_running_out_of_memory_or_stack_is_told_as_such() -> None:
    with pytest.raises(TooLarge):
        parse_with(MemoryError())
    with pytest.raises(DamagedFile):
        parse_with(RecursionError())


def test_an_error_of_the_tree_passes_through() -> None:
    with pytest.raises(EncryptedFile, match="as it was"):
        parse_with(EncryptedFile("as it was"))


def test_a_type_without_a_parser_is_refused() -> None:
    with pytest.raises(UnsupportedFile, match="text/plain"):
        parse(Source(b"words", "a.txt"), parsers={}, limits=ParseLimits())


def test_there_is_a_parser_for_every_type_that_is_recognised() -> None:
    assert set(all_parsers()) == {
        "application/pdf",
        DOCX,
        "application/jats+xml",
        "application/cda+xml",
        "application/fhir+json",
        "application/xml",
        "text/html",
        "text/markdown",
        "text/plain",
    }
