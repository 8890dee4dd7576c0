"""The program that draws: it reads a Vega-Lite specification from each line, and writes the length
of the SVG on a line and then the SVG; a length of 0 where it cannot be drawn.

It ends with its input. It imports nothing of kneebench, so that it starts quickly.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Draw until the input ends."""
    import vl_convert

    vl_convert.vegalite_to_svg({"mark": "point"})  # starts its engine while figures are made
    for specification in sys.stdin.buffer:
        drawn = _drawn(specification.decode()).encode()
        try:
            sys.stdout.buffer.write(f"{len(drawn)}\n".encode() + drawn)
            sys.stdout.buffer.flush()
        except BrokenPipeError:  # whoever asked was killed
            os._exit(0)


def _drawn(specification: str) -> str:
    import vl_convert

    try:
        drawn: str = vl_convert.vegalite_to_svg(specification)
    except ValueError:
        return ""
    return drawn


if __name__ == "__main__":
    main()
