"""The text of a document as HTML."""

from __future__ import annotations

from citewell.ingest.canonical import Canonical
from citewell.types import Block, Document
from citewell.web.source_highlights import grid, part_at, parts, rendered
from citewell.web.text_marks import best, passage


def composed() -> Document:
    text = Canonical()
    text.heading("Doses <adult>", level=1)
    text.add("paragraph", "Give 5 mg & wait.")
    text.add("list_item", "• first")
    text.add("list_item", "• second")
    text.add("table_row", "Drug: A; Plan B: total (ml): 300")
    text.add("table_row", "Drug: B; Plan B: total (ml): 450")
    text.add("table_row", "Drug: C; with food; Plan B: total (ml): 600")
    text.add("caption", "Table 1")
    text.add("table_row", "no columns here")
    return Document("Doses", "text/plain", text.text, tuple(text.blocks))


def test_headings_lists_and_tables_are_what_they_were() -> None:
    document = composed()
    assert rendered(document.text, document.blocks).split("\n") == [
        "<h3>Doses &lt;adult&gt;</h3>",
        "<p>Give 5 mg &amp; wait.</p>",
        "<ul><li>• first</li><li>• second</li></ul>",
        '<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">Drug</th>'
        '<th scope="col">Plan B: total (ml)</th></tr></thead><tbody><tr><td>A</td><td>300</td></tr>'
        "<tr><td>B</td><td>450</td></tr><tr><td>C; with food</td><td>600</td></tr></tbody></table></div>",
        '<p class="caption">Table 1</p>',
        '<div class="rows"><p class="row">no columns here</p></div>',
    ]


def test_marks_and_the_anchor_stand_where_the_words_are() -> None:
    document = composed()
    start = document.text.index("5 mg")
    found = rendered(document.text, document.blocks[1:2], passage((0, 400)), best((start, start + 4)), anchor=start)
    assert found == (
        '<p id="marked"><span class="passage">Give <strong class="best">5 mg</strong> &amp; wait.</span></p>'
    )


def test_rows_that_share_no_columns_are_not_forced_into_a_table() -> None:
    text = "A: 1; B: 2\nB: 2; A: 1"
    assert grid(text, [Block("table_row", 0, 10), Block("table_row", 11, 21)]) is None


def test_a_long_document_is_cut_into_parts_without_losing_a_block() -> None:
    text = Canonical()
    for number in range(200):
        text.add("paragraph", f"{number} " + "word " * 100)
    document = Document("Long", "text/plain", text.text, tuple(text.blocks))
    found = parts(document)
    assert len(found) == 5
    assert [block for part in found for block in part] == list(document.blocks)
    assert [part_at(found, part[0].start) for part in found] == [0, 1, 2, 3, 4]
    assert part_at(found, len(document.text)) == 4
