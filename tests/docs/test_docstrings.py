"""Docstrings have numpydoc's sections, as its validator reads them.

List the lacks of a new name: `python tests/docs/test_docstrings.py tapegrad.tree`.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import types
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.torch import Tensor

numpydoc = pytest.importorskip("numpydoc.validate", reason="numpydoc is of the extra `docs`")

MODULES = [
    "tapegrad",
    "tapegrad.numpy",
    "tapegrad.numpy.polynomial",
    "tapegrad.tree",
    "tapegrad.sparse",
    "tapegrad.implicit",
    "tapegrad.optimize",
    "tapegrad.optimize.schedules",
    "tapegrad.dask",
    "tapegrad.autograd",
    "tapegrad.testing",
    "tapegrad.testing.laws",
    "tapegrad.testing.strategies",
    "tapegrad.testing.machines",
    "tapegrad.torch",
    "tapegrad.torch.fft",
    "tapegrad.torch.linalg",
    "tapegrad.torch.random",
    "tapegrad.torch.special",
    "tapegrad.torch.testing",
    "tapegrad.scipy.integrate",
    "tapegrad.scipy.interpolate",
    "tapegrad.scipy.sparse",
    "tapegrad.scipy.stats",
    "tapegrad.torch.autograd",
    "tapegrad.torch.autograd.anomaly_mode",
    "tapegrad.torch.autograd.forward_ad",
    "tapegrad.torch.autograd.function",
    "tapegrad.torch.autograd.functional",
    "tapegrad.torch.autograd.grad_mode",
    "tapegrad.torch.autograd.gradcheck",
    "tapegrad.torch.autograd.graph",
    "tapegrad.torch.autograd.profiler",
    "tapegrad.torch.autograd.profiler_util",
    "tapegrad.torch.autograd.variable",
    "tapegrad.torch.distributions",
    "tapegrad.torch.func",
    "tapegrad.torch.profiler",
    "tapegrad.torch.return_types",
    "tapegrad.torch.serialization",
    "tapegrad.torch.quasirandom",
    "tapegrad.torch.utils.benchmark",
    "tapegrad.torch.utils.collect_env",
    "tapegrad.torch.utils.checkpoint",
    "tapegrad.torch.utils.data",
    "tapegrad.torch.nn",
    "tapegrad.torch.nn.init",
    "tapegrad.torch.nn.parallel",
    "tapegrad.torch.nn.parameter",
    "tapegrad.torch.nn.utils",
    "tapegrad.torch.nn.utils.parametrizations",
    "tapegrad.torch.nn.utils.parametrize",
    "tapegrad.torch.nn.utils.prune",
    "tapegrad.torch.nn.utils.rnn",
    "tapegrad.torch.nn.utils.stateless",
    "tapegrad.torch.optim",
    "tapegrad.torch.optim.lr_scheduler",
    "tapegrad.torch.optim.swa_utils",
    "tapegrad.torch.nn.functional",
    "tapegrad.torch.amp",
    "tapegrad.torch.cuda",
    "tapegrad.torch.distributions.constraints",
]

# Sections that the validator asks for, and nobody here has to give.
NOT_REQUIRED = {
    "ES01": "a summary may be all that there is to say",
    "SA01": "not everything has a neighbour",
    "SS05": "a summary may name what is returned: 'Leaves of a tree' begins with no verb in s",
    "SA04": "the name of a neighbour is a link, which says enough",
}
NOT_REQUIRED_OF_METHODS = {"EX01": "the example of the class calls them"}
NOT_REQUIRED_OF_EXCEPTIONS = {
    "EX01": "docs/errors.md shows each in an example",
    "PR01": "programs catch them, and make none",
}
NOT_REQUIRED_OF_RESULTS = {"PR01": "a class with a section Attributes is what a call returns"}


# --- Public names of ours -----------------------------------------------------------------------


def public(name: str) -> dict[str, Any]:
    """The callables and classes of a module that are listed or shown, and that we have written."""
    module = importlib.import_module(name)
    names = [found for where, found in LISTED if where == name]
    if name == "tapegrad.torch":  # it makes most of its names when they are asked for
        names = dir(module)
    names = names or getattr(module, "__all__", None) or dir(module)
    found = {key: getattr(module, key) for key in names if not key.startswith("_")}
    theirs = namesake(name)
    return {
        f"{name}.{key}": value
        for key, value in found.items()
        if callable(value) and is_ours(value)
        if value.__doc__ != getattr(getattr(theirs, key, None), "__doc__", "")
    }


def is_ours(found: Any) -> bool:
    """Whether the docstring is ours: what takes a function of NumPy's over may keep the words."""
    origin = inspect.unwrap(found)
    if home(found) != "tapegrad":
        return False
    return home(origin) == "tapegrad" or found.__doc__ != origin.__doc__


def home(found: Any) -> str:
    """The library that has made it."""
    module = getattr(found, "__module__", None) or type(found).__module__
    return module.partition(".")[0]


def namesake(name: str) -> types.ModuleType | None:
    """NumPy's or SciPy's module under whose names, and with whose docstrings, a module is used."""
    if name.startswith(("tapegrad.numpy", "tapegrad.scipy")):
        return importlib.import_module(name.removeprefix("tapegrad."))
    return None


def methods(name: str, kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that a class has from us, with their functions.

    A traced array has those of `numpy.ndarray`, which NumPy describes; a method that replaces one
    of a base without words of its own is described there. Those of a tensor are read at `Tensor`.
    """
    known = set(dir(np.ndarray)) if kind is tapegrad.Array else set()
    of_tensors = {} if kind is Tensor or not issubclass(kind, Tensor) else vars(Tensor)
    for key in dir(kind):
        written = inspect.getattr_static(kind, key)
        if key.startswith("_") or key in known or not is_method(written):
            continue
        if of_tensors.get(key) is written:
            continue
        body = getattr(written, "__func__", None) or getattr(written, "fget", None) or written
        body = getattr(body, "func", body)
        if is_ours(body) and (body.__doc__ or not inspect.getdoc(getattr(kind, key))):
            yield f"{name}.{key}", body


def is_method(found: Any) -> bool:
    kinds = types.FunctionType, classmethod, staticmethod, property, cached_property
    return isinstance(found, kinds)


def reference() -> types.ModuleType:
    """docs/reference.py, which knows what docs/api.md lists."""
    path = Path(__file__).parents[2] / "docs" / "reference.py"
    spec = importlib.util.spec_from_file_location("reference", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LISTED = reference().listed()


# --- Parts that they lack -----------------------------------------------------------------------


class Reader(numpydoc.Validator):
    """The validator's, without its search for comments that switch it off.

    There are none here, and the search fails for a function that was made by a lambda.
    """

    source_file_name = None
    source_file_def_line = None

    def __init__(self, obj_name: str) -> None:
        super().__init__(numpydoc.get_doc_object(self._load_obj(obj_name)))


def faults(name: str, waived: set[str]) -> list[str]:
    """Messages of the validator on a name, without those not required."""
    found = numpydoc.validate(name, validator_cls=Reader)
    return [f"{code} {said}" for code, said in found["errors"] if code not in waived]


def waived_for(found: Any) -> set[str]:
    """The codes that nobody has to heed in the docstring of a function or a class."""
    waived = set(NOT_REQUIRED)
    if isinstance(found, type) and issubclass(found, BaseException):
        waived |= set(NOT_REQUIRED_OF_EXCEPTIONS)
    elif isinstance(found, type) and "\nAttributes\n---" in (inspect.getdoc(found) or ""):
        waived |= set(NOT_REQUIRED_OF_RESULTS)
    return waived


def faults_of(module: str) -> dict[str, list[str]]:
    """By name, what the docstrings of a module's names lack, and those of their methods."""
    found = {}
    seen = set()  # a method is read once, not again at each class that inherits it
    for name, value in public(module).items():
        found[name] = faults(name, waived_for(value))
        for method, body in methods(name, value) if isinstance(value, type) else ():
            if body not in seen:
                seen.add(body)
                found[method] = faults(method, set(NOT_REQUIRED) | set(NOT_REQUIRED_OF_METHODS))
    return found


SLOW = {"tapegrad.torch"}  # a thousand names


@pytest.mark.parametrize(
    "module",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in MODULES],
)
def test_docstrings_have_their_sections(module):
    found = faults_of(module)
    assert found
    assert not {name: lacks for name, lacks in found.items() if lacks}


def test_what_is_not_required_is_something_that_the_validator_knows():
    tables = NOT_REQUIRED, NOT_REQUIRED_OF_METHODS, NOT_REQUIRED_OF_EXCEPTIONS
    for table in (*tables, NOT_REQUIRED_OF_RESULTS):
        assert set(table) <= set(numpydoc.ERROR_MSGS)


if __name__ == "__main__":
    for asked in sys.argv[1:]:
        for name, lacks in faults_of(asked).items():
            if lacks:
                print(name, *lacks, sep="\n    ")
