"""The library in a vault: it lends from the server what is nobody's, keeps to itself what is read, and forgets it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from citewell.bootstrap.app import App
from citewell.bootstrap.parts import make_embedder
from citewell.clinical import Lexicon
from citewell.errors import CitewellError

if TYPE_CHECKING:
    from citewell.adapters.index.exact import ExactIndex
    from citewell.adapters.store.library import SqlLibrary
    from citewell.config import Settings
    from citewell.ports import Embedder

_log = logging.getLogger(__name__)


class VaultApp(App):
    """The library in a vault; a server lends it the model and the words that it has loaded for all of them."""

    def __init__(self, settings: Settings, library: SqlLibrary, lender: Callable[[], App] | None) -> None:
        super().__init__(settings, library)
        self._lender = lender
        self._always = frozenset(self.__dict__)

    def close(self) -> None:
        """Give everything back, and forget what was read: a part that refers back to this would keep it alive."""
        if self._lender is not None:
            self.__dict__.pop("embedder", None)  # the server goes on using what it lent
        super().close()
        for name in self.__dict__.keys() - self._always:
            self.__dict__.pop(name, None)

    def renew_vectors(self) -> None:
        """Embed everything again where an older version's built-in model has: a patient runs no `reindex`.

        What cannot be written is left for the next time; until then a search says what is wrong.
        """
        from citewell.adapters.embedding.minilm import MODEL

        known, wanted = self.library.embedder(), self.embedder.fingerprint
        if known is None or known == wanted or not (known.startswith(MODEL) and wanted.startswith(MODEL)):
            return
        try:
            self.reindex()
        except (CitewellError, OSError) as error:
            _log.warning("the vectors of a vault could not be made again: %s", type(error).__name__)

    @cached_property
    def index(self) -> ExactIndex:
        """What finds passages, in the vault alone: a copy elsewhere is of the library, whatever the settings name."""
        from citewell.adapters.index.exact import ExactIndex

        return ExactIndex(self.library)

    @cached_property
    def embedder(self) -> Embedder:
        """What the settings ask for."""
        return make_embedder(self.settings) if self._lender is None else self._lender().embedder

    @cached_property
    def built_in(self) -> Embedder:
        """The model that the package brings, whoever embeds the library."""
        return super().built_in if self._lender is None else self._lender().built_in

    @cached_property
    def lexicon(self) -> Lexicon:
        """The clinical words."""
        return Lexicon.load() if self._lender is None else self._lender().lexicon
