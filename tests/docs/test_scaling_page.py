"""docs/scaling/simulate.py: the graphs of passes on a cluster that is imagined, and its tables."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
REMEDY = "put what `python docs/scaling/simulate.py` prints into docs/scaling.md"


@pytest.fixture(scope="module")
def simulate():
    spec = importlib.util.spec_from_file_location("simulate", DOCS / "scaling" / "simulate.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["simulate"] = module  # dataclasses look there
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules["simulate"]


@pytest.mark.parametrize("count", [1, 2, 8, 9, 64, 65, 1000, 10_000])
def test_tasks_are_linear_in_partitions(simulate, count):
    given = simulate.pass_over(count, 1.0, 8)
    sums, level = 0, count
    while level > 1:
        level = math.ceil(level / 8)
        sums += level
    assert len(given.inputs) == count + sums + 1
    assert sums <= count / 7 + math.log(count, 8) + 1
    assert max(map(len, given.inputs.values())) <= 8


def test_one_worker_takes_all_tasks_one_after_the_other(simulate):
    given = simulate.pass_over(20, 40.0, 10**6)
    cluster = simulate.Cluster(1, network=1e6, latency=0.0, adding=1e6, scheduling=0.0)
    found = simulate.run(given, cluster)
    # Parameters there, gradients, sums of 8, 8, 4 and of 3, and the result to the caller.
    assert found.seconds == pytest.approx(1 + 40 + 20 + 3 + 1)
    assert found.moved == 10**6  # the parameters


def test_gradients_come_together_where_they_are_summed(simulate):
    given = simulate.pass_over(8, 8.0, 10**6)
    cluster = simulate.Cluster(8, network=1e6, latency=0.0, adding=1e6, scheduling=0.0)
    found = simulate.run(given, cluster)
    assert found.moved == (8 + 7) * 10**6  # parameters, and seven gradients
    # Parameters in four rounds, a partition, seven gradients, their sum, the result.
    assert found.seconds == pytest.approx(4 + 1 + 7 + 8 + 1)
    assert found.peak == 10 * 10**6  # parameters, eight gradients and their sum


def test_no_run_is_shorter_than_the_critical_path_or_the_work(simulate):
    for count, size in ((10, 80), (64, 10**6), (100, 10**8)):
        given = simulate.pass_over(count, float(count), size)
        for workers in (1, 3, 64, count):
            cluster = simulate.Cluster(workers, scheduling=0.0, latency=0.0)
            found = simulate.run(given, cluster)
            # A sum runs where some of its inputs are, so that one transfer a level may be spared.
            least = simulate.critical_path(given, cluster)
            assert found.seconds >= count / workers
            if workers == count:
                assert found.seconds >= 0.8 * least


@pytest.mark.slow
def test_the_tables_of_the_page(simulate):
    page = (DOCS / "scaling.md").read_text(encoding="utf-8")
    for name, text in simulate.tables().items():
        assert text in page, f"{name}: {REMEDY}"
