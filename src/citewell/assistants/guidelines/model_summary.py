"""Has a model word the reasons of an assessment; what the rules and the record do not carry is withheld."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citewell.answer.events import AnswerDone
from citewell.answer.gate import AnswerRequest, AnswerWording, Judge, Policy, Verify, finish, of_people
from citewell.answer.generate import Budget, assemble
from citewell.assistants.guidelines.assess import NOTHING_MET, Assessment, EvaluatedRule, reason
from citewell.assistants.guidelines.chat_topic import mark
from citewell.errors import ModelError, TokenBudgetExceededError
from citewell.ports import Writer
from citewell.prompts import Template
from citewell.types import Answer, Hit, MatchReason, Refuse, Verdict

log = logging.getLogger(__name__)

RULES = Template.read(Path(__file__).parent / "model_summary_rules.txt")
POLICY = Policy(threshold=0.0, min_relevance=0.0, shown=frozenset({Verdict.SUPPORTED}))
"""Half-carried words add nothing to reasons that are there already."""
QUESTION = "Why do these recommendations apply to the patient, or not, and what is still to be confirmed?"
UNCARRIED = (
    "Nothing the model wrote is supported by the recommendations and the record. Their own words are shown above."
)
RECORD = "the assessment"
"""What a sentence cites that rests on how the record was held against a rule."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What a model made of the reasons, as far as it passed the gate."""

    model: str
    text: str
    withheld: int
    problem: str | None = None
    """Why there is no wording at all."""

    def shown(self) -> dict[str, Any]:
        """As the views show it."""
        return {"model": self.model, "text": self.text, "withheld": self.withheld, "problem": self.problem}


def word(assessment: Assessment, *, writer: Writer, verify: Verify) -> Wording:
    """The reasons in a model's words; a model that fails leaves the assessment as it is."""
    try:
        answer = _answer(
            assessment, writer, of_people(verify, is_record=lambda span: span.source_id.startswith(RECORD))
        )
    except (ModelError, TokenBudgetExceededError) as error:
        log.warning("the model worded nothing: %s", type(error).__name__)
        return Wording(writer.name, "", 0, str(error))
    withheld = sum(not claim.is_shown for claim in answer.claims)
    if isinstance(answer.action, Refuse):
        return Wording(writer.name, "", withheld, UNCARRIED)
    return Wording(writer.name, answer.text, withheld)


def _answer(assessment: Assessment, writer: Writer, verify: Verify) -> Answer:
    """What passed the gate."""
    budget = Budget(writer.window, writer.reply)
    context = assemble(QUESTION, list(_evidence(assessment)), (), system=RULES.text, budget=budget, count=writer.count)
    judge = Judge(lambda _text: None, lambda _claims, _context: 0.0, route=Refuse, took_ms=lambda: 0.0)
    asked = AnswerRequest("", QUESTION, context, writer.name, RULES.hash, POLICY, RULES.text, AnswerWording(mark))
    *_, done = finish(writer.write(QUESTION, context, rules=RULES.text), asked, verify=verify, judge=judge)
    assert isinstance(done, AnswerDone)
    return done.answer


def _evidence(assessment: Assessment) -> Iterator[Hit]:
    """Each rule that matched with the reason for it, then what the rest would need."""
    for at, rule in enumerate((*assessment.matched, *assessment.near)):
        if rule.is_match:
            yield _hit(rule.rule.text, at=0, rule=rule)
        yield _hit(reason(rule), at=at + 1, rule=None)
    if not assessment.matched:
        yield _hit(NOTHING_MET, at=0, rule=None)


def _hit(text: str, *, at: int, rule: EvaluatedRule | None) -> Hit:
    """A rule at its place in its document, or a reason, which stands in none."""
    entry = rule.guideline.entry if rule else None
    start = rule.rule.start if rule else 0
    return Hit(
        document_id=RECORD if rule is None else entry.id if entry else "",
        document=rule.guideline.title if rule else RECORD,
        version=entry.version if entry else 0,
        chunk_index=at,
        start=start,
        end=start + len(text),
        text=text,
        page=rule.rule.page if rule else None,
        section=(f"{rule.guideline.name} §{rule.rule.id}",) if rule else (RECORD,),
        tags=(),
        raw_cosine=0.0,
        rank_score=0.0,
        relevance=1.0,
        why=MatchReason(None, None, (), None),
        published=entry.metadata.published if entry else None,
    )
