"""How a function acts on arrays with a leading axis of examples: the batching words of rules.

Knows the words (`batch=` of a declaration) and a vmap's size. Must not know which functions exist,
tapes or transforms. A `vmap_level` is one call of vmap: `front(x)` puts its examples along axis 0,
`wrap(value)` hides that axis again.

- "align": the function is elementwise; the ranks are made equal, and NumPy broadcasts the rest.
- "axis": axis parameters are increased by one; None means every axis of an example.
- "flat": likewise, but None means the flattened example.
- "shape": the number of examples is put in front of the parameter `shape`.
- "(m,n),(n,k?)->(m,k?)": core dimensions; NumPy broadcasts the axes before them. A dimension with
  a `?` may be missing.
- "example": all examples have the same result (np.shape), so the first one's is returned.
- "ragged": the shape of the result depends on the values, so the call is refused.
- "loop": the function is called for one example after another, the last resort.
- a function: the batched function itself, with the examples of every array along axis 0. One that
  has a parameter `mapped` gets arrays that all examples share as they are: `mapped` says which
  arrays have examples.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np

from tapegrad._batched.level import VmapLevel
from tapegrad._core.quiet import silence
from tapegrad._core.rule import Rule
from tapegrad._core.types import Params, Value
from tapegrad._core.values import Mapped, is_mapped
from tapegrad._errors import BatchingError
from tapegrad._numpy_versions import signature_of
from tapegrad._tree import flatten, unflatten

Call = Callable[[list[Any], dict[str, Any]], Any]

AXES = ("axis", "axes", "axis1", "axis2", "source", "destination")


def call_batched(vmap_level: VmapLevel, rule: Rule, arrays: list[Value], params: Params) -> Any:
    """Call a rule's function on arrays, some of which are batched, by the rule's word."""
    if rule.batch == "ragged":
        _ragged(vmap_level, rule, arrays, params)
    places: Params = {}
    for name, value in params.items():
        if type(value) is np.ndarray and (name == "shape" or name in AXES):
            places[name] = value.tolist()
        elif name != "where" and _holds_batched(value):
            refuse_param(rule.name, name)
    if places:
        params = {**params, **places}
    if not vmap_level.size:
        with suppress(np.linalg.LinAlgError):  # then call it with no examples, below
            return _of_no_example(vmap_level, rule, arrays, params)
    word = rule.batch
    if callable(word):
        whole: list[Any] = [x if x is None else _typed(x, arrays[0]) for x in arrays]
        if _takes_shared(word):
            params = {**params, "mapped": tuple(map(vmap_level.owns, whole))}
            whole = [x._value if vmap_level.owns(x) else _array(x) for x in whole]
        else:
            whole = [x if x is None else vmap_level.front(x) for x in whole]
        fronted = [whole] if rule.sequence else whole
        return map_results(vmap_level, word(*fronted, **params))
    if word.startswith("("):
        if any(x is not None for x in arrays[len(_signature(word)[0]) :]):
            return _loop(vmap_level, rule, arrays, params)  # more arrays, of *args, than it names
        return call_with_signature(vmap_level, word, lambda *xs: rule.call(xs, params), arrays)
    return _WORDS[word](vmap_level, rule, arrays, params)


def _array(x: Value) -> Any:
    return x if x is None or hasattr(x, "shape") else np.asarray(x)


@functools.lru_cache(1 << 10)
def _takes_shared(batched: Callable[..., Any]) -> bool:
    code = getattr(batched, "__code__", None)
    return code is not None and "mapped" in code.co_varnames


def _holds_batched(value: Value) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_holds_batched, value))
    return is_mapped(value)


def stacked(value: Value) -> Any:
    """A list with batched parts as one array; any other value unchanged."""
    if isinstance(value, Mapped):  # the frequent case
        return value
    return np.stack(value) if isinstance(value, (list, tuple)) and _holds_batched(value) else value


_INSTEAD = {
    "initial": "Use np.sum(x) + v, np.prod(x) * v, np.maximum(np.max(x), v) and the like.",
    "shape": "Use the largest, and np.where for what is beyond an example's own.",
    "repeats": "Use np.take(x, i, axis=0) with an array of positions i, of one size for all.",
}


def refuse_param(call: str, name: str) -> NoReturn:
    """Raise the error for a batched argument that must be the same for all examples."""
    advice = _INSTEAD.get(name, "Loop over the examples, or over the values that it may have.")
    raise BatchingError(
        f"{call}: its argument {name!r} cannot be batched; it has to be the same for all "
        f"examples. {advice}"
    )


def _typed(x: Value, beside: Any) -> Any:
    """A Python number as an array, of the dtype that NumPy gives it beside another array."""
    if hasattr(x, "dtype") or not hasattr(beside, "dtype"):
        return x
    if isinstance(x, (int, float, complex)):
        return np.asarray(x, np.result_type(beside.dtype, x))
    return x


def map_results(vmap_level: VmapLevel, result: Value) -> Any:
    """Wrap one or several results, which have the examples along axis 0."""
    leaves, structure = flatten(result)
    return unflatten(structure, [vmap_level.wrap(leaf) for leaf in leaves])


# --- Elementwise --------------------------------------------------------------------------------


def rank_of(x: Value) -> int:
    """The number of axes of an array-like."""
    return len(x.shape) if hasattr(x, "shape") else np.ndim(x)


def _aligned(vmap_level: VmapLevel, x: Value, rank: int) -> Any:
    """The examples of x along axis 0, with axes of size 1 inserted up to a rank."""
    if not vmap_level.owns(x):
        return x
    value = vmap_level.front(x)
    own = value.shape[1:]
    missing = rank - len(own)
    if not missing:
        return value
    return np.reshape(value, (vmap_level.size, *(1,) * missing, *own))


def _align(vmap_level: VmapLevel, rule: Rule, arrays: list[Value], params: Params) -> Any:
    rank = max((rank_of(x) for x in arrays if x is not None), default=0)
    return map_results(
        vmap_level, rule.call([_aligned(vmap_level, x, rank) for x in arrays], params)
    )


# --- Axes ---------------------------------------------------------------------------------------


@functools.cache
def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """The axis parameters of a function, with their defaults."""
    try:
        parameters = signature_of(function).parameters
    except ValueError:
        return {}
    return {
        name: parameters[name].default
        for name in AXES
        if name in parameters and parameters[name].default is not inspect.Parameter.empty
    }


def shifted(axis: Any, ndim: int) -> Any:
    """An axis of an example, or several, as axes of the array with all examples."""
    if hasattr(axis, "__len__"):  # any sequence, as np.moveaxis takes
        return tuple(shifted(part, ndim) for part in axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return int(axis) % ndim + 1


def _shift(vmap_level: VmapLevel, rule: Rule, arrays: list[Value], params: Params) -> Any:
    ndim = rank_of(arrays[0])
    if not ndim and not rule.sequence and any(params.get(name) in (0, -1) for name in AXES):
        return _of_numbers(vmap_level, rule, arrays, params)
    fronted = [None if x is None else vmap_level.front(x) for x in arrays]
    if not rule.sequence:  # the other arrays broadcast with the first one
        rest = [None if x is None else _aligned(vmap_level, x, ndim) for x in arrays[1:]]
        fronted = [fronted[0], *rest]
    moved = {**_defaults(rule.function), **params}
    for name in AXES:
        if name in moved:
            axis = moved[name]
            moved[name] = tuple(range(1, ndim + 1)) if axis is None else shifted(axis, ndim)
    if vmap_level.owns(moved.get("where")):
        moved["where"] = _aligned(vmap_level, moved["where"], ndim)
    return map_results(vmap_level, rule.call(fronted, moved))


def _of_numbers(vmap_level: VmapLevel, rule: Rule, arrays: list[Value], params: Params) -> Any:
    """A call with an axis of examples that are numbers.

    NumPy takes them for arrays of one element, or refuses them. What it does of one of them says
    which, and the shape of the result.
    """
    one = np.ones((), arrays[0].dtype)
    alone = {**params, "where": True} if "where" in params else params
    rest = [None if x is None else np.ones((), x.dtype) for x in arrays[1:]]
    shape = rule.call([one, *rest], alone).shape
    rows = [None if x is None else np.reshape(x, (1,)) for x in arrays]
    if _holds_batched(params.get("where")):
        params = {**params, "where": np.reshape(params["where"], (1,))}
    return np.reshape(_shift(vmap_level, rule, rows, params), shape)


def _shift_flat(vmap_level: VmapLevel, rule: Rule, arrays: list[Value], params: Params) -> Any:
    axis = params.get("axis", _defaults(rule.function).get("axis"))
    if axis is None:
        flat = [
            vmap_level.wrap(
                np.reshape(vmap_level.front(x), (vmap_level.size, math.prod(np.shape(x))))
            )
            for x in arrays
        ]
        if params.get("keepdims"):
            ndim = vmap_level.front(arrays[0]).ndim - 1
            rest = {**params, "keepdims": False, "axis": 0}
            result = _shift(vmap_level, rule, flat, rest)
            return np.reshape(result, (1,) * ndim)
        return _shift(vmap_level, rule, flat, {**params, "axis": 0})
    return _shift(vmap_level, rule, arrays, params)


def _with_shape(vmap_level: VmapLevel, rule: Rule, arrays: list[Value], params: Params) -> Any:
    shape = params["shape"]
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    rank = max(len(shape), rank_of(arrays[0])) if rule.function is np.broadcast_to else 0
    value = _aligned(vmap_level, arrays[0], rank) if rank else vmap_level.front(arrays[0])
    return map_results(
        vmap_level, rule.call([value], {**params, "shape": (vmap_level.size, *shape)})
    )


# --- Core dimensions ----------------------------------------------------------------------------


def _cores(text: str) -> list[list[str]]:
    """`(m?,n),(n)` as [["m?", "n"], ["n"]]."""
    groups = text.removeprefix("(").removesuffix(")").split("),(")
    return [[name for name in group.split(",") if name] for group in groups]


@functools.cache
def _signature(word: str) -> tuple[list[list[str]], list[list[str]]]:
    given, _, made = word.partition("->")
    return _cores(given), _cores(made) if made else []


def call_with_signature(
    vmap_level: VmapLevel, word: str, call: Callable[..., Any], arrays: list[Value]
) -> Any:
    """Call a function that broadcasts over all axes before its core dimensions."""
    cores, results = _signature(word)
    missing: set[str] = set()
    fitted: list[Any] = []
    loops = []
    for x, core in zip(arrays, cores, strict=False):
        x = _array(x)
        if x is not None and rank_of(x) < len(core):
            absent = next(name for name in core if name.endswith("?"))
            missing.add(absent)
            x = np.expand_dims(x, core.index(absent))
        fitted.append(x)
        loops.append(0 if x is None else rank_of(x) - len(core))
    most = max(loops)
    out = call(
        *(
            x if x is None else _aligned(vmap_level, x, most + len(core))
            for x, core in zip(fitted, cores, strict=False)
        )
    )
    result = map_results(vmap_level, out)
    if not missing:
        return result
    (made,) = results
    drop = tuple(i - len(made) for i, name in enumerate(made) if name in missing)
    return np.squeeze(result, drop)


# --- One by one ---------------------------------------------------------------------------------


def _of_no_example(vmap_level: VmapLevel, rule: Rule, arrays: list[Value], params: Params) -> Any:
    """Results with no examples, of the shapes that a made-up example gives."""
    one = VmapLevel(vmap_level.name, 1)

    def made_up(x: Value) -> Any:
        if not vmap_level.owns(x):
            return x
        return one.wrap(np.concatenate([x._value, _made_up(x._value)]))

    given = {name: made_up(value) for name, value in params.items()}
    with silence():
        made = call_batched(one, rule, list(map(made_up, arrays)), given)
    leaves, structure = flatten(made)
    return unflatten(structure, [vmap_level.wrap(leaf._value[:0]) for leaf in leaves])


def looped(arrays: list[Value], one: Callable[[list[Any]], Any]) -> Any:
    """The results of each example, stacked; containers of several results stay as they are.

    `arrays` have the examples along axis 0; `one` is called with those of one example.
    """
    size = len(arrays[0])
    if not size:  # a made-up example gives the shape of the result
        with silence():
            made = looped([np.concatenate([x, _made_up(x)]) for x in arrays], one)
        leaves, empty = flatten(made)
        return unflatten(empty, [leaf[:0] for leaf in leaves])
    rows: list[list[Any]] = []
    structure: Any = None
    for i in range(size):
        leaves, structure = flatten(one([x[i] for x in arrays]))
        # A function of a program's may return one array again, with other elements.
        rows.append([x.copy() if type(x) is np.ndarray else x for x in leaves])
    return unflatten(structure, [_stacked(column) for column in zip(*rows, strict=True)])


def _made_up(like: Value) -> Any:
    """An example of numbers from 0.25 to 0.75, which are valid even as fractions or indices."""
    shape = like.shape[1:]
    return np.linspace(0.25, 0.75, math.prod(shape)).reshape(1, *shape).astype(like.dtype)


def _stacked(column: Sequence[Any]) -> Any:
    shapes = {getattr(row, "shape", ()) for row in column}
    if len(shapes) > 1:
        raise BatchingError(
            "vmap: the shapes of a result differ from example to example: "
            f"{', '.join(map(str, sorted(shapes)))}. Loop over the examples."
        )
    return np.stack(column)


def call_one_by_one(
    vmap_level: VmapLevel, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]
) -> Any:
    """Call a function, with any arguments, for one example after another."""
    leaves, structure = flatten((args, kwargs))
    batched = [vmap_level.owns(x) for x in leaves]

    def one(rows: list[Any]) -> Any:
        given, named = unflatten(structure, _with_rows(leaves, batched, rows))
        return function(*given, **named)

    arrays = [x._value for x, is_one in zip(leaves, batched, strict=True) if is_one]
    return map_results(vmap_level, looped(arrays, one))


def _with_rows(values: list[Any], batched: list[bool], rows: list[Any]) -> list[Any]:
    """The values of one example: each batched value is replaced by its row."""
    each = iter(rows)
    return [next(each) if is_one else x for x, is_one in zip(values, batched, strict=True)]


def _loop(vmap_level: VmapLevel, rule: Rule, arrays: list[Value], params: Params) -> Any:
    batched = [vmap_level.owns(x) for x in arrays]

    def one(rows: list[Any]) -> Any:
        return rule.call(_with_rows(arrays, batched, rows), params)

    fronted = [vmap_level.front(x) for x, is_one in zip(arrays, batched, strict=True) if is_one]
    return map_results(vmap_level, looped(fronted, one))


def _ragged(vmap_level: VmapLevel, rule: Rule, arrays: list[Value], params: Params) -> Any:
    raise BatchingError(
        f"{vmap_level.name}: {rule.name} of a batched value; the shape of its result may differ "
        "from example to example. Use np.where, or loop over the examples."
    )


_WORDS: dict[str, Callable[[Any, Rule, list[Any], dict[str, Any]], Any]] = {
    "align": _align,
    "axis": _shift,
    "flat": _shift_flat,
    "shape": _with_shape,
    "example": _ragged,  # never called: `Batched.__array_function__` handles this word
    "ragged": _ragged,
    "loop": _loop,
}

WORDS: Sequence[str] = tuple(_WORDS)

__all__ = [
    "WORDS",
    "call_batched",
    "call_one_by_one",
    "call_with_signature",
    "looped",
    "map_results",
    "refuse_param",
    "shifted",
]
