"""Write the generated pages again, docs/plan.md and docs/cli.md, from the plan's schema and the
commands' help.
"""

from pathlib import Path

from kneebench.docs_generator import write

write(Path(__file__).parent)
