"""Pages of a record: each thing once, units as people write them, visits by day, long records in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import httpx
import pytest
from lxml import html
from starlette.testclient import TestClient

from citewell.adapters.embedding.minilm import MiniLM
from citewell.api.app import create_app
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Source
from citewell.types.facts import (
    Allergy,
    Appointment,
    Diagnosis,
    DiagnosisStatus,
    Fact,
    FactOrigin,
    Flag,
    LabResult,
    Medication,
    MedicationStatus,
    Origin,
    PartialDate,
    Procedure,
    ResultCategory,
    ResultPart,
    Severity,
    Vaccination,
    VisitStatus,
    fact_id,
)

pytestmark = pytest.mark.slow

PASSPHRASE = "three green bicycles"
FROM_FILE = Origin(via=FactOrigin.DOCUMENT, document_id=fact_id("a document"), start=120, end=240)
MOST_BYTES = 150_000


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM) -> Iterator[App]:
    with build(Settings(home=tmp_path_factory.mktemp("pages") / "home", asks_per_minute=1_000)) as app:
        app.__dict__["embedder"] = embedder
        yield app


@pytest.fixture(scope="module")
def client(app: App) -> TestClient:
    headers = {"Authorization": "Bearer a-token-for-tests"}
    site = create_app(app, token="a-token-for-tests")
    return TestClient(site, base_url="http://127.0.0.1", headers=headers, follow_redirects=False)


class Pages:
    """The pages of one open record."""

    def __init__(self, client: TestClient, label: str, facts: Sequence[Fact]) -> None:
        made = client.post("/api/v1/vaults", json={"label": label, "passphrase": PASSPHRASE})
        self.client, self.base = client, f"/records/{made.json()['vault']['id']}"
        client.post(f"/api/v1/vaults/{made.json()['vault']['id']}/unlock", json={"passphrase": PASSPHRASE})
        record = client.app.state.safe.vaults.profile(made.json()["vault"]["id"]).record  # type: ignore[attr-defined]
        if facts:
            letter = Source(
                b"Dear Dr Chen,\n\nI saw your patient today.\n\nYours sincerely, Dr Anna Meyer\n", "letter.txt"
            )
            added = record.import_source(letter).added
            place = replace(FROM_FILE, document_id=added.entry.id)
            record.facts.put([replace(fact, origin=place) for fact in facts], scope=record.scope)

    def get(self, part: str = "", **asked: Any) -> httpx.Response:
        return self.client.get(f"{self.base}{part}", params=asked or None)

    def tree(self, part: str = "", **asked: Any) -> Any:
        response = self.get(part, **asked)
        assert response.status_code == 200, part
        return html.fromstring(response.text)

    def words(self, path: str, part: str = "", **asked: Any) -> list[str]:
        """What each of some elements says, on one line."""
        return [" ".join(" ".join(found.itertext()).split()) for found in self.tree(part, **asked).xpath(path)]


def medicine(name: str, start: str, status: MedicationStatus = MedicationStatus.STOPPED, **more: Any) -> Medication:
    return Medication(
        id=fact_id(name, start), origin=FROM_FILE, generic_name=name, start=PartialDate(start), status=status, **more
    )


def result(name: str, day: str, value: float | None, unit: str | None, **more: Any) -> LabResult:
    return LabResult(
        id=fact_id(name, day, unit or "", more.get("value_text", "")),
        origin=FROM_FILE,
        test_name=name,
        collected=PartialDate(day),
        value=value,
        unit=unit,
        **more,
    )


def pressure(day: str, upper: float, lower: float) -> LabResult:
    sides = (("Systolic Blood Pressure", upper), ("Diastolic Blood Pressure", lower))
    parts = tuple(ResultPart(name, None, value, None, "mm[Hg]") for name, value in sides)
    return result("Blood Pressure", day, None, None, parts=parts, category=ResultCategory.VITAL_SIGNS)


LAB = ResultCategory.LABORATORY
SMALL = (
    medicine("Simvastatin", "2019-06-05", dose="10 mg", frequency="once a day"),
    medicine("Simvastatin", "2020-06-04", MedicationStatus.ACTIVE, dose="10 mg", frequency="10 mg once a day"),
    medicine("Ibuprofen", "2018-01-05"),
    replace(medicine("Digoxin", "2020-01-05", MedicationStatus.ACTIVE), is_verified=False),
    Allergy(id="1", origin=FROM_FILE, allergen="Penicillin", reaction="hives", severity=Severity.SEVERE),
    Diagnosis(id="2", origin=FROM_FILE, name="Asthma", dated=PartialDate("2012"), status=DiagnosisStatus.ACTIVE),
    Appointment(
        id="3",
        origin=FROM_FILE,
        name="Hospital stay",
        at=PartialDate("2020-06-03"),
        ended=PartialDate("2020-06-06"),
        status=VisitStatus.DONE,
    ),
    Procedure(id="4", origin=FROM_FILE, name="Colonoscopy", performed=PartialDate("2020-06-05")),
    Vaccination(id="5", origin=FROM_FILE, name="Influenza", given=PartialDate("2019-10-01")),
    Vaccination(id="6", origin=FROM_FILE, name="Influenza", given=PartialDate("2020-10-01")),
    Vaccination(id="7", origin=FROM_FILE, name="Tetanus"),
    pressure("2019-06-05", 142.4, 91.2),
    pressure("2020-06-05", 127.6, 76.4),
    result("Body temperature", "2020-06-05", 36.61, "Cel", category=ResultCategory.VITAL_SIGNS),
    result("Leukocytes [#/volume] in Blood", "2020-06-05", 4.2, "10*3/uL", category=LAB, range_low=4.5),
    result("Leukocytes [#/volume] in Blood", "2019-06-05", 6.2, "K/uL", category=LAB),
    result("Potassium", "2020-06-05", 4.1, "mmol/L", category=LAB, flag=Flag.NORMAL, range_low=3.5, range_high=5.0),
    result("Pain severity", "2020-06-05", 2.0, "{score}", category=ResultCategory.SURVEY),
)


@pytest.fixture(scope="module")
def small(client: TestClient) -> Pages:
    return Pages(client, "small", SMALL)


def test_a_medicine_stands_once_under_how_it_stands(small: Pages) -> None:
    assert small.words("//section/h2", "/facts/medicines") == ["Taking now 1", "Stopped 1", "Unclear, please confirm 1"]
    (taken, stopped, unclear) = small.words("//main//li[contains(@class, 'thing')]", "/facts/medicines")
    assert taken.startswith("Simvastatin 10 mg once a day")
    assert "prescribed 2 times, last 4 June 2020" in taken
    assert stopped.startswith("Ibuprofen how often is not recorded from 5 January 2018, end not recorded")
    assert unclear.startswith("Digoxin to confirm")


def test_things_of_other_kinds_are_told_alike(small: Pages) -> None:
    def rows(slug: str) -> list[str]:
        return small.words("//main//li[contains(@class, 'thing')]/div", f"/facts/{slug}")

    assert rows("allergies") == ["Penicillin severe hives"]
    assert rows("conditions") == ["Asthma since 2012"]
    assert rows("procedures") == ["Colonoscopy 5 June 2020"]
    (influenza, tetanus) = rows("vaccines")
    assert influenza.startswith("Influenza 1 October 2020, and 1 earlier")
    assert tetanus == "Tetanus no date recorded"
    assert "This does not mean you have none." not in small.get("/facts/conditions").text
    assert small.get("/facts/nothing").status_code == 422


def test_a_result_is_one_row_with_its_unit_as_people_write_it_and_its_date_once(small: Pages) -> None:
    assert small.words("//main//a[@class='test']", "/labs") == [
        "Leukocytes 5 June 2020 range 4.5 or more 4.2 ×10³/µL ▼ low",
        "Potassium 5 June 2020 range 3.5 to 5 4.1 mmol/L in range",
        "Blood pressure 5 June 2020 128/76 mmHg",
        "Body temperature 5 June 2020 36.61 °C",
        "Pain severity 5 June 2020 2",
    ]
    assert small.words("//main//h2", "/labs") == [
        "Out of range",
        "Laboratory and other tests",
        "Vital signs",
        "Questionnaires and scores",
    ]
    for part in ("", "/labs", "/timeline", "/summary", "/alerts"):
        assert not any(code in small.get(part).text for code in ("mm[Hg]", "{score}", "10*3", "Cel<"))
    assert small.words("//p[@class='found']", "/labs", q="LEUKO") == ["1 test for “LEUKO”. All tests"]
    assert small.words("//main//a[@class='test']", "/labs", show="vitals", q="press") == [
        "Blood pressure 5 June 2020 128/76 mmHg"
    ]


def test_all_results_of_a_test_stand_on_its_page_whatever_their_unit_is_called(small: Pages) -> None:
    (address,) = small.tree("/labs", q="leuko").xpath("//a[@class='test']/@href")
    part = address.removeprefix(small.base)
    assert small.words("//table//tbody/tr", part) == [
        "5 June 2020 4.2 ×10³/µL ▼ low 4.5 or more",
        "5 June 2019 6.2 ×10³/µL not given",
    ]
    assert "down from 6.2 to 4.2, lowest 4.2, highest 6.2. From 5 June 2019 to 5 June 2020." in small.get(part).text
    assert small.get("/labs/nothing").status_code == 404


def test_what_happened_during_a_stay_stands_with_it(small: Pages) -> None:
    (stay,) = small.tree("/timeline").xpath("//details[contains(@class, 'visit')][contains(., 'Hospital stay')]")
    said = " ".join(stay.text_content().split())
    assert said.startswith("3 June 2020 to 6 June 2020 Hospital stay")
    for entry in ("Simvastatin 10 mg", "Colonoscopy", "128/76 mmHg", "▼ low"):
        assert entry in said
    assert "2 entries have no date and are not shown here." in small.get("/timeline").text
    assert "2012, day not recorded" in small.get("/timeline").text


def test_today_tells_what_matters_and_leads_on(small: Pages) -> None:
    links = small.tree().xpath("//main//p[@class='more-of']/a/@href")
    assert [link.removeprefix(small.base) for link in links][-5:] == [
        "/facts/medicines",
        "/facts/allergies",
        "/labs",
        "/summary",
        "/review",
    ]
    assert small.words("//section[h2/@id='results']//a[@class='test']/span[@class='reading']") == ["4.2 ×10³/µL ▼ low"]
    assert small.words("//section[h2/@id='allergies']//li/div") == ["Penicillin severe hives"]


def test_an_empty_record_says_what_to_do(client: TestClient) -> None:
    empty = Pages(client, "empty", [])
    for part in ("", "/facts/medicines", "/labs", "/timeline"):
        assert f"{empty.base}/documents" in empty.tree(part).xpath("//main//a[@class='button']/@href")


def long_record() -> list[Fact]:
    """Five thousand facts: years of results, prescriptions that are renewed, one test that is taken each hour."""

    def day(number: int) -> str:
        return f"{2010 + number % 15}-{1 + number % 12:02}-{1 + number % 28:02}"

    facts: list[Fact] = [
        pressure(f"2024-0{1 + one % 9}-{1 + one % 28:02}T{one % 24:02}:00:00Z", 130, 80) for one in range(9)
    ]
    facts += [
        replace(result(f"Test {one % 260}", day(one), one % 90 + 1.5, "mg/dL", category=LAB), id=fact_id("r", str(one)))
        for one in range(2600)
    ]
    facts += [
        replace(
            result("Glucose", f"2024-{1 + one % 12:02}-{1 + one % 28:02}T{one % 24:02}:00:00Z", 90.0 + one, "mg/dL"),
            id=fact_id("g", str(one)),
        )
        for one in range(900)
    ]
    facts += [
        replace(
            medicine(
                f"Medicine {one % 130}", day(one), MedicationStatus.ACTIVE if one % 9 == 0 else MedicationStatus.STOPPED
            ),
            id=fact_id("m", str(one)),
            is_verified=one % 11 != 0,
        )
        for one in range(500)
    ]
    facts += [
        Diagnosis(
            id=fact_id("d", str(one)),
            origin=FROM_FILE,
            name=f"Condition {one}",
            dated=PartialDate(day(one)),
            status=DiagnosisStatus.ACTIVE,
            is_verified=one % 5 != 0,
        )
        for one in range(400)
    ]
    facts += [
        Procedure(
            id=fact_id("p", str(one)), origin=FROM_FILE, name=f"Procedure {one % 90}", performed=PartialDate(day(one))
        )
        for one in range(600)
    ]
    return facts


def test_the_pages_of_a_record_of_five_thousand_facts_stay_small_and_lose_nothing(client: TestClient) -> None:
    facts = long_record()
    assert len(facts) > 5_000
    pages = Pages(client, "long", facts)
    parts = [
        "",
        "/facts",
        "/facts/medicines",
        "/facts/conditions",
        "/facts/procedures",
        "/labs",
        "/timeline",
        "/review",
    ]
    for part in [*parts, "/alerts", "/summary", "/documents"]:
        assert len(pages.get(part).content) < MOST_BYTES, part
    names: list[str] = []
    page = 1
    while rows := pages.tree("/facts/conditions", page=page).xpath("//main//li[contains(@class, 'thing')]//b/text()"):
        names += rows
        page += 1
    assert sorted(names) == sorted(f"Condition {one}" for one in range(400))
    tests = [row for page in range(1, 7) for row in pages.tree("/labs", page=page).xpath("//a[@class='test']/@href")]
    assert len(tests) == len(set(tests)) == 262
    (glucose,) = pages.tree("/labs", q="glucose").xpath("//a[@class='test']/@href")
    one_test = glucose.removeprefix(pages.base)
    assert len(pages.get(one_test).content) < MOST_BYTES
    assert sum(len(pages.tree(one_test, page=page).xpath("//tbody/tr")) for page in range(1, 10)) == 900


def test_every_day_of_a_long_timeline_can_be_reached(client: TestClient) -> None:
    facts = [
        Procedure(
            id=fact_id(str(one)),
            origin=FROM_FILE,
            name=f"Procedure {one}",
            performed=PartialDate(f"2020-{1 + one % 12:02}-{1 + one % 28:02}"),
        )
        for one in range(700)
    ]
    pages = Pages(client, "days", facts)
    found: list[str] = []
    address = "/timeline"
    while address:
        tree = pages.tree(address)
        found += tree.xpath("//details[contains(@class, 'visit')]//li/div/text()")
        onward = tree.xpath("//p[@class='more-of']/a[starts-with(text(), 'Earlier')]/@href")
        address = onward[0].removeprefix(pages.base) if onward else ""
        assert len(pages.get(address or "/timeline").content) < MOST_BYTES
    names = [name.strip() for name in found if name.strip()]
    assert sorted(names) == sorted(f"Procedure {one}" for one in range(700))
