"""Where tokens start: looked up word by word, as the tokenizer places them in the whole text."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from citewell.minilm.tokenizer import WordPiece, encodable

LETTERS = (
    "aB1 .,-\n\t\r\x00\x01\x0b\x0c\x1c\x1f\x7f\x85\xa0éÉßΣσςİıﬁ½²αµ中한[]_#'~\u0301\u200b\u200d—’\u2028\u3000🙂\ud800٣ǅ"
)
WORDS = ["[CLS]", "[UNK]", "##a", "a" * 101, "antidisestablishmentarian"]
ODD = st.sampled_from([*LETTERS, *WORDS])


@given(st.lists(ODD, max_size=20).map("".join) | st.text(max_size=40))
@example("TNF-α, 2.5–5 mg/kg; SpO₂ ≥ 94 %\x0c(Müller’s)")
def test_a_token_starts_where_the_tokenizer_places_it_in_the_whole_text(text: str) -> None:
    words = WordPiece.load()
    whole = words._tokenizer.encode(encodable(text), add_special_tokens=False)
    assert words.starts(text) == [start for start, _ in whole.offsets]


def test_what_is_remembered_is_words_and_not_texts_without_spaces() -> None:
    words = WordPiece(WordPiece.load()._tokenizer)
    words.starts("the tablet, " + "中文" * 1_000 + " " + "x" * 1_000)
    assert words._known.cache_info().currsize == 3  # two words and a mark
