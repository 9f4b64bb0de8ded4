"""Programs drawn by a number, which run under two libraries, and the transcripts they leave.

A family is a function `(t, log, draw)`: `t` is the library, `log` takes what the program sees, and
`draw` gives choices and data, the same for both libraries. A program never draws within what it
attempts, so that an error leaves both at the same draw. Knows nothing of the families.
"""

from __future__ import annotations

import re
import warnings
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from transcripts import Log

Family = Callable[[Any, "Transcript", "Draw"], None]
FAMILIES: dict[str, Family] = {}
TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float16": 2e-2, "bfloat16": 2e-2}
SINGLE = 3e-4
# Warnings that are not compared: given once in a process, or by PyTorch's tracer of programs.
UNSEEN = re.compile(
    "Warning: Profiler clears events|`torch.jit.script` is deprecated"
    r"|Attempted to insert a get_attr|Using backward\(\) with create_graph=True"
)


def family(function: Family) -> Family:
    """Add a family of programs, under its name."""
    FAMILIES[function.__name__] = function
    return function


class Draw:
    """The choices and the data of one program."""

    def __init__(self, name: str, number: int) -> None:
        self.random = np.random.default_rng([zlib.crc32(name.encode()), number])

    def one(self, *choices: Any) -> Any:
        return choices[int(self.random.integers(len(choices)))]

    def chance(self, part: float = 0.5) -> bool:
        return bool(self.random.random() < part)

    def count(self, low: int, high: int) -> int:
        """A whole number, `high` included."""
        return int(self.random.integers(low, high + 1))

    def some(self, options: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
        """Some of the options, each with one of its values; the first is the most likely."""
        return {name: self.one(*values) for name, values in options.items() if self.chance()}

    def numbers(self, *shape: int, dtype: Any = np.float64) -> Any:
        if np.dtype(dtype).kind in "iub":
            return self.random.integers(0, 4, shape).astype(dtype)
        return self.random.normal(size=shape).astype(dtype)

    def several(self, items: Any, low: int, high: int) -> list[Any]:
        """Some of the items, in a drawn order, without repetition."""
        items = list(items)
        count = min(self.count(low, high), len(items))
        return [items[i] for i in self.random.permutation(len(items))[:count]]


class Transcript(Log):
    """Log of a program; errors with their texts, tensors with all that can be asked of them."""

    def __call__(self, *values: Any) -> None:
        self.append([shown(value) for value in values])

    def attempt(self, call: Callable[[], Any], text: str = "") -> Any:
        """Log what a call gives or raises, and return what it gives."""
        try:
            found = call()
        except Exception as raised:  # noqa: BLE001 - class and text go into the transcript
            self.append(["raised", error(raised)])
            return None
        self(text, found)
        return found


def error(raised: BaseException) -> list[Any]:
    """The class of an error and its text, without what no program can rely on."""
    text = str(raised).split("\nException raised from")[0].strip()
    text = re.sub(r"0x[0-9a-f]{6,}", "0x", text)
    text = re.sub(r'File ".*?", line \d+', "File", text)
    text = text.replace("tapegrad.torch", "torch")
    return ["error", type(raised).__name__.lstrip("_"), text]


def shown(value: Any) -> Any:
    """A value in a form that can be compared between the libraries."""
    if value is None or isinstance(value, (bool, int, float, complex, str, np.ndarray)):
        return value
    if hasattr(value, "grad_fn") and hasattr(value, "detach"):
        return _tensor(value)
    if isinstance(value, Mapping):
        return {str(key): shown(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [shown(part) for part in value]
    if isinstance(value, BaseException):
        return error(value)
    if hasattr(value, "state_dict") and hasattr(value, "forward"):
        return repr(value).replace("tapegrad.torch", "torch")
    if isinstance(value, type):
        return value.__name__
    if type(value).__name__ in ("dtype", "device", "Size"):
        return str(value)
    return type(value).__name__.lstrip("_").removeprefix("Removable")


def _tensor(x: Any) -> list[Any]:
    plain = x.detach()
    name = None if x.grad_fn is None else type(x.grad_fn).__name__
    if str(plain.dtype) == "torch.bfloat16":
        plain = plain.float()
    values = np.array(plain.resolve_conj().resolve_neg().cpu().numpy())
    return ["tensor", str(x.dtype), list(x.shape), x.requires_grad, x.is_leaf, name, values]


def run(library: Any, name: str, number: int) -> list[Any]:
    """The transcript of one program, with the classes of the warnings that it gave."""
    log = Transcript()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            FAMILIES[name](library, log, Draw(name, number))
        except Exception as raised:  # noqa: BLE001 - where a program ends is part of it
            log.append(["ended", error(raised)])
    seen = [warning for warning in told if not UNSEEN.match(str(warning.message))]
    return [*log, ["warned", sorted({warning.category.__name__ for warning in seen})]]


Difference = tuple[str, Any, Any]
Explain = Callable[["list[Any]", "list[Any]", str, Any, Any], "str | None"]


def differences(
    ours: list[Any], theirs: list[Any], explain: Explain
) -> list[tuple[str | None, Difference]]:
    """All that differs between two transcripts, each with the name of what explains it, or None.

    explain: `(entry, their entry, place, ours, theirs)` to a name. It ends where one of them has
    an error that the other has not.
    """
    found: list[tuple[str | None, Difference]] = []
    for step, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
        apart = _failed(mine) != _failed(other)
        parts = [(f"[{step}]", mine, other)] if apart else _parts(mine, other, f"[{step}]")
        for place, x, y in parts:
            found.append((explain(mine, other, place, x, y), (place, x, y)))
        if apart:
            return found
    if len(ours) != len(theirs) and not found:
        found.append((None, ("end", ours[-1:], theirs[-1:])))
    return found


def _failed(entry: Any) -> bool:
    return isinstance(entry, list) and entry[:1] in (["raised"], ["ended"])


def _parts(ours: Any, other: Any, place: str) -> list[Difference]:
    if isinstance(ours, np.ndarray) and isinstance(other, np.ndarray):
        return [] if _near(ours, other) else [(place, ours, other)]
    if isinstance(ours, list) and isinstance(other, list) and len(ours) == len(other):
        if ours[:1] == ["error"] or other[:1] == ["error"]:
            return [] if ours == other else [(place, ours, other)]
        pairs = enumerate(zip(ours, other, strict=True))
        return [part for i, (x, y) in pairs for part in _parts(x, y, f"{place}[{i}]")]
    if isinstance(ours, dict) and isinstance(other, dict) and list(ours) == list(other):
        return [part for key in ours for part in _parts(ours[key], other[key], f"{place}.{key}")]
    if isinstance(ours, (float, complex)) and type(ours) is type(other):
        return (
            [] if np.isclose(ours, other, 1e-7, 1e-9, equal_nan=True) else [(place, ours, other)]
        )
    same = type(ours) is type(other) and not isinstance(ours, (np.ndarray, list, dict))
    return [] if same and ours == other else [(place, ours, other)]


def _near(x: Any, y: Any) -> bool:
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype.kind not in "fc":
        return bool(np.array_equal(x, y))
    tolerance = TOLERANCE.get(x.dtype.name, SINGLE)
    scale = np.abs(y[np.isfinite(y)]).max(initial=1e-3)
    return bool(np.allclose(x, y, tolerance, tolerance * scale, equal_nan=True))
