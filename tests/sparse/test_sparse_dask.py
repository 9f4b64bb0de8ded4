"""Sparse Jacobians and Hessians whose products a scheduler of Dask computes."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tapegrad
from tapegrad import InputError, sparse

pytest.importorskip("scipy", reason="needs SciPy")
dask = pytest.importorskip("dask", reason="needs Dask: pip install tapegrad[dask]")
pytest.importorskip("dask.delayed", reason="needs Dask: pip install tapegrad[dask]")

X = np.linspace(-1.0, 1.0, 60)
SCHEDULERS = ["synchronous", "threads", dask.get]
each_scheduler = pytest.mark.parametrize(
    "scheduler", SCHEDULERS, ids=["synchronous", "threads", "dask.get"]
)


def banded(x):
    return np.sin(x[2:] * x[:-2]) + x[1:-1] ** 3


def arrow(x):
    """The first unknown is in every term, and the last output has all unknowns."""
    return np.concatenate([x[0] * np.exp(x), [np.sum(x**2)]])


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2) * (1 + x[0] ** 2)


def of_tree(p):
    return {"a": p["u"] * p["v"][:3], "b": np.cumsum(p["v"])}


PROGRAMS = {
    "banded": lambda **more: sparse.jacobian(banded, **more)(X),
    "banded by rows": lambda **more: sparse.jacobian(banded, mode="reverse", **more)(X),
    "arrow": lambda **more: sparse.jacobian(arrow, **more)(X),
    "hessian": lambda **more: sparse.hessian(rosenbrock, **more)(X),
    "tree": lambda **more: sparse.jacobian(of_tree, **more)({"u": X[:3], "v": X[:5]}),
    "complex": lambda **more: sparse.jacobian(lambda z: z[1:] ** 2 * z[:-1], **more)(X + 1j),
    "no entries": lambda **more: sparse.jacobian(lambda x: np.floor(x) + 0.0, **more)(X),
    "given pattern": lambda **more: sparse.jacobian(
        lambda x: x**2, pattern=np.eye(60, dtype=bool), **more
    )(X),
}


@each_scheduler
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bits_are_the_same(name, scheduler):
    known, found = PROGRAMS[name](), PROGRAMS[name](scheduler=scheduler)
    np.testing.assert_array_equal(found.indices, known.indices)
    np.testing.assert_array_equal(found.indptr, known.indptr)
    np.testing.assert_array_equal(found.data, known.data)
    assert found.dtype == known.dtype


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_any_number_of_workers(workers):
    with dask.config.set(num_workers=workers):
        found = PROGRAMS["hessian"](scheduler="threads")
    np.testing.assert_array_equal(found.data, PROGRAMS["hessian"]().data)


@pytest.mark.slow
def test_processes_and_a_cluster():
    known = PROGRAMS["hessian"]()
    with dask.config.set(num_workers=2):
        found = PROGRAMS["hessian"](scheduler="processes")
    np.testing.assert_array_equal(found.data, known.data)
    distributed = pytest.importorskip("distributed", reason="needs distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = PROGRAMS["hessian"](scheduler=client)
    np.testing.assert_array_equal(found.data, known.data)


def test_errors_of_a_task_arrive():
    def sometimes(x):
        if sometimes.runs:
            raise ZeroDivisionError("in a task")
        sometimes.runs += 1
        return x**2

    sometimes.runs = 0
    with pytest.raises(ZeroDivisionError, match="in a task"):
        sparse.jacobian(sometimes, scheduler="threads")(X)


def test_settings_for_floating_point_errors_are_those_of_the_caller():
    seen = []

    def f(x):
        seen.append(np.geterr()["under"])
        return x**2

    with np.errstate(under="call"):
        sparse.jacobian(f, scheduler="threads")(X)
    assert len(seen) > 1
    assert set(seen) == {"call"}


@pytest.mark.parametrize("transform", [sparse.jacobian, sparse.hessian])
@pytest.mark.parametrize("scheduler", ["thread", 3, True])
def test_what_is_no_scheduler(transform, scheduler):
    with pytest.raises(InputError, match=r'expected scheduler "threads", .*got '):
        transform(rosenbrock, scheduler=scheduler)


def test_missing_dask_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"Install tapegrad\[dask\]"):
        sparse.jacobian(banded, scheduler="threads")


def test_within_a_compiled_program_the_function_runs_as_it_is():
    f = tapegrad.compile(lambda x: sparse.jacobian(banded, scheduler="threads")(x).data)
    with pytest.warns(tapegrad.EagerWarning, match="no scheduler within"):
        found = f(X)
    np.testing.assert_array_equal(found, sparse.jacobian(banded)(X).data)
