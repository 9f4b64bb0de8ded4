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
WRITES = (np.copyto, np.put, np.putmask, np.place, np.put_along_axis, np.fill_diagonal)
# NumPy asks the first argument alone which library's function to call.
FIRST_DECIDES = (*WRITES, np.full_like)


def is_float(x):
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc"


def examples_of(x):
    """Three arrays like x, no two of them equal, inside the sample's domain."""
    return np.stack([x * (1 + 0.03 * i) for i in range(EXAMPLES)]).astype(x.dtype)


def leaves_of(result):
    """The leaves of a result; types and texts are no pytrees."""
    return [result] if isinstance(result, (type, np.dtype)) else flatten(result)[0]


def are_arrays(leaves):
    return all(isinstance(x, (np.ndarray, np.generic, bool, int)) for x in leaves)


@each_sample
@settings(max_examples=6, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_rule_maps_as_a_loop_does(entry, data):
    args, params = entry.draw(data)
    note(f"{REGISTRY[entry.function].name}(*{args!r}, **{params!r})")
    places = [i for i, x in enumerate(args) if is_float(x)]
    writes = entry.function in FIRST_DECIDES
    if not places or writes and places[0] != 0:
        return  # NumPy's numbers cannot be written into
    mapped = places if writes else data.draw(st.sampled_from([places, places[:1], places[-1:]]))

    def one(*xs):
        whole = list(args)
        for i, x in zip(mapped, xs, strict=True):
            whole[i] = x
        return entry.call(*whole, **params)

    batches = [examples_of(args[i]) for i in mapped]
    expected = [leaves_of(one(*xs)) for xs in zip(*batches, strict=True)]
    if REGISTRY[entry.function].batch == "ragged":
        with pytest.raises(BatchingError, match="may differ from example to example"):
            vmap(one)(*batches)
        return
    if REGISTRY[entry.function].batch == "example" and not are_arrays(expected[0]):
        seen = []
        vmap(lambda *xs: seen.append(one(*xs)) or xs[0])(*batches)
        assert leaves_of(seen[0]) == expected[0]
        return
    got = flatten(vmap(one)(*batches))[0]
    for part, rows in zip(got, zip(*expected, strict=True), strict=True):
        wanted = np.stack([np.asarray(row) for row in rows])
        assert part.dtype == wanted.dtype
        assert_close(part, wanted)
