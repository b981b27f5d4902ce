"""How far a document has come, and how long it will take."""

from __future__ import annotations

from citewell.api.progress import REMEMBERED, Progress, Stopwatch
from citewell.ingest.parse_cut_embed import Step


def test_the_time_left_follows_from_what_was_done_since_it_was_first_seen() -> None:
    watch = Stopwatch()
    first = watch.look("d", Step("embedding", 100, 400), now_s=10.0)
    early = watch.look("d", Step("embedding", 110, 400), now_s=11.0)
    later = watch.look("d", Step("embedding", 200, 400), now_s=20.0)
    assert [one.time_left_s for one in (first, early, later)] == [None, None, 20.0]
    assert later == Progress("embedding", 200, 400, 20.0, "Indexing 200 of 400 · about 20 s left")


def test_another_stage_starts_the_watch_anew() -> None:
    watch = Stopwatch()
    watch.look("d", Step("reading"), now_s=0.0)
    watch.look("d", Step("embedding", 0, 400), now_s=100.0)
    assert watch.look("d", Step("embedding", 100, 400), now_s=110.0).time_left_s == 30.0


def test_what_waits_says_so_and_what_is_done_is_forgotten() -> None:
    watch = Stopwatch()
    assert watch.look("d", None) == Progress("waiting", 0, 0, None, "Queued")
    watch.look("d", Step("embedding", 0, 10), now_s=0.0)
    watch.forget("d")
    assert watch.look("d", Step("embedding", 9, 10), now_s=50.0).time_left_s is None


def test_documents_that_nobody_looks_at_again_do_not_pile_up() -> None:
    watch = Stopwatch()
    for number in range(3 * REMEMBERED):
        watch.look(f"d{number}", Step("reading"), now_s=0.0)
    assert list(watch._first) == [f"d{number}" for number in range(2 * REMEMBERED, 3 * REMEMBERED)]
