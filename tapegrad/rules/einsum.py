"""np.einsum: its notations, its views, paths of many operands, contractions as matrix products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from tapegrad._core.fast.call_plans import Kernels, Spec
from tapegrad._core.forms import composite, constant, linear, multilinear
from tapegrad._core.types import Cotangent, Tangent, Tree, Value
from tapegrad._core.values import in_trace, is_ndarray
from tapegrad.rules.index import diagonal_transpose

_SMALL = "abcdefghijklmnopqrstuvwxyz"
LETTERS = _SMALL + _SMALL.upper()


def einsum(*operands: Any, optimize: Any = False, **options: Any) -> Value:
    """np.einsum; all ways to write subscripts are brought to one: letters only, with `->`."""
    if isinstance(operands[0], str):
        text, given = operands[0], operands[1:]
    else:
        text, given = _from_interleaved(operands)
    arrays = [array if hasattr(array, "ndim") else _lifted(array) for array in given]
    subscripts = _explicit(text, tuple([array.ndim for array in arrays]))
    if len(arrays) == 1 and not options:
        view = _rearranged(arrays[0], *subscripts.split("->"))
        if view is not None:
            return view
    if len(arrays) > 2 or type(optimize) is not bool:
        return _along_path(arrays, subscripts, optimize, options)
    return EINSUM.apply_bound(arrays, {"subscripts": subscripts, **options})


def _rearranged(array: Value, labels: str, result: str) -> Value:
    """A view, if the einsum of one operand only moves axes or reads diagonals; None if it sums."""
    if set(labels) != set(result):
        return None
    while len(set(labels)) < len(labels):
        label = next(label for label in labels if labels.count(label) > 1)
        first, second = labels.index(label), labels.rindex(label)
        if array.shape[first] != array.shape[second]:
            return None  # an axis of size 1 is broadcast
        array = _along_both(array, first, second)
        labels = "".join(x for i, x in enumerate(labels) if i not in (first, second)) + label
    return np.transpose(array, tuple(map(labels.index, result)))


def _along_both(x: Value, axis1: int, axis2: int) -> Value:
    """The diagonal as np.einsum returns it: unlike np.diagonal's, it can be written to."""
    if in_trace(x):
        return x.__array_function__(_along_both, (), (x, axis1, axis2), {})
    found = np.diagonal(x, 0, axis1, axis2)
    if is_ndarray(found):
        found.flags.writeable = x.flags.writeable
    return found


linear(
    _along_both,
    lambda g, _out, _x, axis1, axis2: diagonal_transpose(g, None, _x, 0, axis1, axis2),
    name="np.einsum",
    view=True,
    batch="axis",
)


def _lifted(array: Tree) -> Value:
    """A list or number as an array; any other argument unchanged."""
    if isinstance(array, (list, tuple)):
        return np.stack(list(map(_lifted, array)))
    return np.asarray(array) if issubclass(type(array), (int, float, complex)) else array


def _from_interleaved(operands: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """`einsum(x, [0, 1], y, [1, 2], [0, 2])` as "AB,BC->AC" and (x, y)."""

    def written(labels: Sequence[Any]) -> str:
        # Upper case first: an output that is not written has its labels in this order.
        letters = _SMALL.upper() + _SMALL
        return "".join("..." if label is Ellipsis else letters[label] for label in labels)

    pairs = len(operands) // 2
    text = ",".join(written(operands[2 * i + 1]) for i in range(pairs))
    if len(operands) % 2:
        text += "->" + written(operands[-1])
    return text, operands[0 : 2 * pairs : 2]


def is_explicit(subscripts: Any) -> bool:
    """Whether subscripts are letters only, with their output."""
    return type(subscripts) is str and "->" in subscripts and not set(subscripts) & set(" .")


@lru_cache(1 << 10)
def _explicit(text: str, ndims: tuple[int, ...]) -> str:
    """Subscripts with the output written out and a letter for each axis of an ellipsis."""
    if len(ndims) < 32:  # more operands NumPy takes only along a path
        np.einsum(text, *(np.ones((1,) * ndim) for ndim in ndims))  # it says what is wrong
    text = text.replace(" ", "")
    given, arrow, result = text.partition("->")
    terms = given.split(",")
    if not arrow:
        letters = given.replace(",", "").replace(".", "")
        once = sorted(label for label in set(letters) if letters.count(label) == 1)
        result = ("..." if "..." in given else "") + "".join(once)
    spare = [label for label in reversed(LETTERS) if label not in text]
    counts = [
        ndim - len(term.replace("...", "")) if "..." in term else 0
        for term, ndim in zip(terms, ndims, strict=False)
    ]
    widest = "".join(spare[: max(counts, default=0)])
    expanded = [
        term.replace("...", widest[len(widest) - count :])
        for term, count in zip(terms, counts, strict=False)
    ]
    return ",".join(expanded) + "->" + result.replace("...", widest)


def _along_path(
    arrays: list[Value], subscripts: str, optimize: Any, options: dict[str, Any]
) -> Value:
    """An einsum of three and more operands as steps of few, each an einsum of its own.

    A step's result serves the value and every cotangent, which are then products of two as well.
    """
    if isinstance(optimize, list) and optimize[:1] == ["einsum_path"]:
        optimize = ("einsum_path", *map(tuple, optimize[1:]))
    path = _path if _is_hashable(optimize) else _path.__wrapped__  # NumPy says what it takes
    steps = path(subscripts, tuple([array.shape for array in arrays]), optimize)
    within = {name: option for name, option in options.items() if name != "order"}
    dtypes = {array.dtype for array in arrays}
    if len(dtypes) > 1:  # of few bits a step overflows, of truth values it only says "any"
        common = np.result_type(*dtypes)
        if not options:
            arrays = [x if x.dtype == common else x.astype(common) for x in arrays]
        within.setdefault("dtype", common)
    for positions, step in steps[:-1]:
        taken = [arrays[position] for position in positions]
        arrays = [array for i, array in enumerate(arrays) if i not in positions]
        arrays.append(EINSUM.apply_bound(taken, {"subscripts": step, **within}))
    _, last = steps[-1]
    return EINSUM.apply_bound(arrays, {"subscripts": last, **options})


# Below so many products the loop of NumPy is as fast as steps, or as a matrix product.
FEW_PRODUCTS = 1 << 10
ROOM = 1 << 20  # elements that the result of a step may have, if no operand has more


@lru_cache(1 << 10, typed=True)
def _path(
    subscripts: str, shapes: tuple[tuple[int, ...], ...], optimize: Any
) -> list[tuple[list[int], str]]:
    """The steps of an einsum: the positions of the operands that each takes, and its subscripts.

    The path is NumPy's for these sizes, the one that `optimize` names if it names one.
    """
    given, _, result = subscripts.partition("->")
    terms = given.split(",")
    products = prod(_sizes(terms, shapes).values())
    if type(optimize) is tuple and optimize[:1] == ("einsum_path",):
        optimize = list(optimize)
    elif optimize is False and products < FEW_PRODUCTS:
        optimize = ["einsum_path", tuple(range(len(terms)))]
    elif optimize is False or optimize is True:
        largest = max(map(prod, shapes))
        optimize = ("optimal" if len(terms) < 6 else "greedy", max(largest, ROOM))
    sample = [np.broadcast_to(np.float64(0), shape) for shape in shapes]
    path, _ = np.einsum_path(subscripts, *sample, optimize=optimize)
    steps = []
    for taken in path[1:]:
        positions = sorted(taken)
        chosen = [terms[position] for position in positions]
        terms = [term for i, term in enumerate(terms) if i not in positions]
        later = set("".join(terms) + result)
        kept = "".join(label for label in dict.fromkeys("".join(chosen)) if label in later)
        if len(chosen) == 2:
            kept = _as_product(chosen[0], chosen[1], kept)
        terms.append(kept if terms else result)
        steps.append((positions, ",".join(chosen) + "->" + terms[-1]))
    return steps


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _as_product(x: str, y: str, kept: str) -> str:
    """The labels in the order in which a product of (stacks of) matrices gives them."""
    return "".join(sorted(kept, key=lambda label: 2 * (label not in x) + (label not in y)))


def _sizes(terms: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """The size of each label; axes of one element are broadcast."""
    sizes: dict[str, int] = {}
    for labels, shape in zip(terms, shapes, strict=True):
        for label, size in zip(labels, shape, strict=True):
            sizes[label] = size if sizes.get(label, 1) == 1 else sizes[label]
    return sizes


def _einsum_transpose(
    g: Cotangent, out: Value, *xs: Value, wanted: Sequence[bool], subscripts: str, **_: Any
) -> list[Cotangent]:
    given, _arrow, result = subscripts.partition("->")
    terms = given.split(",")
    sizes = _sizes(terms, [x.shape for x in xs])

    def operand_bar(position: int) -> Cotangent:
        others = [i for i in range(len(xs)) if i != position]
        labels = [result, *(terms[i] for i in others)]
        arrays = [g, *(xs[i] for i in others)]
        return _transposed_term(terms[position], labels, arrays, sizes)

    return [operand_bar(i) if want else None for i, want in enumerate(wanted)]


def _transposed_term(
    term: str, labels: list[str], arrays: list[Value], sizes: dict[str, int]
) -> Cotangent:
    """The product of g and the other operands, brought to the axes of one operand."""
    present = set("".join(labels))
    unique = "".join(dict.fromkeys(term))
    found = "".join(label for label in unique if label in present)
    bar = np.einsum(",".join(labels) + "->" + found, *arrays)
    # A label that this operand alone has was summed: the cotangent is constant along it. So it is
    # where the other operands have size 1 and were broadcast.
    shape = [bar.shape[found.index(x)] if x in present else 1 for x in unique]
    bar = np.broadcast_to(np.reshape(bar, shape), [sizes[label] for label in unique])
    return bar if unique == term else _on_diagonal(bar, term, sizes)


def _on_diagonal(bar: Cotangent, term: str, sizes: dict[str, int]) -> Cotangent:
    """The cotangent of an operand that repeats labels, which read a diagonal: zero off it."""
    spare = (label for label in LETTERS if label not in term)
    labels, units = "", []
    for label in term:
        fresh = next(spare) if label in labels else label
        if label in labels:
            units.append((label + fresh, np.eye(sizes[label], dtype=bar.dtype)))
        labels += fresh
    unique = "".join(dict.fromkeys(term))
    subscripts = ",".join([unique, *(pair for pair, _ in units)]) + "->" + labels
    return np.einsum(subscripts, bar, *(unit for _, unit in units))


def _einsum_examples(
    *operands: Value, subscripts: str, mapped: Sequence[bool], **options: Any
) -> Value:
    spare = next(label for label in LETTERS if label not in subscripts)
    given, _, result = subscripts.partition("->")
    terms = [
        spare + term if stacked else term
        for term, stacked in zip(given.split(","), mapped, strict=True)
    ]
    return einsum(",".join(terms) + "->" + spare + result, *operands, **options)


# --- contractions of two operands

Contraction = Callable[[Any, Any], Any]


class _Plan:
    """How two operands become matrices, or stacks of them, and the product the result."""

    def __init__(self, x: str, y: str, result: str) -> None:
        """Each label is in two of the three at least, and in each of them once."""
        self.stacked = [label for label in result if label in x and label in y]
        self.rows = [label for label in result if label not in y]
        self.columns = [label for label in result if label not in x]
        self.summed = [label for label in x if label not in result]
        self.x_order = tuple(map(x.index, self.stacked + self.rows + self.summed))
        self.y_order = tuple(map(y.index, self.stacked + self.summed + self.columns))
        made = self.stacked + self.rows + self.columns
        self.order = tuple(map(made.index, result))

    def contraction(self, sizes: dict[str, int]) -> Contraction:
        """The product of arrays of these sizes."""
        stacked, rows, columns, summed = (
            tuple(sizes[label] for label in labels)
            for labels in (self.stacked, self.rows, self.columns, self.summed)
        )
        depth = int(np.prod(summed, dtype=int))
        x_shape = (*stacked, int(np.prod(rows, dtype=int)), depth)
        y_shape = (*stacked, depth, int(np.prod(columns, dtype=int)))
        made_shape = (*stacked, *rows, *columns)
        x_order, y_order, order = self.x_order, self.y_order, self.order

        def contract(x: Any, y: Any) -> Any:
            product = np.matmul(
                x.transpose(x_order).reshape(x_shape), y.transpose(y_order).reshape(y_shape)
            )
            return product.reshape(made_shape).transpose(order)

        return contract


def _contraction(subscripts: str, x_shape: Any, y_shape: Any) -> Contraction | None:
    """The einsum of two operands as a matrix product; None if it sums nothing, or is none.

    It is none where an operand repeats a label or has one of its own that is summed, and where an
    axis of one element is broadcast.
    """
    given, _, result = subscripts.partition("->")
    x, y = given.split(",")
    if not _is_bilinear(subscripts, x_shape, y_shape) or not set(x) - set(result):
        return None
    return _Plan(x, y, result).contraction(_sizes((x, y), (x_shape, y_shape)))


def _is_bilinear(subscripts: str, x_shape: Any, y_shape: Any) -> bool:
    """Whether each label is in two of the three terms at least, once in each, in one size."""
    given, _, result = subscripts.partition("->")
    x, y = given.split(",")
    sizes = dict(zip(x + y, x_shape + y_shape, strict=True))
    return (
        all(len(set(labels)) == len(labels) for labels in (x, y, result))
        and tuple(sizes[label] for label in x) == x_shape
        and set(x) ^ set(y) <= set(result)
        and all(sizes.values())
    )


# By the rule's own functions a gradient costs 1.5 times this (8 elements), 1.4 (8 x 8), 1.75
# (100 x 100).
def _plan_einsum(
    specs: tuple[Spec, ...],
    out: Spec,
    wanted: Sequence[bool],
    /,
    subscripts: str,
    **others: Any,
) -> Kernels | None:
    """The kernels of a product of two operands: three of the same sizes."""
    if others or len(specs) != 2 or any(spec.dtype is not out.dtype for spec in specs):
        return None
    x, y = specs
    if not _is_bilinear(subscripts, x.shape, y.shape):
        return None
    given, _, result = subscripts.partition("->")
    x_labels, y_labels = given.split(",")
    run = product(subscripts, x.shape, y.shape)
    by_x = product(f"{result},{y_labels}->{x_labels}", out.shape, y.shape)
    by_y = product(f"{x_labels},{result}->{y_labels}", x.shape, out.shape)
    x_wanted, y_wanted = wanted

    def pull(g: Cotangent, _out: Value, x: Value, y: Value) -> tuple[Cotangent, Cotangent]:
        return by_x(g, y) if x_wanted else None, by_y(x, g) if y_wanted else None

    def push(dots: Sequence[Tangent], _out: Value, x: Value, y: Value) -> Tangent:
        x_dot, y_dot = dots
        if x_dot is None:
            return run(x, y_dot)
        return run(x_dot, y) if y_dot is None else run(x_dot, y) + run(x, y_dot)

    return Kernels(run, pull, push)


@lru_cache(1 << 10)
def product(subscripts: str, x_shape: Any, y_shape: Any) -> Contraction:
    """The einsum of two operands of these sizes, by NumPy's loop where that is as fast."""
    matrices = _contraction(subscripts, x_shape, y_shape)
    given, _, result = subscripts.partition("->")
    x, y = given.split(",")
    sizes = _sizes((x, y), (x_shape, y_shape))
    products = prod(sizes.values())
    short_dots = set(result) <= set(x) & set(y) and products < 64 * prod(sizes[n] for n in result)
    if matrices is None or products < FEW_PRODUCTS or short_dots:
        return lambda x, y: np.einsum(subscripts, x, y)
    return matrices


def _einsum_letters(*operands: Value, subscripts: str, **options: Any) -> Value:
    if len(operands) == 2 and not options and all(map(is_ndarray, operands)):
        x, y = operands
        return product(subscripts, x.shape, y.shape)(x, y)
    return np.einsum(subscripts, *operands, **options)


EINSUM = multilinear(
    _einsum_letters,
    _einsum_transpose,
    variadic=True,
    arrays=0,
    name="np.einsum",
    batch=_einsum_examples,
    plan=_plan_einsum,
)
composite(np.einsum, einsum)

constant(np.einsum_path, batch="example")
