"""No text is lost, no passage is over its limit, offsets are exact."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.ingest.canonical import Canonical
from citewell.ingest.chunk import CHARACTERS, HEADINGS, SECTIONS, chunk, default_chunking
from citewell.minilm.tokenizer import WordPiece
from citewell.types import Chunking, Document

WORDS = WordPiece.load()

words = st.sampled_from("dose of the amoxicillin 5 mg/kg twice e.g. Fig. 2 is not for children α-blocker x".split())
sentence = st.lists(words, min_size=1, max_size=25).map(lambda parts: " ".join(parts).capitalize() + ".")
paragraph = st.lists(sentence, min_size=1, max_size=12).map(" ".join)
odd = st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=300)
run_on = st.integers(90, 6_000).map(lambda length: "x" * length)
body = st.one_of(paragraph, paragraph, odd, run_on)
block = st.tuples(st.sampled_from(["heading", "paragraph", "list_item", "table_row"]), st.integers(1, 5), body)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    canonical = Canonical()
    for kind, level, text in draw(st.lists(block, min_size=1, max_size=14)):
        if kind == "heading":
            canonical.heading(text[:200], level=level)
        else:
            canonical.add(kind, text)
    return Document("A title", "text/plain", canonical.text, tuple(canonical.blocks))


def chunkings() -> st.SearchStrategy[Chunking]:
    small = [Chunking(s, size, size // 4, "tokens") for s in ("sections", "headings") for size in (60, 120)]
    characters = [Chunking("characters", size, size // 5, "characters") for size in (60, 500)]
    return st.sampled_from([SECTIONS, HEADINGS, CHARACTERS, *small, *characters])


@settings(max_examples=150, deadline=None)
@given(documents(), chunkings())
@pytest.mark.slow
def test_no_text_is_lost_and_no_limit_is_passed(document: Document, chunking: Chunking) -> None:
    chunks = chunk(document, chunking=chunking, tokenizer=WORDS)

    assert [one.index for one in chunks] == list(range(len(chunks)))
    covered = [False] * len(document.text)
    for one in chunks:
        assert one.text == document.text[one.start : one.end]
        covered[one.start : one.end] = [True] * (one.end - one.start)
        size = len(one.text) if chunking.unit == "characters" else one.tokens
        assert size <= chunking.size
        assert one.tokens == WORDS.count(one.passage)
        assert all(one.start <= start < end <= one.end for start, end in one.sentences)
    lost = "".join(char for char, seen in zip(document.text, covered, strict=True) if not seen)
    assert lost.strip() == ""
    in_sentences = {at for one in chunks for start, end in one.sentences for at in range(start, end)}
    outside = (char for at, char in enumerate(document.text) if at not in in_sentences)
    assert "".join(outside).strip() == ""


def document_of(*blocks: tuple[str, int, str]) -> Document:
    canonical = Canonical()
    for kind, level, text in blocks:
        if kind == "heading":
            canonical.heading(text, level=level)
        else:
            canonical.add(kind, text)  # type: ignore[arg-type]
    return Document("t", "application/pdf", canonical.text, tuple(canonical.blocks))


LONG = " ".join(f"Sentence number {number} speaks of a dose of {number} mg." for number in range(120))


def test_a_section_that_fits_is_one_passage_with_its_subsections() -> None:
    document = document_of(("heading", 1, "Malaria"), ("heading", 2, "Pregnancy"), ("p", 0, "Do not use in pregnancy."))
    (only,) = chunk(document, chunking=SECTIONS, tokenizer=WORDS)
    assert (only.section, only.text) == (("Malaria", "Pregnancy"), document.text)


def test_a_large_section_is_cut_at_its_subsections_and_keeps_its_path() -> None:
    document = document_of(
        ("heading", 1, "Malaria"),
        ("heading", 2, "Adults"),
        ("p", 0, LONG),
        ("heading", 2, "Pregnancy"),
        ("p", 0, "Do not use in pregnancy."),
    )
    chunks = chunk(document, chunking=SECTIONS, tokenizer=WORDS)
    assert chunks[0].text.startswith("Malaria\n\nAdults\n\nSentence number 0")
    assert {one.section for one in chunks} == {("Malaria", "Adults"), ("Malaria", "Pregnancy")}
    assert chunks[-1].text == "Pregnancy\n\nDo not use in pregnancy."


def test_neighbours_in_one_section_share_whole_sentences() -> None:
    chunks = chunk(document_of(("p", 0, LONG)), chunking=SECTIONS, tokenizer=WORDS)
    assert len(chunks) > 2
    for before, after in pairwise(chunks):
        shared = before.end - after.start
        assert shared > 0
        assert after.text.startswith("Sentence number")
        assert WORDS.count(before.text[-shared:]) <= SECTIONS.overlap


def test_headings_start_a_passage_each() -> None:
    document = document_of(("heading", 1, "A"), ("p", 0, "One."), ("heading", 1, "B"), ("p", 0, "Two."))
    chunks = chunk(document, chunking=HEADINGS, tokenizer=WORDS)
    assert [one.text for one in chunks] == ["A\n\nOne.", "B\n\nTwo."]


def test_a_row_of_a_table_is_one_sentence() -> None:
    document = document_of(("table_row", 0, "Drug: Iron. Dose: 5 mg."), ("table_row", 0, "Drug: Zinc. Dose: 1 mg."))
    (only,) = chunk(document, chunking=SECTIONS, tokenizer=WORDS)
    assert [document.text[a:b] for a, b in only.sentences] == ["Drug: Iron. Dose: 5 mg.", "Drug: Zinc. Dose: 1 mg."]


WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.mark.parametrize(
    ("media_types", "expected"),
    [
        (
            ["application/pdf", "application/jats+xml", "application/cda+xml", WORD, "text/html"],
            Chunking("sections", 400, 100, "tokens"),
        ),
        (["text/markdown"], Chunking("headings", 400, 100, "tokens")),
        (["text/plain", "application/xml"], Chunking("characters", 1_500, 200, "characters")),
    ],
)
def test_each_kind_of_document_is_cut_in_its_own_way(media_types: list[str], expected: Chunking) -> None:
    assert [default_chunking(one) for one in media_types] == [expected] * len(media_types)


SIGNS = ("swelling", "redness", "heat", "pain")


def test_rows_carry_the_caption_of_their_table_in_their_path() -> None:
    rows = [
        ("table_row", 0, f"Age: {age} years; Dose: {age}0 mg by mouth twice a day for 5 days") for age in range(2, 9)
    ]
    document = document_of(
        ("heading", 1, "Sepsis"), ("caption", 0, "Table 1 Adults"), *rows, ("caption", 0, "Table 2 Children"), *rows
    )
    found = chunk(document, chunking=Chunking("sections", 80, 20, "tokens"), tokenizer=WORDS)
    assert {one.section[1:] for one in found if "Age" in one.text} == {
        ("Table 1 Adults",),
        ("Table 2 Children",),
    }


@pytest.mark.parametrize(
    "chunking", [Chunking("sections", 60, 15, "tokens"), Chunking("characters", 220, 60, "characters")]
)
def test_no_passage_begins_between_a_list_and_what_leads_it_in(chunking: Chunking) -> None:
    lists = [
        (
            ("paragraph", 1, f"Refer people of group {letter} with any of:"),
            *(("list_item", 1, f"• {sign} of the leg") for sign in SIGNS),
        )
        for letter in "ABCDEF"
    ]
    document = document_of(*(block for one in lists for block in one))
    passages = chunk(document, chunking=chunking, tokenizer=WORDS)
    assert len(passages) > 2
    assert all(one.text.startswith("Refer people of group") for one in passages)
