"""`citewell vault`: encrypted records, one for each person."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citewell.cli.common import Home, Json, print_json, print_result, printable
from citewell.cli.unlock import (
    ChosenVault,
    PassphraseStdin,
    all_vaults,
    ask,
    ask_new,
    on_vault,
)
from citewell.errors import InputError

if TYPE_CHECKING:
    from citewell.adapters.vault.header import Header

app = typer.Typer(
    help="Encrypted personal records: create, check, export and erase them, or change the passphrase.",
    no_args_is_help=True,
    add_completion=False,
)

Label = Annotated[str, typer.Argument(help="Visible to anyone who can see the folder, such as “me” or “mum”.")]
KEEP_IT = (
    "Write these twelve words down and keep them away from this computer. They are shown only once. Anyone who has "
    "them can open the vault. Without either the words or the passphrase nobody can."
)


@app.command()
def create(
    context: typer.Context,
    label: Label,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Create a vault and show its recovery words once."""
    with all_vaults(context, home) as vaults:
        passphrase = ask_new("A passphrase, ten characters or more", from_stdin=passphrase_stdin)
        made, phrase = vaults.create(label, passphrase)
    print_result(
        {"vault": _vault_json(made), "recovery_phrase": phrase},
        f"Vault “{made.label}” created.\n\n    {phrase}\n\n{KEEP_IT}",
        as_json=json,
    )


@app.command("list")
def list_vaults(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """List the vaults: label, ID and when each was created."""
    with all_vaults(context, home) as vaults:
        headers, unreadable = vaults.all(), vaults.unreadable()
    if json:
        print_json({"vaults": [_vault_json(header) for header in headers], "unreadable": unreadable})
        return
    if not headers and not unreadable:
        typer.echo("No vaults yet. Create one with `citewell vault create LABEL`.")
    for one in headers:
        typer.echo(printable(f"{one.id[:8]}  {one.label}  created {one.made_at:%d %b %Y}"))
    for vault_id, why in unreadable.items():
        typer.echo(printable(f"{vault_id}  {why}"), err=True)


@app.command()
@on_vault
def check(vault: ChosenVault, json: Json = False) -> None:
    """Open a vault and verify every page, every document and the audit log."""
    with vault.opened() as profile:
        library = profile.app
        verification = library.library.verify()
        proof = library.ask_service.audit.verify_chain(library.tenant)
        problems = [*verification.problems, *proof.problems]
        documents = len(library.entries())
    if json:
        shown = {"vault": _vault_json(profile.vault), "documents": documents, "answers": proof.records}
        print_json({**shown, "problems": problems})
    else:
        typer.echo(
            printable("\n".join(problems) or (f"No problems found: {documents} documents, {proof.records} answers."))
        )
    if problems:
        raise typer.Exit(1)


@app.command()
@on_vault
def passphrase(vault: ChosenVault, json: Json = False) -> None:
    """Change the passphrase. On standard input, give the old one first, then the new one."""
    with vault.locked() as (vaults, header):
        old = vault.passphrase(header)
        vaults.change_passphrase(header.id, old, ask_new("New passphrase", from_stdin=vault.from_stdin))
    _done(header, "Passphrase changed. Older exports still open with the old one.", json=json)


@app.command()
@on_vault
def recover(vault: ChosenVault, json: Json = False) -> None:
    """Set a new passphrase using the recovery words. On standard input, give the recovery words first."""
    with vault.locked() as (vaults, header):
        phrase = ask("The twelve recovery words", from_stdin=vault.from_stdin)
        vaults.recover(header.id, phrase, ask_new("New passphrase", from_stdin=vault.from_stdin))
    _done(header, "Passphrase changed. Your recovery words are still the same.", json=json)


@app.command()
@on_vault
def phrase(vault: ChosenVault, json: Json = False) -> None:
    """Get new recovery words. The old ones stop working."""
    with vault.locked() as (vaults, header):
        made = vaults.new_recovery(header.id, vault.passphrase(header))
    print_result({"vault": _vault_json(header), "recovery_phrase": made}, f"\n    {made}\n\n{KEEP_IT}", as_json=json)


@app.command()
@on_vault
def export(
    vault: ChosenVault,
    target: Annotated[Path, typer.Argument(help="The file to write. It must not exist yet.", show_default=False)],
    json: Json = False,
) -> None:
    """Export a vault to one encrypted file, for a backup or another computer."""
    with vault.locked() as (vaults, header):
        vaults.export(header.id, vault.passphrase(header), target)
    _done(header, f"Saved to {target}. It opens with the same passphrase.", json=json)


@app.command()
def restore(
    context: typer.Context,
    source: Annotated[Path, typer.Argument(help="A file made by `vault export`.", show_default=False)],
    home: Home = None,
    json: Json = False,
) -> None:
    """Restore an exported vault."""
    with all_vaults(context, home) as vaults:
        header = vaults.restore(source)
    _done(header, f"Vault “{header.label}” restored.", json=json)


@app.command()
def erase(
    context: typer.Context,
    label: Annotated[str, typer.Argument(help="Label or ID of the vault. For a damaged vault, give the full ID.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Permanently erase a vault: its keys are overwritten, then its files removed."""
    with all_vaults(context, home) as vaults:
        damaged = label if label in vaults.unreadable() else None
        known = None if damaged else vaults.find(label)
        called = damaged or (known.label if known else label)
        if (
            not yes
            and typer.prompt(f"Everything in it will be erased permanently. Type “{called}” to confirm", err=True)
            != called
        ):
            raise InputError("The name does not match. Nothing was erased.")
        vaults.erase(damaged or (known.id if known else label))
    print_result({"vault": _vault_json(known) if known else {"id": damaged}}, f"Vault “{called}” erased.", as_json=json)


def _vault_json(header: Header) -> dict[str, Any]:
    return {"id": header.id, "label": header.label, "made_at": header.made_at.isoformat()}


def _done(header: Header, words: str, *, json: bool) -> None:
    print_result({"vault": _vault_json(header)}, words, as_json=json)
