"""Finding clinical names from several threads at once."""

from __future__ import annotations

import threading

import pytest

from citewell.clinical import Lexicon


def test_a_name_is_found_although_two_look_for_it_at_the_same_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    lexicon, text = Lexicon([], []), "Delayed puberty"
    lexicon._read_ontology()
    note, others = lexicon._note_length, list[threading.Thread]()

    def looked_at_meanwhile(place: str) -> None:
        if not others:
            others.append(threading.Thread(target=lexicon.find, args=(text,)))
            others[0].start()
            others[0].join()
        note(place)

    monkeypatch.setattr(lexicon, "_note_length", looked_at_meanwhile)
    first = [one.concept.name for one in lexicon.find(text)]
    assert others
    assert first == ["Delayed puberty"]
    assert [one.concept.name for one in lexicon.find(text)] == first
