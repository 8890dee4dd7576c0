"""The documentation as a site: `make site`. Nothing is fetched when it is built or read."""

from importlib.metadata import version as version_of

project = "Kneebench"
author = "the authors of Kneebench"
copyright = author  # the name that Sphinx has for it
release = version_of("kneebench")
language = "en"

extensions = ["myst_parser"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["_build"]
nitpicky = True

html_theme = "furo"
html_title = "Kneebench"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"footer_icons": list[str]()}
