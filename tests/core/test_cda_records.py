"""C-CDA documents become their narrative, and facts that point into it; where the two differ, a person looks."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from citewell.adapters.records.cda_import import read_cda
from citewell.adapters.records.imported_facts import ImportedFacts
from citewell.app import App
from citewell.errors import DamagedFile
from citewell.ports.records import FactCounts
from citewell.types import ParseLimits, Source
from citewell.types.facts import Allergy, DiagnosisStatus, Fact, FactOrigin, Flag, LabResult, Medication, Severity
from citewell.types.facts_line import line_of
from citewell.vaults.health_record import Record

ALLERGY = """
<entry><act><templateId root="2.16.840.1.113883.10.20.22.4.30"/><statusCode code="active"/><entryRelationship>
 <observation {negation}><templateId root="2.16.840.1.113883.10.20.22.4.7"/><id root="1.2.3" extension="{id}"/>
  <effectiveTime><low value="20050301"/>{high}</effectiveTime>
  <participant><participantRole><playingEntity><code {code} displayName="{name}"/></playingEntity></participantRole>
  </participant></observation></entryRelationship></act></entry>
"""


def document(*entries: str, rows: str = "<item>Penicillin gave a rash</item>") -> Source:
    text = f"""<ClinicalDocument xmlns="urn:hl7-org:v3"><title>Summary</title><effectiveTime value="20200101"/>
    <component><structuredBody><component><section><title>Allergies</title><text><list>{rows}</list></text>
    {"".join(entries)}</section></component></structuredBody></component></ClinicalDocument>"""
    return Source(text.encode(), "summary.xml")


def allergy(
    name: str = "Penicillin", code: str = 'code="70618"', negation: str = "", high: str = "", number: int = 1
) -> str:
    return ALLERGY.format(name=name, code=code, negation=negation, high=high, id=number)


def told(*entries: str) -> ImportedFacts:
    return read_cda(document(*entries), ParseLimits())


def test_an_allergy_is_read_with_its_words() -> None:
    found = told(allergy())
    (fact,) = found.facts
    assert isinstance(fact, Allergy)
    assert (fact.allergen, fact.code, fact.since and fact.since.text, fact.is_active, fact.is_verified) == (
        "Penicillin",
        "70618",
        "2005-03-01",
        True,
        True,
    )
    start, end = found.spans[fact.id]
    assert found.document.text[start:end] == "• Penicillin gave a rash"


def test_an_allergy_that_ended_is_not_active() -> None:
    (fact,) = told(allergy(high='<high value="20100101"/>')).facts
    assert isinstance(fact, Allergy)
    assert (fact.is_active, fact.is_verified) == (False, True)


def test_an_unknown_end_in_an_active_concern_waits_for_a_person() -> None:
    (fact,) = told(allergy(high='<high nullFlavor="UNK"/>')).facts
    assert isinstance(fact, Allergy)
    assert (fact.is_active, fact.is_verified) == (True, False)
    (fact,) = told(allergy(high='<high nullFlavor="NI"/>')).facts
    assert isinstance(fact, Allergy)
    assert (fact.is_active, fact.is_verified) == (True, True)


def test_no_known_allergies_is_kept_as_such_and_is_no_allergy() -> None:
    (fact,) = told(allergy(name="Substance", code='code="105590001"', negation='negationInd="true"')).facts
    assert isinstance(fact, Allergy)
    assert (fact.allergen, fact.is_active, line_of(fact)) == (
        "No known allergies",
        False,
        "No known allergies: since 1 March 2005",
    )


def test_what_the_narrative_does_not_say_waits_for_a_person() -> None:
    (fact,) = told(allergy(name="Latex")).facts
    assert not fact.is_verified
    (fact,) = told(allergy(code='nullFlavor="OTH"')).facts
    assert not fact.is_verified


def test_one_id_for_two_entries_loses_neither() -> None:
    found = told(allergy(), allergy(name="Latex"), allergy())
    assert [fact.allergen for fact in found.facts if isinstance(fact, Allergy)] == ["Penicillin", "Latex"]
    assert told(allergy(), allergy(name="Latex")).facts == found.facts  # the ids are the same every time


RESULT = """
<entry><observation><templateId root="2.16.840.1.113883.10.20.22.4.2"/><id root="1.2.3" extension="{id}"/>
 <code code="2345-7" displayName="Glucose"/><text><reference value="#{reference}"/></text>
 <effectiveTime value="20190401"/><value value="{id}" unit="mg/dL"/></observation></entry>
"""


def results(count: int, *, refer_to: str) -> Source:
    """Many results, each referring to its own row or all of them to the whole list."""
    rows = "".join(f'<item ID="row{number}">Glucose {number} mg/dL on 1 April 2019</item>' for number in range(count))
    entries = [RESULT.format(id=number, reference=refer_to.format(number)) for number in range(count)]
    source = document(*entries, rows=rows)
    return Source(source.data.replace(b"<text><list>", b'<text ID="all"><list>'), source.name)


def concern(count: int) -> Source:
    """One concern that holds many allergies."""
    inner = "".join(
        allergy(name=f"Substance {number}", number=number).partition("<entryRelationship>")[2].partition("</act>")[0]
        for number in range(count)
    ).replace("</entryRelationship>", "</entryRelationship><entryRelationship>")
    act = f'<entry><act><templateId root="2.16.840.1.113883.10.20.22.4.30"/><entryRelationship>{inner}'
    return document(f"{act}</entryRelationship></act></entry>")


def calls_of_reading(source: Source, facts: int) -> int:
    """How many functions are called to read a document with so many facts."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        found = read_cda(source, ParseLimits())
    finally:
        sys.setprofile(before)
    assert len(found.facts) == facts
    return calls


@pytest.mark.parametrize(
    "made",
    [lambda count: results(count, refer_to="row{}"), lambda count: results(count, refer_to="all"), concern],
    ids=["each result refers to its row", "every result refers to the whole list", "one concern holds all allergies"],
)
def test_the_work_for_one_entry_does_not_grow_with_their_number(made: Callable[[int], Source]) -> None:
    few, many = made(100), made(400)
    calls_of_reading(few, 100)  # what is made once for a process is made now
    assert calls_of_reading(many, 400) < 5 * calls_of_reading(few, 100)


def test_a_reference_to_a_whole_table_names_nothing() -> None:
    entry = RESULT.replace(' displayName="Glucose"/>', '><originalText><reference value="#all"/></originalText></code>')
    rows = "".join(f"<item>Glucose {number} mg/dL on 1 April 2019</item>" for number in range(100))
    source = document(entry.format(id=1, reference="all"), rows=rows)
    found = read_cda(Source(source.data.replace(b"<text><list>", b'<text ID="all"><list>'), "a.xml"), ParseLimits())
    assert (found.facts, found.left_out) == ((), 1)


def test_the_severity_of_one_allergy_is_not_that_of_its_neighbour_in_one_concern() -> None:
    severity = """<entryRelationship><observation><templateId root="2.16.840.1.113883.10.20.22.4.8"/>
    <value code="24484000"/></observation></entryRelationship></observation>"""
    first, second = allergy(), allergy(name="Latex", number=2).replace("</observation>", severity, 1)
    joined = first.partition("</act>")[0] + "<entryRelationship>" + second.partition("<entryRelationship>")[2]
    found = told(joined)
    assert {one.allergen: one.severity for one in found.facts if isinstance(one, Allergy)} == {
        "Penicillin": None,
        "Latex": Severity.SEVERE,
    }


def test_real_documents_have_the_facts_of_their_entries(shared_data: Path) -> None:
    counts, left_out = {}, {}
    for path in sorted((shared_data / "ccda").glob("*.[xX]*")):
        found = read_cda(Source(path.read_bytes(), path.name), ParseLimits())
        name = path.stem[:10].strip("_")
        counts[name] = Counter(one.kind for one in found.facts if one.kind not in ("person", "professional"))
        left_out[name] = found.left_out
        assert all(found.document.text[slice(*span)].strip() for span in found.spans.values())
    # Counted in the files with grep: the templateIds of each kind. Not facts: vaccinations that were denied (two and
    # one), and a functional status that claims the template of a problem. Three are plans that the text tells. One
    # diagnosis stands in the discharge summary twice under one id, at admission and at discharge: it is one fact.
    first = {
        "allergy": 2,
        "medication": 2,
        "diagnosis": 4,
        "procedure": 5,
        "result": 17,
        "vaccination": 3,
        "appointment": 1,
    }
    assert counts == {
        "CCD__CCD_1": first,
        "CCD__CCD_2": {"allergy": 1, "procedure": 3, "result": 11},
        "Discharge": {"allergy": 3, "medication": 1, "diagnosis": 3, "procedure": 2, "result": 5, "vaccination": 1},
        "Progress_N": {"allergy": 2, "medication": 2, "diagnosis": 3, "result": 14, "appointment": 1},
    }
    assert left_out == {"CCD__CCD_1": 2, "CCD__CCD_2": 0, "Discharge": 2, "Progress_N": 0}


@pytest.fixture
def ccd(shared_data: Path) -> Source:
    path = shared_data / "ccda" / "CCD__CCD_1__CCD.XML"
    return Source(path.read_bytes(), path.name)


def test_fields_and_words_of_a_real_document(ccd: Source) -> None:
    found = read_cda(ccd, ParseLimits())
    lines = {
        line_of(fact): found.document.text[slice(*found.spans[fact.id])]
        for fact in found.facts
        if fact.id in found.spans
    }
    (atenolol,) = (line for line in lines if line.startswith("atenolol"))
    assert atenolol.startswith("atenolol 25 mg: taken now; every 12 hours; oral; since 18 March 2012; for Hypertensive")
    assert lines[atenolol].startswith("Medication: Atenolol 25 MG Oral Tablet")
    assert lines["Penicillin: reaction Nausea; severe; since 1 May 1998"] == "Substance: Penicillin; Reaction: Nausea"
    (platelets,) = (fact for fact in found.facts if isinstance(fact, LabResult) and fact.test_name == "Platelets")
    assert (platelets.value, platelets.unit, platelets.range_low, platelets.flag) == (123.0, "10*9/L", 150.0, Flag.LOW)
    angina = next(fact for fact in found.facts if fact.kind == "diagnosis" and line_of(fact).startswith("Angina"))
    assert getattr(angina, "status", None) is DiagnosisStatus.ACTIVE
    proventil = next(fact for fact in found.facts if isinstance(fact, Medication) and fact.brand_name == "Proventil")
    assert (proventil.generic_name, proventil.frequency_type) == ("albuterol", "as_needed")
    assert [
        line_of(fact).partition(":")[0] for fact in found.facts if not fact.is_verified and fact.kind == "procedure"
    ] == [
        "Colonoscopy",
    ]


def test_importing_twice_changes_nothing_and_keeps_where_each_fact_stands(app: App, ccd: Source) -> None:
    record = Record(app)
    first = record.import_source(ccd)
    before = record.facts.all(record.scope)
    again = record.import_source(ccd)
    assert (first.change.added, again.change) == (len(before), FactCounts(same=len(before)))
    assert record.facts.all(record.scope) == before
    text = app.library.opened(first.added.entry.id, record.scope)[1].text

    def words(fact: Fact) -> str:
        return text[fact.origin.start : fact.origin.end]

    assert all(fact.origin.via is FactOrigin.DOCUMENT and words(fact).strip() for fact in before)
    assert {
        line_of(fact).partition(":")[0] for fact in record.facts.all(record.scope, kind="allergy") if fact.is_active
    } == {
        "Penicillin",
        "codeine",
    }
    ((_, paper),) = record.papers()
    assert paper.kind == "other"  # a summary with a list of medicines is no pharmacy's paper


def test_a_broken_document_imports_nothing(app: App, ccd: Source) -> None:
    record = Record(app)
    with pytest.raises(DamagedFile):
        record.import_source(Source(ccd.data[: len(ccd.data) // 2], "half.xml"))
    assert (record.facts.all(record.scope), app.entries()) == ([], [])
