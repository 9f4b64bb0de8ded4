"""docs/coverage.md is what docs/coverage.py writes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tapegrad._numpy_versions import INSTALLED, KNOWN

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "coverage.md").read_text(encoding="utf-8")
REMEDY = "run: python docs/coverage.py > docs/coverage.md"

pytestmark = [
    pytest.mark.skipif(
        KNOWN[-1] != INSTALLED,
        reason="the page lists the functions of the newest NumPy that we know",
    ),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture
def coverage():
    spec = importlib.util.spec_from_file_location("coverage_page", DOCS / "coverage.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def without_ticks(page):
    """The cells of each row but those that a check decides."""
    rows = [line.split("|") for line in page.splitlines()]
    return [row[:3] + row[6:] for row in rows]


def test_the_page_lists_every_function_with_its_form_and_batch_word(coverage, monkeypatch):
    monkeypatch.setattr(coverage, "ticks_of", lambda _: coverage.NONE)
    monkeypatch.setattr(coverage, "ticks_of_creation", lambda _: coverage.NONE)
    assert without_ticks(coverage.page()) == without_ticks(PAGE.rstrip()), REMEDY


def test_every_check_of_the_page_passed():
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert len(rows) > 350
    assert [row for row in rows if "✗" in row] == []


@pytest.mark.slow
def test_the_checks_of_the_page_turn_out_as_it_says(coverage):
    with np.errstate(all="ignore"):
        assert coverage.page() == PAGE.rstrip(), REMEDY
