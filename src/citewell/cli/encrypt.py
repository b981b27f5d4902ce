"""`citewell encrypt` and `citewell decrypt`: the library's file on the disk."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from citewell.cli.common import Home, Json, print_json, print_result, settings
from citewell.errors import InputError

NO_KEY_FILE = "No key is set. Make one with `citewell encrypt --new-key FILE`, or set CITEWELL_LIBRARY_KEY_FILE."


def encrypt(
    context: typer.Context,
    new_key: Annotated[
        Path | None,
        typer.Option(help="Make a new key in this file, which must not exist yet.", show_default=False),
    ] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Encrypt the library's file. Stop the server and workers first."""
    from citewell.adapters.vault.library_key import new_key as make_key
    from citewell.adapters.vault.library_key import read_key
    from citewell.operations.encrypt_library import encrypt, plain_library

    chosen = settings(context, home)
    library = plain_library(chosen)
    file = new_key or chosen.library_key_file
    if file is None:
        raise InputError(NO_KEY_FILE)
    done = encrypt(library, make_key(file) if new_key else read_key(file))
    if json:
        print_json({**asdict(done), "key_file": file})
        return
    typer.echo(f"✓ Encrypted: {done.library}, {done.bytes / 1_048_576:,.1f} MiB")
    typer.echo(f"  Set CITEWELL_LIBRARY_KEY_FILE={file} for every command and server that opens this library.")
    typer.echo(
        "  Keep a copy of the key somewhere else. Without it the library is lost. Older backups are not encrypted."
    )


def decrypt(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """Decrypt the library's file again. Stop the server and workers first."""
    from citewell.adapters.vault.library_key import read_key
    from citewell.operations.encrypt_library import decrypt

    chosen = settings(context, home)
    if chosen.library_key_file is None:
        raise InputError("Set CITEWELL_LIBRARY_KEY_FILE to the file that holds the library's key.")
    done = decrypt(chosen, read_key(chosen.library_key_file), chosen.library_key_file)
    print_result(asdict(done), f"✓ Decrypted: {done.library}. Unset CITEWELL_LIBRARY_KEY_FILE.", as_json=json)
