"""docs/coverage-scipy.md is what docs/coverage_scipy.py writes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "coverage-scipy.md").read_text(encoding="utf-8")
REMEDY = "run: python docs/coverage_scipy.py > docs/coverage-scipy.md"
VERSION = ".".join(scipy.__version__.split(".")[:2])

pytestmark = [
    pytest.mark.skipif(
        f"with SciPy {VERSION}:" not in PAGE, reason="the page lists another SciPy's functions"
    ),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture
def coverage_scipy(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "coverage", raising=False)  # the tool of that name
    spec = importlib.util.spec_from_file_location("scipy_page", DOCS / "coverage_scipy.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("coverage", None)


def without_ticks(page):
    rows = [line.split("|") for line in page.splitlines()]
    return [row[:3] + row[6:] for row in rows]


def test_the_page_lists_every_function_with_its_form_and_batch_word(coverage_scipy, monkeypatch):
    nothing = coverage_scipy.coverage.NONE
    monkeypatch.setattr(coverage_scipy, "ticks_of", lambda _: nothing)
    assert without_ticks(coverage_scipy.page()) == without_ticks(PAGE.rstrip()), REMEDY


def test_every_check_of_the_page_passed():
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert len(rows) > 300
    assert [row for row in rows if "✗" in row] == []


@pytest.mark.slow
def test_the_checks_of_the_page_turn_out_as_it_says(coverage_scipy):
    with np.errstate(all="ignore"):
        assert coverage_scipy.page() == PAGE.rstrip(), REMEDY
