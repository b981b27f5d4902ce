"""One exception tree. A message says what happened and what to do next; it never quotes a document or a question.

CitewellError
├── InputError               what was given cannot be used
│   ├── UnsupportedFile      a type that no parser reads
│   ├── EncryptedFile        a password is needed
│   ├── DamagedFile          truncated, malformed or hostile
│   ├── TooLarge             over a limit in the settings
│   ├── EmptyFile            no text to read
│   ├── AlreadyThere         a name that something else has
│   ├── DoesNotFit           as things stand it cannot be done
│   └── TooMuchWork          more processor time than one request may take
├── NotFound                 no such thing in this scope
├── ScopeRefused             a scope without a tenant or tags, or a tag the caller may not use
├── ChangedMeanwhile         somebody else changed it since it was read
├── SignInRefused            a sign-in provider's word was not enough
├── TookTooLong              work went on for longer than its size allows
├── ClientGone               nobody waits for the answer any more
├── LibraryError             the library cannot be read or written
│   ├── LibraryBusy          another process holds the write lock
│   ├── DiskFull             what was to be kept was not
│   ├── LibraryReadOnly      nothing was written
│   ├── LibraryUnreachable   the database that holds it does not answer
│   └── SchemaTooNew         written by a newer Citewell
├── VaultError               a vault cannot be opened now
│   ├── WrongSecret          the passphrase or recovery phrase is not this vault's
│   ├── VaultWaits           too many wrong ones: wait before the next
│   └── VaultLocked          it was locked, by hand or after idle time
├── Unavailable              a part that should answer does not
│   ├── CalibrationUnusable  the calibration file of an embedder is damaged, or another embedder's
│   ├── ModelFilesMissing    the embedding model is not installed or not the one expected
│   └── BlobsUnavailable     the store of original files does not answer
├── RAGServiceError          a question cannot be answered now
│   ├── ContextError         its passages cannot be found
│   │   ├── EmbedderMismatch     vectors of two embedders would be mixed
│   │   ├── EmbedderUnavailable  a remote embedder failed
│   │   │   └── EmbedderRefused  it answers, and does not take these texts
│   │   └── ReplicaUnavailable   the copy for searching does not answer
│   ├── TokenBudgetExceededError  rules and reply leave no room in the model's window
│   ├── NoModel              a model is asked for, and none is set up
│   └── ModelError           a language model failed
│       ├── LLMConnectionError     its server cannot be reached
│       ├── LLMTimeoutError        it took too long
│       ├── ModelNotAllowedError   it is not on the list of allowed models
│       ├── ModelUnavailableError  the server does not have it
│       └── ModelReply       its reply was empty or malformed
│           └── ReplyCut     it ended too soon
└── MissingExtra             an optional package is not installed
"""

from __future__ import annotations

import re
from typing import Literal, Self


class CitewellError(Exception):
    """Anything that Citewell reports to a person."""

    conversation_id: str | None = None
    """Where the question that failed was kept, to be asked again."""
    place: str | None = None
    """The folder or server that the message names, where it names one."""

    def at(self, place: object) -> Self:
        """The same error; its message names this place."""
        self.place = str(place)
        return self

    @property
    def told(self) -> str:
        """The message for people who do not run this machine, to whom its folders and servers are not named.

        >>> DiskFull("The disk of the library in /srv/our files is full.").at("/srv/our files").told
        'The disk of the library is full.'
        """
        if not self.place:
            return str(self)
        return re.sub(rf" (?:\({re.escape(self.place)}\)|(?:in |at |to )?{re.escape(self.place)})", "", str(self))


class InputError(CitewellError):
    """What was given cannot be used."""


class UnsupportedFile(InputError):
    """A file type that no parser reads."""


class EncryptedFile(InputError):
    """A file that needs a password."""


class DamagedFile(InputError):
    """A truncated, malformed or hostile file."""


class TooLarge(InputError):
    """A file over a limit in the settings."""


class EmptyFile(InputError):
    """A file without any text."""


class AlreadyThere(InputError):
    """A name that something else has."""


class DoesNotFit(InputError):
    """As things stand it cannot be done, such as a reply to what was put away."""


class NotFound(CitewellError):
    """No such thing in this scope."""


class ScopeRefused(CitewellError):
    """A scope without a tenant or tags, or with a tag that the caller may not use."""


class SignInRefused(CitewellError):
    """What a sign-in provider said was not enough to let somebody in."""


class ChangedMeanwhile(CitewellError):
    """Somebody else changed it since it was read; nothing was changed now."""


class TookTooLong(CitewellError):
    """Work went on for longer than its size allows."""


class TooMuchWork(InputError):
    """More processor time than one request may take; the work was stopped."""


class ClientGone(CitewellError):
    """Nobody waits for the answer any more; the work was stopped."""


class LibraryError(CitewellError):
    """The library cannot be read or written."""


class LibraryBusy(LibraryError):
    """Another process holds the write lock."""


class DiskFull(LibraryError):
    """The disk is full; what was to be kept was not."""


class LibraryReadOnly(LibraryError):
    """The library's folder cannot be written; nothing was written."""


class LibraryUnreachable(LibraryError):
    """The database that holds the library does not answer; nothing was written."""


class SchemaTooNew(LibraryError):
    """The library was written by a newer Citewell."""


class VaultError(CitewellError):
    """A vault cannot be opened now."""


class WrongSecret(VaultError):
    """The passphrase or recovery phrase is not this vault's; nothing else is said."""

    def __init__(self, message: str = "The passphrase or recovery words are wrong. Check them and try again.") -> None:
        super().__init__(message)


class VaultWaits(VaultError):
    """Too many wrong passphrases: the next one has to wait."""

    def __init__(self, message: str, *, wait_s: int = 1) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class VaultLocked(VaultError):
    """The vault was locked, by hand or after idle time."""

    def __init__(self, message: str = "This record is locked. Unlock it with its passphrase to continue.") -> None:
        super().__init__(message)


class Unavailable(CitewellError):
    """A part that should answer does not."""


class CalibrationUnusable(Unavailable):
    """The calibration file of an embedder is damaged, or another embedder's."""


class ModelFilesMissing(Unavailable):
    """The embedding model is not installed, or is not the one expected."""


class BlobsUnavailable(Unavailable):
    """The store of original files does not answer."""


class MissingExtra(CitewellError):
    """An optional package is not installed."""


class RAGServiceError(CitewellError):
    """A question cannot be answered now."""


class ContextError(RAGServiceError):
    """The passages that a question needs cannot be found."""


class EmbedderMismatch(ContextError):
    """Vectors of two embedders would be mixed."""


class EmbedderUnavailable(ContextError):
    """A remote embedder failed."""


class EmbedderRefused(EmbedderUnavailable):
    """A remote embedder answers, and does not take these texts; it may take others."""


class ReplicaUnavailable(ContextError):
    """The copy of the library that is searched beside it does not answer."""


class TokenBudgetExceededError(RAGServiceError):
    """Rules and reply leave no room in the model's window."""


class NoModel(RAGServiceError):
    """A model is asked for, and none is set up."""


class ModelError(RAGServiceError):
    """A language model failed."""


class LLMConnectionError(ModelError):
    """The model's server cannot be reached."""


class LLMTimeoutError(ModelError):
    """The model took too long."""


class ModelNotAllowedError(ModelError):
    """The model is not on the list of allowed ones."""


class ModelUnavailableError(ModelError):
    """The server does not have the model."""


class ModelReply(ModelError):
    """The model's reply was cut, empty or malformed."""


class ReplyCut(ModelReply):
    """A reply that did not come to its end."""

    def __init__(
        self, message: str, *, reason: Literal["length", "filter", "cut"] = "cut", received_characters: int = 0
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.received_characters = received_characters
