"""`python -m coterie`: the command line, where `coterie` is not on the path."""

from coterie.cli import main

main()
