"""The gallery of worked examples: an extension of Sphinx that runs them and shows their pictures.

A page has a directive for each example:

    ```{example} logistic
    ```

which shows the picture, the first lines of the script, what it prints, and its files. The scripts
run before the pages are read, as many at a time as there are cores; what they made is kept in
`_build/gallery` under a name of their content and tapegrad's, and made again when either changes.

    python docs/gallery.py [NAME ...]    # the same without Sphinx: run examples, say how long
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DOCS = Path(__file__).parent
MADE = DOCS / "_build" / "gallery"
EXAMPLES = {path.stem: path for path in sorted((DOCS / "examples").glob("*.py"))}


@dataclass(frozen=True)
class Example:
    """Text at the top of a script."""

    title: str
    about: str


def read(path: Path) -> Example:
    """The first line and the first paragraph of a script's text."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    title, about, *_ = text.split("\n\n")
    return Example(title.rstrip("."), about)


@cache
def _library() -> bytes:
    digest = hashlib.sha256()
    for path in sorted((DOCS.parent / "tapegrad").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


def key(path: Path) -> str:
    """A name for the content of a script and of tapegrad."""
    return hashlib.sha256(path.read_bytes() + _library()).hexdigest()[:12]


def made(name: str) -> tuple[Path, Path]:
    """The files of an example's picture and of what it prints, whether they are there or not."""
    stem = f"{name}-{key(EXAMPLES[name])}"
    return MADE / f"{stem}.webp", MADE / f"{stem}.txt"


def run(name: str) -> str:
    """Run an example in a process of its own, keep its picture, and return what it printed."""
    picture, printed = made(name)
    MADE.mkdir(parents=True, exist_ok=True)
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, str(EXAMPLES[name]), str(picture)],
        env={**os.environ, **one, "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=MADE,
    )
    if done.returncode:
        raise RuntimeError(f"the example {name} ended with an error:\n{done.stderr}")
    if "Warning" in done.stderr:
        raise RuntimeError(f"the example {name} warned:\n{done.stderr}")
    for old in MADE.glob(f"{name}-*"):
        if old not in (picture, printed):
            old.unlink()
    lighter(picture)
    printed.write_text(done.stdout, encoding="utf-8")
    return done.stdout


def lighter(picture: Path) -> None:
    """Write a picture in fewer bytes: matplotlib leaves a third more than the eye sees."""
    from PIL import Image  # matplotlib needs it too

    with Image.open(picture) as drawn:
        pixels = drawn.convert("RGB")
    pixels.save(picture, quality=70, method=6)


def run_missing(names: list[str]) -> None:
    """Run those of which there is no picture of the present content."""
    missing = [name for name in names if not all(path.exists() for path in made(name))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, missing))


def links_of(printed: str) -> str:
    """The pages that an example recommends, as links of Markdown."""
    last = printed.splitlines()[-1]
    return re.sub(r"docs/([\w/-]+)\.md", r"[](\1.md)", last).capitalize()


def text_of(name: str) -> str:
    """Part of the page on an example, as text of MyST."""
    about = read(EXAMPLES[name]).about
    picture, printed = made(name)
    words = printed.read_text(encoding="utf-8")
    notebook = DOCS / "_build" / "notebooks" / f"{name}.ipynb"
    files = f"[`{name}.py`](examples/{name}.py)"
    if notebook.exists():
        files += f", [notebook](_build/notebooks/{name}.ipynb)"
    return f"""\
{about}

```{{image}} /_build/gallery/{picture.name}
:alt: what the example draws
:loading: lazy
```

```text
{words.partition("read next")[0].rstrip()}
```

{links_of(words)}. The script: {files}, or `python -m tapegrad demo {name}`.
"""


def setup(app):
    """Add the directive `example`, and run the examples before pages are read."""
    from sphinx.errors import ExtensionError
    from sphinx.util.docutils import SphinxDirective

    class ExampleDirective(SphinxDirective):
        """The picture, the first lines and the files of an example."""

        required_arguments = 1

        def run(self):
            name = self.arguments[0]
            self.env.note_dependency(str(EXAMPLES[name]))
            return self.parse_text_to_nodes(text_of(name))

    def prepare(_app):
        try:
            run_missing(list(EXAMPLES))
        except RuntimeError as error:
            raise ExtensionError(str(error)) from error

    app.add_directive("example", ExampleDirective)
    app.connect("builder-inited", prepare)
    return {"parallel_read_safe": True, "version": "1"}


def main(names: list[str]) -> None:
    """Run examples one by one, and say how long each took."""
    for name in names or EXAMPLES:
        start = time.perf_counter()
        run(name)
        print(f"{name:20} {time.perf_counter() - start:6.1f} s  {made(name)[0]}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
