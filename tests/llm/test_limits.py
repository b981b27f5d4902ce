"""Allowed models, time limits, tokens and thoughts: what needs no server."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.adapters.llm.counting import TokenCounter, least_tokens
from citewell.adapters.llm.model_limits import MODEL_LIMITS, ModelLimits, allow_list, allowed
from citewell.adapters.llm.remote import ThinkingFilter
from citewell.errors import InputError, ModelNotAllowedError
from citewell.minilm.tokenizer import WordPiece


def test_validate_model_allowed() -> None:
    assert {name: allowed(name) for name in MODEL_LIMITS} == {
        "llama3.2": ModelLimits(8_192, 1_024),
        "qwen3:8b": ModelLimits(32_768, 2_048),
        "deepseek-r1:32b": ModelLimits(65_536, 4_096),
    }


@pytest.mark.parametrize("name", ["llama3.2:1b", "qwen3", "qwen3:latest", "deepseek-r1", "LLAMA3.2", "gpt", ""])
def test_validate_model_not_allowed(name: str) -> None:
    with pytest.raises(ModelNotAllowedError, match=r"Choose one of llama3\.2, qwen3:8b, deepseek-r1:32b, or allow it"):
        allowed(name)


def test_models_are_allowed_by_settings() -> None:
    configured = ["llama3.2=16384/2048", " hf.co/team/model:Q4 = 4096 / 512 "]
    assert allowed("llama3.2:latest", configured) == ModelLimits(16_384, 2_048)
    assert allowed("hf.co/team/model:Q4", configured) == ModelLimits(4_096, 512)
    assert list(allow_list(configured)) == ["llama3.2", "qwen3:8b", "deepseek-r1:32b", "hf.co/team/model:Q4"]


@pytest.mark.parametrize("entry", ["model", "model=", "=1/2", "model=8192", "model=a/b", "model=100/100", "model=9/0"])
def test_a_setting_that_cannot_be_read_is_refused(entry: str) -> None:
    with pytest.raises(InputError, match="CITEWELL_ALLOWED_MODELS"):
        allow_list([entry])


def test_a_counter_never_counts_less_than_words_or_wordpieces() -> None:
    text = "Offer apixaban 5 mg twice daily; check eGFR (≥ 30 mL/min)."
    for name in ("llama3.2", "qwen3:8b", "deepseek-r1:32b", "claude-something", "unheard-of"):
        assert TokenCounter(name).count(text) >= max(WordPiece.load().count(text), least_tokens(text))


def test_words_that_the_vocabulary_cannot_spell_count_their_bytes() -> None:
    assert TokenCounter("llama3.2").count("🫀🫁") >= len("🫀🫁".encode())
    assert TokenCounter("llama3.2").count("a" * 150) >= 150


@given(st.text(max_size=200))
def test_any_text_can_be_counted(text: str) -> None:
    assert TokenCounter("qwen3:8b").count(text) >= least_tokens(text)


def test_a_short_prompt_teaches_nothing_and_a_smaller_count_neither() -> None:
    counter, text = TokenCounter("llama3.2"), "Give 5 mg of warfarin daily. " * 50
    before = counter.count(text)
    counter.learn("Hm?", counted=500)
    counter.learn(text, counted=10)
    assert counter.count(text) == before
    counter.learn(text, counted=10_000_000)
    assert before < counter.count(text) <= 4 * before
    assert counter.estimate(text) == before


@given(st.lists(st.sampled_from(["<think>", "</think>", "<", "th", "5 mg", "think>", "/"]), max_size=12), st.data())
def test_thoughts_are_hidden_wherever_the_pieces_are_cut(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    whole = ThinkingFilter()
    expected = whole.feed(text) + whole.rest()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    visible = ThinkingFilter()
    assert "".join(map(visible.feed, pieces)) + visible.rest() == expected
