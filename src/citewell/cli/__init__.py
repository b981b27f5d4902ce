"""The command line: one file per verb, each a thin skin over `citewell.open`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; what goes wrong is told in one sentence."""
    from citewell.cli.commands import app
    from citewell.cli.frame import tell
    from citewell.errors import CitewellError

    try:
        app()
    except CitewellError as error:
        sys.exit(tell(error, as_json="--json" in sys.argv))
    except KeyboardInterrupt:
        sys.exit(130)
