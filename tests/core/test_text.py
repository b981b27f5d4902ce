"""Plain text and Markdown as blocks."""

from __future__ import annotations

from datetime import date

import pytest

from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.errors import DamagedFile
from citewell.ingest.decode import WINDOWS_NOTE
from citewell.ingest.parse import parse
from citewell.types import Document, Metadata, ParseLimits, Source


def read(text: str, name: str = "notes.txt") -> Document:
    return parse(Source(text.encode(), name), parsers=all_parsers(), limits=ParseLimits())


def blocks(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


NOTE = """Clinic letter for a fictional patient

HISTORY OF PRESENT ILLNESS
Three days of cough.
No fever.

1.2 Dose in children

Give 5 mg/kg:
- twice a day
  with food
- for 5 days

Follow-up
=========

1. Take one tablet.

BP 120/80
"""


def test_paragraphs_lists_and_sure_headings_are_told_apart() -> None:
    document = read(NOTE)
    assert document.title == "Clinic letter for a fictional patient"
    assert blocks(document) == [
        ("paragraph", "Clinic letter for a fictional patient"),
        ("heading", "HISTORY OF PRESENT ILLNESS"),
        ("paragraph", "Three days of cough.\nNo fever."),
        ("heading", "1.2 Dose in children"),
        ("paragraph", "Give 5 mg/kg:"),
        ("list_item", "- twice a day\nwith food"),
        ("list_item", "- for 5 days"),
        ("heading", "Follow-up"),
        ("list_item", "1. Take one tablet."),
        ("paragraph", "BP 120/80"),
    ]


OUTLINE = """GOUT ATTACKS
Signs
• A hot joint, most often of the big toe, which hurts most during the first
night
• Fever
Treatment goals
• Ease pain
Drug treatment
• Colchicine
- Adult: 500 micrograms twice a day, or three times where the kidneys are
healthy
Or
- Naproxen: 500 mg
Prevention
• Less beer
Ask again after one month whether the joint is still warm and how it moves."""


def test_titles_between_the_lists_of_an_outline_are_lines_of_their_own() -> None:
    assert blocks(read(OUTLINE)) == [
        ("heading", "GOUT ATTACKS"),
        ("paragraph", "Signs"),
        ("list_item", "• A hot joint, most often of the big toe, which hurts most during the first\nnight"),
        ("list_item", "• Fever"),
        ("paragraph", "Treatment goals"),
        ("list_item", "• Ease pain"),
        ("paragraph", "Drug treatment"),
        ("list_item", "• Colchicine"),
        ("list_item", "- Adult: 500 micrograms twice a day, or three times where the kidneys are\nhealthy\nOr"),
        ("list_item", "- Naproxen: 500 mg"),
        ("paragraph", "Prevention"),
        ("list_item", "• Less beer"),
        ("paragraph", "Ask again after one month whether the joint is still warm and how it moves."),
    ]


def test_a_plain_outline_with_a_table_is_no_markdown() -> None:
    table = "# Table 1: Doses\n\n| Age | Dose |\n|---|---|\n| **2 years** | 5 mg |"
    document = read(f"{OUTLINE}\n\n{table}\n\nCosts\n• Low")
    assert (document.title, document.media_type) == ("GOUT ATTACKS", "text/plain")
    assert blocks(document)[-4:] == [
        ("heading", "Table 1: Doses"),
        ("table_row", "Age: 2 years; Dose: 5 mg"),
        ("paragraph", "Costs"),
        ("list_item", "• Low"),
    ]


def test_every_line_end_counts_and_invisible_marks_go() -> None:
    document = read("one\r\ntwo\r\rthree\ffour\u2029five\u200b\u00ad")
    assert document.text == "one\ntwo\n\nthree\nfour\n\nfive"


def test_a_text_without_a_title_is_named_after_its_file() -> None:
    assert read("A sentence that ends.", "ward-round.txt").title == "ward-round"


def test_a_guessed_encoding_is_told() -> None:
    document = parse(Source("Größe".encode("cp1252"), "a.txt"), parsers=all_parsers(), limits=ParseLimits())
    assert (document.text, document.notes) == ("Größe", (WINDOWS_NOTE,))


MARKDOWN = """---
title: "Asthma in adults"
date: 2024-05-17
lang: en-GB
---
# Asthma

Give **salbutamol** 10<sup>2</sup> µg, see [the *plan*](plan.html).
Next line with `code`.

## Steps

1. First
   - inner
   - other

     more of it
2. Second

> A quotation.

| Drug | Dose |
|------|------|
| A    | 5 mg |
| B    | H<sub>2</sub>O |

```python
x = 1

y = 2
```

<table><tr><th>Age</th><th>Dose</th></tr><tr><td>2</td><td>1 mg</td></tr></table>

Setext heading
--------------

![A picture](x.png)
"""


def test_markdown_keeps_its_structure() -> None:
    document = read(MARKDOWN, "a.txt")
    assert (document.title, document.media_type) == ("Asthma in adults", "text/markdown")
    assert document.metadata == Metadata(language="en-GB", published=date(2024, 5, 17))
    assert [
        (block.section, kind, text) for block, (kind, text) in zip(document.blocks, blocks(document), strict=True)
    ] == [
        (("Asthma",), "heading", "Asthma"),
        (("Asthma",), "paragraph", "Give salbutamol 10^2 µg, see the plan. Next line with code."),
        (("Asthma", "Steps"), "heading", "Steps"),
        (("Asthma", "Steps"), "list_item", "1. First"),
        (("Asthma", "Steps"), "list_item", "◦ inner"),
        (("Asthma", "Steps"), "list_item", "◦ other"),
        (("Asthma", "Steps"), "list_item", "more of it"),
        (("Asthma", "Steps"), "list_item", "2. Second"),
        (("Asthma", "Steps"), "paragraph", "A quotation."),
        (("Asthma", "Steps"), "table_row", "Drug: A; Dose: 5 mg"),
        (("Asthma", "Steps"), "table_row", "Drug: B; Dose: H_2O"),
        (("Asthma", "Steps"), "code", "x = 1\n\ny = 2"),
        (("Asthma", "Steps"), "table_row", "Age: 2; Dose: 1 mg"),
        (("Asthma", "Setext heading"), "heading", "Setext heading"),
        (("Asthma", "Setext heading"), "paragraph", "A picture"),
    ]


def test_numbered_rules_on_lines_of_their_own_are_paragraphs_and_broken_lines_are_not() -> None:
    document = read("# Falls\n\n3.1 Record it\nwithin 2.5 hours.\n3.2 A doctor comes.\n3.3 Tell the family.\n", "a.md")
    assert blocks(document)[1:] == [
        ("paragraph", "3.1 Record it within 2.5 hours."),
        ("paragraph", "3.2 A doctor comes."),
        ("paragraph", "3.3 Tell the family."),
    ]


def test_html_between_markdown_is_read_without_its_tags() -> None:
    text = "# x\n\n<details>\n<summary>Who?</summary>\n\nAll **staff**.\n\n</details>\n\n<!-- note -->\n\nEnd."
    assert read(text, "a.md").text == "x\n\nWho?\n\nAll staff.\n\nEnd."


def test_a_rule_at_the_top_is_no_front_matter() -> None:
    assert read("---\n\nWords here.\n\n---\n", "a.md").text == "Words here."


def test_markdown_that_nests_without_end_is_refused_not_cut() -> None:
    with pytest.raises(DamagedFile, match="nested too deeply"):
        read("# x\n\n" + ">" * 5_000 + " deep", "a.md")


@pytest.mark.parametrize("mark", ["[", "*", "`", "<", "![", "_a", "[a](", "&"])
def test_a_long_run_of_marks_is_read_in_reasonable_time(mark: str) -> None:
    assert read("# x\n\na " + mark * 10_000, "a.md").text.startswith("x\n\na ")
