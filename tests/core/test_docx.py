"""Word documents, written by python-docx or by hand, read as a person with all changes accepted would."""

from __future__ import annotations

import zipfile
from datetime import UTC, date, datetime
from io import BytesIO

import docx
from docx.enum.style import WD_STYLE_TYPE

from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.ingest.parse import parse
from citewell.types import Document, Metadata, ParseLimits, Source

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def read(data: bytes) -> Document:
    return parse(Source(data, "policy.docx"), parsers=all_parsers(), limits=ParseLimits())


def saved(document: docx.document.Document) -> bytes:
    stream = BytesIO()
    document.save(stream)
    return stream.getvalue()


def by_hand(body: str, **parts: str) -> bytes:
    """A Word file with this body, and other parts such as styles, numbering or footnotes."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{PACKAGE}"><Relationship Id="r1" Type="{RELATIONS}/officeDocument" '
            'Target="/word/document.xml"/></Relationships>',
        )
        relations = "".join(
            f'<Relationship Id="{name}" Type="{RELATIONS}/{name}" Target="{name}.xml"/>' for name in parts
        )
        package.writestr(
            "word/_rels/document.xml.rels", f'<Relationships xmlns="{PACKAGE}">{relations}</Relationships>'
        )
        package.writestr("word/document.xml", f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>')
        for name, content in parts.items():
            package.writestr(f"word/{name}.xml", f'<w:{name} xmlns:w="{W}">{content}</w:{name}>')
    return stream.getvalue()


def p(*runs: str, properties: str = "") -> str:
    inner = "".join(run if run.startswith("<") else f'<w:r><w:t xml:space="preserve">{run}</w:t></w:r>' for run in runs)
    return f"<w:p><w:pPr>{properties}</w:pPr>{inner}</w:p>"


def run(text: str, properties: str) -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def blocks(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


def test_a_document_of_word_becomes_sections() -> None:
    document = docx.Document()
    document.core_properties.title = "Template title"
    document.core_properties.modified = datetime(2025, 11, 18, tzinfo=UTC)
    document.core_properties.language = "en-GB"
    document.add_heading("Policy on rest", level=0)
    document.add_paragraph("For all staff.")
    document.add_heading("Scope", level=1)
    document.add_paragraph("Adults", style="List Bullet")
    document.add_heading("Dose", level=2)
    document.add_paragraph("One hour.")
    document.add_heading("Audit", level=1)
    document.add_paragraph("Each year.")
    document.sections[0].header.paragraphs[0].text = "HEADER"
    document.sections[0].footer.paragraphs[0].text = "FOOTER"
    found = read(saved(document))
    assert (found.title, found.metadata) == ("Policy on rest", Metadata(language="en-GB", published=date(2025, 11, 18)))
    assert [(block.section[1:], *pair) for block, pair in zip(found.blocks, blocks(found), strict=True)] == [
        ((), "heading", "Policy on rest"),
        ((), "paragraph", "For all staff."),
        (("Scope",), "heading", "Scope"),
        (("Scope",), "list_item", "• Adults"),
        (("Scope", "Dose"), "heading", "Dose"),
        (("Scope", "Dose"), "paragraph", "One hour."),
        (("Audit",), "heading", "Audit"),
        (("Audit",), "paragraph", "Each year."),
    ]


def test_headings_are_found_by_outline_level_in_any_language() -> None:
    styles = (
        '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:styleId="Eigen"><w:name w:val="Eigene"/><w:basedOn w:val="Basis"/></w:style>'
        '<w:style w:styleId="Basis"><w:name w:val="Basis"/><w:basedOn w:val="Eigen"/><w:pPr><w:outlineLvl w:val="1"/>'
        "</w:pPr></w:style>"
    )
    body = (
        p("Zweck", properties='<w:pStyle w:val="berschrift1"/>')
        + p("Umfang", properties='<w:pStyle w:val="Eigen"/>')
        + p("Text.")
        + p("Direkt", properties='<w:outlineLvl w:val="0"/>')
    )
    found = read(by_hand(body, styles=styles))
    assert [block.section for block in found.blocks] == [
        ("Zweck",),
        ("Zweck", "Umfang"),
        ("Zweck", "Umfang"),
        ("Direkt",),
    ]


def test_without_heading_styles_short_bold_paragraphs_are_headings() -> None:
    bold = "<w:b/>"
    body = (
        p(run("1. Purpose", bold))
        + p("Why.")
        + p(run("1.1 Detail", bold))
        + p("More.")
        + p(run("Bold sentence.", bold))
        + p(run("Part", bold), " only")
    )
    assert [(block.section, block.kind) for block in read(by_hand(body)).blocks] == [
        (("1. Purpose",), "heading"),
        (("1. Purpose",), "paragraph"),
        (("1. Purpose", "1.1 Detail"), "heading"),
        (("1. Purpose", "1.1 Detail"), "paragraph"),
        (("1. Purpose", "1.1 Detail"), "paragraph"),
        (("1. Purpose", "1.1 Detail"), "paragraph"),
    ]


NUMBERING = """<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/>
<w:lvlText w:val="%1"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl>
<w:lvl w:ilvl="2"><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%3)"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="upperRoman"/><w:lvlText w:val="%1."/></w:lvl>
<w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/><w:lvlText w:val="x"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
<w:num w:numId="3"><w:abstractNumId w:val="1"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="4"/></w:lvlOverride>
</w:num>"""


def numbered(text: str, list_id: int, depth: int, extra: str = "") -> str:
    return p(text, properties=f'{extra}<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{list_id}"/></w:numPr>')


def test_numbers_are_those_that_word_prints() -> None:
    heading = '<w:outlineLvl w:val="0"/>'
    body = (
        numbered("Assess", 1, 0, heading)
        + numbered("Ask", 1, 1)
        + numbered("pain", 1, 2)
        + numbered("sleep", 1, 2)
        + numbered("Look", 1, 1)
        + numbered("Treat", 1, 0, heading)
        + numbered("Give", 1, 1)
        + numbered("first", 2, 0)
        + numbered("dot", 2, 1)
        + numbered("second", 2, 0)
        + numbered("again", 3, 0)
        + numbered("plain", 0, 0)
    )
    assert blocks(read(by_hand(body, numbering=NUMBERING))) == [
        ("heading", "1 Assess"),
        ("list_item", "1.1 Ask"),
        ("list_item", "(a) pain"),
        ("list_item", "(b) sleep"),
        ("list_item", "1.2 Look"),
        ("heading", "2 Treat"),
        ("list_item", "2.1 Give"),
        ("list_item", "I. first"),
        ("list_item", "◦ dot"),
        ("list_item", "II. second"),
        ("list_item", "IV. again"),
        ("paragraph", "plain"),
    ]


def test_tracked_changes_are_read_as_accepted_and_that_is_told() -> None:
    body = p(
        "Give ",
        "<w:ins><w:r><w:t>10</w:t></w:r></w:ins>",
        "<w:del><w:r><w:delText>5</w:delText></w:r></w:del>",
        "<w:moveFrom><w:r><w:t>old</w:t></w:r></w:moveFrom>",
        " mg",
        "<w:moveTo><w:r><w:t> now</w:t></w:r></w:moveTo>",
    )
    found = read(by_hand(body))
    assert found.text == "Give 10 mg now"
    assert found.notes == ("The document has tracked changes: insertions were read and deletions were left out.",)


def test_runs_are_read_as_they_print() -> None:
    body = (
        p(
            "10",
            run("9", '<w:vertAlign w:val="superscript"/>'),
            "/l H",
            run("2", '<w:vertAlign w:val="subscript"/>'),
            "O",
        )
        + p(
            "5 ",
            '<w:r><w:sym w:font="Symbol" w:char="F06D"/></w:r>',
            "g, ",
            run("\uf0b3", '<w:rFonts w:ascii="Symbol"/>'),
            " 4",
        )
        + p(
            '<w:r><w:sym w:font="Wingdings" w:char="F0FC"/></w:r>',
            "<w:r><w:tab/></w:r>",
            "done",
            "<w:r><w:br/></w:r>",
            "next",
        )
        + p("non", "<w:r><w:noBreakHyphen/></w:r>", "stop", run("hidden", "<w:vanish/>"))
        + p(
            "<w:hyperlink><w:r><w:t>a link</w:t></w:r></w:hyperlink>",
            "<w:fldSimple><w:r><w:t> 7</w:t></w:r></w:fldSimple>",
        )
        + p("<w:r><w:instrText>PAGE</w:instrText></w:r>", "<w:smartTag><w:r><w:t>tagged</w:t></w:r></w:smartTag>")
        + "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>"
        + p("Click here")
        + "</w:sdtContent></w:sdt>"
        + "<w:sdt><w:sdtContent>"
        + p("Filled in")
        + "</w:sdtContent></w:sdt>"
        + p("Contents 3", properties='<w:pStyle w:val="T"/>')
    )
    styles = '<w:style w:styleId="T"><w:name w:val="toc 1"/></w:style>'
    assert [text for _, text in blocks(read(by_hand(body, styles=styles)))] == [
        "10^9/l H_2O",
        "5 μg, ≥ 4",
        "✓ done next",
        "non-stop",
        "a link 7",
        "tagged",
        "Filled in",
    ]


def test_formulas_are_spelled_out() -> None:
    m = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    formula = (
        f"<m:oMath {m}><m:r><m:t>BMI=</m:t></m:r><m:f><m:num><m:r><m:t>kg</m:t></m:r></m:num><m:den><m:sSup><m:e><m:r>"
        "<m:t>m</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:den></m:f></m:oMath>"
    )
    assert read(by_hand(p(formula))).text == "BMI=kg/m^2"


def test_notes_follow_the_paragraph_that_refers_to_them() -> None:
    footnotes = (
        '<w:footnote w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:footnote><w:footnote w:id="2">'
        + p("See there", '<w:r><w:footnoteReference w:id="2"/></w:r>')
        + "</w:footnote>"
    )
    endnotes = '<w:endnote w:id="1">' + p("At the end.") + "</w:endnote>"
    mark = run("", '<w:vertAlign w:val="superscript"/>').replace("<w:t ", '<w:footnoteReference w:id="2"/><w:t ')
    body = p("Word", mark, " more", '<w:r><w:endnoteReference w:id="1"/></w:r>', ".") + p("Next.")
    assert blocks(read(by_hand(body, footnotes=footnotes, endnotes=endnotes))) == [
        ("paragraph", "Word[1] more[2]."),
        ("footnote", "[1] See there"),
        ("footnote", "[2] At the end."),
        ("paragraph", "Next."),
    ]


def test_a_text_box_is_read_once_after_its_paragraph() -> None:
    mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    box = f"<w:txbxContent>{p('Red flag')}{p('Call')}</w:txbxContent>"
    drawing = (
        f"<w:r><mc:AlternateContent {mc}><mc:Choice><w:drawing><posOffset>9144</posOffset>{box}</w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )
    assert blocks(read(by_hand(p("Before ", drawing, "and after")))) == [
        ("paragraph", "Before and after"),
        ("box", "Red flag"),
        ("box", "Call"),
    ]


def test_table_rows_carry_their_headers_through_merged_cells() -> None:
    document = docx.Document()
    table = document.add_table(rows=5, cols=3)
    texts_of_rows = ["Drug|Dose|", "|adult|child", "A|5 mg|1 mg", "|6 mg|2 mg", "B|none|"]
    for row, texts in enumerate(line.split("|") for line in texts_of_rows):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(0, 0).merge(table.cell(1, 0))
    table.cell(2, 0).merge(table.cell(3, 0))
    table.cell(4, 1).merge(table.cell(4, 2))
    for row in table.rows[:2]:
        properties = row._tr.get_or_add_trPr()
        properties.append(properties.makeelement(f"{{{W}}}tblHeader"))
    document.add_paragraph("After.")
    assert blocks(read(saved(document))) == [
        ("table_row", "Drug: A; Dose / adult: 5 mg; Dose / child: 1 mg"),
        ("table_row", "Drug: A; Dose / adult: 6 mg; Dose / child: 2 mg"),
        ("table_row", "Drug: B; Dose / adult, Dose / child: none"),
        ("paragraph", "After."),
    ]


def cell(*paragraphs: str) -> str:
    return f"<w:tc>{''.join(paragraphs)}</w:tc>"


def table(*rows: tuple[str, ...], properties: str = "") -> str:
    lines = "".join(f"<w:tr>{''.join(row)}</w:tr>" for row in rows)
    return f"<w:tbl><w:tblPr>{properties}</w:tblPr>{lines}</w:tbl>"


def test_a_bold_first_row_is_a_header_and_pairs_stay_pairs() -> None:
    def row(*texts: str, properties: str = "") -> tuple[str, ...]:
        return tuple(cell(p(run(text, properties))) for text in texts)

    body = table(row("Drug", "Dose", properties="<w:b/>"), row("A", "5 mg")) + p("x")
    body += table(row("Owner", "Haematology"), row("Version", "3.2"))
    assert [text for _, text in blocks(read(by_hand(body)))] == [
        "Drug: A; Dose: 5 mg",
        "x",
        "Owner: Haematology",
        "Version: 3.2",
    ]


def test_two_columns_of_one_kind_of_number_keep_the_names_above_them() -> None:
    def row(*texts: str) -> tuple[str, ...]:
        return tuple(cell(p(run(text, ""))) for text in texts)

    body = table(row("Area", "Audit target"), row("Theatre", "95%"), row("Ward", "90%")) + p("x")
    body += table(row("Patient", "Ann Smith"), row("Number", "12345"), row("Bed", "7")) + p("y")
    body += table(row("Owner", "Pharmacy"), row("Version", "3"), row("Pages", "12")) + p("z")
    body += table(
        row("Department", "Extension"), row("Pharmacy", "5512"), row("Radiology", "5530"), row("Ward", "5541")
    )
    assert [text for _, text in blocks(read(by_hand(body)))] == [
        *("Area: Theatre; Audit target: 95%", "Area: Ward; Audit target: 90%", "x"),
        *("Patient: Ann Smith", "Number: 12345", "Bed: 7", "y"),
        *("Owner: Pharmacy", "Version: 3", "Pages: 12", "z"),
        *(
            f"Department: {of}; Extension: {number}"
            for of, number in (("Pharmacy", 5512), ("Radiology", 5530), ("Ward", 5541))
        ),
    ]


def test_a_frame_of_one_cell_and_nested_tables_lose_nothing() -> None:
    nested = cell(p("outer"), table((cell(p("in 1")), cell(p("in 2")))), p("end"))
    body = (
        table((cell(p("Framed"), p("words")),)) + p("x") + table((cell(p("a")), nested), (cell(p("b")), cell(p("c"))))
    )
    assert blocks(read(by_hand(body))) == [
        ("box", "Framed"),
        ("box", "words"),
        ("paragraph", "x"),
        ("table_row", "a: outer in 1 in 2 end"),
        ("table_row", "b: c"),
    ]


def test_lists_and_notes_in_cells_and_deleted_rows_are_handled() -> None:
    deleted = f"<w:tr><w:trPr><w:del/></w:trPr>{cell(p('gone'))}{cell(p('gone'))}</w:tr>"
    rows = table(
        (cell(numbered("Do", 1, 0)), cell(p("a"), p("b"))),
        (cell(numbered("Then", 1, 0)), cell(p("c", '<w:r><w:footnoteReference w:id="1"/></w:r>'))),
    ).replace("</w:tbl>", f"{deleted}</w:tbl>")
    footnotes = f'<w:footnote w:id="1">{p("Note.")}</w:footnote>'
    assert blocks(read(by_hand(rows, numbering=NUMBERING, footnotes=footnotes))) == [
        ("table_row", "1 Do: a b"),
        ("table_row", "2 Then: c[1]"),
        ("footnote", "[1] Note."),
    ]


def test_a_custom_style_with_numbering_makes_list_items() -> None:
    document = docx.Document()
    style = document.styles.add_style("Our bullets", WD_STYLE_TYPE.PARAGRAPH)
    style.base_style = document.styles["List Number"]
    document.add_paragraph("one", style="Our bullets")
    document.add_paragraph("two", style="Our bullets")
    assert blocks(read(saved(document))) == [("list_item", "1. one"), ("list_item", "2. two")]


def test_the_title_comes_from_the_properties_when_the_text_has_none() -> None:
    document = docx.Document()
    document.core_properties.title = "From the properties"
    document.add_paragraph("Words.")
    assert read(saved(document)).title == "From the properties"
