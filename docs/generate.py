"""Write the generated pages again: the references in docs/, the man page, and README.md as packages
carry it.
"""

from pathlib import Path

from kneebench.docs_generator import write

write(Path(__file__).parent.parent)
