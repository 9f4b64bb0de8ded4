"""tapegrad.dask on Dask's schedulers and clusters: the same bits, also after losses."""

from __future__ import annotations

import concurrent.futures
import contextvars
import gc
import threading
import time

import numpy as np
import pytest
from dask_oracle import Fatal, Flaky, bits, cut, example, network, network_with_aux, sequential

import tapegrad
from tapegrad import dask, optimize
from tapegrad._transforms.closures import Hoisted

library = pytest.importorskip("dask")
array = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


PARAMS, DATA = example(240)
SIZES = (10,) * 24
LAZY = {name: array.from_array(x, chunks=(10, *x.shape[1:])) for name, x in DATA.items()}
EXPECTED = bits(sequential(network, PARAMS, cut(DATA, SIZES)))


def cluster_of(folder, processes, workers=2):
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=processes,
        dashboard_address=":0",  # any free port: another process may have the usual one
        local_directory=str(folder),
    )


def client_of(cluster):
    return distributed.Client(cluster, set_as_default=False)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Of a cluster of two threads in this process."""
    with cluster_of(tmp_path_factory.mktemp("dask"), False) as cluster, client_of(cluster) as made:
        yield made


# --- Schedulers of this machine -----------------------------------------------------------------


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", library.get])
def test_a_scheduler_of_this_machine(scheduler):
    assert bits(dask.value_and_grad(network, PARAMS, LAZY, scheduler=scheduler)) == EXPECTED


@pytest.mark.slow
def test_processes():
    found = dask.value_and_grad(network, PARAMS, LAZY, scheduler="processes")
    assert bits(found) == EXPECTED


def test_the_scheduler_is_that_of_dasks_configuration():
    threads = set()

    def loss(w, batch):
        threads.add(threading.current_thread())
        return np.mean(batch) * w

    with library.config.set(scheduler="synchronous"):
        dask.grad(loss, 1.0, LAZY["y"])
    assert threads == {threading.current_thread()}


def test_transforms_of_several_threads_do_not_meet():
    """Each partition opens tapes of its own, two of them at a time within another."""

    def loss(w, batch):
        inner = tapegrad.grad(lambda w: np.mean(np.sin(batch["x"] @ w)))
        return np.sum(inner(w) ** 2) + network({"w": w, "b": 0.0}, batch)

    found = [
        bits(dask.value_and_grad(loss, PARAMS["w"], LAZY, scheduler="threads", weights=[1.0] * 24))
        for _ in range(5)
    ]
    assert found == [bits(sequential(loss, PARAMS["w"], cut(DATA, SIZES)))] * 5


CALLS = {
    "value_and_grad": lambda f: dask.value_and_grad(f, PARAMS, LAZY, scheduler="synchronous"),
    "grad": lambda f: dask.grad(f, PARAMS, LAZY, scheduler="synchronous"),
    "hvp": lambda f: dask.hvp(f, PARAMS, LAZY, PARAMS, scheduler="synchronous"),
    "jacobian": lambda f: dask.jacobian(
        lambda params, batch: batch["x"] @ params["w"] + 0 * f(params, batch),
        PARAMS,
        LAZY,
        scheduler="synchronous",
    ),
}
AROUND = {
    "grad": lambda f: tapegrad.grad(lambda x: x * f(x))(1.0),
    "vmap": lambda f: tapegrad.vmap(lambda x: x * f(x))(np.ones(2)),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("call", CALLS)
def test_a_pass_in_the_callers_thread_leaves_its_context(call, around):
    """The tape that is open there, NumPy's error state, and whatever else holds for a thread."""
    seen = []

    def fails(params, batch):
        raise KeyError("on purpose")

    def program(x):
        before = dict(contextvars.copy_context().items())
        CALLS[call](network)
        seen.append(dict(contextvars.copy_context().items()) == before)
        with pytest.raises(KeyError, match="on purpose"):
            CALLS[call](fails)
        seen.append(dict(contextvars.copy_context().items()) == before)
        return 1.0

    AROUND[around](program)
    assert seen == [True, True]


class Counter:
    """A bar as tqdm's, that counts."""

    def __init__(self, total, desc):
        self.total, self.desc, self.seen = total, desc, 0
        Counter.last = self

    def update(self, count):
        self.seen += count

    def refresh(self):
        pass

    def close(self):
        pass


def test_a_bar_counts_the_partitions():
    dask.grad(network, PARAMS, LAZY, scheduler="threads", progress=Counter)
    assert (Counter.last.total, Counter.last.seen) == (24, 24)
    assert Counter.last.desc == "dask.grad(network)"


def test_dasks_own_bar_shows_a_pass(capsys):
    diagnostics = pytest.importorskip("dask.diagnostics")
    with diagnostics.ProgressBar():
        dask.grad(network, PARAMS, LAZY, scheduler="threads")
    assert "100% Completed" in capsys.readouterr().out


# --- A cluster ----------------------------------------------------------------------------------


def test_a_client(client):
    assert bits(dask.value_and_grad(network, PARAMS, LAZY, client=client)) == EXPECTED
    assert bits(dask.value_and_grad(network, PARAMS, LAZY, scheduler=client)) == EXPECTED


def test_the_default_client(client):
    with client.as_current(), library.config.set(scheduler="distributed"):
        assert bits(dask.value_and_grad(network, PARAMS, LAZY)) == EXPECTED


def test_data_that_lie_on_the_cluster(client):
    kept = dict(zip(LAZY, client.persist(list(LAZY.values())), strict=True))
    assert bits(dask.value_and_grad(network, PARAMS, kept, client=client)) == EXPECTED
    half = {name: x / 2 for name, x in kept.items()}
    found = dask.value(network, PARAMS, half, client=client)
    assert np.isclose(found, network(PARAMS, {k: x / 2 for k, x in DATA.items()}))
    futures = client.scatter(cut(DATA, SIZES))
    assert bits(dask.value_and_grad(network, PARAMS, futures)) == EXPECTED


def test_auxiliary_results_and_jacobians(client):
    (_, aux), _ = dask.value_and_grad(network_with_aux, PARAMS, LAZY, has_aux=True, client=client)
    assert aux == list(SIZES)
    rows = dask.jacobian(lambda p, b: b["x"] @ p["w"], PARAMS, LAZY, client=client)["w"]
    assert np.array_equal(client.compute(rows).result(), DATA["x"])


def test_what_a_client_leads_to_is_not_looked_at(client):
    """Its scheduler's threads change it meanwhile: "dictionary changed size during iteration"."""
    client.submit(np.sum, np.ones(3)).result()
    hoisted = Hoisted(lambda: client)
    assert len(hoisted._seen) == 1  # the function itself


@pytest.mark.slow
def test_a_minimiser_on_a_cluster(client):
    def loss(p):
        return dask.value(network, p, LAZY, client=client)

    pytest.importorskip("scipy")
    found = optimize.minimize(loss, PARAMS, options={"maxiter": 3})
    alone = optimize.minimize(
        lambda p: dask.value(network, p, LAZY, scheduler="sync"), PARAMS, options={"maxiter": 3}
    )
    assert bits(found.x) == bits(alone.x)


def test_a_failed_partition_is_tried_again(client, tmp_path):
    loss = Flaky(network, DATA["y"][100], tmp_path)
    found = dask.value_and_grad(loss, PARAMS, LAZY, client=client, retries=1)
    assert loss.marker.exists()
    assert bits(found) == EXPECTED


def test_an_error_names_the_partition(client, tmp_path):
    loss = Flaky(network, DATA["y"][100], tmp_path)
    with pytest.raises(OSError, match="did not answer") as caught:
        dask.value_and_grad(loss, PARAMS, LAZY, client=client)
    assert "in partition 10 of the data" in "".join(caught.value.__notes__)


def test_distributeds_bar_shows_a_pass(client, capsys):
    dask.grad(network, PARAMS, LAZY, client=client, progress=True)
    assert "100% Completed" in capsys.readouterr().out
    with pytest.raises(tapegrad.InputError, match="progress=True or False with a client"):
        dask.grad(network, PARAMS, LAZY, client=client, progress=Counter)


def test_nothing_of_a_pass_stays_on_the_cluster(client):
    before = set(client.futures)
    dask.grad(network, PARAMS, LAZY, client=client)
    for _ in range(100):  # a client lets go of futures in a thread of its own
        if set(client.futures) <= before:
            return
        gc.collect()
        time.sleep(0.1)
    assert set(client.futures) <= before


# --- Losses -------------------------------------------------------------------------------------


def killed_once(client, folder):
    """The bits of a pass in the middle of which a worker is killed."""
    loss = Fatal(network, DATA["y"][130], folder)
    found = dask.value_and_grad(loss, PARAMS, LAZY, client=client)
    assert loss.marker.exists()
    return bits(found)


@pytest.mark.slow
def test_a_killed_worker_loses_nothing(tmp_path):
    with cluster_of(tmp_path, True) as cluster, client_of(cluster) as client:
        assert bits(dask.value_and_grad(network, PARAMS, LAZY, client=client)) == EXPECTED
        assert killed_once(client, tmp_path) == EXPECTED


@pytest.mark.scheduled
@pytest.mark.parametrize("turn", range(20))
def test_twenty_killed_workers_lose_nothing(tmp_path, turn):
    """Each of a cluster of its own: Dask may fail to replace a worker that is killed early."""
    with cluster_of(tmp_path, True) as cluster, client_of(cluster) as client:
        assert killed_once(client, tmp_path) == EXPECTED, turn


def test_a_pass_is_repeated_when_the_parameters_are_lost(client, monkeypatch):
    """As when all workers are lost that had them: Dask then cancels what depends on them."""
    compute, names = client.compute, []

    def lost_once(delayed, **options):
        names.append(delayed.key)
        if len(names) == 1:
            raise concurrent.futures.CancelledError
        return compute(delayed, **options)

    monkeypatch.setattr(client, "compute", lost_once)
    assert bits(dask.value_and_grad(network, PARAMS, LAZY, client=client)) == EXPECTED
    assert len(set(names)) == 2  # the cluster may still know the tasks of the first attempt
