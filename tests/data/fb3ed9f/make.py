"""Made what lies beside this file, with the code of commit fb3ed9f: a library, a vault, their backups, and both doors.

Run it again in a checkout of that commit, never with later code:

    git worktree add /tmp/fb3ed9f fb3ed9f --detach
    PYTHONPATH=/tmp/fb3ed9f/src python tests/data/fb3ed9f/make.py

- home.tar.xz: `home` is the library's folder with its vault, `backup` what `citewell backup` made of it,
  `record.vault` what `citewell vault export` made of the vault.
- expected.json.gz: what fb3ed9f itself printed about them with `--json`.
- openapi.json.gz: every route with what a client relies on.
- verbs.txt: every verb of the command line with its options and arguments.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PASSPHRASE, PASSWORD = "three green bicycles", "four yellow tandems"
ANN = "ann@clinic.example"

ORS = """# Oral rehydration

Give ORS 75 ml/kg over 4 hours to children with some dehydration.

## Severe dehydration

Start intravenous fluids at once in severe dehydration: 100 ml/kg of Ringer's lactate.
"""
ZINC = "# Zinc\n\nGive zinc 20 mg daily for 14 days to children with diarrhoea.\n"
IRON = "# Iron\n\nGive ferrous sulfate {dose} mg once daily for iron deficiency anaemia in adults.\n"
OTITIS = """# Acute otitis media: treatment

Written for tests in the manner of a guideline.

## Children

Offer amoxicillin 40 mg/kg per day in two doses for 5 days to children with acute otitis media. \
Give paracetamol 15 mg/kg every 6 hours for pain (maximum 1 g per dose).
"""
RECORD = {
    "resourceType": "Bundle",
    "type": "collection",
    "entry": [
        {"resource": resource}
        for resource in (
            {"resourceType": "Patient", "id": "p", "name": [{"family": "Roe", "given": ["Ann"]}]},
            {
                "resourceType": "MedicationRequest",
                "id": "m",
                "status": "active",
                "authoredOn": "2015-03-12",
                "medicationCodeableConcept": {"text": "Warfarin Sodium 5 MG Oral Tablet"},
                "requester": {"display": "Dr. Li Chen"},
            },
            {
                "resourceType": "Condition",
                "id": "c",
                "code": {"text": "Atrial fibrillation"},
                "onsetDateTime": "2015",
                "clinicalStatus": {"coding": [{"code": "active"}]},
            },
        )
    ],
}


class Home:
    """The command line on one folder; what it prints is what is expected of later versions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.expected: dict[str, Any] = {}

    def __call__(self, *words: str, stdin: str = "", name: str | None = None) -> Any:
        from typer.testing import CliRunner

        from citewell.cli.commands import app

        done = CliRunner().invoke(app, ["--home", str(self.folder), *words, "--json"], input=stdin)
        if done.exit_code:
            raise SystemExit(f"{words}: {done.output} {done.exception}")
        told = json.loads(done.stdout)
        if name:
            self.expected[name] = told
        return told

    def record(self, *words: str, name: str | None = None) -> Any:
        return self("records", *words, "--passphrase-stdin", stdin=f"{PASSPHRASE}\n", name=name)


def fill_library(home: Home, folder: Path) -> None:
    """Documents with tags, versions and a journey; people; questions answered, continued, and passed on; a consult."""
    for name, text, tags in (
        ("ors.md", ORS, ("public", "ward")),
        ("iron.md", IRON.format(dose=100), ("pharmacy",)),
        ("zinc.md", ZINC, ("ward",)),
        ("otitis.md", OTITIS, ("public", "guideline")),
    ):
        (folder / name).write_text(text)
        home("add", str(folder / name), *(word for tag in tags for word in ("--tag", tag)))
    (folder / "iron.md").write_text(IRON.format(dose=200))
    home("add", str(folder / "iron.md"), "--tag", "pharmacy")
    home("users", "add", ANN, "--name", "Ann Lee", "--tag", "ward", "--password-stdin", stdin=f"{PASSWORD}\n")
    home("users", "key", ANN, "--name", "tests", name="key")
    home("tags", "owner", "ward", ANN)
    home("journeys", "add", "Diarrhoea in children", name="journey")
    ids = {entry["title"]: entry["document_id"] for entry in home("list")["documents"]}
    home("journeys", "assign", "diarrhoea-in-children", ids["Zinc"])
    journey = ("--journey", "diarrhoea-in-children")
    home("journeys", "ask", "How much zinc, and for how many days?", *journey, name="journey ask")
    home("ask", "How much ORS for some dehydration?", name="ask")
    home("ask", "and over how many hours?", "--continue", name="follow up")
    home("ask", "How much iron for anaemia in adults?", name="other ask")
    home("ask", "Is ORS given to adults with cholera?", name="passed on")
    home("ask", "How is a broken wrist set?")
    waiting = home("inbox", "list")["questions"]
    home("inbox", "reply", waiting[0]["id"], "Ask the fracture clinic.")
    consult = home("consult", "start")["id"]
    home("consult", "say", consult, "A boy aged 4, 16 kg, earache for 2 days. No allergies. Takes no medicines.")
    home("consult", "differentials", consult, "--add", "Acute otitis media:high")
    home("consult", "assess", consult)
    home("consult", "sign", consult, "--as", "Dr Ada")
    open_consult = home("consult", "start")["id"]
    home("consult", "say", open_consult, "Cough for 3 days, no fever.")
    home("search", "iron deficiency anaemia", name="search")
    for document in ids.values():
        home("show", document, name=f"show {document}")
    home("evidence", "history", ids["Oral rehydration"], name="history")
    for name in ("conversations list", "inbox list", "inbox asked", "audit list", "audit verify", "consult list"):
        home(*name.split(), name=name)
    for name in ("list", "users list", "journeys list", "evidence list", "verify"):
        home(*name.split(), name=name)
    for talk in home.expected["conversations list"]["conversations"]:
        home("conversations", "show", talk["id"], name=f"conversations show {talk['id']}")
    for entry in home.expected["audit list"]["records"]:
        home("audit", "show", entry["answer_id"], name=f"audit show {entry['answer_id']}")
        home("replay", entry["answer_id"], name=f"replay {entry['answer_id']}")
    for item in home.expected["inbox list"]["questions"]:
        home("inbox", "show", item["id"], name=f"inbox show {item['id']}")
    for one in home.expected["consult list"]["consults"]:
        home("consult", "show", one["id"], name=f"consult show {one['id']}")


def fill_vault(home: Home, folder: Path) -> None:
    """Facts that were imported, added and confirmed; an alert put away; answers kept, one of them judged."""
    vault = home("vault", "create", "me", "--passphrase-stdin", stdin=f"{PASSPHRASE}\n", name="vault create")
    home.expected["recovery"] = vault["recovery_phrase"]
    (folder / "record.json").write_text(json.dumps(RECORD))
    home.record("import", str(folder / "record.json"))
    home.record("add", "allergy", "Penicillin", "--reaction", "rash", "--severity", "mild")
    home.record("add", "medication", "Amoxicillin", "--dose", "500 mg", "--as-needed")
    alert, *_ = home.record("alerts")["alerts"]
    home.record("dismiss", alert["id"], "--why", "it was checked")
    asked = home.record("ask", "Who prescribed warfarin?", name="records ask")
    said = home.record("conversations", asked["conversation_id"])["turns"]
    home.record("feedback", said[1]["answer_id"], "helpful")
    home.record("conversations", asked["conversation_id"], name="records talk")
    for name in ("facts", "papers", "review", "conversations", "settings"):
        home.record(name, name=f"records {name}")
    home.record("alerts", "--all", name="records alerts")
    home.record("export", str(folder / "fhir.json"))
    home.expected["fhir"] = json.loads((folder / "fhir.json").read_text())


def verbs(group: Any, words: tuple[str, ...] = ()) -> Iterator[str]:
    """Every verb with its options and arguments, a line each."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from verbs(command, (*words, name))
        else:
            given = ("|".join([*one.opts, *one.secondary_opts]) for one in command.params if one.opts != [one.name])
            taken = (f"<{one.name}>" for one in command.params if one.opts == [one.name])
            yield " ".join([*words, name, *sorted(given), *sorted(taken)])


KEPT = ("type", "format", "enum", "const", "items", "properties", "required", "additionalProperties", "$ref", "pattern")
RULES = (
    "anyOf",
    "oneOf",
    "allOf",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "discriminator",
)


def reduced(schema: Any) -> Any:
    """A schema without the words that explain it."""
    if isinstance(schema, list):
        return [reduced(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for name, value in schema.items():
        if name == "properties":
            kept[name] = {field: reduced(of) for field, of in value.items()}
        elif name in (*KEPT, *RULES):
            kept[name] = reduced(value)
    return kept


def contract(openapi: dict[str, Any]) -> dict[str, Any]:
    """What a client relies on: paths, methods, parameters, the fields that go in, and those that come out."""
    routes: dict[str, Any] = {}
    for path, methods in openapi["paths"].items():
        for method, told in methods.items():
            routes[f"{method.upper()} {path}"] = {
                "parameters": {
                    f"{one['in']} {one['name']}": {"required": one.get("required", False), **reduced(one["schema"])}
                    for one in told.get("parameters", [])
                },
                "body_required": told.get("requestBody", {}).get("required", False),
                "body": {
                    kind: reduced(one.get("schema", {}))
                    for kind, one in told.get("requestBody", {}).get("content", {}).items()
                },
                "responses": {
                    status: {kind: reduced(of.get("schema", {})) for kind, of in one.get("content", {}).items()}
                    for status, one in told["responses"].items()
                },
            }
    schemas = {name: reduced(of) for name, of in openapi["components"]["schemas"].items()}
    return {"routes": routes, "schemas": schemas}


def openapi(home: Path) -> dict[str, Any]:
    """The schema that a server on this folder tells."""
    try:
        from citewell.app import build
    except ImportError:  # at fb3ed9f
        from citewell.bootstrap import build

    from citewell.api.app import create_app
    from citewell.config import Settings

    with build(Settings(home=home)) as app:
        told: dict[str, Any] = create_app(app, token="a-token-for-tests").openapi()
    return told


def write(name: str, value: Any) -> None:
    told = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    (HERE / name).write_bytes(gzip.compress(told, mtime=0))


def main() -> None:
    """Make everything."""
    from typer.main import get_command

    from citewell.adapters.vault.keys import LOWEST_MEMORY_KIB, LOWEST_TIME_COST, Derivation
    from citewell.cli.commands import app

    Derivation.measured = staticmethod(lambda: Derivation(LOWEST_TIME_COST, LOWEST_MEMORY_KIB))  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home = Home(folder / "home")
        fill_library(home, folder)
        fill_vault(home, folder)
        home("backup", str(folder / "backup"))
        home("vault", "export", str(folder / "record.vault"), "--passphrase-stdin", stdin=f"{PASSPHRASE}\n")
        write("openapi.json.gz", contract(openapi(folder / "home")))
        write("expected.json.gz", home.expected)
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:xz", preset=9) as archive:
            for path in (folder / "home", folder / "backup", folder / "record.vault"):
                archive.add(path, path.name, filter=lambda one: None if "/cache" in one.name else one)
        (HERE / "home.tar.xz").write_bytes(packed.getvalue())
    (HERE / "verbs.txt").write_text("".join(f"{line}\n" for line in verbs(get_command(app))))


if __name__ == "__main__":
    sys.exit(main())
