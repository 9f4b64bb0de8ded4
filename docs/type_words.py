"""Links in the types of docstrings, as Sphinx builds the pages: an extension.

napoleon makes a link of every word of a type: `int, default 0` has two. Sphinx looks for such a
word in any module, comparing it with each name of the reference. That is most of the time which
links take, for words that mostly lead nowhere; so they are looked up in a table here first.
"""

from __future__ import annotations

from collections import defaultdict

from sphinx.addnodes import pending_xref
from sphinx.transforms.post_transforms import SphinxPostTransform

CLASSES = ("class", "exception")


class TypeWords(SphinxPostTransform):
    """Give words of types the full name of the class that they lead to, or make them text.

    Words that several classes have as their names stay as they are: Sphinx warns of them.
    """

    default_priority = 5  # before Sphinx resolves links, at 10

    def run(self, **kwargs):
        python = self.env.domains.python_domain
        words = defaultdict(list)
        for name, entry in python.objects.items():
            if entry.objtype in CLASSES:
                words[name.rpartition(".")[2]].append(name)
        for link in list(self.document.findall(pending_xref)):
            if link.get("refdomain") != "py" or not link.get("refspecific"):
                continue
            if link["reftype"] not in ("class", "exc"):
                continue
            target = link["reftarget"].lstrip(".~")
            names = words[target.rpartition(".")[2]]
            found = [name for name in names if f".{name}".endswith(f".{target}")]
            if len(found) == 1:
                link["reftarget"] = found[0]
                del link["refspecific"]
            elif not found and "." not in target:  # others may be another project's
                link.replace_self(link.children)


def setup(app):
    app.add_post_transform(TypeWords)
    return {"parallel_read_safe": True, "version": "1"}
