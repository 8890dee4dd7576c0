"""Write the generated pages again: docs/plan.md and docs/cli.md, the man page, and README.md as
packages carry it.
"""

from pathlib import Path

from kneebench.docs_generator import write

write(Path(__file__).parent.parent)
