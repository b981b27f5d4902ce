"""What the verbs of a vault share: which one, and a passphrase that stands in no argument and no environment."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citewell.cli.common import Home, settings
from citewell.errors import InputError

if TYPE_CHECKING:
    from citewell.adapters.vault.header import Header
    from citewell.vaults.vaults import OpenVault, Vaults

Vault = Annotated[
    str | None,
    typer.Option("--vault", help="Label or ID of the vault. Not needed if there is only one.", show_default=False),
]
PassphraseStdin = Annotated[
    bool, typer.Option("--passphrase-stdin", help="Read passphrases from standard input, one per line.")
]
NO_TERMINAL = "There is no terminal to ask for it. Send it on standard input with {option}."


def ask(prompt: str, *, from_stdin: bool, option: str = "--passphrase-stdin") -> str:
    """Something secret: the next line of standard input, or typed without being shown."""
    if from_stdin:
        line = sys.stdin.readline()
        if not line:
            raise InputError(f"{prompt}: nothing was received on standard input. Send it on a line of its own.")
        return line.rstrip("\r\n")
    if not sys.stdin.isatty():
        raise InputError(f"{prompt}: {NO_TERMINAL.format(option=option)}")
    return getpass.getpass(f"{prompt}: ")


def ask_new(prompt: str, *, from_stdin: bool) -> str:
    """A new secret, typed twice where it cannot be seen."""
    first = ask(prompt, from_stdin=from_stdin)
    if not from_stdin and ask("Repeat it", from_stdin=False) != first:
        raise InputError("They do not match. Nothing was changed. Start again.")
    return first


@contextmanager
def all_vaults(context: typer.Context, home: Path | None) -> Iterator[Vaults]:
    """The vaults of the home; what is opened is locked at the end."""
    from citewell.vaults.vaults import Vaults

    vaults = Vaults(settings(context, home))
    try:
        yield vaults
    finally:
        vaults.close()


@dataclass(frozen=True, slots=True)
class ChosenVault:
    """The vault that a command is about; `label` may be left out where there is only one."""

    context: typer.Context
    home: Path | None
    label: str | None
    from_stdin: bool

    @contextmanager
    def locked(self) -> Iterator[tuple[Vaults, Header]]:
        """The vaults of the home, and the one that is meant."""
        with all_vaults(self.context, self.home) as vaults:
            yield vaults, vaults.find(self.label)

    def passphrase(self, header: Header) -> str:
        """The passphrase of a vault, as it is asked for everywhere."""
        return ask(f"Passphrase of “{header.label}”", from_stdin=self.from_stdin)

    @contextmanager
    def opened(self) -> Iterator[OpenVault]:
        """The vault, open until the verb is done."""
        with self.locked() as (vaults, header):
            yield vaults.open(header.id, self.passphrase(header))


def on_vault(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb whose first parameter is a `ChosenVault`, with the options that choose it; they stand before the last."""

    def run(
        context: typer.Context,
        *,
        vault: Vault = None,
        passphrase_stdin: PassphraseStdin = False,
        home: Home = None,
        **own: Any,
    ) -> None:
        verb(ChosenVault(context, home, vault, passphrase_stdin), **own)

    _, *own, last = signature(verb, eval_str=True).parameters.values()
    context, *choosing, _ = signature(run, eval_str=True).parameters.values()
    keywords = [option.replace(kind=Parameter.KEYWORD_ONLY) for option in (*own, *choosing, last)]
    update_wrapper(run, verb)
    run.__signature__ = Signature([context, *keywords])  # type: ignore[attr-defined]
    return run
