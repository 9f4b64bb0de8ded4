"""The laws of every rule of SciPy's functions, at arguments drawn from the table of samples."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("scipy")

from draws import draws
from hypothesis import assume, given, note
from hypothesis import strategies as st
from sampling import Noted
from scipy_samples import SAMPLES
from scipy_sampling import SELDOM
from tolerances import assert_close

from tapegrad import vmap
from tapegrad._core.rule import rule_of
from tapegrad._tree import flatten, unflatten
from tapegrad.testing import check_rule

# One in each run, more in the slow tests: what a rule does with shapes, axes and dtypes is the
# engine's work, which tests/rules/test_laws.py draws at length.
QUICK = draws(1, 6)


def each_of(entries):
    return pytest.mark.parametrize(
        "entry", list(entries), ids=lambda entry: rule_of(entry.function).name
    )


each_frequent = each_of(entry for entry in SAMPLES.values() if entry.function not in SELDOM)
each_seldom = each_of(SAMPLES[function] for function in SAMPLES if function in SELDOM)


def drawn(entry, data, *, least=True):
    """Hypothesis begins with the least of all, which one draw alone had better not be."""
    if not least:
        assume(data.draw(st.integers(0, 2**32)))
    args, params = entry.draw(data)
    note(Noted(rule_of(entry.function).name, args, params))
    return args, params


def check_laws(entry, args, params):
    whole = entry.call is entry.function
    check_rule(rule_of(entry.function) if whole else entry.call, *args, **params)


def check_vmap(entry, args, params):
    """Of two sets of arguments at once it gives what it gives of one after the other."""
    leaves, structure = flatten((args, params))
    places = [
        i for i, x in enumerate(leaves) if isinstance(x, np.ndarray) and x.dtype.kind in "fc"
    ]
    if not places:
        return

    def call(*arrays):
        given = list(leaves)
        for place, array in zip(places, arrays, strict=True):
            given[place] = array
        args, params = unflatten(structure, given)
        return [x for x in flatten(entry.call(*args, **params))[0] if hasattr(x, "dtype")]

    batches = [np.stack([leaves[i], leaves[i] * leaves[i].dtype.type(1.03)]) for i in places]
    found = vmap(call)(*batches)
    one_by_one = [call(*arrays) for arrays in zip(*batches, strict=True)]
    for together, *parts in zip(found, *one_by_one, strict=True):
        assert_close(together, np.stack(parts))


def check_all(entry, data, *, least=True):
    args, params = drawn(entry, data, least=least)
    with np.errstate(all="ignore"):
        check_laws(entry, args, params)
        check_vmap(entry, args, params)


@pytest.mark.part(9)
@each_frequent
@QUICK
@given(data=st.data())
def test_a_rule_keeps_the_laws(entry, data):
    check_all(entry, data, least=False)


@each_seldom
@QUICK
@given(data=st.data())
def test_vmap_of_a_costly_function_is_a_loop(entry, data):
    with np.errstate(all="ignore"):
        check_vmap(entry, *drawn(entry, data, least=False))


@pytest.mark.slow
@each_seldom
@draws(1, 3)
@given(data=st.data())
def test_a_costly_rule_keeps_the_laws(entry, data):
    check_all(entry, data)
