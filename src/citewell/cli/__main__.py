"""`python -m citewell.cli` is the command line too."""

from citewell.cli import main

main()
