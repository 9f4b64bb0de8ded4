"""Whether a transform of a drawn program, compiled, gives what it gives itself, in many calls.

The programs are those of `programs()`; this is what they are held against. A transform is called
at points with zeros, infinities and NaNs among them.
"""

from __future__ import annotations

import contextlib
import warnings
from functools import partial
from unittest import mock

import numpy as np
from compiled import rounded, same

import tapegrad
from tapegrad._compile import calls
from tapegrad._program.numpy_program import Runner
from tapegrad.testing._programs.drawing import known_operations

BOTH = ("numpy", "interpreter")
# LAPACK's decompositions of a matrix with an infinity may not end.
DECOMPOSED = {f"np.linalg.{name}" for name in ("svd", "pinv", "eigh", "eigvalsh", "qr")}
KINDS = {
    "operations": [o.name for o in known_operations() if o.name not in DECOMPOSED],
    "dtypes": ("float64", "float64", "float32", "complex128"),
    "kinks": True,
    "casts": True,
    "integers": 1,
    "flat": True,
    "empty": True,
}


def of_floats(transform):
    """A transform of a function of its floating arguments, as one of all arguments."""

    def transformed(f, nums):
        def run(*args):
            def of(*floats):
                every = list(args)
                for at, x in zip(nums, floats, strict=True):
                    every[at] = x
                return f(*every)

            return transform(of, tuple(args[at] for at in nums))

        return run

    return transformed


def _pulled(f, xs):
    value, pull = tapegrad.vjp(f, *xs)
    return value, pull(2.0 * np.ones_like(value))


def _vmapped(f, xs):
    batches = [np.stack([x, x * 0.5, -x]) for x in xs]
    return tapegrad.vmap(tapegrad.grad(f, tuple(range(len(xs)))))(*batches)


def _gradient(f, xs):
    return tapegrad.grad(f, tuple(range(len(xs))))


def _ones(xs):
    return tuple(map(np.ones_like, xs))


DERIVATIVES = {
    "itself": lambda f, nums: f,
    "grad": tapegrad.grad,
    "value_and_grad": tapegrad.value_and_grad,
    "jvp": of_floats(lambda f, xs: tapegrad.jvp(f, xs, tuple(map(np.cos, xs)))),
    "vjp": of_floats(_pulled),
    "hessian": tapegrad.hessian,
    "hvp": of_floats(lambda f, xs: tapegrad.hvp(f, xs, _ones(xs))),
    "jacfwd": tapegrad.jacfwd,
    "linearize": of_floats(lambda f, xs: tapegrad.linearize(f, *xs)[1](*_ones(xs))),
    "checkpoint": lambda f, nums: tapegrad.grad(tapegrad.checkpoint(f), nums),
    "vmap": of_floats(_vmapped),
    "jvp of grad": of_floats(lambda f, xs: tapegrad.jvp(_gradient(f, xs), xs, _ones(xs))),
}


def differences(program, transform, backend):
    """The first difference beyond rounding: a text, or None. `backend`: a name, or BOTH.

    The same arguments have the same result in every call, to the last bit.
    """
    points = [program.args_at(n) for n in range(5)]  # the first calls make a program
    points += [program.args_at(5 + n, at) for n, at in enumerate((0.0, np.inf, np.nan))]
    f = DERIVATIVES[transform](program, program.argnums)
    fast = tapegrad.compile(f, backend="numpy" if backend == BOTH else backend)
    precision = np.float32 if "float32" in str(program) else None
    near = partial(rounded, precision=precision, least=1.0)
    others, before = [], {}
    if backend == BOTH:
        runs = mock.patch.object(
            calls, "runner_of", lambda _backend, root, *_: _Both(root, others.append)
        )
    else:
        runs = contextlib.nullcontext()
    with runs:
        result(f, *points[0])  # what an engine learns in a first call may round anew
        for at in (0, 1, 2, 3, 4, 5, 0, 6, 7, 1, 5):
            others.clear()
            expected, found = result(f, *points[at]), result(fast, *points[at])
            for one in (found, *others):
                if isinstance(expected, type) or isinstance(one, type):
                    if one is not expected:
                        return f"{transform} of {program}: point {at}: {one}, not {expected}"
                elif not all(map(near, *map(leaves, (one, expected)))):
                    return f"{transform} of {program}: point {at}: {one}, not {expected}"
            if isinstance(found, type):
                continue
            if not all(map(same, *map(leaves, (found, before.setdefault(at, found))))):
                return f"{transform} of {program}: point {at}: {found}, before {before[at]}"
    return None


class _Both:
    """Runs a program by NumPy's calls, and by the interpreter: the call is recorded but once.

    What NumPy's calls give is the result; what the interpreter gives is seen, unless both raise,
    which makes the call the function's own (as an assertion here would).
    """

    def __init__(self, root, see):
        self.runners = [Runner(root, backend) for backend in BOTH]
        self.see = see

    def run(self, inputs):
        by_numpy, by_interpreter = (result(runner.run, inputs) for runner in self.runners)
        if not (isinstance(by_numpy, type) and isinstance(by_interpreter, type)):
            self.see(by_interpreter)
        if isinstance(by_numpy, type):
            raise by_numpy
        return by_numpy


def leaves(tree):
    return tapegrad._tree.flatten(tree)[0]


def result(f, *args):
    """Result of a call, or the class of its error; of arguments of its own."""
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f(*args)
        except Exception as error:  # noqa: BLE001 - of any function
            return type(error)
