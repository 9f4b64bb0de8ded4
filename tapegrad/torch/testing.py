"""`torch.testing`: comparisons that say where values differ, and tensors drawn at random.

Knows what PyTorch's messages say. Must not know where the values come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Value
from tapegrad.torch._dtypes import as_numpy, device, dtype, join, of_numpy, sizes_of
from tapegrad.torch._ops.create.generator import source
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of
from tapegrad.torch._types import Device, DType, MemoryFormat

# The relative and the absolute tolerance of a dtype; others are compared exactly.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
Path = tuple[Any, ...]
Message = str | Callable[[str], str] | None


class _Comparison:
    """The settings of a comparison, which all of its parts have in common."""

    def __init__(
        self,
        tolerances: tuple[float, float] | None,
        equal_nan: bool,
        allow_subclasses: bool,
        checks: dict[str, bool],
        msg: Message,
    ) -> None:
        self.tolerances, self.equal_nan = tolerances, equal_nan
        self.allow_subclasses, self.checks, self.msg = allow_subclasses, checks, msg

    def fail(self, text: str, path: Path, kind: type[Exception] = AssertionError) -> NoReturn:
        """Raise with PyTorch's text, and the place in a container."""
        if path:
            text += "\n\nThe failure occurred for item " + "".join(f"[{key!r}]" for key in path)
        if kind is AssertionError and self.msg is not None:
            text = self.msg(text) if callable(self.msg) else self.msg
        raise kind(text)

    def compare(self, actual: Any, expected: Any, path: Path) -> None:
        """Compare two values, of which containers may hold others."""
        if _is_sequence(actual) and _is_sequence(expected):
            if len(actual) != len(expected):
                self.fail(
                    f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path
                )
            for place, (one, other) in enumerate(zip(actual, expected, strict=True)):
                self.compare(one, other, (*path, place))
        elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
            self._compare_mappings(actual, expected, path)
        elif actual is None or expected is None:
            if actual is not expected:
                self.fail(f"None mismatch: {actual} is not {expected}", path)
        elif isinstance(actual, (bool, np.bool_)) and isinstance(expected, (bool, np.bool_)):
            if bool(actual) is not bool(expected):
                self.fail(f"Booleans mismatch: {actual} is not {expected}", path)
        elif _is_number(actual) and _is_number(expected):
            self._compare_numbers(actual, expected, path)
        elif self._are_tensors(actual, expected):
            self._compare_tensors(actual, expected, path)
        else:
            self.fail(
                f"No comparison pair was able to handle inputs of type {type(actual)} and "
                f"{type(expected)}.",
                path,
                TypeError,
            )

    def _compare_mappings(
        self, actual: Mapping[Any, Any], expected: Mapping[Any, Any], path: Path
    ) -> None:
        missing = [key for key in expected if key not in actual]
        extra = [key for key in actual if key not in expected]
        if missing or extra:
            try:
                missing, extra = sorted(missing), sorted(extra)
            except TypeError:
                missing, extra = sorted(missing, key=str), sorted(extra, key=str)
            self.fail(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\n"
                f"Additional keys in the actual mapping: {extra}",
                path,
            )
        for key in actual:
            self.compare(actual[key], expected[key], (*path, key))

    def _are_tensors(self, actual: Any, expected: Any) -> bool:
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or (not self.allow_subclasses and type(actual) is not type(expected)):
            return False
        return all(isinstance(x, (Tensor, np.ndarray)) for x in (actual, expected))

    def _compare_numbers(self, actual: Any, expected: Any, path: Path) -> None:
        if self.checks["dtype"] and type(actual) is not type(expected):
            self.fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.", path)
        kinds = [of_numpy(np.asarray(number).dtype) for number in (actual, expected)]
        rtol, atol = self._tolerances(kinds)
        if not _close(np.asarray(actual), np.asarray(expected), rtol, atol, self.equal_nan):
            self.fail(_numbers_differ(actual, expected, rtol, atol), path)

    def _compare_tensors(self, actual: Any, expected: Any, path: Path) -> None:
        one, other = (x if isinstance(x, Tensor) else of_value(x) for x in (actual, expected))
        self._compare_attributes(one, other, path)
        x, y = plain_of(one), plain_of(other)
        rtol, atol = self._tolerances([one.dtype, other.dtype])
        if x.dtype != y.dtype:
            common = join(x.dtype, y.dtype)
            x, y = x.astype(common), y.astype(common)
        matches = _close(x, y, rtol, atol, self.equal_nan)
        if np.all(matches):
            return
        if not x.shape:
            self.fail(_numbers_differ(x.item(), y.item(), rtol, atol), path)
        self.fail(_tensors_differ(x, y, matches, rtol, atol), path)

    def _compare_attributes(self, one: Tensor, other: Tensor, path: Path) -> None:
        pairs: list[tuple[str, Any, Any]] = [("shape", one.shape, other.shape)]
        if self.checks["dtype"]:
            pairs.append(("dtype", one.dtype, other.dtype))
        if self.checks["stride"]:
            pairs.append(("stride()", one.stride(), other.stride()))
        for name, mine, theirs in pairs:
            if mine != theirs:
                self.fail(
                    f"The values for attribute '{name}' do not match: {mine} != {theirs}.", path
                )

    def _tolerances(self, kinds: list[dtype]) -> tuple[float, float]:
        if self.tolerances is not None:
            return self.tolerances
        known = [_TOLERANCES.get(kind.name, (0.0, 0.0)) for kind in kinds]
        return max(rtol for rtol, _ in known), max(atol for _, atol in known)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex, np.number)) and not isinstance(value, bool)


def _close(x: Value, y: Value, rtol: float, atol: float, equal_nan: bool) -> Value:
    """Which elements are equal, or differ by at most atol + rtol * |expected|."""
    if x.dtype.kind in "biu" and rtol == atol == 0:
        return x == y
    return np.isclose(x, y, rtol, atol, equal_nan)


def _differences(x: Value, y: Value) -> tuple[Value, Value]:
    """Absolute and relative differences."""
    if x.dtype.kind in "biu":
        x, y = x.astype(np.int64), y.astype(np.int64)
    with silence():
        absolute = np.abs(x - y)
        return absolute, absolute / np.abs(y)


def _bound(tolerance: float, exact: bool) -> str:
    return "" if exact else f" (up to {tolerance} allowed)"


def _numbers_differ(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    exact = rtol == atol == 0
    absolute, relative = _differences(np.asarray(actual), np.asarray(expected))
    return (
        f"Scalars are not {'equal' if exact else 'close'}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {absolute.item()}{_bound(atol, exact)}\n"
        f"Relative difference: {relative.item()}{_bound(rtol, exact)}"
    )


def _tensors_differ(x: Value, y: Value, matches: Value, rtol: float, atol: float) -> str:
    exact = rtol == atol == 0
    count = matches.size - int(np.count_nonzero(matches))
    lines = [
        f"Tensor-likes are not {'equal' if exact else 'close'}!",
        "",
        f"Mismatched elements: {count} / {matches.size} ({count / matches.size:.1%})",
    ]
    names = ("absolute", "relative")
    for name, found, bound in zip(names, _differences(x, y), (atol, rtol), strict=True):
        found = np.where(matches, 0, found)
        place = tuple(map(int, np.unravel_index(np.argmax(found), found.shape)))
        lines.append(
            f"Greatest {name} difference: {found[place].item()} at index {place}"
            f"{_bound(bound, exact)}"
        )
    return "\n".join(lines)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Raise AssertionError unless `|actual - expected| <= atol + rtol * |expected|` everywhere.

    actual, expected: Tensors, arrays, numbers, None, or sequences and mappings of them.
    allow_subclasses: Whether the types may differ, one a subclass of the other.
    rtol, atol: The tolerances, both or none; otherwise they follow from the dtypes, and are 0 for
        whole numbers.
    equal_nan: Whether a NaN equals a NaN.
    check_device: Changes nothing: the device is always the same.
    check_dtype: Whether the dtypes have to be equal.
    check_layout: Changes nothing: the layout is always the same.
    check_stride: Whether the strides have to be equal.
    msg (str or callable): The text of the error, or a function of the usual one.
    AssertionError: If they are not close.
    TypeError: If values cannot be compared.
    ValueError: If only one of the tolerances is given.

    >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-6]))
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
        )
    tolerances = None if rtol is None or atol is None else (rtol, atol)
    checks = {"dtype": check_dtype, "stride": check_stride}
    comparison = _Comparison(tolerances, equal_nan, allow_subclasses, checks, msg)
    comparison.compare(actual, expected, ())


def make_tensor(
    *shape: Any,
    dtype: DType,
    device: Device = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: MemoryFormat = None,
) -> Tensor:
    """A tensor of uniform numbers from low to before high.

    Unless given, they are -9 and 9 for floats, whole numbers from -9 to 9 (from 0 without a sign),
    and both truth values for bool; of complex numbers each part is drawn so.

    *shape (int or sequence of ints): The sizes.
    dtype: The dtype.
    device (device or str, default 'cpu'): The CPU.
    low: The lower bound, included.
    high: The upper bound, not included.
    requires_grad: Whether the tensor requires grad.
    noncontiguous: Whether it is every second element of memory.
    exclude_zero: Whether zeros become the least positive number, or 1 for whole numbers.
    memory_format: The order of the elements in memory.
    -> Tensor: The tensor.
    ValueError: If `low` is not below `high`, or `noncontiguous` and `memory_format` are given
        both.

    >>> torch.testing.make_tensor(2, 3, dtype=torch.float32).shape
    torch.Size([2, 3])
    """
    _only_cpu(device)
    sides, kind = sizes_of(shape), as_numpy(dtype)
    least, most = _bounds(kind, low, high)
    if not least < most:
        raise ValueError(
            f"make_tensor: low must be weakly less than high, got low={least} and high={most}"
        )
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    drawn = source(None)
    drawn_sides = (*sides[:-1], 2 * sides[-1]) if noncontiguous and sides else sides
    made: Any
    if kind.kind in "biu":
        made = drawn.integers(int(np.ceil(least)), int(np.ceil(most)), drawn_sides)
    elif kind.kind == "c":
        made = drawn.uniform(least, most, drawn_sides) + 1j * drawn.uniform(
            least, most, drawn_sides
        )
    else:
        made = drawn.uniform(least, most, drawn_sides)
    made = np.asarray(made).astype(kind)
    if exclude_zero:
        made[made == 0] = 1 if kind.kind in "biu" else np.finfo(kind).tiny
    if noncontiguous and sides:
        made = made[..., ::2]
    return of_value(made).requires_grad_(requires_grad)


def _only_cpu(given: Device) -> None:
    device(given)


def _bounds(kind: np.dtype[Any], low: float | None, high: float | None) -> tuple[float, float]:
    """The range of numbers: those given, within what the dtype can hold."""
    least, most = (0.0, 2.0) if kind.kind == "b" else (-9.0, 10.0 if kind.kind in "iu" else 9.0)
    if kind.kind == "u":
        least = 0.0
    least, most = (least if low is None else low), (most if high is None else high)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return max(least, float(limits.min)), min(most, float(limits.max) + 1)
    if kind.kind == "b":
        return max(least, 0.0), min(most, 2.0)
    return least, most


__all__ = ["assert_close", "make_tensor"]
__dir__ = __all__.copy
