"""Programs and scripts written for an earlier version go on working: routes, fields and verbs are still there."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.main import get_command

from citewell.cli.commands import app
from tests.contracts.earlier import FOLDER, MADE, read
from tests.contracts.fitting import Contract, differences

CONSULTS = "/api/v1/consults"
CONSULT = f"{CONSULTS}/{{consult_id}}"
ANSWERED_WITH_A_CONSULT = (
    *(f"POST {CONSULT}/{step}" for step in ("record", "messages", "findings", "confirmed", "acknowledged", "assess")),
    *(f"POST {CONSULT}/{step}" for step in ("edits", "sign")),
    *(f"{method} {CONSULT}/findings/{{finding_id}}" for method in ("PATCH", "DELETE")),
    f"PUT {CONSULT}/differentials",
    f"POST {CONSULTS}",
    f"GET {CONSULT}",
)
DELIBERATE: dict[str, str] = (
    {
        f"{route} {201 if route.endswith('consults') else 200}.{finding}.polarity: now also intended, other, unclear": (
            "a message is read closer than it was; such a finding was an error 500 until the schema could tell it"
        )
        for route in ANSWERED_WITH_A_CONSULT
        for finding in ("findings[]", "gone[].finding")
    }
    | {
        f"{route} 200.{pieces}[].kind: now also section, table": "tables and sections are cited by themselves"
        for route, pieces in (
            ("POST /api/v1/chat", "debug.chunks"),
            ("GET /api/v1/guidelines/{document_id}/pieces", "pieces"),
        )
    }
    | {
        "GET /api/v1/consults/{consult_id}/export 200: string became object": (
            "the schema called the FHIR document of a consult a text; what is sent is the same"
        )
    }
)
"""What may differ from fb3ed9f, as `differences` tells it, and why; one that is no more must leave."""

SHOWN_SINCE = {
    *("registration", "users[].registration", "has_own_password", "users[].has_own_password", "keys[].ends_at"),
    *("signature", *(f"signature.{n}" for n in ("user_id", "name", "registration", "confirmed_by", "at", "sha256"))),
    "symptoms_changed",  # rows of a symptom index that a newer edition words differently
    *("corrected", "findings[].corrected", "gone[].finding.corrected", "red_flags[].words"),
    *("emergency", "emergency.kinds", "emergency.language", "emergency.text", "emergency.words"),
    *(
        "taken_into_account",
        *(f"taken_into_account[].{name}" for name in ("field", "index", "note", "read_as", "words")),
    ),
    *(
        "unused",
        *(f"unused[].{name}" for name in ("field", "index", "kind", "why", "words", "message", "start", "end")),
    ),
    *("unused[].text", "expansions[].from_words"),
    *(
        "coverage",
        *(f"coverage.{name}" for name in ("characters", "left_out", "numbered", "recommendations", "unread")),
    ),
    *("documents[].guideline", "guideline", "notes", "rules[].tables", "moves", "own", "removed", "scores"),
    *(f"scores[].{name}" for name in ("ask", "guideline", "highest", "items", "meaning", "most", "name", "page")),
    *(
        "scores[].rules",
        "scores[].total",
        *(f"scores[].items[].{name}" for name in ("fact", "points", "state", "text")),
    ),
    *(f"{place}{name}" for place in ("", "guidelines[].") for name in ("sections", "tables", "unread")),
    "imported[].files",  # what became of each file of an export of many
    *(f"imported[].files[].{name}" for name in ("is_read", "name", "said")),
    "scope.document",  # the one document to which a question was narrowed
    "notices",  # what was published since about the documents that an answer cites
    *(f"notices[].{name}" for name in ("document_id", "document", "kind", "where", "pmid", "text")),
    *(  # the codes that a patient's record gives for a finding of a consultation
        f"{finding}.codes{part}"
        for finding in ("findings[]", "gone[].finding")
        for part in ("", "[].system", "[].code")
    ),
    "records[].sources",  # which documents an answer on record cites, as the audit page shows them
}
"""Fields that are answered and were not in the schema of fb3ed9f; `from_words` was sent then too, undeclared."""


@pytest.fixture(scope="module")
def today(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    told = MADE["contract"](MADE["openapi"](tmp_path_factory.mktemp("contract") / "home"))
    contract: dict[str, Any] = json.loads(json.dumps(told))
    return contract


def test_every_route_takes_what_it_took_and_answers_with_what_it_answered_with(today: dict[str, Any]) -> None:
    before = Contract(**read("openapi"))
    assert len(before.routes) == 132
    assert set(differences(before, Contract(**today))) == set(DELIBERATE)


def test_no_route_shows_a_field_that_nobody_meant_to_show(today: dict[str, Any]) -> None:
    """What a noun holds is what a route answers with: a field that is added to one shows here."""
    before = Contract(**read("openapi"))
    known = tuple(f"{route} " for route in before.routes)
    added = {path for path in Contract(**today).shown() - before.shown() if path.startswith(known)}
    assert {path.partition(".")[2] for path in added} == SHOWN_SINCE


def without_route(told: dict[str, Any]) -> str:
    del told["routes"]["GET /api/v1/search"]
    return "GET /api/v1/search: gone"


def without_status(told: dict[str, Any]) -> str:
    told["routes"]["GET /api/v1/search"]["responses"]["201"] = told["routes"]["GET /api/v1/search"]["responses"].pop(
        "200"
    )
    return "GET /api/v1/search 200: gone"


def without_parameter(told: dict[str, Any]) -> str:
    del told["routes"]["GET /api/v1/search"]["parameters"]["query tag"]
    return "GET /api/v1/search ?query tag: gone"


def with_a_duty(told: dict[str, Any]) -> str:
    told["routes"]["GET /api/v1/search"]["parameters"]["query why"] = {"type": "string", "required": True}
    return "GET /api/v1/search ?query why: now required"


def inside(told: dict[str, Any], schema: Any, *path: str) -> Any:
    """The schema itself of a field; of an array, what is in it."""
    contract = Contract(**told)
    (found,) = contract.kinds(schema)
    for name in path:
        (found,) = contract.kinds(found["properties"][name])
        (found,) = contract.kinds(found["items"]) if found.get("type") == "array" else (found,)
    return found


def hits(told: dict[str, Any], *path: str) -> Any:
    schema = told["routes"]["GET /api/v1/search"]["responses"]["200"]["application/json"]
    return inside(told, schema, "hits", *path)


def question(told: dict[str, Any], *path: str) -> Any:
    return inside(told, told["routes"]["POST /api/v1/ask"]["body"]["application/json"], *path)


def without_field(told: dict[str, Any]) -> str:
    del hits(told)["properties"]["text"]
    return "GET /api/v1/search 200.hits[].text: gone"


def with_another_type(told: dict[str, Any]) -> str:
    hits(told, "start")["type"] = "string"
    return "GET /api/v1/search 200.hits[].start: integer became string"


def with_a_field_left_out_at_times(told: dict[str, Any]) -> str:
    hits(told)["required"].remove("text")
    return "GET /api/v1/search 200.hits[].text: no longer always there"


def with_a_field_that_must_be_sent(told: dict[str, Any]) -> str:
    question(told)["required"].append("tags")
    return "POST /api/v1/ask body.tags: now required"


def with_shorter_words(told: dict[str, Any]) -> str:
    question(told, "question")["maxLength"] = 10
    return "POST /api/v1/ask body.question: narrower limits"


@pytest.mark.parametrize(
    "change",
    [
        without_route, without_status, without_parameter, with_a_duty, without_field, with_another_type,
        with_a_field_left_out_at_times, with_a_field_that_must_be_sent, with_shorter_words,
    ],
)  # fmt: skip
def test_a_break_would_be_told(change: Callable[[dict[str, Any]], str]) -> None:
    changed = read("openapi")
    problem = change(changed)
    assert problem in set(differences(Contract(**read("openapi")), Contract(**changed)))


def parts(line: str) -> tuple[str, set[str], int]:
    """A verb, its options and the number of its arguments."""
    words = line.split()
    options = {word for word in words if word.startswith("-")}
    arguments = [word for word in words if word.startswith("<")]
    return " ".join(word for word in words if word not in options and word not in arguments), options, len(arguments)


def test_every_verb_with_its_options_is_still_there() -> None:
    today = {verb: (options, count) for verb, options, count in map(parts, MADE["verbs"](get_command(app)))}
    before = [parts(line) for line in (FOLDER / "verbs.txt").read_text().splitlines()]
    assert len(before) == 109
    for verb, options, count in before:
        assert verb in today, verb
        assert options <= today[verb][0], verb
        assert count == today[verb][1], verb
