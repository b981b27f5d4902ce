"""What the API and the pages of consults share: who holds one, and a record that the patient agrees to be read."""

from __future__ import annotations

import json
from collections.abc import Sequence

from citewell.adapters.vault.header import Header
from citewell.api.bodies.consult import RecordRequest, SignRequest
from citewell.api.confirmation import signer
from citewell.api.server_state import ServerState
from citewell.api.vault_sessions import OpenVaults
from citewell.api.visitor import Visitor
from citewell.assistants.consult.notebook import InterviewStep
from citewell.assistants.consult.service import ConsultService
from citewell.errors import InputError, ScopeRefused
from citewell.types import User
from citewell.types.consult import Finding

FILES = {"json": "application/fhir+json", "pdf": "application/pdf", "txt": "text/plain; charset=utf-8"}
NO_CONSENT = "{consent} Nothing was read. Ask the patient, then send “consent”: true once they agree."
NOT_TYPED = "A signature is of the signed-in account, {name}. Leave out the name. Nothing was signed."
OWNERS_ONLY = "Only the owner of this library can read from its vaults. Ask the owner, or send the record as a bundle."


def consult_service_of(site: ServerState) -> ConsultService:
    """Where consults are held."""
    return site.app.consult.service


def holder(visitor: Visitor) -> User:
    """The visitor, asking of all guidelines that they may see."""
    return User(visitor.user_id, visitor.role, visitor.whole)


def signed(site: ServerState, visitor: Visitor, consult_id: str, sent: SignRequest) -> InterviewStep:
    """Sign a draft as the signed-in account, once it has confirmed that it is them."""
    service, asker = consult_service_of(site), holder(visitor)
    service.before_signing(consult_id, asker, despite=sent.despite)
    who = signer(site, visitor, password=sent.password, code=sent.code)
    if sent.name is not None and sent.name.strip() != who.name:
        raise InputError(NOT_TYPED.format(name=who.name))
    return service.sign(consult_id, who, asker, despite=sent.despite)


def record_of(
    site: ServerState, visitor: Visitor, safe: OpenVaults, sent: RecordRequest
) -> tuple[str, Sequence[Finding]]:
    """The findings of a record, once the patient agrees."""
    if (sent.bundle is None) == (sent.vault is None):
        raise InputError("Send either a bundle or the name of a vault, not both.")
    source = "the record that was sent" if sent.bundle is not None else "the patient's vault"
    if not sent.consent:
        raise InputError(NO_CONSENT.format(consent=consult_service_of(site).consent(source)))
    room = site.app.consult
    if sent.bundle is not None:
        return source, room.from_bytes(json.dumps(sent.bundle).encode(), name="the record that was sent")
    return source, findings_in(site, visitor, safe, sent.vault or "")


def findings_in(site: ServerState, visitor: Visitor, safe: OpenVaults, vault_id: str) -> Sequence[Finding]:
    """The findings of the record in an open vault."""
    if not visitor.is_owner:
        raise ScopeRefused(OWNERS_ONLY)
    record = safe.vaults.profile(vault_id).record
    return site.app.consult.from_facts(record.facts.all(record.scope))


def open_vaults(visitor: Visitor, safe: OpenVaults) -> list[Header]:
    """The vaults that a visitor may begin a consult from; none for anybody but the owner."""
    return [vault for vault in safe.vaults.all() if safe.is_open(vault.id)] if visitor.is_owner else []
