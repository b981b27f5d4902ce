"""What is written down when a consult is signed: enough to show it as it was, and to assess it again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from citewell.answer.audit import scope_json, text_hash
from citewell.history import AuditRecord
from citewell.types import User
from citewell.types.consult import Consult, Signature
from citewell.types.consult_plan_edits import line_at

KEY = "consult"
"""Under which a record holds it; records of questions have no such key."""


def is_consult(record: AuditRecord) -> bool:
    """Whether a record is of a signed consult."""
    return KEY in record.words


def content_of(consult: Consult) -> dict[str, Any]:
    """All that is signed."""
    return {
        "id": consult.id,
        "messages": [{"role": message.role, "text": message.text} for message in consult.messages],
        "setting": consult.setting,
        "country": consult.country,
        "consent": None if consult.consent is None else asdict(consult.consent),
        "findings": [asdict(finding) for finding in consult.findings],
        "gone": [{"finding": asdict(finding), "why": why} for finding, why in consult.gone],
        "differentials": [asdict(differential) for differential in consult.differentials],
        "acknowledged": list(consult.acknowledged),
        "despite": consult.despite,
        "notes": list(consult.notes),
        "plan": consult.plan,
        "edits": [dict(edit) for edit in consult.edits],
        "own": [dict(line) for line in consult.own],
        "removed": [list(pair) for pair in consult.removed],
        "moves": [list(pair) for pair in consult.moves],
        "meant": consult.meant,
    }


def sha256_of(content: Mapping[str, Any]) -> str:
    """The hash of what is signed: of its JSON with sorted keys and without blanks, in UTF-8.

    >>> sha256_of({"b": 1, "a": "ä"}) == sha256_of({"a": "ä", "b": 1})
    True
    """
    return text_hash(json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


def words_of(consult: Consult, *, signature: Signature, asker: User, setup: Mapping[str, Any]) -> dict[str, Any]:
    """The words of an audit record."""
    claims = list(claims_of(consult.plan or {}))
    return {
        "ended": "signed",
        "question": f"consult {consult.id}",
        "history": [{"role": message.role, "text": message.text} for message in consult.messages],
        "asker": {"user_id": asker.user_id, "role": asker.role.value},
        "scope": scope_json(asker.scope),
        "library": dict(setup["library"]),
        "setup": {key: value for key, value in setup.items() if key != "library"},
        "evidence": [_evidence(number, claim) for number, claim in enumerate(claims, 1)],
        "claims": claims,
        "answer": None,
        KEY: {**content_of(consult), "signed_by": signature.name, "signature": asdict(signature)},
    }


def claims_of(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every statement of a plan as a checked claim, in order."""
    entries = []
    for at, diagnosis in enumerate(plan.get("diagnoses", ()), 1):
        both = [*diagnosis["offered"], *diagnosis["held_back"]]
        for one in sorted(both, key=lambda statement: int(statement["id"])):
            place = one["place"]
            entries.append(
                {
                    "text": f"{diagnosis['condition']}: {one['text']}",
                    "verdict": "supported",
                    "reasons": [conflict["text"] for conflict in one["conflicts"]],
                    "is_shown": True,
                    "citations": [at],
                    "span": {"source_id": place["document_id"], "start": place["start"], "end": place["end"]},
                    "place": {key: place[key] for key in ("document_id", "document", "version", "page")},
                    "quote": place["quote"],
                }
            )
    return entries


def _evidence(number: int, claim: Mapping[str, Any]) -> dict[str, Any]:
    span = {key: claim["span"][key] for key in ("start", "end")}
    return {"number": number, **claim["place"], **span, "hash": text_hash(claim["quote"])}


def text_now(consult: Consult, statement_id: str) -> str | None:
    """What a statement says now: its last edit, else its own words; None where there is no such statement."""
    line = line_at(consult, statement_id)
    return None if line is None else str((consult.edit_of(line.label) or line.entry)["text"])


def quoted_in(consult: Consult) -> list[tuple[str, str]]:
    """Every sentence of the plan's sources, with its document."""
    plan: Any = consult.plan or {"diagnoses": []}
    statements = [one for diagnosis in plan["diagnoses"] for one in (*diagnosis["offered"], *diagnosis["held_back"])]
    return [(statement["text"], statement["place"]["document"]) for statement in statements]
