"""What all tests need: Ctrl-C works, also where the tests themselves were started in the background (a shell has such jobs ignore it)."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
