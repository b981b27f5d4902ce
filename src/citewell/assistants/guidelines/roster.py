"""Patients on file: JSON files and FHIR bundles in a folder, looked up by id in code."""

from __future__ import annotations

from pathlib import Path

from citewell.assistants.guidelines.patient import Patient, patients_from_json
from citewell.errors import InputError, NotFound

MAX_FILE_BYTES = 50_000_000


def read_patients(path: Path) -> tuple[Patient, ...]:
    """The patients of one file."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InputError("The patient file is larger than 50 MB. Split it.")
        return patients_from_json(path.read_text("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError("The patient file is not UTF-8 text. Save it as JSON in UTF-8.") from error
    except OSError as error:
        raise InputError("The patient file cannot be read. Check its name and that you may open it.") from error


def roster(folder: Path) -> dict[str, Patient]:
    """Every patient of a folder by id; of the same id, the last file's."""
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    return {one.id: one for path in files for one in read_patients(path)}


def find_patient(folder: Path, patient_id: str) -> Patient:
    """The patient of exactly this id."""
    found = roster(folder).get(patient_id)
    if found is None:
        raise NotFound(
            "There is no such patient. Name a JSON file, or put one into the patients folder of the library."
        )
    return found
