"""Makes names in running text links to their reference page, without a role around each.

A page writes `tapegrad.hvp`, `hvp(f, (x,), (v,))` or `np.where`, and a reader can follow it. Names
that nothing documents stay plain code.
"""

from __future__ import annotations

import re

import elsewhere
import reference
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

CALL = re.compile(r"@?([A-Za-z_]\w*(?:\.\w+)*)(?:\(.*\))?", re.DOTALL)
WHOLE = {"np.": "numpy.", "numpy.": "numpy.", "scipy.": "scipy.", "tapegrad.": "tapegrad."}
# Pages of one module, whose names come before those of `tapegrad` itself.
ABOUT = {
    "optimize": "tapegrad.optimize",
    "guides/optimising": "tapegrad.optimize",
    "guides/fitting": "tapegrad.optimize",
    "guides/training": "tapegrad.optimize",
    "implicit": "tapegrad.implicit",
    "guides/odes": "tapegrad.implicit",
    "sparse": "tapegrad.sparse",
    "scaling": "tapegrad.dask",
    "guides/parameters": "tapegrad.tree",
    "testing": "tapegrad.testing",
    "kinks": "numpy",
}
# Pages on which `grad` or `compile` may be another library's.
ELSEWHERE = ("torch", "autograd", "migrating", "api", "coverage", "versions", "benchmarks")
# Docstrings have sections of their own for this; a table of a thousand names has enough of them.
UNTOUCHED = ("api/", "coverage", "torch/")
# Modules whose names have a page instead of an entry of the reference.
PAGES = {"tapegrad.torch": "torch", "tapegrad.scipy": "scipy", "tapegrad.numpy": "array-api"}
# Words that are more often a keyword, a column or a word of the text than the function.
WORDS = {"linear", "general", "constant", "config", "dtype", "value", "scale"}


def target(text: str, page: str, known: set[str]) -> str | None:
    """The full name that a piece of code in a text stands for, or None.

    known has the full names that have a page.
    """
    found = CALL.fullmatch(text.strip())
    if found is None:
        return None
    name = found[1]
    for short, full in WHOLE.items():
        if name.startswith(short):
            whole = full + name.removeprefix(short)
            parent = whole.rpartition(".")[0]  # a setting stands on the page of `tapegrad.config`
            return parent if parent == "tapegrad.config" else whole
    if page.startswith(ELSEWHERE) or (name in WORDS and "(" not in text):
        return None
    if name.startswith("torch."):  # as pages import it: `import tapegrad.torch as torch`
        return f"tapegrad.{name}"
    modules = ["tapegrad"] if page not in ABOUT else [ABOUT[page], "tapegrad"]
    return next((f"{each}.{name}" for each in modules if f"{each}.{name}" in known), None)


class Links(SphinxTransform):
    """Puts a reference around each piece of code that is the name of something."""

    default_priority = 300

    def apply(self, **_kwargs) -> None:
        known = {f"{module}.{name}" for module, name in reference.listed()}
        known |= {row.split()[0] for site in elsewhere.SITES for row in elsewhere.rows(site)}
        page = self.env.docname
        if page.startswith(UNTOUCHED):
            return
        for node in list(self.document.findall(nodes.literal)):
            if self.is_free(node):
                name = target(node.astext(), page, known)
                if name is not None:
                    self.link(node, name, page)

    @staticmethod
    def is_free(node: nodes.Node) -> bool:
        """Whether it is in running text: in no link, and in no title."""
        while node.parent is not None:
            node = node.parent
            if isinstance(node, (nodes.reference, addnodes.pending_xref, nodes.title)):
                return False
        return True

    def link(self, node: nodes.literal, name: str, page: str) -> None:
        if name in PAGES:
            address = self.app.builder.get_relative_uri(page, PAGES[name])
            around: nodes.Element = nodes.reference("", "", internal=True, refuri=address)
        else:
            what = {"refdomain": "py", "reftype": "obj", "reftarget": name, "refdoc": page}
            around = addnodes.pending_xref("", refexplicit=True, refwarn=False, **what)
        node.replace_self(around)
        around += node


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(Links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
