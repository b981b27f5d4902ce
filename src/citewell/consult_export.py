"""A consult as a file to take along: FHIR R4, PDF or text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from citewell.errors import InputError

if TYPE_CHECKING:
    from citewell.assistants.consult.notebook import InterviewStep


def exported(turn: InterviewStep, kind: str) -> bytes:
    """A consult as a file: a FHIR R4 document, a PDF, or plain text."""
    from citewell.assistants.consult.view import note_text

    if kind == "txt":
        return note_text(turn.consult).encode()
    if kind == "json":
        from citewell.adapters.records.fhir_consult_write import write_document

        return write_document(turn.consult)
    if kind == "pdf":
        from citewell.adapters.printing.pdf import print_note

        return print_note(note_text(turn.consult), title=f"Consult {turn.consult.id[:8]}")
    raise InputError("Consultations can be exported as .json (FHIR R4), .pdf or .txt. Choose one of these.")
