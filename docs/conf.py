"""How Sphinx builds these pages: `python -m sphinx -W docs docs/_build/html`."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

project = "tapegrad"
author = "tapegrad developers"
copyright = "2026, tapegrad developers"
release = version = version_of("tapegrad")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
sys.path.insert(0, str(Path(__file__).parent))
extensions.append("gallery")  # docs/gallery.py: runs the worked examples, and shows them
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the text of a docstring says what an argument may be
default_role = "code"  # docstrings write code in single backquotes

html_theme = "furo"
html_title = f"tapegrad {release}"
