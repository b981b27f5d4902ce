"""The consult service: one flow from the first word to the signature, each step kept before it is shown."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from citewell.assistants.consult.assess import assess
from citewell.assistants.consult.conflicts import PatientMedicines, advised_against, conflicts
from citewell.assistants.consult.differentials import checked_differentials, weighed
from citewell.assistants.consult.interview import missing
from citewell.assistants.consult.messages import Reader, hear
from citewell.assistants.consult.notebook import Clock, InterviewStep, Notebook, now
from citewell.assistants.consult.plan_evidence import AssessmentParts
from citewell.assistants.consult.replay_events import fold
from citewell.assistants.consult.signed_record import content_of, quoted_in, sha256_of, text_now, words_of
from citewell.assistants.consult.typed_findings import corrected
from citewell.clinical import find_emergencies
from citewell.errors import CitewellError, InputError, NotFound, ScopeRefused
from citewell.history import KeptOutcome
from citewell.ports.consult import ConsultEntry, ConsultEvent, Consults
from citewell.types import Emergency, User
from citewell.types.consult import Consult, ConsultState, Differential, Finding, RedFlag, Signature, Signer
from citewell.types.consult_plan_edits import (
    NO_DIAGNOSIS,
    PenLine,
    checked_place,
    count,
    is_empty,
    line_at,
    next_own_id,
)

GO_AHEAD = 'or give a reason to go ahead: “Reason for going ahead” on the page, --despite "…" in a terminal.'
SIGN_ANYWAY = (
    'or give a reason to sign anyway: “Reason for signing despite this” on the page, --despite "…" in a terminal.'
)
NOT_READY = f"Missing before differentials: {{missing}} Answer these, {GO_AHEAD}"
CONTRADICTED = f"Resolve this before differentials: {{questions}} Answer, correct the finding that is wrong, {GO_AHEAD}"
NOT_SETTLED = f"Resolve this before signing: {{questions}} Answer, correct the finding that is wrong, {SIGN_ANYWAY}"
AGAINST = f"Before signing: {{told}} Change the wording, {SIGN_ANYWAY}"
EMPTY = f"The plan is empty: nothing in it says what to do. Add a line of your own, {SIGN_ANYWAY}"
FLAGGED = "Acknowledge the red flags before you continue: {flags}"
NOT_DRAFT = "Only a draft can be signed; this consultation is {state}. Draft a plan first."


def before_differentials(consult: Consult, flags: Sequence[RedFlag], despite: str | None) -> None:
    """Red flags are acknowledged first; what is missing is answered, or there is a reason not to wait."""
    unseen = [flag for flag in flags if flag.id not in consult.acknowledged]
    if unseen:
        told = " ".join(f"{red_flag.title}: {red_flag.act} {red_flag.why} ({red_flag.source})." for red_flag in unseen)
        raise InputError(FLAGGED.format(flags=told))
    despite = (despite or "").strip()
    if consult.contradictions and not despite:
        raise InputError(CONTRADICTED.format(questions=_questions(consult)))
    lacking = missing(consult)
    if lacking and not (despite or consult.despite):
        raise InputError(NOT_READY.format(missing=" ".join(question.text for question in lacking)))


def before_signing(consult: Consult, flags: Sequence[RedFlag], despite: str | None) -> str | None:
    """Only a draft is signed, after its red flags; why it is meant all the same, where that is asked."""
    if consult.state is not ConsultState.DRAFT:
        raise InputError(NOT_DRAFT.format(state=consult.state.value.replace("_", " ")))
    if unseen := [flag.title for flag in flags if flag.id not in consult.acknowledged]:
        raise InputError(FLAGGED.format(flags=", ".join(unseen) + "."))
    reason = (despite or "").strip() or None
    if (grave := consult.grave()) and reason is None:
        raise InputError(AGAINST.format(told=" ".join(f"{label}: {text}" for label, text in grave)))
    if is_empty(consult) and reason is None:
        raise InputError(EMPTY)
    if consult.is_unexplained and reason is None:
        raise InputError(NOT_SETTLED.format(questions=_questions(consult)))
    return reason if grave or consult.is_unexplained or is_empty(consult) else None


def _questions(consult: Consult) -> str:
    return " ".join(contradiction.question for contradiction in consult.contradictions)


CONSENT = (
    "With the patient's consent, this consultation reads from {source}: age and sex, pregnancy, allergies, current "
    "medicines, conditions and the latest weight. {sent} The record itself is not changed."
)
NO_WORDS = "The line cannot be empty. Enter its wording."
NO_DIFFERENTIALS = "There are no differentials yet. Add them, such as “Malaria:high”, or let the model suggest some."
NO_FINDING = "Finding not found in this consultation. `citewell consult findings` shows the IDs."
NO_STATEMENT = "Line not found in the plan. `citewell consult show` gives each line its number, such as 1.2."


@dataclass(frozen=True, slots=True)
class ConsultService:
    """Where consults are held; parts that need a model or the index are made when something is assessed."""

    consults: Consults
    parts: Callable[[User], AssessmentParts]
    setup: Callable[[User], Mapping[str, Any]]
    """What the library and the writer are, for the record of a signed plan."""
    reader: Callable[[], Reader | None] = lambda: None
    """What a model adds to the rules, where there is one."""
    proposer: Callable[[], Callable[[Consult], list[Differential]] | None] = lambda: None
    sent: str = "Nothing is sent anywhere."
    """Where words of a consult go, told with the consent."""
    clock: Clock = now
    detect: Callable[[str], Emergency | None] = find_emergencies
    """Finds what cannot wait in a message."""

    @property
    def notes(self) -> Notebook:
        """Where what happens is kept."""
        return Notebook(self.consults, self.clock, self.detect)

    def consent(self, source: str) -> str:
        """What the patient is asked to agree to."""
        return CONSENT.format(source=source, sent=self.sent)

    # ---------------------------------------------------------------------------------------------------- interview

    def start(
        self,
        asker: User,
        *,
        setting: str | None = None,
        country: str | None = None,
        record: tuple[str, Sequence[Finding]] | None = None,
    ) -> InterviewStep:
        """Begin a consult, from a record where one is given with consent."""
        consult_id = str(uuid.uuid4())
        events: list[tuple[str, Mapping[str, Any]]] = [
            ("started", {"id": consult_id, "setting": setting, "country": country})
        ]
        if record is not None:
            events += self._consented(record, after=0)
        return self.notes.begin(consult_id, events, asker)

    def read_record(self, consult_id: str, record: tuple[str, Sequence[Finding]], asker: User) -> InterviewStep:
        """Take a record's findings in, with the consent that was given."""
        consult = self.notes.opened(consult_id, asker)
        events = self._consented(record, after=len(consult.findings) + len(consult.gone))
        return self.notes.turn(self.notes.append(consult, events, asker, is_asking=True))

    def _consented(self, record: tuple[str, Sequence[Finding]], *, after: int) -> list[tuple[str, Mapping[str, Any]]]:
        source, findings = record
        numbered = [replace(finding, id=f"f{number}") for number, finding in enumerate(findings, after + 1)]
        return [
            ("consented", {"source": source, "shown": self.consent(source)}),
            ("found", {"findings": [asdict(finding) for finding in numbered]}),
        ]

    def say(self, consult_id: str, text: str, asker: User) -> InterviewStep:
        """Take a message in, whoever spoke: what it says is found, and the next question asked."""
        consult = self.notes.opened(consult_id, asker)
        change = hear(consult, text, also=self.reader())
        kept = self.notes.append(consult, change.events, asker, is_asking=True)
        return replace(self.notes.turn(kept), troubles=change.troubles)

    def look(self, consult_id: str, asker: User) -> InterviewStep:
        """The consult as it stands."""
        return self.notes.look(consult_id, asker)

    def history(self, consult_id: str, asker: User) -> list[ConsultEvent]:
        """All that happened in it, in order."""
        return self.notes.history(consult_id, asker)

    def all(self, asker: User) -> list[tuple[ConsultEntry, Consult | None]]:
        return self.notes.all(asker)

    def find(self, prefix: str, asker: User) -> str:
        """The full id that starts with these characters."""
        return self.notes.find(prefix, asker)

    # ----------------------------------------------------------------------------------------------------- findings

    def correct(self, consult_id: str, finding_id: str, change: Mapping[str, Any], asker: User) -> InterviewStep:
        """Put another finding in the place of one; the old one stays in the history."""
        consult = self.notes.opened(consult_id, asker)
        old = _finding(consult, finding_id)
        new = corrected(old, change, number=_next_number(consult))
        entry = {**asdict(new), "replaces": [[old.id, "corrected by the clinician"]]}
        return self.notes.turn(self.notes.append(consult, [("found", {"findings": [entry]})], asker, is_asking=True))

    def note(self, consult_id: str, change: Mapping[str, Any], asker: User) -> InterviewStep:
        """Add a finding that the clinician types into the list."""
        consult = self.notes.opened(consult_id, asker)
        new = corrected(None, change, number=_next_number(consult))
        entry = {**asdict(new), "replaces": []}
        return self.notes.turn(self.notes.append(consult, [("found", {"findings": [entry]})], asker, is_asking=True))

    def retract(self, consult_id: str, finding_id: str, asker: User, *, why: str = "") -> InterviewStep:
        """Take a finding out; it stays in the history."""
        consult = self.notes.opened(consult_id, asker)
        body = {"id": _finding(consult, finding_id).id, "why": why or "withdrawn by the clinician"}
        return self.notes.turn(self.notes.append(consult, [("retracted", body)], asker, is_asking=True))

    def confirm(self, consult_id: str, finding_ids: Sequence[str], asker: User) -> InterviewStep:
        """Say that findings are right, all of them where none is named."""
        consult = self.notes.opened(consult_id, asker)
        ids = [_finding(consult, finding_id_).id for finding_id_ in finding_ids] or [
            finding.id for finding in consult.findings
        ]
        return self.notes.turn(self.notes.append(consult, [("confirmed", {"ids": ids})], asker))

    # ------------------------------------------------------------------------------------- differentials and the plan

    def acknowledge(self, consult_id: str, asker: User) -> InterviewStep:
        """Say that the red flags were seen."""
        consult = self.notes.opened(consult_id, asker)
        ids = [flag.id for flag in self.notes.turn(consult).flags]
        return self.notes.turn(self.notes.append(consult, [("acknowledged", {"ids": ids})], asker))

    def differentials(
        self,
        consult_id: str,
        entered: Sequence[tuple[str, str]],
        asker: User,
        *,
        removed: Sequence[str] = (),
        despite: str | None = None,
        is_generated: bool = False,
    ) -> InterviewStep:
        """Enter, change or remove differentials; red flags and the minimum data set stand before the first of them."""
        consult = self.notes.opened(consult_id, asker)
        before_differentials(consult, self.notes.turn(consult).flags, despite)
        proposed: list[Differential] = []
        if is_generated:
            propose = self.proposer()
            if propose is None:
                raise InputError(
                    "No model is set up to suggest differentials. Add them yourself, such as “Malaria:high”."
                )
            proposed = propose(consult)
        chosen = checked_differentials(consult.differentials, entered, removed, proposed)
        told = weighed(chosen, consult, scope=asker.scope, parts=self.parts(asker))
        reason = (despite or "").strip()
        events: list[tuple[str, Mapping[str, Any]]] = [("despite", {"reason": reason})] if reason else []
        events.append(("differentials", {"differentials": [asdict(differential) for differential in told]}))
        return self.notes.turn(self.notes.append(consult, events, asker))

    def assess(self, consult_id: str, asker: User) -> InterviewStep:
        """Write the plan; a failure is kept, said, and can be tried again, and nothing of the interview is lost."""
        consult = self.notes.opened(consult_id, asker)
        if not consult.differentials:
            raise InputError(NO_DIFFERENTIALS)
        before = self.notes.append(consult, [("assessing", {})], asker)
        flags = [f"{flag.title}: {flag.act} {flag.why} ({flag.source})" for flag in self.notes.turn(before).flags]
        try:
            plan = assess(before, scope=asker.scope, parts=self.parts(asker), red_flags=flags)
        except CitewellError as error:
            self.notes.append(before, [("failed", {"reason": str(error)})], asker)
            raise
        except Exception:
            self.notes.append(before, [("failed", {"reason": "The assessment was interrupted. Try again."})], asker)
            raise
        return self.notes.turn(
            self.notes.append(before, [("drafted", {"plan": json.loads(json.dumps(asdict(plan)))})], asker)
        )

    def edit(self, consult_id: str, statement_id: str, text: str, asker: User, *, why: str = "") -> InterviewStep:
        """Change a statement of the draft in the clinician's own words; what speaks against them is told beside it."""
        consult = self._draft(consult_id, asker)
        was = text_now(consult, statement_id)
        if was is None:
            raise NotFound(NO_STATEMENT)
        now = " ".join(text.split())
        if not now:
            raise InputError(NO_WORDS)
        if now == was:
            return self.notes.turn(consult)
        entries = self._speaking(consult, now)
        body = {"statement": statement_id, "was": was, "text": now, "why": why, "conflicts": entries}
        return self.notes.turn(self.notes.append(consult, [("edited", body)], asker))

    def add(self, consult_id: str, diagnosis: int, text: str, asker: User, *, why: str = "") -> InterviewStep:
        """Add a line of the clinician's own to a diagnosis of the draft; what speaks against it is told beside it."""
        consult = self._draft(consult_id, asker)
        if not 1 <= diagnosis <= count(consult):
            raise InputError(NO_DIAGNOSIS)
        told = " ".join(text.split())
        if not told:
            raise InputError(NO_WORDS)
        body = {"id": next_own_id(consult), "diagnosis": diagnosis, "text": told, "why": why}
        body["conflicts"] = self._speaking(consult, told)
        return self.notes.turn(self.notes.append(consult, [("added", body)], asker))

    def remove(self, consult_id: str, statement_id: str, asker: User, *, why: str = "") -> InterviewStep:
        """Take a line out of the draft; it stays on record with the reason, and can be put back."""
        consult = self._draft(consult_id, asker)
        line = _line(consult, statement_id)
        if line.label in dict(consult.removed):
            return self.notes.turn(consult)
        return self.notes.turn(self.notes.append(consult, [("removed", {"statement": line.label, "why": why})], asker))

    def restore(self, consult_id: str, statement_id: str, asker: User) -> InterviewStep:
        """Put a line back that was taken out."""
        consult = self._draft(consult_id, asker)
        line = _line(consult, statement_id)
        if line.label not in dict(consult.removed):
            return self.notes.turn(consult)
        return self.notes.turn(self.notes.append(consult, [("restored", {"statement": line.label})], asker))

    def move(self, consult_id: str, statement_id: str, asker: User, *, before: str = "") -> InterviewStep:
        """Put a line before another one of its diagnosis; before none, at the end."""
        consult = self._draft(consult_id, asker)
        line = _line(consult, statement_id)
        checked_place(consult, line.label, before.strip())
        body = {"statement": line.label, "before": before.strip()}
        return self.notes.turn(self.notes.append(consult, [("moved", body)], asker))

    def _draft(self, consult_id: str, asker: User) -> Consult:
        consult = self.notes.opened(consult_id, asker)
        if consult.state is not ConsultState.DRAFT:
            raise InputError(f"Only a draft can be edited; this consultation is {consult.state.value}.")
        return consult

    def _speaking(self, consult: Consult, text: str) -> list[dict[str, Any]]:
        """What the record and the plan itself say against the clinician's own words."""
        against = conflicts(text, PatientMedicines.of(consult))
        return [asdict(conflict) for conflict in (*advised_against(text, quoted_in(consult)), *against)]

    def before_signing(self, consult_id: str, asker: User, *, despite: str | None = None) -> None:
        """Refuse what cannot be signed as it stands; whoever signs need not confirm it for nothing."""
        consult = self.notes.opened(consult_id, asker)
        before_signing(consult, self.notes.turn(consult).flags, despite)

    def sign(self, consult_id: str, signer: Signer, asker: User, *, despite: str | None = None) -> InterviewStep:
        """Sign the draft: it is put on the audit log in the same stroke, and cannot be changed after.

        What the clinician wrote against an allergy or the like is asked about once more, and the reason kept.
        """
        if signer.user_id != asker.user_id:
            raise ScopeRefused("Only the clinician who held a consultation can sign it. Nothing was signed.")
        consult = self.notes.opened(consult_id, asker)
        meant = before_signing(consult, self.notes.turn(consult).flags, despite)
        consult = replace(self.notes.reminded(consult), meant=meant)
        answer_id = str(uuid.uuid4())
        told = {**asdict(signer), "sha256": sha256_of(content_of(consult))}
        body = {"name": signer.name, "answer_id": answer_id, "meant": consult.meant, "signature": told}
        made = self.notes.happened([*self.notes.staleness(consult), ("signed", body)], asker)
        signature = Signature(**told, at=made[-1].at)
        words = words_of(consult, signature=signature, asker=asker, setup=self.setup(asker))
        asked = f"consult {consult.id}"
        ending = KeptOutcome(answer_id, asked, asker, place=None, words=words, text=None, route=None)
        after = fold([*self.consults.events(consult.id, asker)[: consult.length], *made])
        self.consults.sign(consult.id, made, after=consult.length, state=after.state.value, ending=ending, asker=asker)
        return self.notes.turn(after)


def _line(consult: Consult, statement_id: str) -> PenLine:
    line = line_at(consult, statement_id)
    if line is None:
        raise NotFound(NO_STATEMENT)
    return line


def _finding(consult: Consult, finding_id: str) -> Finding:
    finding = next((other for other in consult.findings if other.id == finding_id.strip().lower()), None)
    if finding is None:
        raise NotFound(NO_FINDING)
    return finding


def _next_number(consult: Consult) -> int:
    return len(consult.findings) + len(consult.gone) + 1
