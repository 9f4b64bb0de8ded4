"""Data that tapegrad.dask takes, and errors for the rest."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from dask_oracle import bits, cut, example, network, network_with_aux, sequential

import tapegrad
from tapegrad import InputError, OutputError, dask

array = pytest.importorskip("dask.array")

PARAMS, DATA = example()
SIZES = (20, 0, 30, 11)


@pytest.fixture(autouse=True)
def one_thread():
    with pytest.importorskip("dask").config.set(scheduler="synchronous"):
        yield


def lazy(sizes=SIZES):
    return {
        "x": array.from_array(DATA["x"], chunks=(sizes, -1)),
        "y": array.from_array(DATA["y"], chunks=(sizes,)),
    }


def expected(sizes=SIZES, **options):
    return bits(sequential(network, PARAMS, cut(DATA, sizes), **options))


# --- Kinds --------------------------------------------------------------------------------------


def test_arrays_with_unknown_chunks():
    keep = DATA["y"] > 0
    chunks = lazy()
    chosen = {name: x[chunks["y"] > 0] for name, x in chunks.items()}
    assert np.isnan(chosen["y"].shape[0])
    kept = [{k: v[b["y"] > 0] for k, v in b.items()} for b in cut(DATA, SIZES)]
    assert bits(dask.value_and_grad(network, PARAMS, chosen)) == bits(
        sequential(network, PARAMS, kept)
    )
    rows = dask.jacobian(lambda p, b: b["x"] @ p["w"], PARAMS, chosen)["w"]
    assert np.array_equal(rows.compute(), DATA["x"][keep])


def test_arrays_that_are_computed_first():
    chunks = lazy()
    chunks["x"] = chunks["x"] * 2 - chunks["x"]
    assert bits(dask.value_and_grad(network, PARAMS, chunks)) == expected()


def test_persisted_arrays():
    chunks = {name: x.persist() for name, x in lazy().items()}
    assert bits(dask.value_and_grad(network, PARAMS, chunks)) == expected()


def test_delayed_batches():
    delayed = pytest.importorskip("dask").delayed
    batches = [delayed(batch) for batch in cut(DATA, SIZES)]
    assert bits(dask.value_and_grad(network, PARAMS, batches)) == expected()


@pytest.mark.parametrize("count", [4, 2, 1])
def test_a_bag_of_batches(count):
    """A partition has one item or several: sums within it are taken first."""
    bag = pytest.importorskip("dask.bag")
    batches = bag.from_sequence(cut(DATA, SIZES), npartitions=count)
    found = dask.value_and_grad(network, PARAMS, batches)
    if count == 4:
        assert bits(found) == expected()
    assert np.isclose(found[0], network(PARAMS, DATA), rtol=1e-12)


def test_a_dataframe():
    pandas = pytest.importorskip("pandas")
    # ImportError: Dask asks for packages of its own, which no extra of ours installs.
    frames = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    table = pandas.DataFrame(DATA["x"], columns=list("abc")).assign(y=DATA["y"])

    def of_table(params, part):
        assert isinstance(part, pandas.DataFrame)
        batch = {"x": part[list("abc")].to_numpy(), "y": part["y"].to_numpy()}
        return network(params, batch)

    on_dask = frames.from_pandas(table, npartitions=3)
    # The same tables: products are rounded by the order of columns in memory.
    tables = [part.compute() for part in on_dask.partitions]
    known = bits(sequential(of_table, PARAMS, tables, weights=list(map(len, tables))))
    assert bits(dask.value_and_grad(of_table, PARAMS, on_dask)) == known
    filtered = on_dask[on_dask["y"] > 0]
    assert np.isclose(
        dask.value(of_table, PARAMS, filtered), of_table(PARAMS, table[table["y"] > 0])
    )


def dataset():
    xarray = pytest.importorskip("xarray")
    return xarray.Dataset(
        {"x": (("row", "column"), DATA["x"]), "y": ("row", DATA["y"]), "unit": 2.0},
        coords={"row": np.arange(61), "column": list("abc"), "twice": ("row", np.arange(61) * 2)},
        attrs={"from": "a test"},
    )


def test_a_dataset():
    """With coordinates in memory, which are cut like the rest, and what has no rows."""
    seen = []

    def of_dataset(params, ds):
        seen.append(ds)
        return network(params, {"x": ds["x"].values, "y": ds["y"].values})

    chunked = dataset().chunk({"row": (20, 30, 11)})
    found = dask.value_and_grad(of_dataset, PARAMS, chunked)
    assert bits(found) == expected((20, 30, 11))
    for batch in seen:
        start = int(batch["row"][0])
        assert batch.identical(dataset().isel(row=slice(start, start + batch.sizes["row"])))
        assert set(batch.coords) == {"row", "column", "twice"}


def test_a_data_array():
    x = dataset().chunk({"row": 20})["x"]

    def of_array(w, part):
        assert part.name == "x"
        assert list(part["column"].values) == list("abc")
        return np.mean((part.values @ w) ** 2)

    found = dask.value_and_grad(of_array, PARAMS["w"], x)
    whole = tapegrad.value_and_grad(lambda w: np.mean((DATA["x"] @ w) ** 2))(PARAMS["w"])
    assert np.isclose(found[0], whole[0], rtol=1e-12)
    assert np.allclose(found[1], whole[1], rtol=1e-12)


# --- Rows, weights, auxiliary results -----------------------------------------------------------


def test_batches_without_rows_are_not_seen_by_the_loss():
    def loss(w, x):
        assert len(x)
        return np.sum(x) * w

    x = array.from_array(np.arange(4.0), chunks=((0, 3, 0, 1, 0),))
    for combine, value in (("mean", 3.0), ("sum", 6.0)):
        found = dask.value_and_grad(loss, 1.0, x, combine=combine)
        assert found[0] == (3 * 3 + 1 * 3) / 4 if combine == "mean" else value


def test_a_sum_over_nothing_is_zero_and_a_mean_is_refused():
    x = array.ones((0, 2), chunks=(1, -1))
    params = {"w": np.ones(2, np.float32), "b": 1.0}
    value, gradient = dask.value_and_grad(
        lambda p, x: np.sum(x @ p["w"]), params, x, combine="sum"
    )
    assert value == 0
    assert gradient["w"].dtype == np.float32
    assert bits(gradient) == bits({"w": np.zeros(2, np.float32), "b": 0.0})
    with pytest.raises(InputError, match="expected rows, for a mean over them, got none"):
        dask.value(lambda p, x: np.mean(x @ p["w"]), params, x)


def test_weights_of_a_function():
    found = dask.value_and_grad(network, PARAMS, lazy(), weights=lambda b: len(b["y"]))
    assert bits(found) == expected()
    half = dask.value(network, PARAMS, lazy(), combine="sum", weights=lambda _: 0.5)
    assert half == dask.value(network, PARAMS, lazy(), combine="sum") / 2


def test_auxiliary_results_come_in_the_order_of_the_partitions():
    (value, aux), gradient = dask.value_and_grad(network_with_aux, PARAMS, lazy(), has_aux=True)
    assert bits((value, gradient)) == expected()
    assert aux == [20, None, 30, 11]
    assert dask.value(network_with_aux, PARAMS, lazy(), has_aux=True) == (value, aux)
    assert dask.grad(network_with_aux, PARAMS, lazy(), has_aux=True)[1] == aux


def test_a_half_precision_gradient_does_not_overflow():
    """It would, were it multiplied by the number of rows."""
    x = array.ones(200_000, chunks=100_000)
    gradient = dask.grad(lambda w, x: np.mean(x.astype(np.float16)) * w, np.float16(2), x)
    assert gradient == 1
    assert gradient.dtype == np.float16


# --- Losses that write --------------------------------------------------------------------------


@pytest.mark.parametrize("transform", [dask.value, dask.grad, dask.jacobian])
def test_a_loss_writes_into_parameters_of_its_own(transform):
    def loss(w, x):
        w *= 2.0
        return x @ w if transform is dask.jacobian else np.mean(x @ w)

    w, x = np.ones(3), array.from_array(DATA["x"], chunks=(20, -1))
    found = transform(loss, w, x)
    known = {
        dask.value: lambda: 2 * np.mean(DATA["x"] @ np.ones(3)),
        dask.grad: lambda: 2 * np.mean(DATA["x"], axis=0),
        dask.jacobian: lambda: 2 * DATA["x"],
    }[transform]()
    assert np.allclose(found, known, rtol=1e-12, atol=1e-15)
    assert np.array_equal(w, np.ones(3))


def kinds_of_data():
    delayed = pytest.importorskip("dask").delayed
    bag = pytest.importorskip("dask.bag")
    yield array.from_array(DATA["y"].copy(), chunks=20)
    yield [array.from_array(DATA["y"].copy(), chunks=20).persist()]
    yield [delayed([DATA["y"].copy()])]
    yield bag.from_sequence([{"y": DATA["y"].copy()}], npartitions=1)
    yield dataset().copy(deep=True).chunk({"row": 20})[["y"]]


def test_a_loss_that_writes_into_the_data_is_refused():
    """They may be the caller's own arrays, of which a second pass would have other values."""

    def loss(w, batch):
        leaf = batch["y"].values if hasattr(batch, "sizes") else tapegrad.tree.leaves(batch)[0]
        leaf *= 2.0
        return np.mean(leaf) * w

    for data in kinds_of_data():
        for transform in (dask.value, dask.grad):
            with pytest.raises(ValueError, match="read-only") as caught:
                transform(loss, 1.0, data)
            assert "of the data" in caught.value.__notes__[0]


def test_a_table_that_a_loss_writes_into_stays_as_it_is():
    pandas = pytest.importorskip("pandas", minversion="3")  # copies what is written into
    delayed = pytest.importorskip("dask").delayed
    table = pandas.DataFrame({"y": DATA["y"]})

    def loss(w, part):
        part["y"] *= 2.0
        part["z"] = 1.0
        return np.mean(part["y"].to_numpy()) * w

    for _ in range(2):
        assert np.isclose(dask.value(loss, 1.0, [delayed(table)]), 2 * np.mean(DATA["y"]))
    assert list(table.columns) == ["y"]


# --- Refusals -----------------------------------------------------------------------------------

ROWS = array.ones((6, 4), chunks=(2, -1))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (np.ones(3), "a Dask array, .* got float64[3]. Chunk it with dask.array.from_array"),
        ((ROWS, np.ones(6)), "got float64[6]. Chunk it"),
        ([], "Pass the data of the batches"),
        (pytest.importorskip("dask").delayed(3), "Pass a list of whole batches, each delayed"),
        (array.ones((4, 4), chunks=2), "2 chunks along axis 1 .*x.rechunk({1: -1})"),
        (ROWS.sum(), "an axis 0 of rows, got a scalar"),
        ((ROWS, array.ones(6, chunks=3)), "the same chunks along axis 0, got (2, 2, 2), 3 in"),
        ((ROWS, ROWS[:5]), "y.rechunk({0: x.chunks[0]})"),
    ],
)
def test_data_of_other_kinds_and_chunks(data, words):
    pattern = re.escape(words).replace(r"\.\*", ".*")
    with pytest.raises(InputError, match=pattern):
        dask.value(lambda p, b: p, 1.0, data)


def test_datasets_that_are_no_rows():
    ds = dataset()
    with pytest.raises(InputError, match="xarray on Dask, got no variable on Dask"):
        dask.value(lambda p, b: p, 1.0, ds)
    with pytest.raises(InputError, match="chunks along one dimension"):
        dask.value(lambda p, b: p, 1.0, ds.chunk({"row": 20, "column": 1}))
    other = ds.chunk({"row": 20})
    other["y"] = ds["y"].chunk({"row": 30})
    with pytest.raises(InputError, match="unify_chunks"):
        dask.value(lambda p, b: p, 1.0, other)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"combine": "max"}, 'combine="mean" or "sum", got \'max\''),
        ({"weights": [1.0]}, "one weight for each of 3 partitions, got 1"),
        ({"weights": [1.0, -1.0, 1.0]}, "finite numbers, not negative, got float -1.0"),
        ({"weights": lambda _: np.nan}, "finite numbers, not negative"),
        ({"weights": [1e308, 1e308, 1.0]}, "weights with a finite sum, for a mean, got inf"),
        ({"retries": 2}, "a client, for retries="),
        ({"client": "here"}, "a client of Dask, got str 'here'"),
        ({"client": "here", "scheduler": "threads"}, "one of client= and scheduler="),
    ],
)
def test_other_options(options, words):
    with pytest.raises(InputError, match=re.escape(words)):
        dask.value(lambda p, x: np.mean(x) * p, 1.0, ROWS, **options)


def test_a_bag_is_not_weighted_by_partition():
    bag = pytest.importorskip("dask.bag").from_sequence([np.ones(2)], npartitions=1)
    with pytest.raises(InputError, match="as a function of a batch"):
        dask.value(lambda p, x: np.mean(x) * p, 1.0, bag, weights=[1.0])


def test_a_batch_that_does_not_say_how_many_rows_it_has():
    delayed = pytest.importorskip("dask").delayed
    batches = [delayed({"a": np.ones(2), "b": np.ones(3)})]
    with pytest.raises(InputError, match="with the same number of rows"):
        dask.value(lambda p, b: p * np.sum(b["a"]), 1.0, batches)
    assert dask.value(lambda p, b: p * np.sum(b["a"]), 1.0, batches, combine="sum") == 2


def test_parameters_are_those_of_the_other_transforms():
    with pytest.raises(InputError, match="floating or complex inputs, got int 3"):
        dask.grad(lambda p, x: np.mean(x) * p, 3, ROWS)
    with pytest.raises(InputError, match="parameters in memory, got a Dask array"):
        dask.value(lambda p, x: np.mean(x @ p), array.ones(4), ROWS)
    with pytest.raises(InputError, match="the structure"):
        dask.hvp(lambda p, x: np.mean(x) * p["a"], {"a": 3.0}, ROWS, {"b": 1.0})
    with pytest.raises(InputError, match="a vector like the parameters"):
        dask.hvp(lambda p, x: np.mean(x) * p, 3.0, ROWS, np.ones(2))
    with pytest.raises(InputError, match="plain parameters, for has_aux=True"):
        tapegrad.grad(lambda p: dask.value(lambda p, x: (p, 1), p, ROWS, has_aux=True)[0])(1.0)
    with pytest.raises(tapegrad.NotDifferentiableError, match="cannot be sent"):
        tapegrad.grad(lambda p: dask.ggnvp(lambda p, x: p * x, p, ROWS, 1.0))(1.0)


def test_what_a_loss_may_return():
    for transform in (dask.value, dask.grad):
        with pytest.raises(OutputError, match="a real scalar output") as caught:
            transform(lambda p, x: p * x, 1.0, ROWS)
        assert "of the data" in caught.value.__notes__[0]
    with pytest.raises(OutputError, match="one row for each row of the batch"):
        dask.jacobian(lambda p, x: p * np.sum(x), 1.0, ROWS)
    with pytest.raises(InputError, match="got none"):
        dask.jacobian(lambda p, x: p * x, 1.0, ROWS[:0])

    def changes(p, x):
        return p * x[:, : 1 + int(x[0, 0])]

    x = array.from_array(np.arange(4.0).reshape(2, 2), chunks=(1, -1))
    with pytest.raises(OutputError, match="of one shape"):
        dask.jacobian(changes, 1.0, x).compute()


# --- Size ---------------------------------------------------------------------------------------


def test_tasks_are_linear_in_partitions():
    from tapegrad.dask._partitions import partitions_of
    from tapegrad.dask._passes import graph_of
    from tapegrad.dask._tasks import Place

    counts = {}
    for count in (64, 512, 4096):
        partitions = partitions_of("a test", array.ones(count, chunks=1))
        places = [Place(i) for i in range(count)]
        counts[count] = len(graph_of("step", partitions, places, "name", False)[0])
    # One for each partition, one for each eight of what is to be summed, and one for the result.
    assert counts == {64: 64 + 8 + 1 + 1, 512: 512 + 64 + 8 + 1 + 1, 4096: 4096 + 585 + 1}


def test_dask_is_imported_when_it_is_needed():
    code = "import sys, tapegrad.dask; print('dask' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_without_dask_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['dask'] = None\n"
        "import tapegrad.dask\n"
        "try: tapegrad.dask.grad(lambda p, x: p, 1.0, None)\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Install tapegrad[dask]" in done.stdout


def test_a_block_that_one_task_takes_is_made_there():
    """A partition is one task, and a block that two collections need is still made once."""
    import dask.array as da

    from tapegrad.dask._partitions import partitions_of
    from tapegrad.dask._passes import _joined_to, graph_of
    from tapegrad.dask._tasks import Place

    x = da.ones((10, 3), chunks=(1, -1)) * 2
    for data, apart in ((x, 0), ({"x": x, "y": x.sum(axis=1)}, 0), ({"x": x, "again": x}, 10)):
        partitions = partitions_of("", data)
        graph, _ = graph_of("step", partitions, [Place(i) for i in range(10)], "name", False)
        count = len(graph)
        whole = _joined_to(partitions, graph, "name")
        if not all(hasattr(node, "dependencies") for node in partitions.graph.values()):
            apart = len(partitions.graph)  # an older Dask's nodes do not tell what they need
        assert len(whole) == count + apart
        needed = {key for node in whole.values() for key in getattr(node, "dependencies", ())}
        assert needed <= set(whole)
        assert len(partitions.graph) >= 10  # the data keep their own
