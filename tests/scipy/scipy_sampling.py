"""How the samples of SciPy's functions are declared: as those of NumPy's, in another table."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import sampling

SAMPLES: dict[Callable[..., Any], sampling.Sample] = {}

sample = functools.partial(sampling.sample, table=SAMPLES, dtypes="d")
each = functools.partial(sampling.each, table=SAMPLES, dtypes="d")

# Functions whose laws take a second or so: in the slow tests alone, at a few arguments.
SELDOM: set[Callable[..., Any]] = set()


def seldom(function: Any, *parts: Any, **options: Any) -> None:
    """A sample of such a function."""
    SELDOM.add(function)
    sample(function, *parts, **options)


__all__ = ["SAMPLES", "SELDOM", "each", "sample", "seldom"]
