"""Things of every kind that routes name by id, made anew where an earlier request has removed them."""

from __future__ import annotations

from typing import Any

import httpx

from citewell.app import App
from citewell.samples import sample_files
from citewell.types import Role

PASSPHRASE = "the words that open this record"
FACT = {"kind": "medication", "fields": {"generic_name": "Penicillin V"}}
FINDING = {"name": "fever", "category": "symptom", "polarity": "present"}
UNANSWERED = "Which nurse is in charge of warfarin today?"


class Things:
    """What is there now, by the name that a path gives to its id."""

    def __init__(self, app: App, client: httpx.Client) -> None:
        self._app, self._client = app, client
        people = app.people
        self.admin = people.add(
            tenant="local", email="eve@local.example", name="Eve", role=Role.ADMIN, tags=[], password="a long password"
        )
        self.key = people.add_key(self.admin.id, tenant="local", name="tests")[1]
        self._opened = ""

    def ids(self, path: str) -> dict[str, list[str]]:
        """Ids that exist, for each name in a path; none for what nobody can name."""
        found: dict[str, list[str]] = {}
        base = ""
        for name in (part[1:-1] for part in path.split("/") if part.startswith("{")):
            make = getattr(self, f"_{name}", None)
            if make is not None:
                found[name] = make(base)
            if found.get(name) and name in ("vault", "consult_id", "user_id"):
                base = found[name][0]
        return found

    def _get(self, path: str, name: str) -> list[dict[str, Any]]:
        answer = self._client.get(f"/api/v1/{path}")
        assert answer.status_code == 200, answer.text
        return list(answer.json()[name])

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._client.post(f"/api/v1/{path}", json=body)
        assert answer.status_code in (200, 201), answer.text
        return dict(answer.json())

    def _document_id(self, base: str) -> list[str]:
        if base:
            return [one["document_id"] for one in self._get(f"records/{base}/documents", "documents")]
        if not self._get("documents", "documents"):
            assert not [outcome.error for outcome in self._app.add_all(sample_files()) if outcome.error]
        return [one["document_id"] for one in self._get("documents", "documents")]

    def _slug(self, _base: str) -> list[str]:
        if not self._get("journeys", "journeys"):
            self._post("journeys", {"name": "Hip", "slug": "hip"})
        return [one["slug"] for one in self._get("journeys", "journeys")]

    def _conversation_id(self, base: str) -> list[str]:
        place = f"records/{base}/conversations" if base else "conversations"
        if not base and not self._get(place, "conversations"):
            self._app.ask(UNANSWERED)
        return [one["id"] for one in self._get(place, "conversations")]

    def _routed_id(self, _base: str) -> list[str]:
        return [one["id"] for one in self._get("inbox", "questions")]

    def _answer_id(self, _base: str) -> list[str]:
        return [one["answer_id"] for one in self._get("audit", "records")]

    def _consult_id(self, _base: str) -> list[str]:
        if not any(one["state"] == "interviewing" for one in self._get("consults", "consults")):
            made = self._post("consults", {})["id"]
            self._post(f"consults/{made}/findings", FINDING)
        return [one["id"] for one in self._get("consults", "consults")]

    def _finding_id(self, base: str) -> list[str]:
        consult = self._client.get(f"/api/v1/consults/{base}").json()
        return [one["id"] for one in consult["findings"]]

    def _user_id(self, _base: str) -> list[str]:
        return [one["id"] for one in self._get("users", "users") if one["id"] != self.admin.id]

    def _key_id(self, base: str) -> list[str]:
        user = base or self.admin.id
        self._app.people.add_key(user, tenant="local", name="to be replaced")
        keys = self._app.people.keys(user, tenant="local")
        return [key.id for key in keys if key.name == "to be replaced"]

    def _vault(self, _base: str) -> list[str]:
        """One that is open, and others that are not."""
        vaults = self._get("vaults", "vaults")
        if not any(one["id"] == self._opened and one["is_open"] for one in vaults):
            self._opened = self._post("vaults", {"label": f"record {len(vaults)}", "passphrase": PASSPHRASE})["vault"][
                "id"
            ]
            self._post(f"vaults/{self._opened}/unlock", {"passphrase": PASSPHRASE})
        if not self._fact_id(self._opened):
            self._post(f"records/{self._opened}/facts", FACT)
        return [self._opened, *(one["id"] for one in vaults if one["id"] != self._opened)]

    def _fact_id(self, base: str) -> list[str]:
        return [one["id"] for one in self._get(f"records/{base}/facts", "facts")]

    def _alert_id(self, base: str) -> list[str]:
        return [one["id"] for one in self._get(f"records/{base}/alerts", "alerts")]
