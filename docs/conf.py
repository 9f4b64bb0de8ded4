"""How Sphinx builds these pages: `python -m sphinx -W docs docs/_build/html`."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import elsewhere  # noqa: E402  (files of this folder)
import reference  # noqa: E402

project = "tapegrad"
author = "tapegrad developers"
copyright = "2026, tapegrad developers"
release = version = version_of("tapegrad")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "type_words",  # of this folder: links in the types of docstrings
    "gallery",  # likewise: runs the worked examples, and shows them
    "links",  # likewise: names in running text lead to their reference page
]
autosummary_generate = False  # reference.py writes the pages
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
# The index of all names weighed more than any page, and was half of what a search loads, which
# finds the same names without it.
autodoc_default_options = {"no-index-entry": True}
html_use_index = False
autodoc_typehints = "none"  # the text of a docstring says what an argument may be
# Sections are read by napoleon, which comes with Sphinx: numpydoc's own extension would list the
# methods of a class once more, in a table. tests/docs/test_docstrings.py has numpydoc's validator.
napoleon_google_docstring = False  # a paragraph may begin with a word and a colon
napoleon_use_ivar = True  # an attribute is a line of its class, and no entry beside its property
default_role = "code"  # docstrings write code in single backquotes

# Inventories of this folder: a build asks no network.
intersphinx_mapping = elsewhere.write(HERE / "_build" / "inventories")

copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"tapegrad {release}"
html_static_path = ["_static"]
html_css_files = ["tapegrad.css"]
html_copy_source = False  # every page has [source] links of its own
html_show_sourcelink = False


setup = reference.setup
