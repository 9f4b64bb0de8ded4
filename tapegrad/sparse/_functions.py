"""How the elements of NumPy's functions' results depend on those of their arguments.

Knows the functions, and computes with labels (see `_sets`) in place of values. Must not know how
entries are laid out.

A function that is not known here makes every element of its results depend on every element of its
arguments: more than there is, which costs products but is right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.entry import Outputs, Spec
from tapegrad._core.types import Value
from tapegrad._core.values import in_trace
from tapegrad.sparse._contractions import PAIRS, products, subscripts_of
from tapegrad.sparse._sets import NONE
from tapegrad.sparse._steps import Step, settled

SMALL = 64  # elements up to which a linear function is tried on each one separately

# Functions that move elements: applied to labels as they are.
MOVING = frozenset(
    """np.reshape np.transpose np.matrix_transpose np.swapaxes np.moveaxis np.squeeze
    np.expand_dims np.flip np.rot90 np.roll np.repeat np.broadcast_to np.copy np.concatenate
    np.stack np.where np.lib.stride_tricks.sliding_window_view""".split()
)
# Elementwise, though declared in another form.
ELEMENTWISE = frozenset("astype np.conjugate np.real np.imag np.sign np.modf np.frexp".split())
# An axis, several, or all of them by default, are reduced.
REDUCING = frozenset(
    """np.sum np.mean np.prod np.max np.min np.var np.std np.median np.linalg.norm np.nansum
    np.nanmean np.nanprod np.nanmax np.nanmin np.nanvar np.nanstd np.nanmedian""".split()
)
# Every element of a line along an axis (here the default) depends on all others of the line.
MIXING = {
    "np.cumsum": None,
    "np.cumprod": None,
    "np.cumulative_sum": 0,
    "np.cumulative_prod": 0,
    "np.unwrap": -1,
    "np.fft.fft": -1,
    "np.fft.ifft": -1,
    "np.fft.rfft": -1,
    "np.fft.irfft": -1,
}


def labels_of(step: Step) -> Value:
    """The labels of a call's result, or a list of them for several results."""
    name, shape = step.name, step.shape
    if step.short or step.rule.form == "elementwise" or name in ELEMENTWISE:
        found = _elementwise(step)
        return [found] * len(step.out) if isinstance(step.out, Outputs) else found
    if shape is None:
        return _core(step)
    found = None
    if name in MOVING:
        found = _moved(step)
    elif name in REDUCING:
        found = _reduced(step, shape)
    elif name in _NAMED:
        found = _NAMED[name](step)
    elif step.rule.form == "multilinear":
        found = _product(step, shape)
    if found is None and step.rule.form in ("linear", "multilinear"):
        found = _probed(step, shape)
    if found is None and name in MIXING:
        found = _mixed(step, shape)
    if found is None:
        found = _core(step)
    assert found.shape == shape, f"{name}: {found.shape} for {shape}"
    return found


def _elementwise(step: Step) -> Value:
    product = step.rule.product or step.name == "strong_product"
    parts = []
    for position, part in enumerate(step.given):
        if part is None:
            continue
        if product:
            part = step.masked(part, 1 - position)
        elif step.name == "np.power" and position == 0 and step.given[1] is None:
            part = np.where(step.nonzero(1), part, NONE)
        parts.append(part)
    found = parts[0]
    for part in parts[1:]:
        found = step.sets.join(found, part)
    shape = step.shape
    return found if shape is None or found.shape == shape else np.broadcast_to(found, shape)


def _moved(step: Step) -> Value:
    params = {
        name: value
        for name, value in step.settled_params().items()
        if name not in ("dtype", "casting")
    }
    if step.name == "np.where":
        condition, x, y = (z if hasattr(z, "shape") else NONE for z in step.filled())
        return np.where(condition, x, y)
    return np.asarray(step.rule.call(step.filled(), params))


def _reduced(step: Step, shape: tuple[int, ...]) -> Value | None:
    if any(part is not None for part in step.given[1:]):
        return None
    labels, where = step.given[0], step.params.get("where", True)
    if where is not True and where is not np._NoValue:
        labels = np.where(settled(where), labels, NONE)
    return step.sets.over(labels, step.axes()).reshape(shape)


def _mixed(step: Step, shape: tuple[int, ...]) -> Value:
    default = MIXING[step.name]
    found = step.sets.over(step.given[0], step.axes(default))
    if len(shape) != found.ndim:
        return np.broadcast_to(found.reshape(-1), shape)
    return np.broadcast_to(found, shape)


def _product(step: Step, shape: tuple[int, ...]) -> Value | None:
    """A sum of products: each element of an operand where the others are not zero."""
    operands = list(zip(step.args, step.given, strict=True))
    if any(part is None and isinstance(x, Spec) for x, part in operands):
        return None
    arrays = [
        part if part is not None else np.zeros(np.shape(x)) if in_trace(x) else np.asarray(x)
        for x, part in operands
    ]
    subscripts = subscripts_of(step.name, arrays, step.params)
    if subscripts is None:
        return None
    masks = [step.present(at) for at in range(len(arrays))]
    groups, labels = [], []
    for at, part in enumerate(step.given):
        if part is None:
            continue
        found = products(subscripts, part, at, masks)
        if found is None:
            return None
        groups.append(found[0])
        labels.append(found[1])
    return step.gathered(groups, labels, shape)


def _probed(step: Step, shape: tuple[int, ...]) -> Value | None:
    """The dependence of a linear function on one small argument, tried on each element."""
    at = [i for i, part in enumerate(step.given) if part is not None]
    position, labels = at[0], step.given[at[0]]
    if len(at) > 1 or not 0 < labels.size <= SMALL:
        return None
    whole = len(step.args) if step.rule.form == "multilinear" else step.rule.fixed
    args: list[Any] = [
        np.zeros(x.shape, x.dtype) if isinstance(x, Spec) and i >= whole else settled(x)
        for i, x in enumerate(step.args)
    ]
    dtype = step.args[position].dtype
    args[position] = labels
    if any(isinstance(x, Spec) for x in args):
        return None
    groups, found = [], []
    # The function may take a complex argument apart: its imaginary part may go where the real one
    # does not.
    for unit in (1, 1j) if dtype.kind == "c" else (1,):
        for i, label in enumerate(labels.reshape(-1)):
            alone = np.zeros(labels.size, dtype)
            alone[i] = unit
            args[position] = alone.reshape(labels.shape)
            moved = np.flatnonzero(step.rule.call(args, step.settled_params()))
            groups.append(moved)
            found.append(np.full(moved.size, label))
    return step.gathered(groups, found, shape)


def _core(step: Step) -> Value:
    """Each element of a result depends on all elements of the cores at its place in the stack."""
    cores = _cores(step.rule.batch, step.args)
    united: Any = np.asarray(NONE, np.int64)
    stacked = 0
    for at, (arg, part) in enumerate(zip(step.args, step.given, strict=True)):
        if cores is not None:
            stacked = max(stacked, _ndim(arg) - cores[at])
        if part is not None:
            core = part.ndim if cores is None else cores[at]
            axes = tuple(range(part.ndim - core, part.ndim))
            reduced = step.sets.over(part, axes).reshape(part.shape[: part.ndim - core])
            united = step.sets.join(united, reduced)
    united = united.reshape((1,) * (stacked - united.ndim) + united.shape)
    if isinstance(step.out, Outputs):
        return [_behind(step, united, np.shape(out)) for out in step.out]
    return _behind(step, united, step.out.shape)


def _behind(step: Step, labels: Value, shape: tuple[int, ...]) -> Value:
    """Labels of the leading axes, the same for all that follow."""
    stretches = all(n in (1, m) for n, m in zip(labels.shape, shape, strict=False))
    if labels.ndim > len(shape) or not stretches:
        labels = np.asarray(step.sets.whole(labels))
    return np.broadcast_to(labels.reshape(labels.shape + (1,) * (len(shape) - labels.ndim)), shape)


def _ndim(x: Value) -> int:
    return len(x.shape) if hasattr(x, "shape") else np.ndim(x)


def _cores(batch: Any, args: Sequence[Value]) -> list[int] | None:
    """How many axes the core of each argument has; None where the rule does not say."""
    if not isinstance(batch, str) or not batch.startswith("("):
        return None
    words = batch.partition("->")[0].strip("()").split("),(")
    if len(words) != len(args) or any(x is None for x in args):
        return None
    counts = []
    for word, x in zip(words, args, strict=True):
        letters = word.split(",")
        optional = sum(letter.endswith("?") for letter in letters)
        counts.append(len(letters) - (optional if _ndim(x) < len(letters) else 0))
    return counts


# --- Functions by name --------------------------------------------------------------------------


def _diff(step: Step) -> Value:
    axis = step.axes(-1)[0]
    labels = np.moveaxis(step.given[0], axis, -1)
    for _ in range(int(step.params.get("n", 1))):
        labels = step.sets.join(labels[..., 1:], labels[..., :-1])
    return np.moveaxis(labels, -1, axis)


def _trace(step: Step) -> Value:
    params = {name: value for name, value in step.params.items() if name != "dtype"}
    along = np.diagonal(step.given[0], **params)
    return step.sets.over(along, (along.ndim - 1,))[..., 0]


def _pad(step: Step) -> Value:
    """The mode is "constant": the others are composed of reads and joins."""
    return np.pad(step.given[0], step.params["pad_width"] or 0)


def _convolve(step: Step) -> Value | None:
    """An element times a nonzero one of the other argument adds at the sum of their positions."""
    sizes = [math.prod(x.shape) if hasattr(x, "shape") else np.size(x) for x in step.args]
    groups, labels = [], []
    for at, part in enumerate(step.given):
        if part is None:
            continue
        shifts = np.flatnonzero(step.present(1 - at))
        if shifts.size * part.size > PAIRS:
            return None
        groups.append((np.arange(part.size) + shifts[:, None]).reshape(-1))
        labels.append(np.tile(part.reshape(-1), shifts.size))
    count = sum(sizes) - 1
    full = step.gathered(groups, labels, (count,))
    mode, least = step.params.get("mode", "full"), min(sizes)
    if mode == "same":
        return full[(least - 1) // 2 :][: max(sizes)]
    return full[least - 1 : count - least + 1] if mode == "valid" else full


def _vdot(step: Step) -> Value:
    """The sum of the products of elements in a row."""
    parts = [
        np.where(step.present(1 - at).reshape(-1), part.reshape(-1), NONE)
        for at, part in enumerate(step.given)
        if part is not None
    ]
    return np.asarray(step.sets.whole(np.concatenate(parts)))


def _interp(step: Step) -> Value | None:
    """Elementwise in the first argument."""
    return None if any(part is not None for part in step.given[1:]) else step.given[0]


_NAMED = {
    "np.diff": _diff,
    "np.trace": _trace,
    "np.pad": _pad,
    "np.convolve": _convolve,
    "np.vdot": _vdot,
    "np.interp": _interp,
}
