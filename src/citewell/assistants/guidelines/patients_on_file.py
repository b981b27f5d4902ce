"""Patients on file: JSON files and FHIR bundles in a folder, looked up by id in code."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from citewell.assistants.guidelines.patient import PatientInput
from citewell.assistants.guidelines.read_patient import patients_from_json
from citewell.errors import InputError, NotFound

MAX_FILE_BYTES = 50_000_000


def read_patients(path: Path) -> tuple[PatientInput, ...]:
    """The patients of one file."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InputError("The patient file is over 50 MB. Split it.")
        return patients_from_json(path.read_text("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError("The patient file is not UTF-8 text. Save it as JSON in UTF-8.") from error
    except OSError as error:
        raise InputError("The patient file could not be read. Check its name and permissions.") from error


@dataclass(frozen=True, slots=True)
class Roster:
    """The patients on file, and the files that could not be read: one bad file hides nobody else."""

    patients: dict[str, PatientInput]
    unreadable: Mapping[str, str]
    """The name of each file, and why."""


def roster(folder: Path) -> Roster:
    """Every patient of a folder by id; of the same id, the last file's. What others may read is closed to them."""
    patients: dict[str, PatientInput] = {}
    unreadable: dict[str, str] = {}
    found = sorted(folder.glob("*.json")) if folder.is_dir() else []
    for path in [folder, *found] if found else []:
        _close_to_others(path)
    for path in found:
        try:
            patients |= {patient.id: patient for patient in read_patients(path)}
        except InputError as error:
            unreadable[path.name] = str(error)
    return Roster(patients, unreadable)


def _close_to_others(path: Path) -> None:
    """Leave a patient's file, and the folder, to its owner alone; what a link points to is not ours to change."""
    with suppress(OSError):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode) and mode & 0o077:
            path.chmod(stat.S_IMODE(mode) & 0o700)


def find_patient(folder: Path, patient_id: str) -> PatientInput:
    """The patient of exactly this id."""
    known = roster(folder)
    if (patient_input := known.patients.get(patient_id)) is not None:
        return patient_input
    told = "Patient not found. Give a JSON file, or put one in the library's patients folder."
    if known.unreadable:
        count = len(known.unreadable)
        listed = " ".join(f"{name}: {why}" for name, why in known.unreadable.items())
        told += f" {count} {'file' if count == 1 else 'files'} there could not be read. {listed}"
    raise NotFound(told)
