"""docs/torch/ is what docs/torch_reference.py writes, and each public name has a first line."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
REMEDY = "run: python docs/torch_reference.py"


@pytest.fixture(scope="module")
def writer():
    spec = importlib.util.spec_from_file_location("torch_reference", DOCS / "torch_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_current(writer):
    pages = {page: writer.reference(page) for page in writer.PAGES} | {"names": writer.names()}
    for page, text in pages.items():
        assert (DOCS / "torch" / f"{page}.md").read_text(encoding="utf-8") == text, REMEDY


def test_every_namespace_is_on_one_page(writer):
    placed = [space for page in writer.PAGES for space in writer.spaces_of(page)]
    assert sorted(placed) == sorted(writer.SPACES)


@pytest.mark.peers("torch")
def test_the_list_of_pytorchs_names_is_of_the_installed_version(writer):
    pytorch = pytest.importorskip("torch")
    written = (DOCS / "torch" / "pytorch-names.txt").read_text(encoding="utf-8")
    if not pytorch.__version__.startswith(written.partition("\n")[0]):
        pytest.skip("the list is of another version of PyTorch")
    assert writer.pytorch_names() == written
