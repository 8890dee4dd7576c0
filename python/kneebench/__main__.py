"""`python -m kneebench`: the same as the command."""

from kneebench.cli import main

main()
