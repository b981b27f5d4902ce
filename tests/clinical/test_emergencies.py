"""One detector for everything: emergencies in three languages, by patients, relatives and clinicians."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from citewell.clinical.emergencies import find_emergencies, kinds_in_order, numbers_of
from citewell.clinical.tables import rows

TABLE = Path(__file__).parent / "emergencies.tsv"


def texts(wanted: str) -> list[str]:
    lines = (line.split("\t") for line in TABLE.read_text("utf-8").splitlines() if not line.startswith("#"))
    return [text for is_one, text in lines if is_one == wanted]


@pytest.mark.slow
def test_nearly_all_of_the_list_are_found_and_few_alarms_are_false() -> None:
    missed = [text for text in texts("yes") if find_emergencies(text) is None]
    alarms = [text for text in texts("no") if find_emergencies(text) is not None]
    assert len(missed) <= 0.03 * len(texts("yes")), missed
    assert len(alarms) <= 0.03 * len(texts("no")), alarms


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I have crushing chest pain going down my left arm", "cardiac"),
        ("58M central crushing CP 40 min radiating L arm, clammy", "cardiac"),
        ("Her mouth has dropped on one side and her speech is slurred", "stroke"),
        ("He ate peanuts, his lips are swelling and he is wheezing", "anaphylaxis"),
        ("78F, UTI, new confusion, BP 84/40, RR 28, T 39.1", "sepsis"),
        ("78F, UTI, new confusion, BP 84/40, RR 28, temp 102.9 F", "sepsis"),
        ("I'm vomiting blood and feel faint", "bleeding"),
        ("My daughter has taken a whole packet of paracetamol", "overdose"),
        ("I feel like killing myself", "suicide"),
        ("He has been fitting for ten minutes", "seizure"),
        ("My dad has collapsed and won't wake up", "collapse"),
        ("32 weeks pregnant, BP 165/112, headache and flashing lights", "obstetric"),
        ("He is choking on a grape and can't cough", "airway"),
        ("She can't get her breath and her lips are blue", "breathing"),
        ("6/52 old, T 38.4, poor feeding", "infant_fever"),
        ("Sudden tearing pain between my shoulder blades", "dissection"),
        ("Short of breath since the flight, and my calf is swollen", "pulmonary_embolism"),
        ("7 weeks pregnant with severe one-sided tummy pain and I feel faint", "ectopic"),
        ("T1DM, vomiting, ketones 5.2, glucose 28", "dka"),
        ("My wife is diabetic, her sugar is 1.9 and she is confused", "hypoglycaemia"),
        ("I have suddenly lost the sight in my right eye", "vision"),
        ("Fever, stiff neck and a rash that does not fade under a glass", "meningitis"),
        ("Severe belly pain, his tummy is rigid and he keeps being sick", "acute_abdomen"),
        ("Back pain, numb between my legs and I can't pee", "cauda_equina"),
        ("My son woke with sudden severe pain in one testicle", "torsion"),
        ("She fell off a ladder, hit her head and is drowsy", "injury"),
        ("Mon père a une douleur dans la poitrine et il transpire", "cardiac"),
        ("Meine Mutter kann plötzlich nicht mehr sprechen und ihr Mund hängt", "stroke"),
        ("Je veux mourir", "suicide"),
        ("Er atmet nicht mehr", "collapse"),
    ],
)
def test_each_kind_is_found_by_what_its_words_mean_together(text: str, kind: str) -> None:
    found = find_emergencies(text)
    assert found is not None
    assert kind in found.kinds


@pytest.mark.parametrize(
    "text",
    [
        "What is first-line treatment for anaphylaxis?",
        "When should people with suspected sepsis get antibiotics?",
        "No chest pain, no breathlessness, no collapse",
        "Denies chest pain, palpitations and syncope.",
        "My father had a stroke in 1990",
        "Family history of stroke and heart attack",
        "I had a heart attack ten years ago",
        "Which tablets was I given after my heart attack?",
        "My appointment is in the stroke clinic",
        "Make five MCQs on diabetic ketoacidosis",
        "My feet are killing me after that walk",
        "I nearly died of embarrassment",
        "Keine Brustschmerzen, keine Atemnot",
        "Pas de douleur thoracique",
        "Is the flu jab safe in pregnancy?",
    ],
)
def test_what_is_denied_past_general_administrative_or_an_idiom_is_none(text: str) -> None:
    assert find_emergencies(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "I have never had chest pain like this",
        "I don't want to kill myself",
        "I had a stroke in 2019 and my face is drooping again",
        "no appetite, chest pain since this morning",
        "Chest pain. My father had a stroke in 1990.",
        "Could I move my appointment please, also I have had crushing chest pain since breakfast",
    ],
)
def test_what_is_doubtful_counts(text: str) -> None:
    assert find_emergencies(text) is not None


@pytest.mark.parametrize(
    "note",
    [
        "IHD annual review. Angina class I, GTN used twice this year on hills, settles in 1 min. No change in pattern. "
        "BP 126/70, P 58. Knows to call 999 if pain not gone 10 min after GTN.",
        "Varicose veins L leg, aching on standing. No ulcer, no bleeding, calf soft non tender, equal circumference. "
        "Wells 0. Class 2 hosiery. Vascular referral declined.",
        "Haemorrhoids. Bright red blood on paper after hard stool x3 weeks, small amounts. PR: small prolapsing pile, "
        "no mass. Hb 141. FIT <4. Fibre, Anusol. Return if change in bowel habit.",
    ],
)
def test_a_plain_sentence_of_a_longer_note_is_no_alarm(note: str) -> None:
    assert find_emergencies(note) is None


def test_a_danger_in_a_longer_note_is_found_beside_calm_sentences() -> None:
    found = find_emergencies(
        "Flu clinic, 74M. Consented, no egg allergy. While waiting, right hand dropped his cup and his words came out "
        "as nonsense; face lopsided on R. Started 10.20. Vaccine not given. BP 176/92."
    )
    assert found is not None
    assert "stroke" in found.kinds


def test_the_words_are_those_that_were_written() -> None:
    said = "She’s had a PAIN in her Chest since 9, can’t catch her breath and is clammy"
    found = find_emergencies(said)
    assert found is not None
    assert found.words
    assert all(words in said for words in found.words)


def test_the_number_is_that_of_the_country() -> None:
    def told(country: str, text: str = "crushing chest pain and sweating") -> str:
        found = find_emergencies(text, country=country)
        assert found is not None
        return found.text

    assert "999 or 112" in told("GB")
    assert "NHS 111" in told("gb")
    assert "911" in told("US")
    assert "999" not in told("US")
    assert "112" in told("XX")
    assert "116 123" in told("GB", "I want to kill myself")
    assert "988" in told("US", "I want to kill myself")
    assert all(numbers_of(country).emergency for country in ("DE", "AT", "CH", "FR", "IE", "AU", "NZ", "CA", "IN"))


def test_the_way_to_help_is_told_in_the_language_of_the_text_or_the_one_that_is_chosen() -> None:
    german = find_emergencies("Ich habe starke Schmerzen in der Brust und schwitze")
    assert german is not None
    assert (german.language, german.text[:22]) == ("de", "Das kann ein Notfall s")
    chosen = find_emergencies("Ich habe starke Schmerzen in der Brust und schwitze", language="fr")
    assert chosen is not None
    assert chosen.text.startswith("C'est peut-être une urgence")


def test_a_clinician_is_spoken_to_as_one() -> None:
    vignette = find_emergencies("58M central crushing CP 40 min radiating L arm, clammy, BP 92/60")
    patient = find_emergencies("My chest is so tight and I am sweating")
    assert vignette is not None
    assert patient is not None
    assert "heart attack" in vignette.text
    assert "pathway" in vignette.text
    assert "stay with them" not in vignette.text
    assert "stay with them" in patient.text
    assert "pathway" not in patient.text


def test_suicidal_thoughts_have_a_notice_of_their_own_and_another_danger_is_told_too() -> None:
    found = find_emergencies("I have chest pain and I want to kill myself")
    assert found is not None
    assert found.kinds[0] == "suicide"
    assert "cardiac" in found.kinds
    assert "You do not have to go through this alone" in found.text
    assert found.text.startswith("This may be an emergency")


def test_the_trained_reader_decides_on_a_message_of_many_words() -> None:
    def in_danger(_text: str) -> dict[str, float]:
        return {"none": 0.05, "injury": 0.95}

    def in_none(_text: str) -> dict[str, float]:
        return {"none": 0.99, "injury": 0.01}

    plain = "He was up there on the roof this afternoon and then all of a sudden he wasn't"
    found = find_emergencies(plain, sensed=in_danger)
    assert found is not None
    assert found.kinds == ("injury",)
    assert find_emergencies(plain, sensed=in_none) is None


def test_every_row_uses_known_meanings_and_kinds() -> None:
    known = {row[0] for name in ("emergency_words.tsv", "emergency_values.tsv") for row in rows(name)}
    known |= {"young infant", "iron"}
    used = {
        one
        for _, meanings, *unless in rows("emergencies.tsv")
        for group in (*meanings.split("+"), *unless)
        for one in group.split("|")
        if one
    }
    assert used <= known
    assert {row[0] for row in rows("emergencies.tsv")} == set(kinds_in_order())
    assert {row[1] for row in rows("red_flags.tsv")} <= set(kinds_in_order())


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n\n",
        "?" * 50_000,
        "no " * 33_000,
        "a" * 100_000,
        "(" * 50_000,
        "١٢٣ ½ Ω 😀 " * 5_000,
        "t 38,,,4 " * 9_000,
    ],
)
@pytest.mark.slow
def test_any_text_is_read_in_little_time(text: str) -> None:
    began = time.process_time()
    find_emergencies(text)
    assert time.process_time() - began < 5


def test_an_emergency_at_the_end_of_a_long_text_is_found() -> None:
    assert find_emergencies("tired " * 15_000 + "and I have crushing chest pain") is not None


@pytest.mark.parametrize(
    "text",
    [
        "takes metformin 500 mg twice daily",
        "takes ibuprofen 400 mg three times a day",
        "BP 128/76, pulse 84, temp 38.6",
        "breathless on exertion for 3 weeks, pulse 84",
    ],
)
def test_doses_and_normal_vital_signs_raise_no_alarm(text: str) -> None:
    assert find_emergencies(text) is None


def test_normal_vital_signs_hide_no_danger() -> None:
    found = find_emergencies("crushing chest pain radiating to the left arm, sweating, BP 128/76, pulse 84")
    assert found is not None
    assert "cardiac" in found.kinds


def test_an_emergency_within_a_long_message_is_found() -> None:
    ordinary = [
        "My mother takes metformin twice a day.",
        "I walked the dog this morning.",
        "I had my flu jab in October.",
        "My knee hurts when I climb stairs.",
        "The pharmacist said to ask you.",
        "My blood test was normal last year.",
        "I sleep well most nights.",
        "The clinic is open until five.",
    ]
    danger = "I have crushing chest pain and cannot breathe."
    for place in (0, 8, 16):
        told = [*ordinary, *ordinary]
        told.insert(place, danger)
        found = find_emergencies(" ".join(told))
        assert found is not None, place
        assert "cardiac" in found.kinds
    assert find_emergencies(" ".join([*ordinary, *ordinary])) is None
