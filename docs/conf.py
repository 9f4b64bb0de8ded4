"""How Sphinx builds these pages: `python -m sphinx -W docs docs/_build/html`."""

import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path

from docutils import nodes

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import elsewhere  # noqa: E402  (a file of this folder)

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
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the text of a docstring says what an argument may be
default_role = "code"  # docstrings write code in single backquotes

# One page a name. These differ from a function's in case alone, which some file systems ignore.
autosummary_filename_map = {
    f"tapegrad.{name}": f"tapegrad.{name}-class"
    for name in ("Profile", "optimize.Run", "testing.Blame")
}

# Inventories of this folder: a build asks no network.
intersphinx_mapping = elsewhere.write(HERE / "_build" / "inventories")
intersphinx_disabled_reftypes = ["*"]  # `np.sin` of a docstring is code; roles link

copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"tapegrad {release}"
html_static_path = ["_static"]
html_css_files = ["tapegrad.css"]
html_copy_source = False  # every page has [source] links of its own
html_show_sourcelink = False


def name_rows(app, doctree):
    """Make each row of the object layer's tables an entry of the reference, that roles can link."""
    docname = app.env.docname if hasattr(app.env, "docname") else app.env.current_document.docname
    if not docname.startswith("torch/reference"):
        return
    domain = app.env.get_domain("py")
    for section in doctree.findall(nodes.section):
        space = section.next_node(nodes.title).astext()
        if not space.startswith("torch"):
            continue
        for row in section.findall(nodes.row):
            literal = row.next_node(nodes.literal)
            if literal is None:
                continue
            own = re.match(r"\w+", literal.astext())
            if own is None:
                continue
            name = f"tapegrad.{space}.{own.group()}"
            row["ids"].append(name)
            domain.note_object(name, "function", name, location=row)


def setup(app):
    app.connect("doctree-read", name_rows)
