"""Exports of many files come in as one: a zip or a folder, in one transaction, with a report for each file."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from citewell.app import App
from citewell.errors import DamagedFile, InputError, TooLarge
from citewell.ports.records import FactCounts
from citewell.types import Source
from citewell.types.facts import LabResult, RecordOwner
from citewell.vaults.health_record import Record
from tests.core.test_cda_vendors import PERSON, allergy, document, section
from tests.core.test_fhir_records import ALL, DOCTOR, INR, PATIENT, PENICILLIN, WARFARIN, bundle

SOMEBODY = {**PATIENT, "id": "p2", "birthDate": "1961"}
APPLE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE HealthData [
<!ELEMENT HealthData (ExportDate,Me,(Record|Correlation)*)>
<!ATTLIST Record type CDATA #REQUIRED>
]>
<HealthData locale="en_GB">
 <Me HKCharacteristicTypeIdentifierDateOfBirth="{born}"
  HKCharacteristicTypeIdentifierBiologicalSex="HKBiologicalSexFemale"/>
{records}
</HealthData>"""


def measured(kind: str, value: str, unit: str, at: str) -> str:
    return f' <Record type="HKQuantityTypeIdentifier{kind}" unit="{unit}" value="{value}" startDate="{at} +0100"/>'


def apple(*records: str, born: str = "1950-02-03") -> bytes:
    return APPLE.format(born=born, records="\n".join(records)).encode()


def zipped(files: Mapping[str, bytes]) -> Source:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in files.items():
            target.writestr(name, data)
    return Source(made.getvalue(), "export.zip")


def resource(told: dict[str, Any]) -> bytes:
    return json.dumps(told).encode()


def a_summary(given: str = "Ann", born: str = "19500203") -> bytes:
    person = PERSON.format(given, "Roe", f'<birthTime value="{born}"/>')
    entity = '<code code="1191" displayName="Aspirin"/>'
    text = section("48765-2", "<list><item>Aspirin: hives</item></list>", allergy(entity))
    return document(text).data.replace(b"<component>", person.encode() + b"<component>", 1)


@pytest.fixture
def record(app: App) -> Record:
    return Record(app)


def nothing(record: Record) -> bool:
    return not record.facts.all(record.scope) and not record._app.entries()


def test_a_portal_zip_is_read_without_its_packaging_and_the_same_zip_changes_nothing(record: Record) -> None:
    files = {
        "README - Open for Instructions.TXT": b"Open INDEX.HTM",
        "INDEX.HTM": b"<html><body>Your summary</body></html>",
        "IHE_XDM/ANN1/METADATA.XML": b"<SubmitObjectsRequest/>",
        "IHE_XDM/ANN1/STYLE.XSL": b"<xsl:stylesheet/>",
        "IHE_XDM/ANN1/DOC0001.XML": a_summary(),
        "Letters/letter.txt": b"Dear Ann, please take the tablets with water. Dr Chen",
    }
    imported = record.import_source(zipped(files))
    assert {report.name: report.is_read for report in imported.files} == {
        "README - Open for Instructions.TXT": False,
        "INDEX.HTM": False,
        "IHE_XDM/ANN1/METADATA.XML": False,
        "IHE_XDM/ANN1/STYLE.XSL": False,
        "IHE_XDM/ANN1/DOC0001.XML": True,
        "Letters/letter.txt": True,
    }
    assert [fact.kind for fact in record.facts.all(record.scope, kind="allergy")] == ["allergy"]
    assert len(record._app.entries()) == 2
    again = record.import_source(zipped(files))
    assert (again.change.added, again.change.changed, len(record._app.entries())) == (0, 0, 2)
    assert {report.said for report in again.files if report.is_read} == {"Already in this record."}


def test_resources_in_files_of_their_own_refer_to_each_other(record: Record) -> None:
    files = {f"clinical-records/{one['resourceType']}-{one['id']}.json": resource(one) for one in ALL}
    broken = {**INR, "id": "o9", "effectiveDateTime": "soon"}
    imported = record.import_source(zipped({**files, "clinical-records/Observation-o9.json": resource(broken)}))
    (medicine,) = record.facts.all(record.scope, kind="medication")
    assert getattr(medicine, "prescriber", None) == "Dr. Li Chen"
    assert imported.left_out == 1
    assert any(
        note.startswith("clinical-records/Observation-o9.json (Observation) is invalid") for note in imported.notes
    )


def test_a_bulk_export_of_lines_is_read_from_a_folder(record: Record, tmp_path: Path) -> None:
    folder = tmp_path / "bulk"
    folder.mkdir()
    results = [{**INR, "id": f"o{number}", "effectiveDateTime": f"2024-05-0{number}"} for number in range(1, 5)]
    (folder / "Observation.ndjson").write_text("\n".join(map(json.dumps, results)))
    (folder / "Patient.ndjson").write_text(json.dumps(PATIENT))
    (folder / "photo.heic").write_bytes(b"\0\0\0\x18ftypheic")
    (folder / "away.json").symlink_to("/etc/hostname")
    imported = record.import_file(folder)
    assert imported.change.added == 5
    assert {report.name: report.is_read for report in imported.files} == {
        "Observation.ndjson": True,
        "Patient.ndjson": True,
        "photo.heic": False,
    }


def test_measurements_of_a_phone_become_one_result_a_day(record: Record) -> None:
    pressure = [measured("BloodPressureSystolic", "120", "mmHg", "2024-05-01 08:00:00"),
                measured("BloodPressureDiastolic", "80", "mmHg", "2024-05-01 08:00:00")]  # fmt: skip
    pulses = [measured("HeartRate", str(60 + hour), "count/min", f"2024-05-01 {hour:02}:00:00") for hour in range(24)]
    steps = [measured("StepCount", "100", "count", f"2024-05-01 {hour:02}:00:00") for hour in range(24)]
    oxygen = measured("OxygenSaturation", "0.97", "%", "2024-05-01 09:00:00")
    data = apple(*pressure, *pulses, *steps, oxygen)
    imported = record.import_source(
        zipped({"apple_health_export/export.xml": data, "apple_health_export/export_cda.xml": b"<ClinicalDocument/>"})
    )
    results = {fact.test_name: fact for fact in record.facts.all(record.scope) if isinstance(fact, LabResult)}
    assert {name: (fact.value, fact.unit) for name, fact in results.items()} == {
        "Blood pressure": (None, None),
        "Heart rate": (83, "/min"),
        "Oxygen saturation": (97, "%"),
    }
    assert [part.value for part in results["Blood pressure"].parts] == [120, 80]
    assert any(note.startswith("27 measurements of Apple Health became 3 results") for note in imported.notes)
    assert any(note.startswith("24 records of steps") for note in imported.notes)
    (person,) = (fact for fact in record.facts.all(record.scope) if isinstance(fact, RecordOwner))
    assert person.born is not None
    assert person.born.text == "1950-02-03"


def test_the_export_of_a_phone_is_read_without_its_zip_and_old_months_keep_their_last_value(record: Record) -> None:
    dates = [f"2020-0{month}-{day:02} 08:00:00" for month in range(1, 7) for day in range(1, 29)]
    days = [measured("BodyMass", str(60 + number), "kg", date) for number, date in enumerate(dates)]
    imported = record.import_source(Source(apple(*days), "export.xml"))
    assert imported.change == FactCounts(added=90 + 3 + 1)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"a.xml": a_summary(), "b.xml": a_summary(born="19610203")}, "date of birth in this file does not match"),
        ({"a.xml": a_summary(), "b.xml": a_summary(given="Eva")}, "name in this file does not match"),
        ({"a.json": bundle(PATIENT, DOCTOR), "b.json": bundle(SOMEBODY, WARFARIN)}, "more than one person"),
        ({"a.xml": a_summary(), "export.xml": apple(born="1961-02-03")}, "date of birth in this file"),
        ({"a.xml": a_summary(), "more.zip": zipped({"b.xml": a_summary()}).data}, "zip inside the export"),
        ({"a.xml": a_summary(), "../b.xml": a_summary()}, "may be unsafe"),
        ({"a.xml": a_summary(), "/etc/b.xml": a_summary()}, "may be unsafe"),
        ({"a.xml": a_summary(), "b.txt": b"a" * 50_000_000}, "may be unsafe"),
        ({"export.xml": apple(measured("BodyMass", "70", "kg", "2020-01-01 08:00:00"))[:-30]}, "incomplete or damaged"),
        ({"INDEX.HTM": b"<html></html>", "film.mp4": b"\0\0\0\x18ftypmp42"}, "Nothing in export.zip could be read"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_export_changes_nothing(record: Record, files: dict[str, bytes], why: str) -> None:
    with pytest.raises((InputError, DamagedFile, TooLarge), match=why):
        record.import_source(zipped(files))
    assert nothing(record)


def test_an_export_of_another_person_leaves_a_record_as_it_was(record: Record) -> None:
    record.import_source(Source(bundle(*ALL), "record.json"))
    before = (record.facts.all(record.scope), record._app.entries())
    with pytest.raises(InputError, match="does not match this record"):
        record.import_source(zipped({"a.xml": a_summary(given="Eva"), "b.txt": b"Dear Eva, all is well. Dr Chen"}))
    assert (record.facts.all(record.scope), record._app.entries()) == before


def test_a_damaged_file_is_reported_and_the_rest_is_read(record: Record) -> None:
    files = {"a.xml": a_summary(), "b.xml": a_summary()[:-200], "c.json": b'{"resourceType": "Patient", ', "d.txt": b""}
    imported = record.import_source(zipped({**files, "e.json": bundle(PATIENT, PENICILLIN)}))
    assert {report.name: report.is_read for report in imported.files} == {
        "a.xml": True,
        "b.xml": False,
        "c.json": False,
        "d.txt": False,
        "e.json": True,
    }
    assert all(report.said.startswith("Not read: ") for report in imported.files if not report.is_read)


def test_an_export_that_cannot_be_kept_leaves_nothing(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_given: object, **_more: object) -> None:
        raise InputError("The disk is full.")

    monkeypatch.setattr(type(record.facts), "put_within", fail)
    with pytest.raises(InputError, match="disk is full"):
        record.import_source(zipped({"d.txt": b"Dear Ann, all is well. Dr Chen", "a.xml": a_summary()}))
    monkeypatch.undo()
    assert nothing(record)


def test_of_files_of_two_people_that_come_at_once_one_is_kept(app: App) -> None:
    record, barrier, refused = Record(app), threading.Barrier(2), list[str]()
    record.import_source(Source(b"Dear Ann, all is well. Dr Chen", "letter.txt"))

    def bring(source: Source) -> None:
        barrier.wait()
        try:
            record.import_source(source)
        except InputError as error:
            refused.append(str(error))

    sources = (Source(bundle(PATIENT, INR), "a.json"), Source(bundle(SOMEBODY, PENICILLIN), "b.json"))
    threads = [threading.Thread(target=bring, args=(source,)) for source in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ["does not match this record" in reason for reason in refused] == [True]
    assert (len(record._app.entries()), len(record.facts.all(record.scope))) == (2, 2)


def test_the_same_file_at_once_twice_is_kept_once(app: App) -> None:
    record, barrier = Record(app), threading.Barrier(2)

    def bring() -> None:
        barrier.wait()
        record.import_source(zipped({"a.json": bundle(*ALL), "b.txt": b"Dear Ann, all is well. Dr Chen"}))

    threads = [threading.Thread(target=bring) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = {fact.id for fact in record.facts.all(record.scope)}
    assert (len(record._app.entries()), len(alone)) == (2, 6)


def people(record: Record) -> list[tuple[object, ...]]:
    found = record.facts.all(record.scope, kind="person")
    return [(fact.name, fact.born, fact.sex) for fact in found if isinstance(fact, RecordOwner)]


def test_a_file_that_does_not_say_who_it_is_about_takes_nothing_from_the_person(record: Record) -> None:
    record.import_source(Source(bundle({**PATIENT, "gender": "female"}), "a.json"))
    before = people(record)
    record.import_source(Source(bundle({"resourceType": "Patient", "id": "p1"}, INR), "b.json"))
    record.import_source(Source(bundle({**PATIENT, "birthDate": "1950"}, PENICILLIN), "c.json"))
    assert people(record) == before != []
    with pytest.raises(InputError, match="date of birth in this file does not match"):
        record.import_source(Source(bundle({**PATIENT, "birthDate": "1950-02-04"}), "d.json"))
