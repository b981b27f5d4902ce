"""HTML pages as a reader would see them."""

from __future__ import annotations

from datetime import date

from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.adapters.parsers.table_rows import Cell, table_lines
from citewell.ingest.parse import parse
from citewell.types import Document, Metadata, ParseLimits, Source


def read(page: str | bytes) -> Document:
    data = page.encode() if isinstance(page, str) else page
    return parse(Source(data, "page.html"), parsers=all_parsers(), limits=ParseLimits())


def blocks(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


def test_blocks_and_sections_follow_the_page() -> None:
    document = read(
        """<html lang="en-GB"><head><title>Leaflet | Clinic</title></head><body>
        <nav>Menu</nav><h1>Warfarin</h1><p>Take at <b>6</b> pm.<p>Never
          double a dose.<h2>Food<br>and drink</h2><div>Loose words <span>here</span>
        <blockquote><p>Quoted.</p></blockquote>and after</div><h3>Alcohol</h3>Little.<h2>Help</h2>
        <details><summary>Who?</summary>The clinic.</details><pre>a
  b</pre><aside>Remember.</aside></body></html>"""
    )
    assert (document.title, document.metadata.language) == ("Warfarin", "en-GB")
    assert [
        (block.section, kind, text) for block, (kind, text) in zip(document.blocks, blocks(document), strict=True)
    ] == [
        (("Warfarin",), "heading", "Warfarin"),
        (("Warfarin",), "paragraph", "Take at 6 pm."),
        (("Warfarin",), "paragraph", "Never double a dose."),
        (("Warfarin", "Food and drink"), "heading", "Food and drink"),
        (("Warfarin", "Food and drink"), "paragraph", "Loose words here"),
        (("Warfarin", "Food and drink"), "paragraph", "Quoted."),
        (("Warfarin", "Food and drink"), "paragraph", "and after"),
        (("Warfarin", "Food and drink", "Alcohol"), "heading", "Alcohol"),
        (("Warfarin", "Food and drink", "Alcohol"), "paragraph", "Little."),
        (("Warfarin", "Help"), "heading", "Help"),
        (("Warfarin", "Help"), "paragraph", "Who?"),
        (("Warfarin", "Help"), "paragraph", "The clinic."),
        (("Warfarin", "Help"), "code", "a\n  b"),
        (("Warfarin", "Help"), "box", "Remember."),
    ]


def test_what_a_reader_cannot_see_is_left_out() -> None:
    document = read(
        """<p>Seen<script>x()</script><style>p{}</style></p><noscript>n</noscript><template>t</template>
        <p hidden>h</p><div style="color:red; display : none">d</div><p style="visibility:hidden">v</p><!-- c -->
        <button>b</button><svg><text>s</text></svg><p>Also</p>"""
    )
    assert blocks(document) == [("paragraph", "Seen"), ("paragraph", "Also")]


def test_lists_nest_and_count() -> None:
    document = read("<ol start=3><li>c<ul><li>inner<li>more</ul>tail<li><p>d</p><p>second</p></ol><p>end")
    assert blocks(document) == [
        ("list_item", "3. c"),
        ("list_item", "◦ inner"),
        ("list_item", "◦ more"),
        ("list_item", "tail"),
        ("list_item", "4. d"),
        ("list_item", "second"),
        ("paragraph", "end"),
    ]


def test_table_rows_carry_their_headers_through_spans() -> None:
    document = read(
        """<table><caption>Doses</caption><thead><tr><th rowspan=2>Drug</th><th colspan=2>Dose</th></tr>
        <tr><th>adult</th><th>child</th></tr></thead><tbody><tr><td rowspan=2>A</td><td>5 mg</td><td>1 mg</td></tr>
        <tr><td colspan=2>none</td></tr><tr><th colspan=3>Group two</th></tr><tr><td>B</td><td></td><td>2 mg</td></tr>
        </tbody></table>"""
    )
    assert blocks(document) == [
        ("caption", "Doses"),
        ("table_row", "Drug: A; Dose / adult: 5 mg; Dose / child: 1 mg"),
        ("table_row", "Drug: A; Dose / adult, Dose / child: none"),
        ("table_row", "Group two"),
        ("table_row", "Drug: B; Dose / child: 2 mg"),
    ]


def test_unmarked_headers_are_found_and_pairs_stay_pairs() -> None:
    assert blocks(
        read(
            """<table><tr><td>Drug<td>Dose<td>Route<tr><td>A<td>5 mg<td>oral<tr><td>B<td>1 mg<td>im</table>
            <table><tr><td>Name:<td>A. Patient<tr><td>Born<td>1950</table>"""
        )
    ) == [
        ("table_row", "Drug: A; Dose: 5 mg; Route: oral"),
        ("table_row", "Drug: B; Dose: 1 mg; Route: im"),
        ("table_row", "Name: A. Patient"),
        ("table_row", "Born: 1950"),
    ]


def test_a_table_that_arranges_the_page_is_read_as_text() -> None:
    document = read(
        "<table><tr><td><h1>Left</h1><p>a</p></td><td><table><tr><th>X<th>Y<tr><td>1<td>2</table></td></tr></table>"
    )
    assert blocks(document) == [("heading", "Left"), ("paragraph", "a"), ("table_row", "X: 1; Y: 2")]


def test_a_header_word_that_no_row_shows_is_not_lost() -> None:
    rows = [[Cell("Drug"), Cell("Dose"), Cell("Comment")], [Cell("A"), Cell("5 mg"), Cell("")]]
    assert table_lines(rows, header_rows=1) == ["Drug; Dose; Comment", "Drug: A; Dose: 5 mg"]


def test_repeated_headers_cannot_make_a_small_table_huge() -> None:
    rows = [[Cell("h" * 10_000), Cell("Dose")]] + [[Cell("A"), Cell("5")] for _ in range(2_000)]
    lines = table_lines(rows, header_rows=1)
    assert (len(lines), lines[1]) == (2_001, "A; 5")
    rows = [[Cell("x", columns=200, rows=100_000) for _ in range(100)] for _ in range(1_000)]
    assert sum(map(len, table_lines(rows, header_rows=0))) < 1_000_000


def test_terms_stand_with_their_meaning() -> None:
    assert blocks(read("<dl><dt>INR</dt><dd>A clotting test.</dd><dt>PE</dt><dt>DVT</dt><dd>Clots.</dd></dl>")) == [
        ("list_item", "INR: A clotting test."),
        ("list_item", "PE"),
        ("list_item", "DVT: Clots."),
    ]


def test_raised_and_lowered_text_is_spelled_out() -> None:
    document = read(
        """<p>10<sup>9</sup>/l, H<sub>2</sub>O, 4<sup>th</sup> day, Brand<sup>®</sup>,
        e<sup>x + 1</sup>, <sup>99m</sup>Tc</p>
        <p><sup>a</sup>Note. <sup>b</sup>Other.</p>
        <p><math><mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mn>1</mn></mrow></mfrac>
        <msup><mi>x</mi><mn>2</mn></msup></math></p>"""
    )
    assert blocks(document) == [
        ("paragraph", "10^9/l, H_2O, 4th day, Brand®, e^(x + 1), 99mTc"),
        ("paragraph", "a Note. ^b Other."),
        ("paragraph", "a/(b+1) x^2"),
    ]


def test_the_main_part_is_preferred_and_that_is_told() -> None:
    document = read(f"<header>Site</header><main><h1>Guide</h1><p>{'Words. ' * 50}</p></main><footer>Imprint</footer>")
    assert document.text.startswith("Guide\n\nWords.")
    assert "Imprint" not in document.text
    assert document.notes == (
        "Only the main part of the page was read. Menus and other surrounding text were left out.",
    )


def test_a_main_part_that_holds_next_to_nothing_is_not_preferred() -> None:
    assert "Elsewhere" in read(f"<main>Short</main><div>{'Elsewhere. ' * 100}</div>").text


def test_facts_are_read_from_the_head() -> None:
    document = read(
        """<html xml:lang="de"><head><title> A  title </title><link rel="canonical" href="https://example.org/a">
        <link rel="license" href="https://example.org/by"><meta name="citation_doi" content="10.1000/x">
        <meta property="article:published_time" content="2024-05-17T10:00:00Z">
        <meta name="DC.publisher" content="Press">
        </head><body><p>x</p></body></html>"""
    )
    assert document.title == "A title"
    assert document.metadata == Metadata(
        language="de",
        publisher="Press",
        published=date(2024, 5, 17),
        licence="https://example.org/by",
        source_url="https://example.org/a",
        identifiers=(("doi", "10.1000/x"),),
    )


def test_the_encoding_that_a_page_declares_is_believed_when_it_is_not_utf_8() -> None:
    page = '<html><head><meta charset="iso-8859-2"></head><body><p>Łódź</p></body></html>'
    assert read(page.encode("iso-8859-2")).text == "Łódź"
    assert read(page.encode()).text == "Łódź"


def test_entities_are_resolved() -> None:
    assert read("<p>5&nbsp;&micro;g &lt; &#x2265;&nbsp;6</p>").text == "5 µg < ≥ 6"
