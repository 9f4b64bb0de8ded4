"""Which elements of the inputs each value of a tape depends on.

Knows the layouts of entries, and of NumPy's functions how their results' elements depend on those
of their arguments. Must not know colourings or matrices.

A function that is not known here makes every element of its results depend on every element of its
arguments: more than there is, which costs replays but is right. What is known is exact for the
program as it ran: constant factors that are zero, and branches not taken, make no dependence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapegrad._reverse import _parents
from tapegrad._tape import PROJECT, READ, WRITE, Entry, Outputs, Spec
from tapegrad.sparse._contractions import products, subscripts_of
from tapegrad.sparse._sets import NONE, Sets

SMALL = 64  # elements up to which a linear function is tried on each alone

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


def live(entries: Iterable[Entry], outputs: Iterable[Any]) -> list[Entry]:
    """The entries that the values at these slots are made from."""
    needed, found = set(outputs), []
    for entry in reversed(list(entries)):
        if entry[0] in needed:
            found.append(entry)
            needed.update(_parents(entry))
    return found[::-1]


def dependence(entries: Iterable[Entry], inputs: dict[Any, Any], sets: Sets) -> dict[Any, Any]:
    """Labels by slot: an array of the value's shape, a list for several results.

    `inputs` has the labels of the inputs' slots. A value without a slot there is a constant.
    """
    table = dict(inputs)
    for entry in entries:
        if entry[0] not in inputs:
            found = _Step(entry, table, sets).labels()
            if found is not None:
                table[entry[0]] = found
    return table


class _Step:
    """One entry: the labels of its arguments, and of its result."""

    def __init__(self, entry: Entry, table: dict[Any, Any], sets: Sets) -> None:
        slot, self.rule, self.out, args, params, slots, y_slot = entry
        self.sets = sets
        self.short = y_slot is not None
        if self.short:
            args, params, slots = (args, params), {}, (slots, y_slot)
        elif self.rule is READ or self.rule is PROJECT:
            slots = (slots,)
        self.args, self.params = args, params
        self.given = [None if at == -1 else table.get(at) for at in slots]

    def labels(self) -> Any:
        given, rule = self.given, self.rule
        if all(part is None for part in given):
            return None
        if rule is READ:
            return given[0][self.params]
        if rule is PROJECT:
            return given[0][self.args]
        if rule is WRITE:
            return self._written()
        if self.short:
            return self._elementwise(None)
        shape = None if isinstance(self.out, Outputs) else self.out.shape
        if rule.form == "elementwise" or _name_of(rule) in ELEMENTWISE:
            found = self._elementwise(shape)
            return found if shape is not None else [found] * len(self.out)
        return self._known(shape) if shape is not None else self._core()

    def _known(self, shape: tuple[int, ...]) -> Any:
        rule, name = self.rule, _name_of(self.rule)
        found = None
        if name in MOVING:
            found = self._moved()
        elif name in REDUCING:
            found = self._reduced(shape)
        elif name in _NAMED:
            found = _NAMED[name](self)
        elif rule.form == "multilinear":
            found = self._product()
        if found is None and rule.form in ("linear", "multilinear"):
            found = self._probed()
        if found is None and name in MIXING:
            found = self._mixed(shape)
        if found is None:
            return self._core()
        assert found.shape == shape, f"{name}: {found.shape} for {shape}"
        return found

    # -- kinds of functions ----------------------------------------------------------------------

    def _elementwise(self, shape: tuple[int, ...] | None) -> Any:
        parts = []
        for position, part in enumerate(self.given):
            if part is None:
                continue
            if self.rule.product and len(self.args) == 2:
                part = self._masked(part, 1 - position)
            elif self.rule.name == "np.power" and position == 0 and self.given[1] is None:
                part = np.where(np.asarray(self.args[1]) != 0, part, NONE)
            parts.append(part)
        found = parts[0]
        for part in parts[1:]:
            found = self.sets.join(found, part)
        return found if shape is None or found.shape == shape else np.broadcast_to(found, shape)

    def _masked(self, labels: Any, other: int) -> Any:
        """Labels, and none where the other factor is a constant zero."""
        factor, depends = self.args[other], self.given[other]
        if isinstance(factor, Spec) or factor is None:
            return labels
        if depends is not None and (depends != NONE).all():
            return labels
        present = self._present(other)
        return labels if present.all() else np.where(present, labels, NONE)

    def _written(self) -> Any:
        x, v = self.given
        out = np.zeros(self.args[0].shape, np.int64) if x is None else np.array(x)
        out[self.params] = NONE if v is None else v
        return out

    def _filled(self) -> list[Any]:
        """The arguments with labels in place of values; whole where a rule takes them whole."""
        fixed = getattr(self.rule, "fixed", 0)
        return [
            part
            if part is not None
            else arg
            if position < fixed or not hasattr(arg, "shape")
            else np.zeros(arg.shape, np.int64)
            for position, (part, arg) in enumerate(zip(self.given, self.args, strict=True))
        ]

    def _moved(self) -> Any:
        params = {
            name: value for name, value in self.params.items() if name not in ("dtype", "casting")
        }
        if self.rule.name == "np.where":
            condition, x, y = self._filled()
            zero = np.zeros((), np.int64)
            return np.where(condition, *(z if hasattr(z, "shape") else zero for z in (x, y)))
        return np.asarray(self.rule.call(self._filled(), params))

    def _axes(self, default: Any = None) -> tuple[int, ...]:
        ndim, axis = self.given[0].ndim, self.params.get("axis", default)
        if axis is None or not ndim:
            return tuple(range(ndim))
        return tuple(int(a) % ndim for a in (axis if isinstance(axis, (tuple, list)) else (axis,)))

    def _reduced(self, shape: tuple[int, ...]) -> Any:
        if any(part is not None for part in self.given[1:]):
            return None
        labels, where = self.given[0], self.params.get("where", True)
        if where is not True and where is not np._NoValue:
            labels = np.where(where, labels, NONE)
        return self.sets.over(labels, self._axes()).reshape(shape)

    def _mixed(self, shape: tuple[int, ...]) -> Any:
        default = MIXING[self.rule.name]
        found = self.sets.over(self.given[0], self._axes(default))
        if len(shape) != found.ndim:
            return np.broadcast_to(found.reshape(-1), shape)
        return np.broadcast_to(found, shape)

    def _product(self) -> Any:
        if any(
            isinstance(x, Spec)
            for x, part in zip(self.args, self.given, strict=True)
            if part is None
        ):
            return None
        arrays = [
            np.asarray(x) if part is None else part
            for x, part in zip(self.args, self.given, strict=True)
        ]
        subscripts = subscripts_of(self.rule.name, arrays, self.params)
        if subscripts is None:
            return None
        masks = [self._present(at) for at in range(len(arrays))]
        groups, labels = [], []
        for at, part in enumerate(self.given):
            if part is None:
                continue
            others = {i: mask for i, mask in enumerate(masks) if i != at}
            found = products(subscripts, part, at, others)
            if found is None:
                return None
            groups.append(found[0])
            labels.append(found[1])
        shape = self.out.shape
        count = int(np.prod(shape))
        return self.sets.gather(np.concatenate(groups), np.concatenate(labels), count).reshape(
            shape
        )

    def _present(self, position: int) -> Any:
        """Where a factor can be other than zero."""
        x, part = self.args[position], self.given[position]
        if isinstance(x, Spec):
            return np.ones(x.shape, bool)
        present = np.asarray(x) != 0
        return present if part is None else present | (part != NONE)

    def _probed(self) -> Any:
        """The dependence of a linear function of one small argument, tried on each element."""
        at = [i for i, part in enumerate(self.given) if part is not None]
        labels = self.given[at[0]]
        if len(at) > 1 or not 0 < labels.size <= SMALL:
            return None
        fixed = (
            len(self.args) if self.rule.form == "multilinear" else getattr(self.rule, "fixed", 0)
        )
        args: list[Any] = [
            np.zeros(x.shape, x.dtype) if isinstance(x, Spec) and i >= fixed else x
            for i, x in enumerate(self.args)
        ]
        args[at[0]] = labels
        if any(isinstance(x, Spec) for x in args):
            return None
        groups, found = [], []
        for i, label in enumerate(labels.reshape(-1)):
            unit = np.zeros(labels.size, self.args[at[0]].dtype)
            unit[i] = 1
            args[at[0]] = unit.reshape(labels.shape)
            moved = np.flatnonzero(self.rule.call(args, self.params))
            groups.append(moved)
            found.append(np.full(moved.size, label))
        shape = self.out.shape
        count = int(np.prod(shape))
        return self.sets.gather(np.concatenate(groups), np.concatenate(found), count).reshape(
            shape
        )

    def _core(self) -> Any:
        """Everything on everything, but for the axes before the core of a stacked function."""
        cores = _cores(self.rule.batch, self.args)
        stacked = (
            0
            if cores is None
            else max(_ndim(x) - n for x, n in zip(self.args, cores, strict=True))
        )
        united: Any = np.asarray(NONE, np.int64)
        for at, part in enumerate(self.given):
            if part is not None:
                core = part.ndim if cores is None else cores[at]
                axes = tuple(range(part.ndim - core, part.ndim))
                reduced = self.sets.over(part, axes).reshape(part.shape[: part.ndim - core])
                united = self.sets.join(united, reduced)
        united = united.reshape((1,) * (stacked - united.ndim) + united.shape)
        if isinstance(self.out, Outputs):
            return [_behind(united, np.shape(out)) for out in self.out]
        return _behind(united, self.out.shape)


def _name_of(rule: Any) -> str:
    """The name of one of NumPy's functions; of a user's, which may have any name, none."""
    module = getattr(rule.function, "__module__", None) or "numpy"  # a ufunc may have none
    return rule.name if module.split(".")[0] in ("numpy", "tapegrad") else ""


def _behind(labels: Any, shape: tuple[int, ...]) -> Any:
    """Labels of the leading axes, the same for all that follow."""
    return np.broadcast_to(labels.reshape(labels.shape + (1,) * (len(shape) - labels.ndim)), shape)


def _ndim(x: Any) -> int:
    return len(x.shape) if hasattr(x, "shape") else np.ndim(x)


def _cores(batch: Any, args: Sequence[Any]) -> list[int] | None:
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


def _diff(step: _Step) -> Any:
    axis = step._axes(-1)[0]
    labels = np.moveaxis(step.given[0], axis, -1)
    for _ in range(int(step.params.get("n", 1))):
        labels = step.sets.join(labels[..., 1:], labels[..., :-1])
    return np.moveaxis(labels, -1, axis)


def _trace(step: _Step) -> Any:
    params = {name: value for name, value in step.params.items() if name != "dtype"}
    along = np.diagonal(step.given[0], **params)
    return step.sets.over(along, (along.ndim - 1,))[..., 0]


def _pad(step: _Step) -> Any:
    """Only constants are padded with: other modes are made of reads and joins."""
    return np.pad(step.given[0], step.params["pad_width"] or 0)


def _convolve(step: _Step) -> Any:
    """Every product of an element of one with a nonzero one of the other, by their places' sum."""
    sizes = [
        np.size(x) if part is None else part.size
        for x, part in zip(step.args, step.given, strict=True)
    ]
    groups, labels = [], []
    for at, part in enumerate(step.given):
        if part is None:
            continue
        steps = np.flatnonzero(step._present(1 - at))
        if float(steps.size) * part.size > 1e8:
            return None
        groups.append((np.arange(part.size) + steps[:, None]).reshape(-1))
        labels.append(np.tile(part.reshape(-1), steps.size))
    count = sum(sizes) - 1
    full = step.sets.gather(np.concatenate(groups), np.concatenate(labels), count)
    mode, least = step.params.get("mode", "full"), min(sizes)
    if mode == "same":
        return full[(least - 1) // 2 :][: max(sizes)]
    return full[least - 1 : count - least + 1] if mode == "valid" else full


def _vdot(step: _Step) -> Any:
    """The sum of the products of elements in a row."""
    parts = [
        np.where(step._present(1 - at).reshape(-1), part.reshape(-1), NONE)
        for at, part in enumerate(step.given)
        if part is not None
    ]
    return np.asarray(step.sets.whole(np.concatenate(parts)))


def _interp(step: _Step) -> Any:
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
