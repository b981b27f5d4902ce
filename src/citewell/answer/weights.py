"""What counts when statements are chosen, and how much is shown: tables to be reviewed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """What each view of a statement adds to the log-odds that it is what a person would point at.

    Fitted on SciFact train claims (docs/extractive-notes.md), but for `heading` and those after it, which
    claims about abstracts cannot teach.
    """

    bias: float = -6.4
    nearness: float = 3.2
    coverage: float = 3.6
    titles: float = 2.0
    """For what the titles above it hold of the question and it does not."""
    relevance: float = 1.8
    finding: float = 0.75
    purpose: float = -1.0
    heading: float = 3.2
    """For what the heading next above it holds and it does not: it says more than the title of a document."""
    near_heading: float = 2.0
    """For a heading that is nearer to the question than itself."""
    cue: float = 0.6
    no_number: float = -0.6
    """For a statement without a number where one is asked for."""
    told: float = 0.6
    """For what tells the one thing that is asked for, such as a target."""
    recommends: float = 0.8
    """For what tells what to do, where that is asked for."""
    deliberates: float = -0.8
    """For what tells how a recommendation came about, where it is asked what to do."""
    explains: float = -0.6
    """For what stands in a section that gives reasons, where it is asked what to do."""
    unnamed: float = -0.8
    """For what does not name the medicine that is asked about, nor its class, and stands under no title that does."""
    definition: float = 1.5
    no_definition: float = -0.7
    """For anything else where a definition is asked for."""
    kind: float = -1.2
    """For what stands below the name of a kind of it: accelerated hypertension where hypertension is asked for."""
    glossary: float = -1.5
    """For an entry of a glossary where none is."""
    before: float = 1.8
    """For what the sentences before it in its paragraph hold, and neither it nor its heading."""
    asked_alike: float = 0.8
    """For a heading that asks by the word of the question, “Who needs …”; as much less for one that asks by another."""
    example: float = -1.5
    """For what is told of one person as an example."""
    looked_up: float = 0.8
    """For a row that gives the very amount or the range of the question: people look their result up in it."""
    history: float = -1.5
    """For what tells of changes in a document, where none of them is asked for."""
    in_case: float = 3.0
    """For what is to be done in the very case that is asked about, “If the child vomits, …”, beside a mere mention."""
    to_reader: float = 0.5
    """For words to the reader where a person asks for themselves."""


@dataclass(frozen=True, slots=True)
class Measure:
    """How much is shown; a table to be reviewed."""

    max_statements: int = 5
    max_characters: int = 1_800
    """All together; the first one is shown whatever its length."""
    min_relevance: float = 0.08
    """Nothing is quoted where no passage is as relevant as this."""
    min_odds: float = -3.0
    """Nothing is quoted that is less likely than this to answer."""
    min_part: float = 0.33
    """Nothing is quoted where no statement holds this part of the question, its titles included."""
    min_words: float = 0.6
    """The same by number of words, where the question names nothing clinical: of two words both must be said."""
    margin: float = 0.8
    """How far behind the best one, in log-odds, a further statement may be."""
    margin_for_more: float = 0.7
    """How much farther, if it holds all of the question that those shown do not."""
    margin_defined: float = 0.4
    """The same where the best one says what the thing is that is asked for: little need be added."""
    told_from: float = 0.9
    """Share of the question that a statement and its heading say together for it to need no more of its section."""
    headed_from: float = 0.35
    """The section of the best statement, if short, is shown whole where its heading holds this part of the question."""
    overlap: float = 0.85
    """A line that has this part of its words in common with one that is shown says nothing new."""


WEIGHTS = Weights()
MEASURE = Measure()
