"""`tapegrad.numpy` with new arrays that are traced: what the public Array API suite is run on.

In a checkout of https://github.com/data-apis/array-api-tests, with this folder on PYTHONPATH:

    ARRAY_API_TESTS_MODULE=traced_namespace python -m pytest -p traced_namespace array_api_tests

As a pytest plugin it runs each test inside a transform. There the floating and complex arrays that
the standard's creation functions make are inputs of that transform; integers and booleans are
plain, as ever. All else is tapegrad.numpy's own. docs/array-api.md says what does not pass.

One thing is not as programs find it: `float(x)` and `complex(x)` of a traced array, which tapegrad
refuses, give the plain number. The suite reads nearly every result with them.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import tapegrad
import tapegrad.numpy
from tapegrad._core.values import is_inexact, untraced

CREATION = (
    "asarray zeros ones full empty arange linspace eye "
    "zeros_like ones_like full_like empty_like from_dlpack"
).split()

_open: list[Any] = []  # the tape of the test that runs


def _traced(create: Any) -> Any:
    """A creation function, whose arrays are inputs of the transform that is open."""

    @functools.wraps(create)
    def call(*args: Any, **kwargs: Any) -> Any:
        made = create(*args, **kwargs)
        if not _open or isinstance(made, tapegrad.Array) or not is_inexact(made):
            return made
        return _open[-1].wrap(made, _open[-1].fresh())

    return call


def __getattr__(name: str) -> Any:
    if name.startswith("pytest_"):
        raise AttributeError(name)
    found = getattr(tapegrad.numpy, name)
    return _traced(found) if name in CREATION else found


def run_traced(test: Any) -> None:
    """A call of `test`, with the creation functions of this namespace giving traced arrays."""

    def program(x: Any) -> Any:
        _open.append(x.tape)
        try:
            test()
        finally:
            _open.pop()
        return x

    tapegrad.vjp(program, np.ones(2))


def pytest_configure(config: Any) -> None:
    """Let the suite read results, where this module is the plugin of its run."""
    tapegrad.Array.__float__ = lambda self: float(untraced(self))
    tapegrad.Array.__complex__ = lambda self: complex(untraced(self))


def pytest_pyfunc_call(pyfuncitem: Any) -> bool:
    """Each test of the suite inside a transform."""
    names = pyfuncitem._fixtureinfo.argnames
    run_traced(lambda: pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
