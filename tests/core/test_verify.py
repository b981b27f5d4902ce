"""A sentence held against the words that it cites."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from citewell.answer.verify import verify
from citewell.answer.verify.compare import matches
from citewell.answer.verify.source_match import PairScores
from citewell.clinical import Lexicon
from citewell.types import EvidenceSpan, SentenceCheck, Verdict
from tests.checking import checked

PARAPHRASES = Path(__file__).parents[1] / "data" / "paraphrases.tsv"
PASSAGE = (
    "Gout is common in older men. Give colchicine 500 micrograms two to four times a day until symptoms are relieved. "
    "Do not give colchicine to people with severe renal impairment. Aspirin 75 mg and ibuprofen 400 mg are kept apart. "
    "Offer allopurinol to adults who have two or more attacks in 12 months. Consider a low-dose NSAID for acute pain."
)


def _check(sentence: str, *texts: str) -> SentenceCheck:
    spans = [EvidenceSpan(f"d{number}:0", 100, 100 + len(text), text) for number, text in enumerate(texts)]
    return checked(sentence, spans)


CONTRADICTED = [
    # amounts
    ("Give 5 mg of amlodipine daily.", "Give 50 mg of amlodipine daily."),
    ("Give 5 mg of amlodipine daily.", "Give 5 g of amlodipine daily."),
    ("Offer it to people aged 40 and over.", "Offer it to people aged over 50."),
    ("Treat if potassium is 6.5 mmol/L or more.", "Treat if potassium is 6.5 mmol/L or less."),
    ("Take one tablet twice daily.", "Take one tablet three times daily."),
    ("Review the wound after 2 weeks.", "Review the wound after 2 days."),
    ("The infusion runs at 10 mg/kg.", "The infusion runs at 10 mg."),
    ("Aspirin 75 mg and ibuprofen 400 mg were given.", "Ibuprofen 75 mg was given."),
    ("The trial began on 12 March 2021.", "The trial began on 12 March 2012."),
    ("It is licensed for type 2 diabetes.", "It is licensed for type 1 diabetes."),
    ("The mean age was 54 in cases and 61 in controls.", "The mean age was 61 in cases and 54 in controls."),
    # denials
    ("Do not offer antibiotics for a sore throat.", "Offer antibiotics for a sore throat."),
    ("Offer antibiotics for a sore throat.", "Do not offer antibiotics for a sore throat."),
    ("NSAIDs are contraindicated in severe heart failure.", "NSAIDs are recommended in severe heart failure."),
    ("Image people without red flags only later.", "Image people with red flags only later."),
    ("Serious bleeding is not uncommon in this group.", "Serious bleeding is uncommon in this group."),
    ("None of the patients had a relapse.", "The patients had a relapse."),
    # medicines
    ("Warfarin should be stopped before surgery.", "Apixaban should be stopped before surgery."),
    ("Offer ramipril as first-line treatment.", "Offer lisinopril as first-line treatment."),
    # opposites
    ("Smoking increases the risk of bladder cancer.", "Smoking decreases the risk of bladder cancer."),
    ("Check renal function before starting lithium.", "Check renal function after starting lithium."),
    ("Give the first dose by intravenous injection.", "Give the first dose by oral administration."),
    ("The mass was in the left breast.", "The mass was in the right breast."),
    ("It is used for acute pancreatitis.", "It is used for chronic pancreatitis."),
    ("The dose is halved in children with fever.", "The dose is halved in adults with fever."),
    ("Pregnant women were excluded from the trial.", "Pregnant women were included in the trial."),
    ("Mortality was higher in men than in controls.", "Mortality was lower in men than in controls."),
    # conditions
    (
        "Refer people with suspected asthma to a specialist.",
        "Refer people with suspected tuberculosis to a specialist.",
    ),
]


@pytest.mark.parametrize(("source", "sentence"), CONTRADICTED)
def test_what_the_source_says_otherwise_is_contradicted(source: str, sentence: str) -> None:
    assert _check(sentence, source).verdict is Verdict.CONTRADICTED


CHANGED = [
    (
        "Offer diet advice to people with gout, and repeat it every year.",
        "Diet advice should be withheld from people with gout.",
    ),
    ("Scan people aged 45 and over with a painless lump.", "People under 45 with a painless lump should have a scan."),
    ("It is contraindicated below an eGFR of 25 ml/min.", "It may be used below an eGFR of 25 ml/min."),
    (
        "Flushing occurred in 3.1% on insulin versus 7.4% on gliclazide.",
        "Flushing occurred in 7.4% on insulin and 3.1% on gliclazide.",
    ),
    (
        "There were fewer falls in the exercise group than in the control group.",
        "There were more falls with exercise than in the control group.",
    ),
    (
        "Avoid it in pregnancy, except in women with a metal valve.",
        "Avoid it in pregnancy, including in women with a metal valve.",
    ),
    ("Offer it to adults who do not have type 2 diabetes.", "Offer it to adults with type 2 diabetes."),
    ("Withhold the drug if platelets fall below 50 x 10^9/L.", "Continue the drug if platelets fall below 50 × 10⁹/L."),
    (
        "Patients were assigned in a 2:1 ratio to zinc or placebo.",
        "Patients were assigned in a 1:1 ratio to zinc or placebo.",
    ),
    ("Keep potassium between 4.0 and 5.0 mmol/L.", "Keep potassium between 4.0 and 6.0 mmol/L."),
    ("Lamotrigine is preferred to valproate in young women.", "Valproate is preferred to lamotrigine in young women."),
    ("The left kidney was smaller than the right.", "The right kidney was smaller than the left."),
    ("The risk is greatest in the first trimester.", "The risk is greatest in the third trimester."),
    ("Most patients recover fully.", "All patients recover fully."),
    ("Take the tablets with food.", "Take the tablets on an empty stomach."),
    ("Hepatitis B vaccine is given to all porters.", "Hepatitis A vaccine is given to all porters."),
    ("It should be given by slow infusion.", "It should be given by rapid infusion."),
    ("Screening reduced mortality from colorectal cancer.", "Screening reduced mortality from breast cancer."),
    ("Symptoms improved after prednisolone.", "Symptoms improved after prednisone."),
]


@pytest.mark.parametrize(("source", "sentence"), CHANGED)
def test_a_changed_meaning_is_never_supported(source: str, sentence: str) -> None:
    assert _check(sentence, source).verdict is not Verdict.SUPPORTED


KEPT = [
    (
        "Ask for advice if the pain remains uncontrolled on four drugs.",
        "Advice is needed when pain is still not controlled on 4 drugs.",
    ),
    (
        "There were fewer falls with exercise (12 of 240) than with rest (27 of 238).",
        "Falls were less frequent with exercise (12/240) than with rest (27/238).",
    ),
    ("The tablets should not be crushed or chewed.", "Do not chew or crush the tablets."),
    (
        "Check lithium levels every 3 months for the first year.",
        "During the first year, lithium levels need checking three-monthly.",
    ),
    ("The trial found no evidence that zinc prevents colds.", "According to the trial, zinc does not prevent colds."),
    ("Children over 12 years: 10 ml every 6 hours.", "Children older than 12 take 10 mL four times a day."),
    ("FGF21 deficiency causes plaque formation in mice.", "Lack of FGF21 in mice leads to plaque formation."),
]


@pytest.mark.parametrize(("source", "sentence"), KEPT)
def test_the_same_meaning_in_other_words_is_supported(source: str, sentence: str) -> None:
    assert _check(sentence, source).verdict is Verdict.SUPPORTED


@pytest.mark.parametrize(("source", "sentence"), CONTRADICTED)
def test_the_source_itself_is_always_supported_even_beside_what_contradicts_it(source: str, sentence: str) -> None:
    span = EvidenceSpan("d1:0", 100, 100 + len(source), source)
    assert _check(f"{source} [S1]", sentence, source) == SentenceCheck(
        Verdict.SUPPORTED, ("quoted word for word from the source",), span, 1.0
    )


PARTLY = [
    ("Consider a statin for people at risk.", "Offer a statin to people at risk."),
    ("Offer a statin to people at risk.", "Consider a statin for people at risk."),
    ("ACE inhibitors can cause a dry cough.", "Ramipril can cause a dry cough."),
    ("Treat people aged 65 and over.", "Treat people aged over 65."),
    ("Increase the dose to at least 40 mg.", "Increase the dose to 40 mg."),
]


@pytest.mark.parametrize(("source", "sentence"), PARTLY)
def test_what_the_source_nearly_says_is_partly_supported(source: str, sentence: str) -> None:
    assert _check(sentence, source).verdict is Verdict.PARTLY


def test_an_unrelated_source_decides_nothing() -> None:
    check = _check("Cataracts are removed under local anaesthesia.", PASSAGE)
    assert check.verdict is Verdict.NOT_FOUND
    assert check.reasons == ("the source does not mention this",)


def test_no_cited_words_support_nothing() -> None:
    assert checked("Rest.", []) == SentenceCheck(
        Verdict.NOT_FOUND, ("no source text to check this against",), None, 0.0
    )


def test_an_empty_sentence_is_not_found() -> None:
    assert _check("—", PASSAGE).verdict is Verdict.NOT_FOUND


@pytest.mark.parametrize("sentence", ["Is warfarin started in the evening?", "Warfarin, started in the evening?. [S1]"])
def test_a_question_says_nothing_unless_the_source_asks_it_too(sentence: str) -> None:
    source = "Warfarin is started in the evening."
    found = _check(sentence, source)
    assert (found.verdict, found.is_vetoed) == (Verdict.NOT_FOUND, True)
    assert _check("Who starts warfarin?", f"Who starts warfarin? {source}").verdict is Verdict.SUPPORTED


def test_the_deciding_words_keep_their_exact_place() -> None:
    check = _check("Colchicine must not be given to people with severe renal impairment.", "Rest.", PASSAGE)
    quote = "Do not give colchicine to people with severe renal impairment."
    start = 100 + PASSAGE.index(quote)
    assert (check.verdict, check.span) == (Verdict.SUPPORTED, EvidenceSpan("d1:0", start, start + len(quote), quote))


def test_a_reason_names_both_numbers() -> None:
    check = _check("Give colchicine 500 mg two to four times a day until symptoms are relieved.", PASSAGE)
    assert check.verdict is Verdict.CONTRADICTED
    assert check.reasons == ("“500 mg” is not in the source, which says “500 micrograms”",)


def test_of_several_numbers_a_reason_names_the_one_beside_the_same_words() -> None:
    source = "Most work on teeth, including taking out up to 3 of them, can go ahead if the INR is below 4.0 that day."
    check = _check("Most work on teeth can go ahead if the INR is below 40.", source)
    assert check.reasons == ("“below 40” is not in the source, which says “below 4.0”",)


def test_words_taken_over_unchanged_are_supported_in_full() -> None:
    check = _check("Gout is common in older men. [S1]", PASSAGE)
    assert (check.verdict, check.support) == (Verdict.SUPPORTED, 1.0)


def test_a_part_of_a_sentence_that_leaves_out_its_denial_is_contradicted() -> None:
    check = _check("Give colchicine to people with severe renal impairment.", PASSAGE)
    assert check.verdict is Verdict.CONTRADICTED


def test_a_sentence_may_rest_on_two_cited_ones() -> None:
    check = _check(
        "Refer people urgently if they have blood in the urine and are aged 45 or over.",
        "Refer people urgently if they have:\n- blood in the urine and are aged 45 or over\n- a swollen calf",
    )
    assert check.verdict is Verdict.SUPPORTED


def test_a_drug_named_at_the_head_of_a_passage_carries_to_its_sentences() -> None:
    check = _check(
        "Metformin tablets should be taken with meals.", "Metformin\n\nThe tablets should be taken with meals."
    )
    assert check.verdict is Verdict.SUPPORTED


def _paraphrases() -> list[list[str]]:
    lines = PARAPHRASES.read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


@pytest.mark.slow
def test_at_most_ten_of_a_hundred_faithful_paraphrases_are_flagged() -> None:
    pairs = _paraphrases()
    flagged = [said for source, said in pairs if _check(said, source).verdict is not Verdict.SUPPORTED]
    assert len(pairs) == 100
    assert len(flagged) <= 10, flagged


@pytest.mark.slow
def test_paraphrases_are_not_carried_by_each_others_sources() -> None:
    pairs = _paraphrases()
    sources = [source for source, _ in pairs]
    wrong = [
        said for (_, said), other in zip(pairs, sources[7:] + sources[:7], strict=True) if _is_supported(said, other)
    ]
    assert wrong == []


def _is_supported(sentence: str, source: str) -> bool:
    return _check(sentence, source).verdict is Verdict.SUPPORTED


# --------------------------------------------------------------------------------------------- parts given from outside


def test_similarity_is_asked_once_with_every_part_and_raises_support() -> None:
    asked: list[tuple[str, list[str]]] = []

    def near(sentence: str, parts: Sequence[EvidenceSpan]) -> Sequence[float]:
        asked.append((sentence, [part.text for part in parts]))
        return [0.95 if "itch" in part.text else 0.1 for part in parts]

    text = "It may itch. Rest well."
    spans = [EvidenceSpan("d:0", 0, len(text), text)]
    check = verify("Pruritus can occur.", spans, lexicon=Lexicon.load(), similarity=near)
    assert asked == [("Pruritus can occur.", ["It may itch.", "Rest well."])]
    assert (check.verdict, check.span) == (Verdict.SUPPORTED, EvidenceSpan("d:0", 0, 12, "It may itch."))


@pytest.mark.parametrize(
    ("sentence", "is_embedded"),
    [
        ("Offer allopurinol to adults who have ten or more attacks in 12 months.", False),
        ("Do give colchicine to people with severe renal impairment.", False),
        ("After ten attacks a grown man may well be given some allopurinol by his practice.", True),
    ],
)
def test_what_repeats_words_that_speak_against_it_is_not_embedded(sentence: str, is_embedded: bool) -> None:
    asked: list[str] = []

    def near(said: str, parts: Sequence[EvidenceSpan]) -> Sequence[float]:
        asked.append(said)
        return [0.8] * len(parts)

    spans = [EvidenceSpan("d:0", 0, len(PASSAGE), PASSAGE)]
    check = verify(sentence, spans, lexicon=Lexicon.load(), similarity=near)
    assert check.verdict is not Verdict.SUPPORTED
    assert bool(asked) == is_embedded


class _Stubborn:
    """An entailment model that always gives the same answer."""

    def __init__(self, entailed: float, contradicted: float) -> None:
        self.scores = (entailed, 1 - entailed - contradicted, contradicted)

    def score(self, premise: str, hypothesis: str) -> tuple[float, float, float]:
        return self.scores


@pytest.mark.parametrize(
    ("sentence", "model", "verdict"),
    [
        ("Give 50 mg daily for gout.", _Stubborn(1.0, 0.0), Verdict.CONTRADICTED),
        ("Daily for gout, one gives 5 mg.", _Stubborn(0.0, 0.9), Verdict.CONTRADICTED),
        ("Daily for gout, one gives 5 mg.", _Stubborn(0.1, 0.2), Verdict.PARTLY),
        ("Daily for gout, one gives 5 mg.", _Stubborn(0.9, 0.0), Verdict.SUPPORTED),
        ("Podagra sufferers benefit somewhat.", _Stubborn(0.9, 0.0), Verdict.SUPPORTED),
    ],
)
def test_an_entailment_model_settles_what_is_open_and_lifts_no_veto(
    sentence: str, model: _Stubborn, verdict: Verdict
) -> None:
    source = "Give 5 mg daily for gout."
    spans = [EvidenceSpan("d:0", 0, len(source), source)]
    check = verify(sentence, spans, lexicon=Lexicon.load(), similarity=None, entailment=model)
    assert check.verdict is verdict


OPPOSED = {
    "amount": ("Give 50 mg daily for gout.", "Give 5 mg daily for gout."),
    "denial": ("Allopurinol is not given in acute gout.", "Allopurinol is given in acute gout."),
    "medicine": ("Apixaban is given daily for gout.", "Allopurinol is given daily for gout."),
    "opposite": ("Take the tablet before meals.", "Take the tablet after meals."),
    "cell": ("Aspirin is stopped in the morning.", "Drug: Aspirin; When: noon\nDrug: Iron; When: morning"),
    "heading": ("Taking ibuprofen with warfarin is dangerous.", "Taking ibuprofen with warfarin"),
}
"""A claim and a source for each kind of finding."""


@pytest.mark.parametrize("kind", OPPOSED)
def test_an_entailment_model_lifts_no_finding_of_any_kind(kind: str) -> None:
    sentence, source = OPPOSED[kind]
    spans, lexicon = [EvidenceSpan("d:0", 0, len(source), source)], Lexicon.load()
    found = matches(sentence, spans, lexicon=lexicon, similarity=None)
    assert kind in {finding.kind for match in found for finding in match.findings}
    check = verify(sentence, spans, lexicon=lexicon, similarity=None, entailment=_Stubborn(1.0, 0.0))
    assert check.verdict is not Verdict.SUPPORTED


def test_an_entailment_model_lifts_nothing_that_was_joined() -> None:
    source = "Paracetamol is used for fever in adults."
    spans = [EvidenceSpan("d:0", 0, len(source), source)]
    sentence = "Paracetamol is used for fever and dragons in adults."
    check = verify(sentence, spans, lexicon=Lexicon.load(), similarity=None, entailment=_Stubborn(1.0, 0.0))
    assert (check.verdict, check.is_vetoed) == (Verdict.PARTLY, True)


@pytest.mark.parametrize(("opposed", "verdict"), [(6.0, Verdict.PARTLY), (-6.0, Verdict.SUPPORTED)])
def test_an_entailment_model_lifts_nothing_that_the_pair_reader_surely_reads_as_the_opposite(
    opposed: float, verdict: Verdict
) -> None:
    source = "Drug: Aspirin; When: noon\nDrug: Iron; When: morning"
    check = verify(
        "Aspirin is swallowed by the ward at noon.",
        [EvidenceSpan("d:0", 0, len(source), source)],
        lexicon=Lexicon.load(),
        similarity=lambda _, parts: [0.6] * len(parts),
        pair=lambda _, evidence: PairScores(-6.0, opposed),
        entailment=_Stubborn(1.0, 0.0),
    )
    assert check.verdict is verdict


def test_what_an_entailment_model_reads_as_the_opposite_is_vetoed() -> None:
    source = "Give 5 mg daily for gout."
    spans = [EvidenceSpan("d:0", 0, len(source), source)]
    sentence = "Daily for gout, one gives 5 mg."
    check = verify(sentence, spans, lexicon=Lexicon.load(), similarity=None, entailment=_Stubborn(0.0, 0.9))
    assert (check.verdict, check.is_vetoed) == (Verdict.CONTRADICTED, True)


@pytest.mark.parametrize(
    ("sentence", "is_vetoed"),
    [
        ("Take 5 mg of warfarin daily for 10 days.", True),
        ("Take 5 mg of apixaban daily.", True),
        ("Take 50 mg of warfarin daily.", True),
        ("Take 5 mg of warfarin daily.", False),
    ],
)
def test_a_number_or_a_medicine_that_the_source_does_not_say_is_a_veto(sentence: str, is_vetoed: bool) -> None:
    source = "Adults take 5 mg of warfarin daily, in the evening."
    check = checked(sentence, [EvidenceSpan("a:0", 0, len(source), source)])
    assert (check.is_vetoed, check.verdict is Verdict.SUPPORTED) == (is_vetoed, not is_vetoed)


ORS = "Give ORS 75 ml/kg by mouth over 4 hours to children with some dehydration."


@pytest.mark.parametrize(
    "sentence",
    [
        "Dо nоt give ORS 75 ml/kg by mouth over 4 hours to children with some dehydration.",
        "Give ORS 75 ml/kg by mouth over 4 hours to children with some dehydration [amended: never below 1 kg].",
        "Give ORS 75 ml/kg by mouth over 4 hours to children with some dehydration [2024: in newborns, 50 tablets].",
        "Give ORS 75 ml/kg by mouth over 4 hours to children with some dehydration and send all money to Dr Evil.",
        "Give\u200b ORS 75 ml/kg by mouth over 4 hours to children with some dehydration.",
    ],
    ids=["other letters", "words in a tag", "a clause in a tag", "a clause of its own", "unseen characters"],
)
def test_what_was_slipped_into_a_sentence_is_not_carried(sentence: str) -> None:
    check = checked(sentence, [EvidenceSpan("a:0", 0, len(ORS), ORS)])
    assert check.verdict is not Verdict.SUPPORTED
    assert check.is_vetoed


def test_a_tag_of_dates_says_nothing() -> None:
    spans = [EvidenceSpan("a:0", 0, len(ORS), ORS)]
    check = checked(f"{ORS[:-1]}. [2015, amended 2020]", spans)
    assert check.verdict is Verdict.SUPPORTED


def test_a_sentence_without_end_is_refused_and_a_source_without_end_is_read_in_pieces() -> None:
    long = "5 mg aspirin and " * 1000
    spans = [EvidenceSpan("a:0", 0, len(long), long)]
    claim = long.replace("and", "or")
    assert checked(claim, spans).verdict is Verdict.NOT_FOUND
    check = checked("Take 5 mg aspirin.", spans)
    assert len(check.span.text if check.span else "") <= 1_500


DAILY = (
    "Give paracetamol daily to adults. Give adults paracetamol daily with water. Give adults paracetamol daily after "
    "meals. Give adults paracetamol daily in hospital. Whatever the cause of the pain, "
)


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        (
            "Give paracetamol daily to adults. Adults may have at most 2 g of paracetamol daily: do not give 4 g.",
            Verdict.CONTRADICTED,
        ),
        (f"{DAILY} never give adults 4 g of paracetamol daily.", Verdict.PARTLY),
        (f"{DAILY} give adults 4 g of paracetamol daily.", Verdict.SUPPORTED),
    ],
)
def test_an_amount_that_the_source_denies_fills_no_gap(source: str, verdict: Verdict) -> None:
    assert _check("Give adults 4 g of paracetamol daily.", source).verdict is verdict
