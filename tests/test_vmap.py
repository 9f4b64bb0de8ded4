"""vmap: each rule against a loop over the examples, and how examples, axes and errors behave."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from samples import SAMPLES
from tolerances import assert_close

from tapegrad import BatchingError, vmap
from tapegrad._rule import REGISTRY
from tapegrad._tree import flatten

each_sample = pytest.mark.parametrize(
    "entry", SAMPLES.values(), ids=lambda entry: REGISTRY[entry.function].name
)
EXAMPLES = 3


def is_float(x):
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc"


def examples_of(x):
    """Three arrays like x, no two of them equal, inside the sample's domain."""
    return np.stack([x * (1 + 0.03 * i) for i in range(EXAMPLES)]).astype(x.dtype)


@each_sample
@settings(max_examples=6, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_rule_maps_as_a_loop_does(entry, data):
    args, params = entry.draw(data)
    note(f"{REGISTRY[entry.function].name}(*{args!r}, **{params!r})")
    places = [i for i, x in enumerate(args) if is_float(x)]
    if not places:
        return
    writes = entry.call is not entry.function  # into its first argument
    mapped = places if writes else data.draw(st.sampled_from([places, places[:1], places[-1:]]))

    def one(*xs):
        whole = list(args)
        for i, x in zip(mapped, xs, strict=True):
            whole[i] = x
        return entry.call(*whole, **params)

    batches = [examples_of(args[i]) for i in mapped]
    expected = [flatten(one(*xs))[0] for xs in zip(*batches, strict=True)]
    if REGISTRY[entry.function].batch == "ragged":
        with pytest.raises(BatchingError, match="may differ from example to example"):
            vmap(one)(*batches)
        return
    got = flatten(vmap(one)(*batches))[0]
    for part, rows in zip(got, zip(*expected, strict=True), strict=True):
        wanted = np.stack([np.asarray(row) for row in rows])
        assert part.dtype == wanted.dtype
        assert_close(part, wanted)
