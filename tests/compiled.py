"""The switch `--compiled`: the suite's transforms run as programs too, and must give the same.

Each call of a transformed function runs it as it is, and then its compiled form, several times:
twice recorded, then as a program. The results must be equal bit by bit. Calls within a transform
are left as they are, as a compiled function itself leaves them.
"""

from __future__ import annotations

import collections
import functools
import warnings

import numpy as np

import tapegrad
from tapegrad import _tree
from tapegrad._compile.calls import RECORDINGS
from tapegrad._core.recorded import RECORDING
from tapegrad._core.tape import CURRENT
from tapegrad._core.values import in_trace
from tapegrad._transforms.wrapper import Transformed

TRANSFORMS = (
    "grad",
    "value_and_grad",
    "elementwise_grad",
    "jacobian",
    "jacrev",
    "jacfwd",
    "hessian",
    "vmap",
    "checkpoint",
)
CALLS = RECORDINGS + 3

PLAIN = "it asks for the class of what is untraced in f, which is recorded"
AN_ULP = "known: jacfwd of np.multiply.at, a vmap of its tangent, differs by an ulp"
# Tests that cannot be run so, by their name, and why.
LEFT_OUT = {
    "test_ufunc_at[multiply]": AN_ULP,
    "test_ufunc_at_in_a_matrix": AN_ULP,
    "test_the_warning_points_to_the_call": "the switch makes the call, not the test",
    "test_the_result_is_plain_and_the_gradient_zero_at_the_steps_too": PLAIN,
    "test_operators_with_whole_results": PLAIN,
    "test_made_arrays_take_numpys_parameters": PLAIN,
    "test_whole_numbers_like_a_traced_array_are_plain": PLAIN,
    "test_counts_are_plain": PLAIN,
    "test_what_comes_beside_the_unique_values_is_plain": PLAIN,
    "test_stop_gradient": "it collects the class of a value in each run of the function",
    "test_matrix_rank_is_plain": "it collects what each run of the function computes",
}
COUNTS = collections.Counter()


def compile_all():
    """Put transforms whose results are compiled in place of tapegrad's."""
    for name in TRANSFORMS:
        setattr(tapegrad, name, compiled(getattr(tapegrad, name)))


def compiled(transform):
    @functools.wraps(transform)
    def made(*args, **kwargs):
        found = transform(*args, **kwargs)
        if not isinstance(found, Transformed):
            return found
        f, options = found._made[1:]
        return Transformed(transform, f, options, _Both(found))

    return made


class _Both:
    """A transformed function and its compiled form, whose results must be the same."""

    def __init__(self, f):
        self.f = f
        self.fast = tapegrad.compile(f, backend="numpy")  # its bits are the same

    def __call__(self, *args, **kwargs):
        leaves = _tree.flatten((args, kwargs))[0]
        inside = CURRENT.get() is not None or RECORDING.get() is not None
        if inside or any(map(in_trace, leaves)):
            return self.f(*args, **kwargs)
        before = [x.copy() if type(x) is np.ndarray else x for x in leaves]
        expected = self.f(*args, **kwargs)
        if not all(map(same, leaves, before)):
            return expected  # a call that writes into its arguments cannot be made again
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = self.f(*args, **kwargs)  # a first call learns, and may round otherwise
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(CALLS):
                found = self.fast(*args, **kwargs)
                a, b = _tree.flatten(found)[0], _tree.flatten(again)[0]
                assert len(a) == len(b)
                assert all(map(same, a, b)), f"a program gave {a}, not {b}"
        self._count()
        return expected

    def _count(self):
        programs = list(self.fast.call.programs.values())
        if not programs:
            COUNTS["the function's own: arguments that no program takes"] += 1
        elif programs[-1].runner is not None:
            COUNTS["programs"] += 1
        else:
            COUNTS[programs[-1].why or "not yet"] += 1


def same(a, b):
    """Whether two leaves are equal in class, dtype, shape and bits, NaNs by being NaNs."""
    if type(a) is not type(b):
        return False
    if not isinstance(a, (np.ndarray, np.generic, float, complex)):
        return True
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.hasobject or a.tobytes() == b.tobytes():
        return True
    if a.dtype.kind not in "fc":
        return False
    known = ~np.isnan(b)
    return bool(
        np.array_equal(a, b, equal_nan=True)
        and np.array_equal(np.signbit(a.real[known]), np.signbit(b.real[known]))
        and np.array_equal(np.signbit(a.imag[known]), np.signbit(b.imag[known]))
    )


def report(write_line):
    """Say how many calls ran as programs, and why others did not."""
    for why, count in COUNTS.most_common():
        write_line(f"compiled: {count} {why}")
