"""The pipeline of guidelines against the bare embedder on the same texts: `bench/speed/bookshelf.py --data FOLDER`.

Books are made of real sentences of the corpus in the folder (BEIR layout), drawn anew for each paragraph, as chapters
of XML with sections, lists and tables. Book by book, `guidelines parse` and `guidelines embed` run (read, cut,
describe, write lines; read, cut, embed, store), then the embedder alone on every passage and sentence of it.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from xml.sax.saxutils import escape

from citewell.app import App, build
from citewell.config import Settings
from citewell.operations.bookshelf import Parsing, embed
from citewell.sentences import sentences
from citewell.types import Filing

CHAPTERS, SECTIONS, PARAGRAPHS = 4, 10, 3
SENTENCES_PER_PARAGRAPH = 6


def pool(folder: Path) -> list[str]:
    """Distinct sentences of the corpus."""
    corpus = (json.loads(line)["text"] for line in (folder / "corpus.jsonl").open(encoding="utf-8"))
    cut = (text[start:end] for text in corpus for start, end in sentences(text) if 40 <= end - start <= 300)
    return list(dict.fromkeys(cut))


def write_book(folder: Path, number: int, said: list[str], draw: random.Random) -> None:
    """A book as `guidelines download` leaves it."""
    kept = folder / "books" / f"NBK{number}"
    kept.mkdir(parents=True)
    texts = {}
    for chapter in range(CHAPTERS):
        name = f"ch{chapter}.nxml"
        (kept / name).write_text(_chapter(f"Chapter {chapter} of book {number}", said, draw), "utf-8")
        texts[name] = str(number * CHAPTERS + chapter)
    about = {"title": f"Guideline {number}", "publisher": "World Health Organization", "published": "2024"}
    (kept / "book.json").write_text(json.dumps({**about, "accession": f"NBK{number}", "texts": texts}))


def _chapter(title: str, said: list[str], draw: random.Random) -> str:
    def some(many: int) -> list[str]:
        return [escape(one) for one in draw.sample(said, many)]

    body = "".join(
        f"<sec><title>Section {at}</title>"
        + "".join(f"<p>{' '.join(some(SENTENCES_PER_PARAGRAPH))}</p>" for _ in range(PARAGRAPHS))
        + f"<list>{''.join(f'<list-item><p>{one}</p></list-item>' for one in some(3))}</list>"
        + f"<table-wrap><table><thead><tr><th>Who</th><th>What</th></tr></thead><tbody>{_rows(some(4))}</tbody></table>"
        + "</table-wrap></sec>"
        for at in range(SECTIONS)
    )
    return (
        '<?xml version="1.0"?><book-part-wrapper xml:lang="en"><book-part book-part-type="chapter"><book-part-meta>'
        f"<title-group><title>{title}</title></title-group></book-part-meta><body>{body}</body></book-part>"
        "</book-part-wrapper>"
    )


def _rows(said: list[str]) -> str:
    pairs = zip(said[::2], said[1::2], strict=True)
    return "".join(f"<tr><td>{one}</td><td>{other}</td></tr>" for one, other in pairs)


def timed(work: Callable[[], None]) -> tuple[float, float]:
    """Wall and processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def measure(app: App, home: Path, said: list[str], passages: int, say: Callable[[str], None]) -> dict[str, float]:
    """Book by book, the pipeline and then the embedder alone, until there are so many passages."""
    draw, scope = random.Random(3), app.scope_of_owner()
    app.embedder.embed(["warm up", "and once more"])
    totals = {name: [0.0, 0.0] for name in ("parse", "embed", "bare")}
    made = texts = 0
    for number in count(1):
        if made >= passages:
            break
        shelf = home / f"shelf-{number}"
        write_book(shelf, number, said, draw)
        before = {entry.id for entry in app.entries()}

        def parse(shelf: Path = shelf) -> None:
            assert all(one.error is None for one in Parsing(app, shelf).run())

        def embedded(shelf: Path = shelf) -> None:
            assert all(one.error is None for one in embed(app, shelf, filing=Filing()))

        took = {"parse": timed(parse), "embed": timed(embedded)}
        groups = []
        for entry in app.entries():
            if entry.id not in before:
                _, document, chunks = app.show(entry.id, scope)
                made += len(chunks)
                cut = [document.text[start:end] for one in chunks for start, end in one.sentences]
                groups.append([*(one.passage for one in chunks), *cut])
        texts += sum(map(len, groups))

        def bare(groups: list[list[str]] = groups) -> None:
            for group in groups:
                app.embedder.embed(group)

        took["bare"] = timed(bare)
        for name, (wall, cpu) in took.items():
            totals[name][0] += wall
            totals[name][1] += cpu
        row = _told(made, texts, totals)
        say(f"{made:,} of {passages:,} passages, {row['cpu_ratio']} by the processor, {row['ratio']} by the clock")
    return _told(made, texts, totals)


def _told(made: int, texts: int, totals: dict[str, list[float]]) -> dict[str, float]:
    found: dict[str, float] = {"passages": made, "texts": texts}
    for place, unit in enumerate(("s", "cpu_s")):
        found |= {f"{name}_{unit}": round(times[place], 2) for name, times in totals.items()}
    for place, name in enumerate(("ratio", "cpu_ratio")):
        pipeline = totals["parse"][place] + totals["embed"][place]
        found[name] = round(pipeline / totals["bare"][place], 3)
    return found


def main() -> None:
    """Measure, print one table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder in BEIR layout")
    parser.add_argument("--passages", type=int, default=400)
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with build(Settings(home=home / "home")) as app:
            row = measure(app, home, pool(options.data), options.passages, lambda told: print(told, flush=True))
    for name, value in row.items():
        print(f"{name:16}{value:>14,.3f}")
    if options.json:
        options.json.write_text(json.dumps(row, indent=2) + "\n")


if __name__ == "__main__":
    main()
