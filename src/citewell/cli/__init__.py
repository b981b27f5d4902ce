"""The command line: one file per verb, each a thin skin over `citewell.open`."""

from __future__ import annotations

import os
import sys

HALF = "surrogates not allowed"
NO_TEXT = "The input is not valid UTF-8 text. Nothing was changed. Send it again as plain text."


def main() -> None:
    """Run the command line; what goes wrong is told in one sentence."""
    try:
        _run()
    except KeyboardInterrupt:  # also while the files of a verb are read
        sys.exit(130)


def _run() -> None:
    from citewell.cli.commands import app
    from citewell.cli.common import tell
    from citewell.errors import CitewellError, InputError

    try:
        app()
    except CitewellError as error:
        sys.exit(tell(error, as_json="--json" in sys.argv))
    except Exception as error:
        if os.environ.get("CITEWELL_DEBUG"):
            raise
        name = type(error).__name__
        citewell_error: CitewellError = InputError(NO_TEXT)
        if not (isinstance(error, UnicodeEncodeError) and error.reason == HALF):
            citewell_error = CitewellError(
                f"Citewell hit an unexpected error ({name}). Set CITEWELL_DEBUG=1 to see where."
            )
        sys.exit(tell(citewell_error, as_json="--json" in sys.argv))
