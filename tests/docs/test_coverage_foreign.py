"""docs/coverage-foreign.md is what its generator writes; the whole is compared in the slow run."""

from __future__ import annotations

import importlib
import operator
import re
from pathlib import Path

import numpy as np
import pytest
from foreign_cells import OPERATORS
from generic_calls import public_callables

from tapegrad import RuleError, grad

pytest.importorskip("dask.array")
pytest.importorskip("xarray")

PAGE = Path(__file__).parents[2] / "docs" / "coverage-foreign.md"


@pytest.fixture(name="generator")
def _generator(monkeypatch):
    monkeypatch.syspath_prepend(str(PAGE.parent))
    return importlib.import_module("coverage_foreign")


def rows() -> dict[str, str]:
    found = re.findall(r"^\| `([\w.]+)` \|(.*)\|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(found) == len(dict(found))
    return dict(found)


def test_the_introduction_is_the_generators(generator):
    assert PAGE.read_text("utf-8").startswith(generator.INTRODUCTION)


def is_here(name: str) -> bool:
    """Whether this NumPy has a function, "np.linalg.norm"."""
    try:
        operator.attrgetter(name.removeprefix("np."))(np)
    except AttributeError:
        return False
    return True


def test_the_rows_are_functions_of_the_registry():
    names = {**OPERATORS, **public_callables()}
    unknown = rows().keys() - names.keys()
    assert not [name for name in unknown if is_here(name)]  # older versions lack some
    assert OPERATORS.keys() <= rows().keys()


def test_nothing_differs_and_the_other_page_has_the_totals():
    text = PAGE.read_text("utf-8")
    right, refused, differ = map(
        int, re.search(r"In all: (\d+) right, (\d+) refused, (\d+) differ", text).groups()
    )
    assert differ == 0
    assert "✗" not in "".join(rows().values())
    other = (PAGE.parent / "other-libraries.md").read_text("utf-8")
    assert f"{right:,} ways to call them are right, {refused:,} refused" in other


@pytest.mark.parametrize("swap", [False, True])
def test_a_covariance_of_one_observation_is_refused_on_dask(swap):
    """Its tangent was NaN, where that beside NumPy's own array is 0."""
    other = pytest.importorskip("dask.array").from_array(np.array(2.0))

    def loss(s):
        return np.sum(np.cov(*((other, s) if swap else (s, other))))

    with pytest.raises(RuleError, match="too few observations"):
        grad(loss)(np.array(1.0))


@pytest.mark.slow
def test_the_page_is_what_the_generator_writes(generator):
    made = re.search(r"^Made with .*$", PAGE.read_text("utf-8"), re.MULTILINE)[0]
    if made != generator.made_with():
        pytest.skip("outcomes depend on the versions that the page was made with")
    assert generator.page() + "\n" == PAGE.read_text("utf-8")
