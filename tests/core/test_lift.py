"""A passage is seen in the light of its document, where a question is to be answered."""

from __future__ import annotations

from dataclasses import replace

from citewell.answer.calibration import built_in
from citewell.answer.lift import LIFT, lift
from citewell.answer.rank import ANSWERING
from citewell.answer.retrieve import retrieve
from citewell.bootstrap import App
from citewell.types import Hit, Source, Why

SCD = "Sickle-cell disease (SCD) is inherited."


def hit(document: str, chunk: int, text: str, *, title: str = "Guideline", section: tuple[str, ...] = ()) -> Hit:
    """A passage that a search found; all are as good."""
    place = (document, title, 1, chunk, 0, len(text), text, None, section, ())
    return Hit(*place, 0.5, 0.5, 0.2, Why(None, None, (), None))


def scores(question: str, *hits: Hit) -> list[float]:
    return [round(one.rank_score, 3) for one in lift(hits, question, (), calibration=built_in())]


def test_an_abbreviation_counts_as_what_it_stands_for_in_the_document_that_explains_it() -> None:
    question = "iron in sickle cell disease"
    hits = [hit("a", 0, SCD), hit("a", 1, "Iron in SCD."), hit("a", 2, "Iron in gout."), hit("b", 0, "Iron in SCD.")]
    explained, meant, other, elsewhere = lift(hits, question, (), calibration=built_in())
    assert meant.why.same == (("Sickle-cell disease", "SCD"),)
    assert meant.rank_score > 0.5
    assert meant.relevance > 0.2
    assert [one.rank_score for one in (explained, other, elsewhere)] == [0.5] * 3
    assert elsewhere == hits[3]


def test_the_title_of_a_document_says_of_what_a_passage_is_but_not_that_it_is_a_guideline() -> None:
    question = "dengue management with fluids"
    titled = hit("a", 0, "Give fluids.", title="Management of dengue")
    assert scores(question, titled, hit("b", 0, "Give fluids.", title="Management of gout"))[1] == 0.5
    lifted = lift([titled], question, (), calibration=built_in())[0]
    assert lifted.rank_score > 0.5
    assert lifted.relevance == titled.relevance


def test_who_asks_what_to_do_gets_what_is_recommended_before_what_studies_found() -> None:
    found = hit("a", 0, "A systematic review of iron found little (95% CI 0.2 to 1.4; low certainty).")
    advice, headed = hit("a", 1, "We suggest iron."), hit("a", 2, "Iron daily.", section=("Recommendation 2",))
    plain = hit("a", 3, "Iron is a metal.")
    assert scores("Should iron be given?", found, advice, headed, plain) == [
        round(0.5 * share, 3) for share in (LIFT.weighing_share, *[LIFT.recommending_share] * 2, 1.0)
    ]
    assert scores("Iron should be given.", found, advice, headed, plain) == [0.5] * 4
    assert scores("Why should iron be given?", found, advice, headed, plain) == [0.5] * 4


def test_a_passage_that_says_it_by_the_abbreviation_is_found_to_answer(app: App) -> None:
    guideline = (
        "# Care in pregnancy\n\n## Background\n\nSickle-cell disease (SCD) is inherited.\n\n"
        "## Supplements\n\nAdvise women with SCD that iron is not needed.\n"
    )
    app.add_source(Source(guideline.encode(), "guideline.md"))
    search = app._search
    question = "Is iron needed in sickle cell disease?"
    found = retrieve(question, scope=app.scope(), search=search, controls=ANSWERING).hits
    assert "iron is not needed" in found[0].text
    assert found[0].why.same == (("Sickle-cell disease", "SCD"),)
    plain = retrieve(question, scope=app.scope(), search=search).hits
    assert [one.why.same for one in plain] == [()] * len(plain)
    asked = app.desk.answer(question, asker=app.owner()).answer
    assert asked.text.startswith("Advise women with SCD that iron is not needed.")
    assert replace(found[0].why, same=()) in [one.why for one in plain]
