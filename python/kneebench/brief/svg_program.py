"""The program that draws: it reads a Vega-Lite specification from each line, and writes the length
of the picture on a line and then the picture; a length of 0 where it cannot be drawn. Its arguments
may name another format than SVG, with the options of vl-convert as JSON.

It ends with its input. It imports nothing of kneebench, so that it starts quickly.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    """Draw until the input ends."""
    import vl_convert

    vl_convert.vegalite_to_svg({"mark": "point"})  # starts its engine while figures are made
    form, options = sys.argv[1:3] or ("svg", "{}")
    for specification in sys.stdin.buffer:
        drawn = _drawn(specification.decode(), form, json.loads(options))
        try:
            sys.stdout.buffer.write(f"{len(drawn)}\n".encode() + drawn)
            sys.stdout.buffer.flush()
        except BrokenPipeError:  # whoever asked was killed
            os._exit(0)


def _drawn(specification: str, form: str, options: dict[str, float]) -> bytes:
    import vl_convert

    try:
        drawn = getattr(vl_convert, f"vegalite_to_{form}")(specification, **options)
    except ValueError:
        return b""
    return drawn.encode() if isinstance(drawn, str) else bytes(drawn)


if __name__ == "__main__":
    main()
