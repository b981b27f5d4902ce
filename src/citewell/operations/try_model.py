"""Tries a language model on ten questions about the samples, beside answers that are quoted word for word."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.answer.events import AnswerDone, Replace, SentenceChecked
from citewell.app import App, build
from citewell.errors import CitewellError, LLMConnectionError
from citewell.ports.models import EXTRACTIVE
from citewell.types import Answer
from citewell.wiring import make_model_writer, make_remote

if TYPE_CHECKING:
    from citewell.answer.assistant import LibraryAssistant
    from citewell.config import Settings

RIGHT, WRONG, NOT_ANSWERED = "right", "wrong", "not answered"


@dataclass(frozen=True, slots=True)
class TrialQuestion:
    """A question about the samples, and what makes an answer right."""

    text: str
    quotes: tuple[str, ...]
    """One of these must be among the words that it cites; none: the samples do not answer it, and nobody should."""
    says: tuple[str, ...] = ()
    """All of these must be in the answer."""


TRIAL_QUESTIONS = (
    TrialQuestion(
        "How much ORS does a child of 12 kg with some dehydration need over 4 hours?",
        ("75 × 12 = 900 ml", "75 ml/kg", "900"),
        says=("900",),
    ),
    TrialQuestion(
        "Can loperamide be given to a child of 5 with diarrhoea?", ("Do not give loperamide", "No loperamide under 12")
    ),
    TrialQuestion(
        "What should be done for a 52-year-old with unexplained haemoptysis?",
        ("unexplained haemoptysis urgently", "Refer urgently on the suspected cancer pathway"),
        says=("urgent",),
    ),
    TrialQuestion(
        "How soon does someone with suspected heart failure and an NT-proBNP of 1,500 ng/L need echocardiography?",
        ("400 to 2,000 ng/L",),
        says=("6 weeks",),
    ),
    TrialQuestion(
        "Which antibiotic, at which dose, for pneumonia with a CRB-65 of 0 in an adult allergic to penicillin?",
        ("200 mg on day 1",),
        says=("doxycycline", "200 mg"),
    ),
    TrialQuestion(
        "How long before a high-risk procedure is apixaban stopped when creatinine clearance is 20 mL/min?",
        ("72 hours",),
        says=("72 hours",),
    ),
    TrialQuestion(
        "Should someone on warfarin for atrial fibrillation who never had a stroke be bridged with heparin?",
        ("Do not bridge patients with atrial fibrillation",),
    ),
    TrialQuestion("I forgot my warfarin tablet and it is past midnight. What do I do?", ("leave out the missed dose",)),
    TrialQuestion(
        "How long after the last loose stool should a child stay away from nursery?",
        ("48 hours after the last loose stool",),
        says=("48 hours",),
    ),
    TrialQuestion("What is the starting dose of methotrexate for rheumatoid arthritis?", ()),
)


@dataclass(frozen=True, slots=True)
class TrialReply:
    """What became of one question."""

    question: str
    outcome: str
    """`right`, `wrong`, `not answered`, or the kind of error."""
    sentences: int
    passed: int
    """Sentences that passed the check."""
    took_s: float


@dataclass(frozen=True, slots=True)
class Trial:
    """How one writer did."""

    writer: str
    replies: tuple[TrialReply, ...]
    tokens_per_s: float | None = None
    """While it writes, as its server counts them; None where that does not."""
    memory_bytes: int | None = None

    @property
    def is_model(self) -> bool:
        return self.writer != EXTRACTIVE

    @property
    def right(self) -> int:
        return sum(reply.outcome == RIGHT for reply in self.replies)

    @property
    def sentences(self) -> int:
        return sum(reply.sentences for reply in self.replies)

    @property
    def passed(self) -> int:
        return sum(reply.passed for reply in self.replies)

    @property
    def seconds_per_answer(self) -> float:
        return sum(reply.took_s for reply in self.replies) / len(self.replies)

    def figures(self) -> dict[str, Any]:
        """The sums, for programs."""
        names = ("right", "sentences", "passed", "seconds_per_answer")
        return {name: getattr(self, name) for name in names}


def try_model(
    chosen: Settings, vendor: str, name: str, *, count: int, watch: Callable[[int, int], None]
) -> tuple[Trial, ...]:
    """Ask the extractive writer and a model the same questions, in a library of samples that is gone afterwards."""
    from citewell.adapters.llm.model_limits import allowed
    from citewell.adapters.llm.model_list import server_of, vendor_of

    allowed(name, chosen.allowed_models)
    of_vendor = {} if vendor == vendor_of(chosen) else {"model_url": None, "model_key": None}
    with closing(server_of(chosen, vendor)) as server, tempfile.TemporaryDirectory(prefix="citewell-try-") as folder:
        server.check(name)
        elsewhere = dict.fromkeys(("database_url", "blobs", "broker_url", "qdrant_url", "library_key_file", "tenant"))
        scratch = chosen.model_copy(
            update={**elsewhere, **of_vendor, "home": Path(folder), "embedder": "minilm", "trail_to": ()}
        )
        questions = TRIAL_QUESTIONS[:count]
        with build(scratch.model_copy(update={"model": EXTRACTIVE})) as app:
            for outcome in app.add_samples():
                if outcome.error is not None:
                    raise outcome.error
            quoted = Trial(EXTRACTIVE, tuple(_ask(app, app.knowledge, question) for question in questions))
        with build(scratch.model_copy(update={"model": f"{vendor}:{name}"})) as app:
            model = make_remote(app.settings)
            writer = make_model_writer(app.settings, model)
            assistant = replace(app.knowledge, writer=writer)
            replies = []
            with closing(writer):
                for done, question in enumerate(questions, start=1):
                    replies.append(_ask(app, assistant, question))
                    watch(done, len(questions))
            speed = model.written_tokens / model.writing_s if model.written_tokens and model.writing_s else None
        return quoted, Trial(model.name, tuple(replies), speed, server.memory_bytes(name))


def _ask(app: App, assistant: LibraryAssistant, question: TrialQuestion) -> TrialReply:
    """One question; what the model cannot do is its result, and a server that is gone ends the trial."""
    started, passes, answer = time.perf_counter(), dict[int, bool](), None
    outcome = NOT_ANSWERED
    try:
        for event in assistant.ask(question.text, scope=app.scope()):
            if isinstance(event, SentenceChecked | Replace):
                passes[event.index] = event.claim.is_shown
            elif isinstance(event, AnswerDone):
                answer = event.answer
    except LLMConnectionError:
        raise
    except CitewellError as error:
        outcome = type(error).__name__
    if answer is not None:
        outcome = judged(question, answer)
    return TrialReply(question.text, outcome, len(passes), sum(passes.values()), time.perf_counter() - started)


def judged(question: TrialQuestion, answer: Answer) -> str:
    """Whether an answer cites what it must and says what it must; nothing is right where nothing answers."""
    if not answer.is_grounded:
        return NOT_ANSWERED if question.quotes else RIGHT
    cited = [_plain(citation.quote) for citation in answer.citations]
    is_cited = any(_plain(quote) in words for quote in question.quotes for words in cited)
    is_said = all(_plain(words) in _plain(answer.text) for words in question.says)
    return RIGHT if is_cited and is_said else WRONG


def _plain(text: str) -> str:
    """A text without spaces and capitals, since “900 ml” may have a no-break space or none."""
    return "".join(text.split()).casefold()
