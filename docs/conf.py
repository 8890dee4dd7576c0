"""The documentation as a site: `make site`. Nothing is fetched when it is built or read."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

sys.path.insert(0, str(Path(__file__).parent / "samples"))

import gallery

project = "Kneebench"
author = "the authors of Kneebench"
copyright = author  # the name that Sphinx has for it
release = version_of("kneebench")
language = "en"

extensions = ["myst_parser"]
myst_heading_anchors = 4
nitpicky = True

html_theme = "furo"
html_title = "Kneebench"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"footer_icons": list[str]()}


class Samples(SphinxDirective):
    """The sample briefs, each with its finding and links."""

    def run(self) -> list[nodes.Node]:
        """The sections of the gallery, read in each build: Sphinx sees no change of an archive."""
        self.env.note_reread()
        return self.parse_text_to_nodes("\n".join(gallery.cards()), allow_section_headings=True)


def _render_samples(app: Sphinx, error: Exception | None) -> None:
    if error is None:
        gallery.render(Path(app.outdir) / "samples")


def setup(app: Sphinx) -> None:
    """What this site has beyond pages: the gallery."""
    app.add_directive("samples", Samples)
    app.connect("build-finished", _render_samples)
