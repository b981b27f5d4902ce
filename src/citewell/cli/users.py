"""`citewell users`: who may sign in, as what, and with which keys."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citewell.cli.common import Home, Json, Tags, opened, print_json, print_result, printable
from citewell.cli.ids import find
from citewell.errors import InputError
from citewell.types import OWNER_ID, Role
from citewell.types.hashed_ids import is_logged

if TYPE_CHECKING:
    from citewell.adapters.store.users import UserAccount
    from citewell.app import App

app = typer.Typer(
    help="Add, list and change users, their sessions and API keys.", add_completion=False, no_args_is_help=True
)

Email = Annotated[str, typer.Argument(help="The user's email address.", show_default=False)]
PasswordStdin = Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input.")]
PROVIDER_ONLY = (
    "This user signs in with a provider, so only they can create a key: on their Account page. No key was created."
)
HOW_TO_SIGN_IN = (
    "No password set yet. To let them sign in: `citewell users change {email} --password-stdin`. To create an API "
    "key: `citewell users key {email}`."
)


@app.command()
def add(
    context: typer.Context,
    email: Email,
    name: Annotated[str, typer.Option(help="The person's name.", show_default=False)] = "",
    role: Annotated[Role, typer.Option(help="Their role.")] = Role.MEMBER,
    tag: Tags = None,
    password_stdin: PasswordStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Add a user. Without a password they can use only API keys."""
    password = _password(is_given=password_stdin)
    with opened(context, home) as library:
        tenant = library.tenant
        user = library.people.add(tenant=tenant, email=email, name=name, role=role, tags=tag or [], password=password)
    _tell(user, json=json, words="Added")
    if password is None and not json:
        typer.echo(printable(HOW_TO_SIGN_IN.format(email=user.email)))


@app.command("list")
def list_users(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """List the users by email address."""
    with opened(context, home) as library:
        users = library.people.all(tenant=library.tenant)
    if json:
        print_json({"users": [_user_json(user) for user in users]})
        return
    if not users:
        typer.echo("No users yet. The person at this computer can do everything. Add a user with `users add`.")
    for user in users:
        typer.echo(printable(_line(user)))


@app.command()
def change(
    context: typer.Context,
    email: Email,
    role: Annotated[Role | None, typer.Option(help="Their role.", show_default=False)] = None,
    tag: Tags = None,
    no_tags: Annotated[bool, typer.Option("--no-tags", help="Remove all tags.")] = False,
    active: Annotated[bool | None, typer.Option("--active/--inactive", help="Allow or block sign-in.")] = None,
    name: Annotated[str | None, typer.Option(help="The person's name.", show_default=False)] = None,
    registration: Annotated[
        str | None,
        typer.Option(help="The number of their professional body, with which they sign.", show_default=False),
    ] = None,
    no_second_factor: Annotated[
        bool, typer.Option("--no-second-factor", help="Turn off the second factor of a lost authenticator.")
    ] = False,
    password_stdin: PasswordStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Change a user. A new password ends their sessions and revokes their API keys."""
    password = _password(is_given=password_stdin)
    with opened(context, home) as library:
        tenant = library.tenant
        known = _found(library, email)
        tags = [] if no_tags else tag
        user = library.people.change(
            known.id,
            tenant=tenant,
            role=role,
            tags=tags,
            is_active=active,
            password=password,
            name=name,
            registration=registration,
        )
        if no_second_factor:
            library.second_factors.turn_off(user.id)
            library.people.end_sessions(user.id, tenant=tenant)
    _tell(user, json=json, words="Changed")


@app.command()
def key(
    context: typer.Context,
    email: Email,
    name: Annotated[str, typer.Option(help="What the key is for.")] = "key",
    days: Annotated[
        int | None, typer.Option(help="Days until it ends [CITEWELL_KEY_DAYS].", min=1, show_default=False)
    ] = None,
    rotate: Annotated[
        str | None,
        typer.Option(help="ID of a key to replace; it works for another 24 hours.", show_default=False),
    ] = None,
    remove: Annotated[str | None, typer.Option(help="ID of a key to revoke.", show_default=False)] = None,
    password_stdin: Annotated[
        bool,
        typer.Option("--password-stdin", help="Read the user's own password (then a code, if on) from standard input."),
    ] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Create an API key, with the user's own password if they have one. It is shown once and stored as a hash."""
    with opened(context, home) as library:
        tenant, longest = library.tenant, library.settings.key_days
        user = _found(library, email)
        if remove is not None:
            library.people.remove_key(remove, user_id=user.id)
            key_id, made = remove, None
        else:
            _confirm(library, user, from_stdin=password_stdin)
            lasts = longest if days is None else min(days, longest)
            if rotate is not None:
                key_id, made = library.people.rotate_key(rotate, user_id=user.id, tenant=tenant, days=lasts)
            else:
                key_id, made = library.people.add_key(user.id, tenant=tenant, name=name, days=lasts)
    if json:
        print_json({"id": key_id, "email": user.email, "key": made})
    elif made is None:
        typer.echo("Key revoked.")
    else:
        typer.echo(f"{made}\nThis key is shown only once, so keep it safe. Its ID is {key_id}.")


@app.command()
def keys(context: typer.Context, email: Email, home: Home = None, json: Json = False) -> None:
    """List a user's API keys: what each is for and when it was last used, to the hour."""
    with opened(context, home) as library:
        tenant = library.tenant
        api_keys = library.people.keys(_found(library, email).id, tenant=tenant)
    if json:
        print_json({"keys": api_keys})
        return
    for api_key in api_keys:
        used = f"last used {api_key.used_at:%d %b %Y}" if api_key.used_at else "never used"
        typer.echo(printable(f"{api_key.id}  {api_key.name}  created {api_key.made_at:%d %b %Y}, {used}"))


def _confirm(library: App, user: UserAccount, *, from_stdin: bool) -> None:
    """A key acts as its user, so only they can make one; an account without a password belongs to a program."""
    from citewell.cli.unlock import ask

    if not library.people.has_password(user.id) and not library.people.has_identity(user.id):
        return
    if not library.people.has_password(user.id):
        raise InputError(PROVIDER_ONLY)
    password = ask(f"Password of {user.email}", from_stdin=from_stdin, option="--password-stdin")
    if library.people.by_password(tenant=user.tenant, email=user.email, password=password) is None:
        raise InputError("Password is wrong. No key was created.")
    if library.second_factors.is_on(user.id):
        code = ask("Code of their authenticator", from_stdin=from_stdin, option="--password-stdin")
        if not library.second_factors.takes(user.id, code):
            raise InputError("The code is wrong or was used already. No key was created.")


@app.command()
def profile(
    context: typer.Context,
    name: Annotated[str | None, typer.Option(help="Your name.", show_default=False)] = None,
    registration: Annotated[
        str | None, typer.Option(help="The number of your professional body.", show_default=False)
    ] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Show or set the name and registration number under which the owner of this installation signs."""
    with opened(context, home) as library:
        known = library.people.owner_profile(library.tenant)
        if name is not None or registration is not None:
            known = library.people.set_owner_profile(library.tenant, name=name, registration=registration)
    if json:
        print_json({"profile": known})
    elif known is None:
        typer.echo("No name yet. Set one with --name and --registration to sign consultations.")
    else:
        typer.echo(printable(f"{known.name}  {known.registration or 'no registration number'}"))


@app.command("sessions")
def list_sessions(
    context: typer.Context,
    email: Annotated[
        str | None,
        typer.Argument(help="The user's email address; yours, as the owner, if left out.", show_default=False),
    ] = None,
    end: Annotated[str | None, typer.Option(help="ID of a session to end.", show_default=False)] = None,
    end_all: Annotated[bool, typer.Option("--end-all", help="End all of them.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """List the open sessions of a user or of the owner, or end them."""
    with opened(context, home) as library:
        tenant = library.tenant
        user_id = OWNER_ID if email is None else _found(library, email).id
        if end is not None or end_all:
            library.people.end_sessions(user_id, tenant=tenant, only=end)
        sessions = library.people.open_sessions(user_id, tenant=tenant)
    if json:
        print_json({"sessions": sessions})
        return
    if not sessions:
        typer.echo("No open sessions.")
    for session in sessions:
        typer.echo(f"{session.id}  {session.way}  since {session.made_at:%d %b %Y %H:%M} UTC")


def _found(library: App, named: str) -> UserAccount:
    """A user by email address, or by the hash of their id that a log holds."""
    if not is_logged(named):
        return library.people.by_email(named, tenant=library.tenant)
    known = {user.id: user for user in library.people.all(tenant=library.tenant)}
    return known[find(named, known, missing="User not found. `citewell users list` shows all users.")]


def _password(*, is_given: bool) -> str | None:
    return sys.stdin.readline().rstrip("\r\n") if is_given else None


def _user_json(user: UserAccount) -> dict[str, Any]:
    return {
        "id": user.id,
        "email": user.email,
        "name": user.name,
        "role": user.role.value,
        "tags": sorted(user.tags),
        "active": user.is_active,
        "registration": user.registration,
    }


def _line(user: UserAccount) -> str:
    state = "" if user.is_active else "  inactive"
    return f"{user.email}  {user.role}  {' '.join(sorted(user.tags)) or 'no tags'}{state}"


def _tell(user: UserAccount, *, json: bool, words: str) -> None:
    print_result({"user": _user_json(user)}, f"{words}: {_line(user)}", as_json=json)
