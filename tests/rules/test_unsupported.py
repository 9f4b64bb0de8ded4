"""Functions that no derivative goes through: each call says so, by tapegrad or by NumPy itself."""

from __future__ import annotations

import io

import numpy as np
import pytest
from numpy.lib import recfunctions

from tapegrad import NotDifferentiableError, grad
from tapegrad._numpy_versions import TEXT_DISPATCHES

X = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: np.busday_count(x, x), r"np\.busday_count: not differentiable \(dates carry"),
        (lambda x: np.is_busday(x), "dates carry no derivative"),
        (lambda x: np.save(io.BytesIO(), x), r"np\.save: .*a file carries no derivative"),
        (lambda x: np.savez(io.BytesIO(), a=x), "a file carries no derivative"),
        (lambda x: np.savetxt(io.StringIO(), x), "a file carries no derivative"),
        (
            lambda x: recfunctions.structured_to_unstructured(x),
            r"np\.lib\.recfunctions\.structured_to_unstructured: .*records hold no traced",
        ),
        *[
            (lambda x: np.strings.upper(x), r"np\.strings\.upper: .*text carries no derivative"),
            (lambda x: np.char.center(x, 3), "text carries no derivative"),
        ]
        * TEXT_DISPATCHES,
    ],
)
def test_unsupported_functions_give_their_reason(call, message):
    with pytest.raises(NotDifferentiableError, match=message):
        grad(call)(X)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.bitwise_and(x, 1),
        lambda x: np.bitwise_xor(1, x),
        lambda x: np.invert(x),
        lambda x: np.gcd(x, x),
        lambda x: np.lcm(x, 2),
        lambda x: np.left_shift(x, 1),
        lambda x: np.packbits(x),
        lambda x: np.unpackbits(x),
        lambda x: np.strings.str_len(x),
        lambda x: x & 1,
    ],
)
def test_functions_of_integers_and_text_refuse_floats_as_in_numpy(call):
    with pytest.raises(TypeError):
        call(X)
    with pytest.raises(TypeError):
        grad(call)(X)


def test_the_ufunc_behind_clip():
    clip = np._core.umath.clip
    np.testing.assert_array_equal(grad(lambda x: np.sum(clip(x, 1.5, 2.5)))(X), [0, 1, 0])
    assert np._core.umath._ones_like(X).sum() == 3
