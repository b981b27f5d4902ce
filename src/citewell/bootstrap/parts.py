"""Chooses the embedder and the writer that the settings ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from citewell.errors import InputError

if TYPE_CHECKING:
    from citewell.adapters.entailment.onnx import OnnxEntailment
    from citewell.adapters.entailment.pair import AnswerReader, PairReader
    from citewell.adapters.llm.remote import RemoteModel
    from citewell.adapters.store.library import SqlLibrary
    from citewell.clinical import Lexicon
    from citewell.config import Settings
    from citewell.ports import Embedder, Writer


def make_library(settings: Settings) -> SqlLibrary:
    """The library in the home folder, or in the database that the settings name."""
    from citewell.adapters.store.library import SqlLibrary
    from citewell.bootstrap.home import library_file, make_home

    if settings.database_url is None:
        return SqlLibrary(library_file(settings.home))
    from citewell.adapters.store.migrate import refuse_unfinished
    from citewell.adapters.store.postgres import open_postgres

    make_home(settings.home)
    engine = open_postgres(settings.database_url.get_secret_value())
    try:
        refuse_unfinished(engine)
    except BaseException:
        engine.dispose()
        raise
    return SqlLibrary(settings.home / "library", engine=engine)


def make_embedder(settings: Settings) -> Embedder:
    """The built-in model, or a server that the person has named."""
    if settings.embedder == "minilm":
        return make_minilm(settings)
    if settings.embedder_model is None:
        raise InputError(f"CITEWELL_EMBEDDER is {settings.embedder}: name its model in CITEWELL_EMBEDDER_MODEL too.")
    if settings.embedder == "openai":
        from citewell.adapters.embedding.openai import OpenAIEmbedder

        key = settings.embedder_key.get_secret_value() if settings.embedder_key else None
        return OpenAIEmbedder(settings.embedder_model, url=settings.embedder_url, key=key)
    from citewell.adapters.embedding.ollama import OllamaEmbedder

    return OllamaEmbedder(settings.embedder_model, url=settings.embedder_url)


def make_minilm(settings: Settings, *, is_trained: bool = True) -> Embedder:
    """The model that the package brings: trained on questions, or as it was published."""
    from citewell.adapters.embedding.engine import PUBLISHED, TRAINED
    from citewell.adapters.embedding.minilm import MiniLM

    return MiniLM(
        settings.home / "cache",
        backend=settings.embedder_backend,
        threads=settings.embedder_threads,
        model=TRAINED if is_trained else PUBLISHED,
    )


def make_writer(settings: Settings, lexicon: Lexicon, reader: AnswerReader | None) -> Writer:
    """The extractive writer, or a model behind a server."""
    if settings.model == "extractive":
        from citewell.adapters.llm.extractive import Extractive

        return Extractive(lexicon, reader=reader)
    return make_model_writer(settings)


def make_model_writer(settings: Settings) -> Writer:
    """The model that the settings name, as a writer."""
    from citewell.answer.generate import ModelWriter
    from citewell.assistants.knowledge import RATING

    model = make_remote(settings)
    limits = model.limits
    return ModelWriter(model, window=limits.context_window, reply=limits.max_reply_tokens, rating=RATING)


def make_remote(settings: Settings) -> RemoteModel:
    """The model that the settings name, behind its server; nothing is sent yet."""
    from citewell.adapters.llm import make_model

    key = settings.model_key.get_secret_value() if settings.model_key else None
    return make_model(
        settings.model,
        url=settings.model_url,
        key=key,
        timeout_s=settings.model_timeout_s,
        allowed=settings.allowed_models,
    )


def make_pair_reader(settings: Settings) -> PairReader | None:
    """The model that reads a sentence and its evidence together, unless it is switched off."""
    if not settings.pair_reader:
        return None
    from citewell.adapters.entailment.pair import PairReader

    return PairReader(settings.home / "cache", backend=settings.embedder_backend, threads=settings.embedder_threads)


def make_answer_reader(settings: Settings) -> AnswerReader | None:
    """The model that reads a question and a statement together, where it is switched on."""
    if not settings.answer_reader:
        return None
    from citewell.adapters.entailment.pair import AnswerReader

    return AnswerReader(settings.home / "cache", backend=settings.embedder_backend, threads=settings.embedder_threads)


def make_entailment(settings: Settings) -> OnnxEntailment | None:
    """The entailment model in the folder that the person has named; none by default."""
    if settings.entailment is None:
        return None
    from citewell.adapters.entailment.onnx import OnnxEntailment

    return OnnxEntailment(settings.entailment)
