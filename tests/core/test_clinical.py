"""Finding clinical names from several threads at once."""

from __future__ import annotations

import threading

import pytest

from citewell.clinical import Lexicon


def test_a_name_is_found_although_two_look_for_it_at_the_same_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    lexicon, text = Lexicon([], []), "Delayed puberty"
    lexicon._read_ontology()
    others = list[threading.Thread]()

    class Lines(dict[str, str]):
        """Lets another thread look for the same name while its line is read."""

        def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]
            if not others:
                others.append(threading.Thread(target=lexicon.find, args=(text,)))
                others[0].start()
                others[0].join()
            return super().get(key, default)  # type: ignore[arg-type]

    monkeypatch.setattr(lexicon, "_lines", Lines(lexicon._lines))
    first = [one.concept.name for one in lexicon.find(text)]
    assert others
    assert first == ["Delayed puberty"]
    assert [one.concept.name for one in lexicon.find(text)] == first
