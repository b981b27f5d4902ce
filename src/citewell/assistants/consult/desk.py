"""The desk of consults: one flow from the first word to the signature, each step kept before it is shown."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from citewell.assistants.consult.assess import Parts, assess
from citewell.assistants.consult.conflicts import Held, conflicts
from citewell.assistants.consult.differ import checked_differentials, weighed
from citewell.assistants.consult.fold import fold
from citewell.assistants.consult.hear import Reader, ask_next, hear
from citewell.assistants.consult.interview import Question, missing, next_question
from citewell.assistants.consult.kept import differential_json, finding_json
from citewell.assistants.consult.patient import patient_of
from citewell.assistants.consult.record import text_now, words_of
from citewell.assistants.consult.red_flags import red_flags
from citewell.assistants.consult.tell import corrected
from citewell.clinical import Lexicon
from citewell.errors import CitewellError, InputError, NotFound
from citewell.keeping import Ending
from citewell.ports.consult import Consults, Happened, Listed
from citewell.types import Asker
from citewell.types.consult import Consult, Differential, Finding, RedFlag, State

STALE_DAYS = 3
"""After so many days vitals, pregnancy and medicines may have changed."""
STALE = (
    "This consult was left open for {days} days. What was measured then may no longer hold: confirm it, or measure it "
    "again."
)
CONSENT = (
    "With the patient's consent, this consult reads from {source}: age and sex, pregnancy, allergies, medicines taken, "
    "illnesses and the last weight. {sent} The record itself is not changed."
)
NOT_READY = (
    "Before differentials, these are missing: {missing} Answer them, or say why it cannot wait: on the page under "
    '“It cannot wait, because”, in a terminal with --despite "…".'
)
AGAINST = (
    "Before it is signed: {told} Change the words, or say why they are meant all the same: on the page under “It is "
    'meant, because”, in a terminal with --despite "…".'
)
NO_WORDS = "Write what the statement shall say instead; it cannot be empty."
FLAGGED = "Red flags come first: {flags} Acknowledge them to go on."
NO_DIFFERENTIALS = "There are no differentials yet. Enter them, such as “Malaria:high”, or have the model suggest some."
NOT_DRAFT = "Only a draft can be signed. Assess first; this consult is {state}."
NO_FINDING = "There is no such finding in this consult. `citewell consult findings` shows the ids."
NO_STATEMENT = "There is no such statement in the plan. `citewell consult show` numbers them, such as 1.2."
Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Turn:
    """What came of a message: the consult as it stands, what to ask next, and what cannot wait."""

    consult: Consult
    question: Question | None
    flags: tuple[RedFlag, ...]
    troubles: tuple[str, ...] = ()


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ConsultDesk:
    """Where consults are held; parts that need a model or the index are made when something is assessed."""

    consults: Consults
    lexicon: Callable[[], Lexicon]
    parts: Callable[[Asker], Parts]
    setup: Callable[[Asker], Mapping[str, Any]]
    """What the library and the writer are, for the record of a signed plan."""
    reader: Callable[[], Reader | None] = lambda: None
    """What a model adds to the rules, where there is one."""
    proposer: Callable[[], Callable[[Consult], list[Differential]] | None] = lambda: None
    sent: str = "Nothing is sent anywhere."
    """Where words of a consult go, told with the consent."""
    clock: Clock = _now

    def consent(self, source: str) -> str:
        """What the patient is asked to agree to."""
        return CONSENT.format(source=source, sent=self.sent)

    # ---------------------------------------------------------------------------------------------------- interview

    def start(
        self,
        asker: Asker,
        *,
        setting: str | None = None,
        country: str | None = None,
        record: tuple[str, Sequence[Finding]] | None = None,
    ) -> Turn:
        """Begin a consult, from a record where one is given with consent."""
        consult_id = str(uuid.uuid4())
        events: list[tuple[str, Mapping[str, Any]]] = [
            ("started", {"id": consult_id, "setting": setting, "country": country})
        ]
        if record is not None:
            events += self._consented(record, after=0)
        made = self._happened(events, asker)
        question = ask_next(fold(made), lexicon=self.lexicon())
        made += self._happened([question] if question else [], asker)
        self.consults.begin(consult_id, made, state=fold(made).state.value, asker=asker)
        return self.look(consult_id, asker)

    def read_record(self, consult_id: str, record: tuple[str, Sequence[Finding]], asker: Asker) -> Turn:
        """Take a record's findings in, with the consent that was given."""
        consult = self._open(consult_id, asker)
        events = self._consented(record, after=len(consult.findings) + len(consult.gone))
        return self._turn(self._append(consult, events, asker, is_asking=True))

    def _consented(self, record: tuple[str, Sequence[Finding]], *, after: int) -> list[tuple[str, Mapping[str, Any]]]:
        source, findings = record
        numbered = [replace(one, id=f"f{number}") for number, one in enumerate(findings, after + 1)]
        return [
            ("consented", {"source": source, "shown": self.consent(source)}),
            ("found", {"findings": [finding_json(one) for one in numbered]}),
        ]

    def say(self, consult_id: str, text: str, asker: Asker) -> Turn:
        """Take a message in, whoever spoke: what it says is found, and the next question asked."""
        consult = self._open(consult_id, asker)
        change = hear(consult, text, lexicon=self.lexicon(), also=self.reader())
        kept = self._append(consult, [*self._staleness(consult), *change.events], asker, is_asking=True)
        return replace(self._turn(kept), troubles=change.troubles)

    def look(self, consult_id: str, asker: Asker) -> Turn:
        """The consult as it stands."""
        return self._turn(fold(self.consults.events(consult_id, asker)))

    def history(self, consult_id: str, asker: Asker) -> list[Happened]:
        """All that happened in it, in order."""
        return self.consults.events(consult_id, asker)

    def all(self, asker: Asker) -> list[tuple[Listed, Consult]]:
        """The asker's consults, the last changed first."""
        return [(one, fold(self.consults.events(one.id, asker))) for one in self.consults.all(asker)]

    def find(self, prefix: str, asker: Asker) -> str:
        """The full id that starts with these characters."""
        found = [one.id for one in self.consults.all(asker) if prefix and one.id.startswith(prefix.lower())]
        if len(found) > 1:
            raise InputError("Several consults have ids that start with these characters: give more of them.")
        if not found:
            raise NotFound("There is no such consult here. `citewell consult list` shows the ids.")
        return found[0]

    # ----------------------------------------------------------------------------------------------------- findings

    def correct(self, consult_id: str, finding_id: str, change: Mapping[str, Any], asker: Asker) -> Turn:
        """Put another finding in the place of one; the old one stays in the history."""
        consult = self._open(consult_id, asker)
        old = _finding(consult, finding_id)
        new = corrected(old, change, number=_next_number(consult), lexicon=self.lexicon())
        told = {**finding_json(new), "replaces": [[old.id, "corrected by the clinician"]]}
        return self._turn(self._append(consult, [("found", {"findings": [told]})], asker, is_asking=True))

    def note(self, consult_id: str, change: Mapping[str, Any], asker: Asker) -> Turn:
        """Add a finding that the clinician types into the list."""
        consult = self._open(consult_id, asker)
        new = corrected(None, change, number=_next_number(consult), lexicon=self.lexicon())
        told = {**finding_json(new), "replaces": []}
        return self._turn(self._append(consult, [("found", {"findings": [told]})], asker, is_asking=True))

    def retract(self, consult_id: str, finding_id: str, asker: Asker, *, why: str = "") -> Turn:
        """Take a finding out; it stays in the history."""
        consult = self._open(consult_id, asker)
        body = {"id": _finding(consult, finding_id).id, "why": why or "retracted by the clinician"}
        return self._turn(self._append(consult, [("retracted", body)], asker, is_asking=True))

    def confirm(self, consult_id: str, finding_ids: Sequence[str], asker: Asker) -> Turn:
        """Say that findings are right, all of them where none is named."""
        consult = self._open(consult_id, asker)
        ids = [_finding(consult, one).id for one in finding_ids] or [one.id for one in consult.findings]
        return self._turn(self._append(consult, [("confirmed", {"ids": ids})], asker))

    # ------------------------------------------------------------------------------------- differentials and the plan

    def acknowledge(self, consult_id: str, asker: Asker) -> Turn:
        """Say that the red flags were seen."""
        consult = self._open(consult_id, asker)
        ids = [one.id for one in self._turn(consult).flags]
        return self._turn(self._append(consult, [("acknowledged", {"ids": ids})], asker))

    def differentials(
        self,
        consult_id: str,
        entered: Sequence[tuple[str, str]],
        asker: Asker,
        *,
        removed: Sequence[str] = (),
        despite: str | None = None,
        is_generated: bool = False,
    ) -> Turn:
        """Enter, change or remove differentials; red flags and the minimum data set stand before the first of them."""
        consult = self._open(consult_id, asker)
        self._gate(consult, despite)
        proposed: list[Differential] = []
        if is_generated:
            propose = self.proposer()
            if propose is None:
                raise InputError(
                    "No model is set that could suggest differentials. Enter them, such as “Malaria:high”."
                )
            proposed = propose(consult)
        chosen = checked_differentials(consult.differentials, entered, removed, proposed)
        told = weighed(chosen, consult, scope=asker.scope, parts=self.parts(asker))
        events: list[tuple[str, Mapping[str, Any]]] = [("despite", {"reason": despite})] if despite else []
        events.append(("differentials", {"differentials": [differential_json(one) for one in told]}))
        return self._turn(self._append(consult, events, asker))

    def assess(self, consult_id: str, asker: Asker) -> Turn:
        """Write the plan; a failure is kept, said, and can be tried again, and nothing of the interview is lost."""
        consult = self._open(consult_id, asker)
        if not consult.differentials:
            raise InputError(NO_DIFFERENTIALS)
        before = self._append(consult, [*self._staleness(consult), ("assessing", {})], asker)
        flags = [f"{one.title}: {one.act} {one.why} ({one.source})" for one in self._turn(before).flags]
        try:
            plan, _ = assess(before, scope=asker.scope, parts=self.parts(asker), red_flags=flags)
        except CitewellError as error:
            self._append(before, [("failed", {"reason": str(error)})], asker)
            raise
        except Exception:
            self._append(before, [("failed", {"reason": "The assessment broke off. Try it again."})], asker)
            raise
        return self._turn(self._append(before, [("drafted", {"plan": json.loads(json.dumps(asdict(plan)))})], asker))

    def edit(self, consult_id: str, statement_id: str, text: str, asker: Asker, *, why: str = "") -> Turn:
        """Change a statement of the draft in the clinician's own words; what speaks against them is told beside it."""
        consult = self._open(consult_id, asker)
        if consult.state is not State.DRAFT:
            raise InputError(f"Only a draft can be edited; this consult is {consult.state.value}.")
        was = text_now(consult, statement_id)
        if was is None:
            raise NotFound(NO_STATEMENT)
        now = " ".join(text.split())
        if not now:
            raise InputError(NO_WORDS)
        if now == was:
            return self._turn(consult)
        against = conflicts(now, Held(patient_of(consult), consult.findings, self.lexicon()))
        told = [asdict(one) for one in against]
        body = {"statement": statement_id, "was": was, "text": now, "why": why, "conflicts": told}
        return self._turn(self._append(consult, [("edited", body)], asker))

    def sign(self, consult_id: str, name: str, asker: Asker, *, despite: str | None = None) -> Turn:
        """Sign the draft: it is put on the audit log in the same stroke, and cannot be changed after.

        What the clinician wrote against an allergy or the like is asked about once more, and the reason kept.
        """
        consult = self._open(consult_id, asker)
        if consult.state is not State.DRAFT:
            raise InputError(NOT_DRAFT.format(state=consult.state.value.replace("_", " ")))
        if not name.strip():
            raise InputError("Who signs? Give the name of the clinician.")
        if unseen := [one.title for one in self._turn(consult).flags if one.id not in consult.acknowledged]:
            raise InputError(FLAGGED.format(flags=", ".join(unseen) + "."))
        reason = (despite or "").strip() or None
        if (grave := consult.grave()) and reason is None:
            raise InputError(AGAINST.format(told=" ".join(f"{label}: {text}" for label, text in grave)))
        consult = replace(consult, meant=reason if grave else None)
        answer_id = str(uuid.uuid4())
        words = words_of(consult, name=name.strip(), asker=asker, setup=self.setup(asker))
        asked = f"consult {consult.id}"
        ending = Ending(answer_id, asked, asker, place=None, words=words, text=None, route=None)
        made = self._happened(
            [("signed", {"name": name.strip(), "answer_id": answer_id, "meant": consult.meant})], asker
        )
        after = fold([*self.consults.events(consult.id, asker)[: consult.length], *made])
        self.consults.sign(consult.id, made, after=consult.length, state=after.state.value, ending=ending, asker=asker)
        return self._turn(after)

    # ------------------------------------------------------------------------------------------------------- inside

    def _gate(self, consult: Consult, despite: str | None) -> None:
        """Red flags are acknowledged first; what is missing is answered, or there is a reason not to wait."""
        unseen = [one for one in self._turn(consult).flags if one.id not in consult.acknowledged]
        if unseen:
            told = " ".join(f"{one.title}: {one.act} {one.why} ({one.source})." for one in unseen)
            raise InputError(FLAGGED.format(flags=told))
        if consult.contradictions and not despite:
            raise InputError(f"Settle this first: {consult.contradictions[0].question}")
        lacking = missing(consult, lexicon=self.lexicon())
        if lacking and not (despite or consult.despite):
            raise InputError(NOT_READY.format(missing=" ".join(one.text for one in lacking)))

    def _open(self, consult_id: str, asker: Asker) -> Consult:
        consult = fold(self.consults.events(consult_id, asker))
        if consult.state is State.SIGNED:
            raise InputError("This consult is signed and cannot be changed. Start another one to add to it.")
        return consult

    def _turn(self, consult: Consult) -> Turn:
        lexicon = self.lexicon()
        flags = red_flags(consult.findings, patient_of(consult), lexicon=lexicon)
        is_open = consult.state is not State.SIGNED
        return Turn(consult, next_question(consult, lexicon=lexicon) if is_open else None, flags)

    def _append(
        self,
        consult: Consult,
        events: Sequence[tuple[str, Mapping[str, Any]]],
        asker: Asker,
        *,
        is_asking: bool = False,
    ) -> Consult:
        """Keep events, and the question that follows from them; the consult as it stands after."""
        before = self.consults.events(consult.id, asker)[: consult.length]
        made = self._happened(events, asker)
        if is_asking and (question := ask_next(fold([*before, *made]), lexicon=self.lexicon())) is not None:
            made += self._happened([question], asker)
        after = fold([*before, *made])
        self.consults.append(consult.id, made, after=consult.length, state=after.state.value, asker=asker)
        return after

    def _happened(self, events: Sequence[tuple[str, Mapping[str, Any]]], asker: Asker) -> list[Happened]:
        at = self.clock().isoformat(timespec="seconds")
        return [Happened(kind, at, asker.user_id, body) for kind, body in events]

    def _staleness(self, consult: Consult) -> list[tuple[str, Mapping[str, Any]]]:
        """A word of warning, once, where a consult was left open for days."""
        left = self.clock() - datetime.fromisoformat(consult.changed_at)
        if left < timedelta(days=STALE_DAYS):
            return []
        return [("noted", {"text": STALE.format(days=left.days)})]


def _finding(consult: Consult, finding_id: str) -> Finding:
    found = next((one for one in consult.findings if one.id == finding_id.strip().lower()), None)
    if found is None:
        raise NotFound(NO_FINDING)
    return found


def _next_number(consult: Consult) -> int:
    return len(consult.findings) + len(consult.gone) + 1
