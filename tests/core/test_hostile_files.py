"""Files that are broken, lie about themselves or attack their reader: one clear error each, or a whole text."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.errors import DamagedFile, EmptyFile, EncryptedFile, InputError, TooLarge, UnsupportedFile
from citewell.ingest.parse import parse
from citewell.types import Document, ParseLimits, Source

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
BODY = f'<w:document xmlns:w="{W}"><w:body><w:p><w:r><w:t>Words.</w:t></w:r></w:p></w:body></w:document>'


def read(data: bytes | str, name: str = "file", limits: ParseLimits | None = None) -> Document:
    data = data.encode() if isinstance(data, str) else data
    return parse(Source(data, name), parsers=all_parsers(), limits=limits or ParseLimits())


def word_file(entries: Mapping[str, str | bytes], *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as package:
        for name, content in entries.items():
            package.writestr(name, content)
    return stream.getvalue()


def refusal(data: bytes | str, name: str = "file", limits: ParseLimits | None = None) -> InputError:
    with pytest.raises(InputError) as refused:
        read(data, name, limits)
    return refused.value


# ----------------------------------------------------------------------------------------------------------- any file


@pytest.mark.parametrize("data", [b"", b"\n \t", b"\0" * 100, b"\xef\xbb\xbf", b"<html><!-- no --></html>"])
def test_a_file_without_text_is_empty(data: bytes) -> None:
    assert isinstance(refusal(data), EmptyFile)


@pytest.mark.parametrize(
    ("data", "name", "media_type"),
    [
        (b"<html><p>Words.</p></html>", "notes.txt", "text/html"),
        (
            word_file({"word/document.xml": BODY}),
            "scan.pdf",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        (b"Words.", "thesis.doc", "text/plain"),
        (b"<article><body><p>Words.</p></body></article>", "image.png", "application/jats+xml"),
    ],
)
def test_a_wrong_name_does_not_matter(data: bytes, name: str, media_type: str) -> None:
    document = read(data, name)
    assert (document.text, document.media_type) == ("Words.", media_type)
    told = "The file name says Word but the content is text, so it was read as text. Check that this is the right file."
    assert document.notes == ((told,) if name == "thesis.doc" else ())


@pytest.mark.parametrize("name", ["broken.pdf", "broken.DOCX"])
@pytest.mark.parametrize("data", [b"x", b"<html><body><p>Not found</p></body></html>"])
def test_what_is_named_as_a_pdf_or_word_file_and_is_none_is_refused(data: bytes, name: str) -> None:
    refused = refusal(data, name)
    assert isinstance(refused, DamagedFile)
    assert "so it was not added" in str(refused)


def test_a_pdf_named_docx_goes_to_the_pdf_parser() -> None:
    assert isinstance(refusal(b"%PDF-1.7\nnothing more", "letter.docx"), DamagedFile)


def test_one_line_of_ten_megabytes_is_a_text_like_any_other() -> None:
    line = "word " * 2_000_000
    assert read(line).text == line.strip()


def test_texts_over_the_limits_are_refused() -> None:
    assert isinstance(refusal("x" * 101, limits=ParseLimits(max_bytes=100)), TooLarge)
    assert isinstance(refusal("x" * 101, limits=ParseLimits(max_characters=100)), TooLarge)


@settings(max_examples=150, deadline=None)
@given(
    st.binary(min_size=1, max_size=300),
    st.sampled_from([b"", b"<html>", b"<?xml version='1.0'?><a>", b"# x\n", b"PK\x03\x04word/document", b"%PDF-"]),
)
def test_no_bytes_make_a_reader_crash(data: bytes, start: bytes) -> None:
    try:
        text = read(start + data).text
    except InputError as error:
        text = str(error)
    assert text.strip()


# --------------------------------------------------------------------------------------------------------------- XML

ARTICLE = "<article><front/><body><sec><title>T</title><p>Words.</p></sec></body></article>"


@pytest.mark.parametrize("length", range(9, len(ARTICLE) - 1, 7))
def test_a_truncated_article_is_damaged_never_half_read(length: int) -> None:
    assert isinstance(refusal("<?xml version='1.0'?>" + ARTICLE[:length]), DamagedFile)


def test_an_external_entity_is_not_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    for declaration in (f'<!ENTITY x SYSTEM "{secret.as_uri()}">', f'<!ENTITY x PUBLIC "p" "{secret.as_uri()}">'):
        error = refusal(f"<!DOCTYPE article [{declaration}]><article><body><p>A &x; b</p></body></article>")
        assert isinstance(error, DamagedFile)
        assert "entities" in str(error)
        assert "secret" not in str(error)


def test_an_external_dtd_or_parameter_entity_is_not_opened(tmp_path: Path) -> None:
    dtd = tmp_path / "evil.dtd"
    dtd.write_text('<!ENTITY x "from outside">')
    assert (
        read(f'<!DOCTYPE article SYSTEM "{dtd.as_uri()}"><article><body><p>Words.</p></body></article>').text
        == "Words."
    )
    error = refusal(
        f'<!DOCTYPE article [<!ENTITY % p SYSTEM "{dtd.as_uri()}"> %p;]><article><body><p>&x;</p></body></article>'
    )
    assert "outside" not in str(error).replace("external", "")


def test_an_internal_entity_is_resolved() -> None:
    text = '<!DOCTYPE article [<!ENTITY drug "am<i/>oxicillin">]><article><body><p>Give &drug;.</p></body></article>'
    assert read(text).text == "Give am oxicillin."


def laughs(levels: int) -> str:
    entities = "".join(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, levels))
    return f'<!DOCTYPE article [<!ENTITY l0 "lol">{entities}]><article><body><p>&l{levels - 1};</p></body></article>'


@pytest.mark.parametrize(
    "bomb",
    [
        laughs(12),
        laughs(12).replace("<p>", '<p id="&l11;">'),
        f'<!DOCTYPE article [<!ENTITY x "{"A" * 100_000}">]><article><body><p>{"&x;" * 20_000}</p></body></article>',
        '<!DOCTYPE article [<!ENTITY a "&b;"><!ENTITY b "&a;">]><article><body><p>&a;</p></body></article>',
    ],
    ids=["a billion laughs", "laughs in an attribute", "quadratic blowup", "a loop"],
)
def test_entities_that_grow_without_end_are_refused(bomb: str) -> None:
    error = refusal(bomb)
    assert isinstance(error, DamagedFile)
    assert "entities" in str(error)


@pytest.mark.parametrize("root", ["article", "ClinicalDocument", "anything"])
def test_xml_a_hundred_thousand_levels_deep_is_refused(root: str) -> None:
    deep = f"<?xml version='1.0'?><{root}><body>{'<sec>' * 100_000}x{'</sec>' * 100_000}</body></{root}>"
    assert "too deeply" in str(refusal(deep))


def test_xml_as_deep_as_any_real_document_is_read() -> None:
    deep = f"<article><body>{'<sec><p>w</p>' * 120}{'</sec>' * 120}</body></article>"
    assert read(deep).text == "\n\n".join(["w"] * 120)
    nested = f"<article><body>{'<p>w<fn>' * 120}{'</fn></p>' * 120}</body></article>"
    assert read(nested).text.count("w") == 120


def test_mis_encoded_xml_is_read_with_a_note_or_refused() -> None:
    document = read(
        "<?xml version='1.0' encoding='UTF-8'?><article><body><p>Größe</p></body></article>".encode("cp1252")
    )
    assert (document.text, len(document.notes)) == ("Größe", 1)
    assert (
        read("<?xml version='1.0' encoding='UTF-16'?><article><body><p>ö</p></body></article>".encode("utf-16")).text
        == "ö"
    )
    assert isinstance(refusal(b"<?xml version='1.0' encoding='klingon'?><a>x</a>"), DamagedFile)
    assert isinstance(refusal(b"<article><body><p>a\0b</p></body></article>"), UnsupportedFile)


def test_a_bare_ampersand_is_told_with_its_line() -> None:
    assert "malformed at line 2" in str(refusal("<article><body>\n<p>salt & water</p></body></article>"))


def test_a_prefix_that_is_not_declared_costs_nothing() -> None:
    body = '<p xml:id="1">See <ext-link xlink:href="x">there</ext-link>: <mml:math><mml:mi>x</mml:mi></mml:math></p>'
    assert read(f"<article><body>{body}</body></article>").text == "See there: x"
    assert isinstance(refusal(f"<article><body>{body}</article>"), DamagedFile)


def test_spans_in_a_table_cannot_make_a_small_file_huge() -> None:
    cells = '<td colspan="999999999" rowspan="999999999">x</td>'
    document = read(
        f"<article><body><table-wrap><table>{f'<tr>{cells * 20}</tr>' * 500}</table></table-wrap></body></article>"
    )
    assert len(document.text) < 1_000_000


# -------------------------------------------------------------------------------------------------------------- HTML


def test_html_a_hundred_thousand_levels_deep_is_refused_not_cut() -> None:
    assert "too deeply" in str(refusal("<html>" + "<div>" * 100_000 + "x" + "</div>" * 100_000 + "<p>end</p>"))


def test_html_a_thousand_levels_deep_is_read_whole() -> None:
    for tag in ("div", "ul><li", "table><tr><td", "dl><dd", "b", "sup"):
        document = read("<html>" + f"<{tag}>" * 600 + "x" + "<p>end</p>")
        assert document.text.endswith("end")


def test_broken_html_is_read_as_browsers_read_it() -> None:
    assert read("<html><p>a<b>b<p>c</i></table><td>d<li>e &bogus; < 5 &lt").text == "ab\n\nc\n\nd\n\n• e &bogus; < 5 <"


# -------------------------------------------------------------------------------------------------------------- DOCX


def test_a_word_file_of_plain_parts_is_read() -> None:
    assert read(word_file({"word/document.xml": BODY})).text == "Words."


def test_a_zip_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = word_file({"word/document.xml": BODY, "word/media/x.bin": bytes(60 * 1024 * 1024)})
    assert len(bomb) < 100_000
    assert isinstance(refusal(bomb), TooLarge)
    many = word_file({"word/document.xml": BODY, **{f"word/{number}.bin": bytes(1024 * 1024) for number in range(20)}})
    assert isinstance(refusal(many, limits=ParseLimits(max_unpacked_bytes=10 * 1024 * 1024)), TooLarge)


def test_a_zip_that_lies_about_its_sizes_is_refused() -> None:
    text = BODY.replace("Words.", "x" * 3_000_000).encode()
    honest = word_file({"word/document.xml": text})
    lying = honest.replace(struct.pack("<I", len(text)), struct.pack("<I", 100))
    assert lying != honest
    assert isinstance(refusal(lying), DamagedFile)
    assert isinstance(refusal(honest, limits=ParseLimits(max_unpacked_bytes=1_000_000)), TooLarge)


def test_a_directory_that_is_too_long_is_not_read() -> None:
    crowded = word_file({"word/document.xml": BODY, **{f"word/{number}": b"" for number in range(12_000)}})
    assert isinstance(refusal(crowded), DamagedFile)
    end = crowded.rfind(b"PK\x05\x06")
    modest = crowded[: end + 8] + struct.pack("<HHI", 1, 1, 0xFFFFFFFF) + crowded[end + 16 :]
    assert isinstance(refusal(modest), DamagedFile)


@pytest.mark.parametrize("name", ["/etc/passwd", "../../evil", "word/../../evil", "C:\\evil", "..\\evil"])
def test_parts_that_point_outside_are_refused(name: str) -> None:
    assert "may be unsafe" in str(refusal(word_file({"word/document.xml": BODY, name: b"x"})))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_part_that_is_there_twice_is_refused() -> None:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as package:
        package.writestr("word/document.xml", BODY)
        package.writestr("word/document.xml", BODY.replace("Words", "Others"))
    assert "may be unsafe" in str(refusal(stream.getvalue()))


def test_a_relation_that_points_outside_finds_nothing(tmp_path: Path) -> None:
    outside = tmp_path / "outside.xml"
    outside.write_text(BODY)
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" '
        f'Type="http://x/officeDocument" Target="../../..{outside}"/></Relationships>'
    )
    assert isinstance(refusal(word_file({"_rels/.rels": relations, "word/document.xml": BODY})), DamagedFile)


def test_a_truncated_or_torn_word_file_is_damaged() -> None:
    whole = word_file({"word/document.xml": BODY.replace("Words.", "Words. " * 2_000)})
    assert isinstance(refusal(whole[: len(whole) // 2]), DamagedFile)
    torn = bytearray(whole)
    torn[60:70] = b"\xff" * 10
    assert isinstance(refusal(bytes(torn)), DamagedFile)
    assert isinstance(refusal(word_file({"word/document.xml": BODY[:-30]})), DamagedFile)
    assert isinstance(refusal(word_file({"word/documents.txt": b"x"})), DamagedFile)


def test_an_encrypted_zip_needs_its_password() -> None:
    data = bytearray(word_file({"word/document.xml": BODY}, compression=zipfile.ZIP_STORED))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.find(signature) + offset] |= 1
    assert isinstance(refusal(bytes(data)), EncryptedFile)


def test_an_entity_bomb_inside_a_word_file_is_refused() -> None:
    bomb = laughs(12).replace("article", "w:document").replace("<w:document>", f'<w:document xmlns:w="{W}">')
    assert isinstance(refusal(word_file({"word/document.xml": bomb})), DamagedFile)


def test_a_style_or_a_note_that_refers_to_itself_ends() -> None:
    styles = f'<w:styles xmlns:w="{W}"><w:style w:styleId="A"><w:basedOn w:val="A"/></w:style></w:styles>'
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" '
        'Type="http://x/styles" Target="styles.xml"/></Relationships>'
    )
    body = BODY.replace("<w:p>", '<w:p><w:pPr><w:pStyle w:val="A"/></w:pPr>')
    entries = {"word/document.xml": body, "word/_rels/document.xml.rels": relations, "word/styles.xml": styles}
    assert read(word_file(entries)).text == "Words."


# ------------------------------------------------------------------------------------------------- nothing is lost


def trees(names: list[str]) -> st.SearchStrategy[str]:
    """Elements nested anyhow, with a word wherever text can stand."""
    return st.recursive(
        st.just("@"),
        lambda inner: st.tuples(st.sampled_from(names), st.lists(inner, min_size=1, max_size=4)).map(
            lambda part: f"@<{part[0]}>@{'@'.join(part[1])}@</{part[0]}>@"
        ),
        max_leaves=12,
    )


def numbered_words(markup: str) -> tuple[str, list[str]]:
    pieces = markup.split("@")
    words = [f" q{number}q " for number in range(len(pieces) - 1)]
    text = "".join(piece + word for piece, word in zip(pieces, [*words, ""], strict=True))
    return text, [word.strip() for word in words]


JATS_NAMES = """p sec title list list-item table-wrap table thead tbody tr td th fig caption label fn boxed-text
italic sup sub xref disp-quote def-list def-item term def ref-list ref mixed-citation element-citation name app ack code
disp-formula table-wrap-foot supplementary-material named-content unknown-thing""".split()
HTML_NAMES = """p div h1 h2 h5 ul ol li table thead tbody tr td th caption dl dt dd blockquote pre aside figure
figcaption section b i sup sub span a details summary center unknown-thing""".split()


@settings(max_examples=100, deadline=None)
@given(trees(JATS_NAMES))
def test_no_word_is_lost_however_an_article_is_nested(markup: str) -> None:
    text, words = numbered_words(markup)
    found = read(f"<article><body><p>start</p>{text}</body></article>").text
    assert [word for word in words if word not in found] == []


@settings(max_examples=100, deadline=None)
@given(trees(HTML_NAMES))
def test_no_word_is_lost_however_a_page_is_nested(markup: str) -> None:
    text, words = numbered_words(markup)
    found = read(f"<html><body><p>start</p>{text}<p>end</p></body></html>").text
    assert [word for word in words if word not in found] == []


def test_a_line_of_dots_costs_no_more_than_its_length() -> None:
    from citewell.sentences import sentences

    assert len(sentences("Name: " + "." * 300_000 + "x")) == 1
    assert sentences("\n " * 200_000) == []


def test_unclosed_comments_cost_no_more_than_their_length() -> None:
    from citewell.adapters.parsers.markdown import _without_comments

    assert _without_comments("<div>" + "<!--" * 300_000) == "<div>"


def test_a_wide_row_over_many_narrow_ones_does_not_fill_the_memory() -> None:
    from citewell.adapters.parsers.table_rows import Cell, table_lines

    rows = [[Cell("a")] * 3_000, *([Cell("b")] for _ in range(20_000))]
    assert len(table_lines(rows, header_rows=0)) == 20_001
