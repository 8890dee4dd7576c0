"""The command `kneebench`, and `python -m kneebench`: Ctrl-C also ends it cleanly while it still
imports.
"""

import gc
import sys

from kneebench.errors import INTERRUPTED
from kneebench.started import keep_command_line, open_standard_streams
from kneebench.stopping_signals import end_at_once, stop_at_signals

OBJECTS = 50_000
"""Objects between two looks for circles of them; with Python's 700 a campaign looks 450 times, and
almost all that is made stays or is in no circle."""


def main() -> None:
    """Import the command line, then run it."""
    gc.set_threshold(OBJECTS)
    open_standard_streams()
    stop_at_signals()
    keep_command_line()
    try:
        from kneebench.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        end_at_once()


if __name__ == "__main__":
    main()
