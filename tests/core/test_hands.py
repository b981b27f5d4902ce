"""Work shared between two cores gives what one core gives."""

from __future__ import annotations

import threading

import pytest

from citewell.adapters.index.helper_threads import HelperThreads


class TestBoth:
    @pytest.mark.parametrize("helpers", [0, 1, 3])
    def test_gives_what_each_gave(self, helpers: int) -> None:
        hands = HelperThreads(helpers=helpers)
        assert [hands.both(lambda n=n: n, lambda n=n: -n) for n in range(20)] == [(n, -n) for n in range(20)]

    def test_the_second_runs_while_the_first_does(self) -> None:
        began, done = threading.Event(), threading.Event()

        def here() -> bool:
            began.wait()
            done.set()
            return True

        def beside() -> bool:
            began.set()
            done.wait()
            return True

        assert HelperThreads(helpers=1).both(here, beside) == (True, True)

    def test_what_no_helper_has_time_for_is_done_here(self) -> None:
        hands, began, done = HelperThreads(helpers=1), threading.Event(), threading.Event()

        def occupy() -> None:
            began.set()
            done.wait()

        def here() -> str:
            began.wait()
            inner = hands.both(lambda: "own", threading.get_ident)
            assert inner == ("own", threading.get_ident())
            done.set()
            return "outer"

        assert hands.both(here, occupy) == ("outer", None)

    @pytest.mark.parametrize("helpers", [0, 1])
    def test_an_error_of_either_is_raised_and_the_next_work_is_done(self, helpers: int) -> None:
        hands = HelperThreads(helpers=helpers)

        def fail() -> None:
            raise ValueError("no")

        for pair in ((fail, lambda: 1), (lambda: 1, fail)):
            with pytest.raises(ValueError, match="no"):
                hands.both(*pair)
        assert hands.both(lambda: 1, lambda: 2) == (1, 2)


class TestLater:
    def test_does_it_here_where_nobody_helps(self) -> None:
        did: list[int] = []
        HelperThreads(helpers=0).later(lambda: did.append(threading.get_ident()))
        assert did == [threading.get_ident()]

    def test_does_it_beside_without_waiting(self) -> None:
        go, done = threading.Event(), threading.Event()

        def task() -> None:
            go.wait()
            done.set()

        HelperThreads(helpers=1).later(task)
        go.set()
        assert done.wait(60)
