"""How a sample is declared: the arguments of each function are drawn as its one line says.

`sample(function, *parts, **params)`: each part is a constant, a Hypothesis strategy, or a maker: a
Python function of the `Draw` that makes the part from what was drawn before. The first array is
`d.x`. Domains keep away from poles and branch points; arrays of one draw share no element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from makers import ABSENT, Draw, array

la = np.linalg
REAL, ALL, LAPACK, LAPACK_REAL = "dfg", "dfgDF", "dfDF", "df"


class Sample(NamedTuple):
    """How the arguments of one function are drawn."""

    function: Callable[..., Any]
    parts: tuple[Any, ...]
    params: dict[str, Any]
    dtypes: str
    domains: tuple[tuple[float, float], ...]
    call: Callable[..., Any]  # the function, or what makes a function of its writes

    def draw(self, data: st.DataObject) -> tuple[list[Any], dict[str, Any]]:
        draw = Draw(data, data.draw(st.sampled_from(self.dtypes)), self.domains)
        args = [draw.part(part) for part in self.parts]
        params = {name: draw.part(part) for name, part in self.params.items()}
        # Arrays are copied: a test may write to what a call returns, which may be one of these.
        return args, {
            name: value.copy() if type(value) is np.ndarray else value
            for name, value in params.items()
            if value is not ABSENT
        }


class Noted:
    """A drawn call for Hypothesis's `note`: its text takes long to make, and few are shown."""

    def __init__(self, name: str, args: Any, params: Any):
        self.call = name, args, params

    def __repr__(self) -> str:
        name, args, params = self.call
        given = [*map(_source, args), *(f"{key}={_source(x)}" for key, x in params.items())]
        return f"A program to paste:\n\n{HEAD}\n\ncheck_rule({', '.join([name, *given])})\n"


HEAD = "import numpy as np\nfrom tapegrad.testing import check_rule"


def _source(x: Any) -> str:
    """An argument as Python source, where it has one."""
    if isinstance(x, (list, tuple)) and any(isinstance(part, np.ndarray) for part in x):
        parts = ", ".join(map(_source, x))
        return f"[{parts}]" if isinstance(x, list) else f"({parts},)"
    if not isinstance(x, (np.ndarray, np.generic)):
        return getattr(x, "__name__", repr(x)) if callable(x) else repr(x)
    dtype = f"np.dtype({x.dtype.str!r})" if x.dtype.fields is None else repr(x.dtype)
    return f"np.array({x.tolist()!r}, {dtype}).reshape({np.shape(x)})"


SAMPLES: dict[Callable[..., Any], Sample] = {}


def sample(
    function: Any,
    *parts: Any,
    on: Any = (-2.0, 2.0),
    dtypes: str = ALL,
    via: Any = None,
    table: dict[Callable[..., Any], Sample] = SAMPLES,
    **params: Any,
) -> None:
    """`on`: bounds of all arrays, or a list of bounds, one an array."""
    assert function not in table, f"{function} has a sample already"
    domains = tuple(on) if isinstance(on, list) else (on,)
    call = via(function) if via else function
    table[function] = Sample(function, parts, params, dtypes, domains, call)


def each(functions: Any, *parts: Any, **options: Any) -> None:
    """The same sample for each of several functions."""
    for function in functions:
        sample(function, *parts, **options)


def pick(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


X, X1, X2 = array(), array(dims=(1, 3)), array(dims=(2, 3))
N, N1, N2 = array(side=1), array(dims=(1, 3), side=1), array(dims=(2, 3), side=1)
FLAGS = st.booleans()
SMALL = st.integers(-3, 3)
SIDES = np.array([True, False, True])
