"""`citewell vault`: encrypted records, one for each person."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citewell.cli.frame import Home, Json, print_json, printable
from citewell.cli.unlock import (
    PassphraseStdin,
    Vault,
    all_vaults,
    ask,
    ask_new,
    one_vault,
    opened_profile,
    passphrase_of,
)
from citewell.errors import InputError

if TYPE_CHECKING:
    from citewell.adapters.vault.header import Header

app = typer.Typer(
    help="Encrypted records, one for each person: make, check, export and erase them, change their passphrase.",
    no_args_is_help=True,
    add_completion=False,
)

Label = Annotated[str, typer.Argument(help="Shown to anybody who can see the folder, such as “me” or “mum”.")]
KEEP_IT = (
    "Write these twelve words down and keep them away from this machine. They are shown once. Whoever has them can "
    "open the vault; without them and without the passphrase nobody can."
)


@app.command()
def create(
    context: typer.Context,
    label: Label,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Make a vault, and show its recovery phrase once."""
    with all_vaults(context, home) as vaults:
        passphrase = ask_new("A passphrase, ten characters or more", from_stdin=passphrase_stdin)
        made, phrase = vaults.create(label, passphrase)
    if json:
        print_json({"vault": _vault_json(made), "recovery_phrase": phrase})
        return
    typer.echo(printable(f"The vault “{made.label}” is made.\n\n    {phrase}\n\n{KEEP_IT}"))


@app.command("list")
def list_vaults(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """List the vaults: label, id, and when each was made."""
    with all_vaults(context, home) as vaults:
        found, unreadable = vaults.all(), vaults.unreadable()
    if json:
        print_json({"vaults": [_vault_json(one) for one in found], "unreadable": unreadable})
        return
    if not found and not unreadable:
        typer.echo("There is no vault yet. Make one with `citewell vault create LABEL`.")
    for one in found:
        typer.echo(printable(f"{one.id[:8]}  {one.label}  made {one.made_at:%d %b %Y}"))
    for vault_id, why in unreadable.items():
        typer.echo(printable(f"{vault_id}  {why}"), err=True)


@app.command()
def check(
    context: typer.Context,
    vault: Vault = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Open a vault and prove that all of it is whole: every page, every document, the audit log."""
    with opened_profile(context, home, vault, from_stdin=passphrase_stdin) as profile:
        library = profile.app
        found = library.library.verify()
        proof = library.desk.audit.prove(library.tenant)
        problems = [*found.problems, *proof.problems]
        documents = len(library.entries())
    if json:
        shown = {"vault": _vault_json(profile.vault), "documents": documents, "answers": proof.records}
        print_json({**shown, "problems": problems})
    else:
        typer.echo(printable("\n".join(problems) or f"All is well: {documents} documents, {proof.records} answers."))
    if problems:
        raise typer.Exit(1)


@app.command()
def passphrase(
    context: typer.Context,
    vault: Vault = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Change the passphrase; on standard input the old one comes first, then the new one."""
    with one_vault(context, home, vault) as (vaults, found):
        old = passphrase_of(found, from_stdin=passphrase_stdin)
        vaults.change_passphrase(found.id, old, ask_new("New passphrase", from_stdin=passphrase_stdin))
    _done(found, "The passphrase is changed. Older exports still open with the old one.", json=json)


@app.command()
def recover(
    context: typer.Context,
    vault: Vault = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Set a new passphrase with the recovery phrase, which comes first on standard input."""
    with one_vault(context, home, vault) as (vaults, found):
        phrase = ask("The twelve words", from_stdin=passphrase_stdin)
        vaults.recover(found.id, phrase, ask_new("New passphrase", from_stdin=passphrase_stdin))
    _done(found, "The new passphrase is set. The twelve words stay as they were.", json=json)


@app.command()
def phrase(
    context: typer.Context,
    vault: Vault = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Make another recovery phrase, after which the old one opens nothing."""
    with one_vault(context, home, vault) as (vaults, found):
        made = vaults.new_recovery(found.id, passphrase_of(found, from_stdin=passphrase_stdin))
    if json:
        print_json({"vault": _vault_json(found), "recovery_phrase": made})
        return
    typer.echo(f"\n    {made}\n\n{KEEP_IT}")


@app.command()
def export(
    context: typer.Context,
    target: Annotated[Path, typer.Argument(help="The file to write; it must not exist.", show_default=False)],
    vault: Vault = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Copy a vault into one file, still encrypted, for a backup or another machine."""
    with one_vault(context, home, vault) as (vaults, found):
        vaults.export(found.id, passphrase_of(found, from_stdin=passphrase_stdin), target)
    _done(found, f"Written to {target}. It opens with the same passphrase.", json=json)


@app.command()
def restore(
    context: typer.Context,
    source: Annotated[Path, typer.Argument(help="A file that `vault export` made.", show_default=False)],
    home: Home = None,
    json: Json = False,
) -> None:
    """Take an exported vault in."""
    with all_vaults(context, home) as vaults:
        found = vaults.restore(source)
    _done(found, f"The vault “{found.label}” is here again.", json=json)


@app.command()
def erase(
    context: typer.Context,
    label: Annotated[str, typer.Argument(help="Label of the vault, or its id; the whole id of a damaged one.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask again.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Remove a vault for good: its keys are overwritten, then its files removed."""
    with all_vaults(context, home) as vaults:
        damaged = label if label in vaults.unreadable() else None
        known = None if damaged else vaults.find(label)
        called = damaged or (known.label if known else label)
        if not yes and typer.prompt(f"All of it will be lost. Type “{called}” to go on", err=True) != called:
            raise InputError("That is something else. Nothing was erased.")
        vaults.erase(damaged or (known.id if known else label))
    if json:
        print_json({"vault": _vault_json(known) if known else {"id": damaged}})
    else:
        typer.echo(printable(f"The vault “{called}” is gone."))


def _vault_json(header: Header) -> dict[str, Any]:
    return {"id": header.id, "label": header.label, "made_at": header.made_at.isoformat()}


def _done(header: Header, words: str, *, json: bool) -> None:
    if json:
        print_json({"vault": _vault_json(header)})
    else:
        typer.echo(printable(words))
