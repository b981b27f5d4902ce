"""Which words of a claim a source sentence shares, and whether one of the two denies what the other says."""

from __future__ import annotations

import re
from dataclasses import replace

from citewell.answer.denial_cues import Denial
from citewell.answer.verify.claim_words import ContentWord, ReadSentence, meanings
from citewell.answer.verify.mismatches import Mismatch, MismatchGrade

_LACK = re.compile(r"\b(?:lack\w*|absence|absent|without|devoid)\b", re.IGNORECASE)
_WANT = re.compile(
    r"\b(?:deficien\w*|insufficien\w*|knock-?outs?|null|delet\w+|loss|deplet\w+|silenc\w+)\b|-/-",
    re.I,
)

_IT = re.compile(r"\b(?:it|they|them|this|these|both)\b", re.IGNORECASE)
_AVOID = re.compile(r"\bavoid\w*\b", re.IGNORECASE)
_PREVENT = re.compile(r"\bprevent\w*\b", re.IGNORECASE)
_WHO = re.compile(
    r"\b(?:someone|somebody|anyone|people|persons?|patients?|adults?|children|women|men|those|individuals)\s+who\s+"
    r"(?P<not>(?:do|does|did|have|has|had|are|is|was|were|can|could|will|would)(?:\s+not|n[’']t)|never)\s+\w+",
    re.IGNORECASE,
)
_SAYS = re.compile(
    r"\b(?:has|have|had|is|are|was|were|can|could|may|might|should|must|will|would|needs?|gets?)\b", re.IGNORECASE
)
"""After a clause that tells who is spoken of: what is said of them."""

_ANSWERED = ((_LACK, _WANT), (_AVOID, _PREVENT))
"""Words of denial, each with the words by which another text says the same."""


def shared(claim: ReadSentence, source: ReadSentence) -> list[tuple[ContentWord, ContentWord]]:
    """Pairs of words that say the same, the claim's first; those that agree in denial go before others."""
    by_form: dict[str, list[ContentWord]] = {}
    for word in source.words:
        by_form.setdefault(word.form, []).append(word)
    free = {place: list(words) for place, words in by_form.items()}
    pairs: dict[ContentWord, ContentWord] = {}
    for must_agree in (True, False):
        for word in claim.words:
            same = free.get(word.form, ())
            fit = [other for other in same if not must_agree or _agree(word, other, claim, source)]
            if word not in pairs and fit:
                pairs[word] = fit[0]
                free[word.form].remove(fit[0])
    for word in claim.words:
        if word not in pairs:
            same = by_form.get(word.form) or _alikes(word, source, by_form)
            agreeing = [other for other in same if _agree(word, other, claim, source)]
            if same:
                pairs[word] = (agreeing or same)[0]
    return list(pairs.items())


def _alikes(word: ContentWord, source: ReadSentence, by_form: dict[str, list[ContentWord]]) -> list[ContentWord]:
    """The words of the source that are like one of the claim."""
    is_denial = any(f"{prefix}{word.form}" in by_form for prefix in ("un", "non")) or word.form.startswith(
        ("un", "non")
    )
    if not word.meanings and not is_denial:
        return []
    return [other for other in source.words if _alike(word, other)]


def _alike(ours: ContentWord, theirs: ContentWord) -> bool:
    """Whether two words mean the same, or one the denial of the other, as “uncontrolled” and “controlled” do."""
    if ours.meanings & theirs.meanings:
        return True
    longer, shorter = sorted((ours.form, theirs.form), key=len, reverse=True)
    return len(shorter) > 3 and longer in (f"un{shorter}", f"non{shorter}")


def _agree(ours: ContentWord, theirs: ContentWord, claim: ReadSentence, source: ReadSentence) -> bool:
    """Whether a word is denied in both or in neither; “unexplained” agrees with “no explanation”."""
    turned = ours.is_negative != theirs.is_negative
    return (claim.denied(ours.start) != source.denied(theirs.start)) == turned


def denials_differ(claim: ReadSentence, source: ReadSentence) -> list[Mismatch]:
    """Where one of the two denies what the other says."""
    if not claim.denials and not source.denials:
        return []
    claim, source = _unframed(claim, source), _unframed(source, claim)
    pairs = shared(claim, source)
    differs = [(ours, theirs) for ours, theirs in pairs if not _agree(ours, theirs, claim, source)]
    if not differs:
        return []
    answered = [(ours, theirs) for ours, theirs in pairs if ours.is_negative != theirs.is_negative]
    answered = [pair for pair in answered if pair not in differs]
    for denial in claim.denials:
        if _is_want(claim, denial, source) or any(denial.reaches(ours.start) for ours, _ in answered):
            continue
        reached = [ours for ours, _ in pairs if denial.reaches(ours.start)]
        wrong = [ours for ours, _ in differs if denial.reaches(ours.start)]
        if wrong and _weight(wrong) > 0.5 * _weight(reached):
            reason = f"the source does not say “{claim.text[denial.start : denial.end]}” here"
            if not claim.denied(wrong[0].start) and source.denials:
                reason = f"the source says “{source.text[source.denials[0].start : source.denials[0].end]}” here"
            return [Mismatch(MismatchGrade.AGAINST, "denial", reason, denial.start, denial.end)]
    for denial in source.denials:
        if _is_want(source, denial, claim) or any(denial.reaches(theirs.start) for _, theirs in answered):
            continue
        if _is_said_of_it(claim, pairs) or _is_of_others(source, denial, pairs):
            continue
        held = [theirs for _, theirs in pairs if denial.reaches(theirs.start)]
        lost = [(ours, theirs) for ours, theirs in differs if denial.reaches(theirs.start)]
        if lost and _weight([theirs for _, theirs in lost]) > 0.5 * _weight(held):
            reason = f"the source says “{source.text[denial.start : denial.end]}” here"
            return [Mismatch(MismatchGrade.AGAINST, "denial", reason, lost[0][0].start, lost[0][0].end)]
    return []


def _is_said_of_it(claim: ReadSentence, pairs: list[tuple[ContentWord, ContentWord]]) -> bool:
    """Whether the claim denies with no more than a word for what it named before: “…, so it is best avoided”."""
    for denial in claim.denials:
        reached = claim.text[denial.reach_start : denial.reach_end]
        if _IT.search(reached) and not any(denial.reaches(ours.start) for ours, _ in pairs):
            return True
    return False


def _is_of_others(source: ReadSentence, denial: Denial, pairs: list[tuple[ContentWord, ContentWord]]) -> bool:
    """Whether a denial only tells who is spoken of, and the source says nothing else of the claim's matter.

    “Someone who does not take warfarin has an INR of about 1” denies nobody their warfarin.
    """
    clause = next(
        (match for match in _WHO.finditer(source.text) if match.start() < denial.start < match.end("not")), None
    )
    if clause is None:
        return False
    closing = _SAYS.search(source.text, clause.end())
    end = closing.start() if closing else len(source.text)
    return closing is not None and all(clause.start() <= theirs.start < end for _, theirs in pairs)


def _unframed(reading: ReadSentence, other: ReadSentence) -> ReadSentence:
    """Without the verbs of not doing that the other text has too: “do not withhold” against “withhold”."""
    if not any(denial.undoes for denial in reading.denials):
        return reading
    held = {word.form for word in other.words} | {denial.undoes for denial in other.denials}
    senses = frozenset(sense for word in held for sense in meanings(word))
    shared = [one for one in reading.denials if one.undoes and (one.undoes in held or meanings(one.undoes) & senses)]
    return replace(reading, denials=tuple(one for one in reading.denials if one not in shared))


def _is_want(reading: ReadSentence, denial: Denial, other: ReadSentence) -> bool:
    """Whether a “lack of” is answered by a “deficiency”, or “avoid” by “prevent”: both deny the same in other words."""
    said = reading.text[denial.start : denial.end]
    return any(one.search(said) is not None and answer.search(other.text) is not None for one, answer in _ANSWERED)


def _weight(words: list[ContentWord]) -> float:
    return sum(word.weight for word in words)
