"""The command `kneebench`, and `python -m kneebench`: Ctrl-C also ends it cleanly while it still
imports.
"""

import sys

from kneebench.errors import INTERRUPTED


def main() -> None:
    """Import the command line, then run it."""
    try:
        from kneebench.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
