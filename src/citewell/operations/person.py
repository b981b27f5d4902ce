"""All that a library holds about one person: shown, exported, or erased with a receipt."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.assistants.guidelines.patients_on_file import read_patients
from citewell.errors import InputError, LibraryError, NotFound
from citewell.history import AuditRecord
from citewell.types import LibraryEntry
from citewell.wiring import has_sealed, open_seal

if TYPE_CHECKING:
    from citewell.app import App

PATIENTS = "patients"
NOTHING = "Nothing about “{name}” was found: no document with this subject, patient on file, question or assessment."
SHARED_FILE = "{file} holds other patients too. Take “{name}” out of it by hand, then try again. Nothing was erased."
LEFT = "Erasing is not complete: {count} items are left. Try again."
NOT_SEARCHED = (
    "vaults, which their owners alone can open",
    "consultations, which are the clinician's record of a patient",
    "backups, exports and the copies of others",
    "names that stand in the text of other documents or questions",
)


@dataclass(frozen=True, slots=True)
class PersonalData:
    """What is held about one person under one name."""

    name: str
    documents: tuple[LibraryEntry, ...]
    """Every version of each document with this subject."""
    patient_files: tuple[Path, ...]
    records: tuple[AuditRecord, ...]
    """Questions asked about this person, and assessments of this patient."""

    @property
    def count(self) -> int:
        """How many things there are."""
        return len(self.documents) + len(self.patient_files) + len(self.records)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was erased, to be kept as proof: it names no person and no words."""

    erased_at: str
    person: str
    """A keyed fingerprint of the name: only the holder of the library's key can tell whose it is."""
    documents: tuple[str, ...]
    patient_files: int
    answers: tuple[str, ...]
    conversations: int
    left: int
    """How much was found in a second search, after erasing."""
    audit_head: str
    seal: str
    """A keyed fingerprint of all the above, by which a changed receipt is found out."""


def personal_data(app: App, name: str) -> PersonalData:
    """Everything that is kept under a name."""
    scope = app.scope_of_owner()
    documents = tuple(entry for entry in app.library.entries(scope) if entry.subject == name)
    records = tuple(app.audit_log.about(name, tenant=app.tenant)) if has_sealed(app.library) else ()
    return PersonalData(name, documents, tuple(_files_of(app.settings.home / PATIENTS, name)), records)


def export(app: App, name: str, target: Path) -> PersonalData:
    """Write everything about a person into one zip that other programs can read."""
    data = _required(app, name)
    try:
        with zipfile.ZipFile(target, "x", zipfile.ZIP_DEFLATED) as archive:
            target.chmod(0o600)
            archive.writestr("contents.json", _json(_contents(data)))
            for entry in data.documents:
                source = app.library.original(entry.id, app.scope_of_owner())
                archive.writestr(f"documents/{entry.id}/{Path(entry.name).name}", source.data)
            for path in data.patient_files:
                archive.writestr(f"patients/{path.name}", path.read_bytes())
            for record in data.records:
                archive.writestr(f"answers/{record.entry.answer_id}.json", _json(dict(record.words)))
    except FileExistsError as error:
        raise InputError(f"{target} is already there. Choose another file.") from error
    except OSError as error:
        raise InputError(f"{target} could not be written ({error.strerror}). Choose another place.") from error
    return data


def erase(app: App, name: str, *, by: str) -> Receipt:
    """Erase everything about a person, then search again; a hold on any of it refuses all."""
    data = _required(app, name)
    app.holds.refuse(tenant=app.tenant, person=name)
    for entry in data.documents:
        app.holds.refuse(tenant=app.tenant, lineage=entry.lineage)
    for path in data.patient_files:
        if len(read_patients(path)) > 1:
            raise InputError(SHARED_FILE.format(file=path.name, name=name))
    answers = tuple(record.entry.answer_id for record in data.records)
    conversations = app.ask_service.ledger.erase_person(name, app.tenant) if answers else 0
    for lineage in dict.fromkeys(entry.lineage for entry in data.documents):
        first = next(entry for entry in data.documents if entry.lineage == lineage)
        app.erase(first.id, app.scope_of_owner(), by=by)
    for path in data.patient_files:
        _overwrite(path)
    left = personal_data(app, name).count
    if left:
        raise LibraryError(LEFT.format(count=left))
    return _receipt(app, data, answers, conversations)


def is_genuine(app: App, receipt: dict[str, Any]) -> bool:
    """Whether this library wrote a receipt, and nobody has changed it."""
    unsealed = {key: value for key, value in receipt.items() if key != "seal"}
    return receipt.get("seal") == open_seal(app.library).fingerprint(_canonical(unsealed))


def _receipt(app: App, data: PersonalData, answers: tuple[str, ...], conversations: int) -> Receipt:
    seal = open_seal(app.library)
    proof = app.audit_log.verify_chain(app.tenant)
    told: dict[str, Any] = {
        "erased_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "person": seal.fingerprint(data.name),
        "documents": [entry.id for entry in data.documents],
        "patient_files": len(data.patient_files),
        "answers": list(answers),
        "conversations": conversations,
        "left": 0,
        "audit_head": str(proof.head),
    }
    return Receipt(**told, seal=seal.fingerprint(_canonical(told)))


def _canonical(told: dict[str, Any]) -> str:
    return json.dumps(told, sort_keys=True)


def _required(app: App, name: str) -> PersonalData:
    data = personal_data(app, name)
    if not data.count:
        raise NotFound(NOTHING.format(name=name))
    return data


def _files_of(folder: Path, name: str) -> Iterator[Path]:
    """The files that hold a patient of this ID; one that cannot be read is told, since it may be theirs."""
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        try:
            patients = read_patients(path)
        except InputError as error:
            raise InputError(f"{path.name} in {folder} could not be read: {error} Mend or remove it first.") from error
        if any(patient.id == name for patient in patients):
            yield path


def _overwrite(path: Path) -> None:
    """Write zeros over a file, then remove it."""
    with path.open("rb+") as file:
        file.write(bytes(path.stat().st_size))
        file.flush()
    path.unlink()


def _contents(data: PersonalData) -> dict[str, Any]:
    return {
        "name": data.name,
        "exported_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "documents": [asdict(entry) for entry in data.documents],
        "patients": [path.name for path in data.patient_files],
        "answers": [asdict(record.entry) for record in data.records],
        "not_searched": list(NOT_SEARCHED),
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)


def digest(path: Path) -> str:
    """The sha256 of an export, to hand over beside it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
