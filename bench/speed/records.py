"""A question to a record of 1,000 passages and 5,000 facts, stage by stage, in an encrypted vault.

python bench/speed/records.py [--passages 1000] [--facts 5000] [--json FILE]

`first_sentence_ratio` is the time to the first checked sentence, without a model, over a bare search of the record.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from citewell.answer.events import SentenceChecked
from citewell.answer.generate import Budget, assemble
from citewell.answer.retrieve import Search, retrieve
from citewell.assistants.records.ask import RULES
from citewell.assistants.records.gather import gather
from citewell.assistants.records.intents import intents_of
from citewell.assistants.records.known_facts import KnownFacts
from citewell.assistants.records.question_kinds import classify
from citewell.config import Settings
from citewell.types import Source
from citewell.types.facts import REPORTED, Fact, LabResult, Medication, PartialDate, fact_id
from citewell.vaults.ask import make_records_assistant
from citewell.vaults.vaults import OpenVault, Vaults

QUESTIONS = (
    "Which medicines do I take?",
    "How has my potassium changed over time?",
    "Who prescribed my warfarin?",
    "What did the letter say about my knee?",
    "What should I ask my doctor?",
    "What was my last glucose?",
)
TESTS = ("Potassium", "Sodium", "Glucose", "Creatinine", "Body Weight", "Total Cholesterol")
MEDICINES = ("Warfarin", "Lisinopril", "Metformin", "Simvastatin", "Amlodipine")
PASSAGES_PER_LETTER = 20


def letters(count: int) -> Iterator[Source]:
    """Letters that together give about so many passages."""
    for number in range(count // PASSAGES_PER_LETTER):
        sections = "\n\n".join(
            f"## Visit {number}.{part}\n\nOn this visit the knee was examined. The dose of {MEDICINES[part % 5]} was "
            f"{part + 1} mg. Follow-up number {number * 100 + part} was agreed with the patient and the family. "
            + "The findings were explained in plain words and written down for the next appointment. "
            * 4
            for part in range(PASSAGES_PER_LETTER)
        )
        yield Source(f"# Letter {number}\n\n{sections}\n".encode(), f"letter-{number}.md")


def facts(count: int) -> list[Fact]:
    """Results of six tests over the years, and medicines."""
    start = datetime(2005, 1, 1, tzinfo=UTC)
    found: list[Fact] = [
        Medication(id=fact_id("m", name), origin=REPORTED, generic_name=name, dose="5 mg", prescriber="Dr. Ada Chen")
        for name in MEDICINES
    ]
    for number in range(count - len(found)):
        day = PartialDate((start + timedelta(days=number)).date().isoformat())
        name = TESTS[number % len(TESTS)]
        found.append(
            LabResult(
                id=fact_id("r", str(number)), origin=REPORTED, test_name=name, value=4 + number % 7, collected=day
            )
        )
    return found


def timed_ms(work: Callable[[], object]) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def measure(profile: OpenVault) -> dict[str, float]:
    """The median of each stage over all questions."""
    app, record = profile.app, profile.record
    records = make_records_assistant(app, record.facts)
    search, scope = Search(app.library, app.index, app.embedder, app.lexicon), record.scope
    budget = Budget(records.writer.window, records.writer.reply)
    stages: dict[str, list[float]] = {}

    def first_sentence(question: str) -> None:
        for event in records.ask(question, scope=scope):
            if isinstance(event, SentenceChecked):
                return

    for turn in range(4):
        for question in QUESTIONS:
            hits = retrieve(question, scope=scope, search=search, limit=10).hits
            now = datetime.now(UTC)
            works: dict[str, Callable[[], object]] = {
                "kind_ms": lambda q=question: classify(q),  # type: ignore[misc]
                "embedding_ms": lambda q=question, n=turn: app.embedder.embed([f"{q} {n}"]),  # type: ignore[misc]
                "semantic_ms": lambda q=question: retrieve(q, scope=scope, search=search, limit=10),  # type: ignore[misc]
                "structured_ms": lambda q=question, t=now: gather(  # type: ignore[misc]
                    q, intents_of(q, now=t), KnownFacts(tuple(record.facts.remembered(scope))), lexicon=app.lexicon
                ),
                "assembly_ms": lambda q=question, h=hits: assemble(  # type: ignore[misc]
                    q, h, (), system=RULES.text, budget=budget, count=records.writer.count
                ),
                "first_sentence_ms": lambda q=question: first_sentence(q),  # type: ignore[misc]
            }
            for name, work in works.items():
                if (took := timed_ms(work)) and turn:  # the first round warms up
                    stages.setdefault(name, []).append(took)
    found = {name: median(times) for name, times in stages.items()}
    return {**found, "first_sentence_ratio": found["first_sentence_ms"] / found["semantic_ms"]}


def main() -> None:
    """Measure, print one table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=1_000)
    parser.add_argument("--facts", type=int, default=5_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        vaults = Vaults(Settings(home=Path(home)))
        made, _ = vaults.create("bench", "a passphrase for the bench")
        with vaults.open(made.id, "a passphrase for the bench") as profile:
            for letter in letters(options.passages):
                profile.record.import_source(letter)
            profile.record.facts.put(facts(options.facts), scope=profile.record.scope)
            passages = sum(entry.chunk_count for entry in profile.app.entries())
            result = {"passages": passages, "facts": options.facts, **measure(profile)}
    for key, value in result.items():
        print(f"{key:24} {value:10.3f}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
