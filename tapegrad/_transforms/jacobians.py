"""Whole matrices of derivatives: jacrev, jacfwd, jacobian, hessian, and one with a diagonal alone.

Knows the transforms that give one row or column, and how many of these fit into memory at once.
Must not know tapes beyond the sizes of entries' results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.elementwise import Elementwise
from tapegrad._core.entry import Entry, kept_kind
from tapegrad._core.fit import has_nan
from tapegrad._core.quiet import SILENT, VARIABLE
from tapegrad._core.types import Cotangent, Function, Tangent, Tree, Value
from tapegrad._core.values import assume, untraced
from tapegrad._errors import InputError, OutputError, describe, message, name_of
from tapegrad._progress import SILENT as NO_BAR
from tapegrad._progress import Bar, Progress
from tapegrad._transforms.chunks import (
    ALL,
    Chosen,
    ChunkSize,
    Joined,
    bytes_kept,
    in_budget,
    measures,
    require_chunk_size,
)
from tapegrad._transforms.forward import Pushforward
from tapegrad._transforms.inputs import Argnums, Inputs, Selection
from tapegrad._transforms.outputs import require_known
from tapegrad._transforms.reverse import Pullback, grad, run_with_map
from tapegrad._transforms.room import MANY, require_room
from tapegrad._transforms.tracebacks import folding
from tapegrad._transforms.vmap import vmap
from tapegrad._transforms.wrapper import Transformed, require_function
from tapegrad._tree import flatten, unflatten


def jacrev(
    f: Function,
    argnums: Argnums = None,
    *,
    has_aux: bool = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> Function:
    """The Jacobian by reverse mode: all elements of the output in batched replays.

    Parameters
    ----------
    f : callable
        Function of arrays or pytrees that returns floating or complex arrays.
    argnums : int or sequence of int, optional
        The positional arguments to differentiate by, as for `grad`.
    has_aux : bool, default False
        Whether f returns `(out, aux)`. The result is then `(jacobian, aux)`.
    chunk_size : int or "auto", optional
        The most elements that are replayed at once, which bounds the memory. By default their
        tangents fit into the cache. "auto" takes fewer where the tape and what the replay
        allocates would be more than `tapegrad.config.memory_budget` (the result is not counted).
    progress : bool or class, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm.

    Returns
    -------
    callable
        Function of f's arguments. For an output of shape o and an input of shape i it returns an
        array of shape o + i; for pytrees, the output's containers hold the inputs' containers.

    Raises
    ------
    InputError
        Where an input is of integers, or no array, or `chunk_size` is not a size.
    OutputError
        Where the output is not floating or complex.
    OutOfMemoryError
        Where the result has more bytes than there is memory, before a row of it is computed.

    See Also
    --------
    jacfwd : By forward mode, for more outputs than inputs.
    jacobian : The mode is chosen by the sizes.

    Examples
    --------
    >>> jacrev(lambda x: x**2)(np.array([1.0, 3.0]))
    array([[2., 0.],
           [0., 6.]])
    """
    return _jacrev(f, _Asked("jacrev", argnums, has_aux, chunk_size, progress))


def _jacrev(f: Function, asked: _Asked) -> Function:
    selection = Selection(f"jacrev({name_of(f)})", asked.argnums)
    require_chunk_size(f"{asked.name}({name_of(f)})", asked.chunk_size)
    has_aux, chunk_size = asked.has_aux, asked.chunk_size

    @folding
    def jacobian_of(*args: Tree, **kwargs: Any) -> Any:
        with asked.bar(f) as shown:
            return rows_of(shown, args, kwargs)

    def rows_of(shown: Bar, args: Tree, kwargs: Any) -> Any:
        inputs, g = _reduced(selection, f, args, kwargs)
        leaves_in = tuple(inputs.leaves)
        out, pullback, *aux = run_with_map(Pullback, g, leaves_in, has_aux, copies=False)
        leaves, structure = flatten(out)
        check_outputs(selection.call, out, leaves)
        if _is_large(leaves, inputs.leaves):
            asked.require_room(f, leaves, inputs.leaves, forward=False)
        rows = rows_by(pullback, leaves, chunk_size, shown)
        result = unflatten(structure, [_by_input(inputs, row) for row in rows])
        return (result, *aux) if has_aux else result

    return Transformed(jacrev, f, asked.options(), jacobian_of)


def jacfwd(
    f: Function,
    argnums: Argnums = None,
    *,
    has_aux: bool = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> Function:
    """The Jacobian by forward mode: all elements of an input in batched replays.

    Parameters
    ----------
    f : callable
        Function of arrays or pytrees that returns floating or complex arrays.
    argnums : int or sequence of int, optional
        The positional arguments to differentiate by, as for `grad`.
    has_aux : bool, default False
        Whether f returns `(out, aux)`. The result is then `(jacobian, aux)`.
    chunk_size : int or "auto", optional
        The most elements of an input that are replayed at once; otherwise as for `jacrev`.
    progress : bool or class, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm.

    Returns
    -------
    callable
        Function of f's arguments; shapes and containers are as for `jacrev`.

    Raises
    ------
    InputError
        Where an input is of integers, or no array, or `chunk_size` is not a size.
    OutputError
        Where the output is not floating or complex.
    OutOfMemoryError
        Where the result has more bytes than there is memory, before a row of it is computed.

    See Also
    --------
    jacrev : By reverse mode, for more inputs than outputs.

    Examples
    --------
    >>> jacfwd(lambda x: x**2)(np.array([1.0, 3.0]))
    array([[2., 0.],
           [0., 6.]])
    """
    return _jacfwd(f, _Asked("jacfwd", argnums, has_aux, chunk_size, progress))


def _jacfwd(f: Function, asked: _Asked) -> Function:
    selection = Selection(f"jacfwd({name_of(f)})", asked.argnums)
    require_chunk_size(f"{asked.name}({name_of(f)})", asked.chunk_size)
    has_aux, chunk_size = asked.has_aux, asked.chunk_size

    @folding
    def jacobian_of(*args: Tree, **kwargs: Any) -> Any:
        with asked.bar(f) as shown:
            return columns_of(shown, args, kwargs)

    def columns_of(shown: Bar, args: Tree, kwargs: Any) -> Any:
        inputs, g = _reduced(selection, f, args, kwargs)
        leaves_in = tuple(inputs.leaves)
        # The outputs of a Hessian's gradient are like its inputs.
        if asked.name == "hessian" and _is_large(leaves_in, leaves_in):
            asked.require_room(f, leaves_in, leaves_in, forward=True)
        out, pushforward, *aux = run_with_map(Pushforward, g, leaves_in, has_aux, copies=False)
        leaves, structure = flatten(out)
        check_outputs(selection.call, out, leaves)
        if _is_large(leaves, inputs.leaves):
            asked.require_room(f, leaves, inputs.leaves, forward=True)
        by_output = _columns_by(pushforward, leaves, chunk_size, shown)
        blocks = [_by_input(inputs, columns) for columns in by_output]
        result = unflatten(structure, blocks)
        return (result, *aux) if has_aux else result

    return Transformed(jacfwd, f, asked.options(), jacobian_of)


def jacobian(
    f: Function,
    argnums: Argnums = None,
    mode: str = "auto",
    *,
    has_aux: bool = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> Function:
    """The Jacobian of an array function.

    Parameters
    ----------
    f : callable
        Function of arrays or pytrees that returns floating or complex arrays.
    argnums : int or sequence of int, optional
        The positional arguments to differentiate by, as for `grad`.
    mode : {"auto", "forward", "reverse"}, default "auto"
        "auto" runs f once more to see its output, and takes forward mode if the inputs have fewer
        elements than that and are real.
    has_aux : bool, default False
        Whether f returns `(out, aux)`. The result is then `(jacobian, aux)`.
    chunk_size : int or "auto", optional
        The most elements that are replayed at once, as for `jacrev`.
    progress : bool or class, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm.

    Returns
    -------
    callable
        Function of f's arguments; shapes and containers are as for `jacrev`.

    Raises
    ------
    InputError
        For another mode, at once; where an input is of integers, or no array, when called.
    OutputError
        Where the output is not floating or complex.
    OutOfMemoryError
        Where the result has more bytes than there is memory, before a row of it is computed.

    See Also
    --------
    jacrev : By reverse mode.
    jacfwd : By forward mode.

    Examples
    --------
    >>> jacobian(lambda x: np.array([1.0, 2.0]) * x)(3.0)
    array([1., 2.])
    """
    if mode not in ("auto", "forward", "reverse"):
        raise InputError(
            message(
                f"jacobian({name_of(f)})",
                'mode "auto", "forward" or "reverse"',
                repr(mode),
                "Leave it away to have one chosen",
            )
        )
    require_function("jacobian", f)
    selection = Selection(f"jacobian({name_of(f)})", argnums)
    asked = _Asked("jacobian", argnums, has_aux, chunk_size, progress)
    modes = {"forward": _jacfwd(f, asked), "reverse": _jacrev(f, asked)}

    @folding
    def jacobian_of(*args: Tree, **kwargs: Any) -> Any:
        chosen = mode
        if mode == "auto":
            with Bar(selection.call, None if progress else progress):  # f shows none of its own
                chosen = _cheaper(f, selection, args, kwargs, has_aux)
        return modes[chosen](*args, **kwargs)

    return Transformed(jacobian, f, {**asked.options(), "mode": mode}, jacobian_of)


def _cheaper(f: Function, selection: Selection, args: Tree, kwargs: Any, has_aux: bool) -> str:
    """The mode with fewer replays, found by running f once on untraced values."""
    inputs = Inputs(selection, args, kwargs)
    leaves = flatten(_output(f, selection, args, kwargs, has_aux))[0]
    for leaf in leaves:
        require_known(f"jacobian({name_of(f)})", leaf, inputs.leaves)
    if any(leaf.dtype.kind == "c" for leaf in inputs.leaves):
        return "reverse"  # for functions that are not analytic, the modes follow two conventions
    size_in = sum(np.size(leaf) for leaf in inputs.leaves)
    return "forward" if size_in < sum(np.size(leaf) for leaf in leaves) else "reverse"


def _output(f: Function, _selection: Selection, args: Tree, kwargs: Any, has_aux: bool) -> Any:
    """Result of f, without aux, by a plain run; a search for NaNs puts another in its place."""
    out = f(*args, **kwargs)
    return out[0] if has_aux else out


def _traced_output(
    f: Function, selection: Selection, args: Tree, kwargs: Any, has_aux: bool
) -> Any:
    """The same by a run on traced values."""
    inputs, g = _reduced(selection, f, args, kwargs)
    return run_with_map(Pullback, g, tuple(inputs.leaves), has_aux, copies=False)[0]


def hessian(
    f: Function,
    argnums: Argnums = None,
    *,
    has_aux: bool = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> Function:
    """The matrix of second derivatives of a real scalar function, forward over reverse.

    Parameters
    ----------
    f : callable
        Function with a real scalar output, as for `grad`.
    argnums : int or sequence of int, optional
        The positional arguments to differentiate by, as for `grad`.
    has_aux : bool, default False
        Whether f returns `(value, aux)`. The result is then `(hessian, aux)`.
    chunk_size : int or "auto", optional
        The most columns that are made at once, as for `jacrev`.
    progress : bool or class, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm.

    Returns
    -------
    callable
        Function of f's arguments. For an input of shape i it returns an array of shape i + i; for
        pytrees and several `argnums`, containers of containers.

    Raises
    ------
    InputError
        As `grad` does.
    OutputError
        As `grad` does.
    OutOfMemoryError
        Where the result has more bytes than there is memory, before f is called.

    See Also
    --------
    hvp : The product with vectors, without the matrix.

    Examples
    --------
    >>> hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    require_function("hessian", f)
    Selection(f"hessian({name_of(f)})", argnums)  # names this transform in its errors
    gradient = grad(f, argnums, has_aux=has_aux)
    return _jacfwd(gradient, _Asked("hessian", argnums, has_aux, chunk_size, progress))


def elementwise_grad(f: Function, argnums: Argnums = None) -> Function:
    """The derivative of a function that acts on each element alone, in one reverse replay.

    It is the gradient of the sum of f. For an f that mixes elements these are the column sums of
    its Jacobian.

    Parameters
    ----------
    f : callable
        Function of arrays that returns real arrays.
    argnums : int or sequence of int, optional
        The positional arguments to differentiate by, as for `grad`.

    Returns
    -------
    callable
        Function of f's arguments that returns the derivative, with the shape and dtype of the
        input.

    Raises
    ------
    OutputError
        Where an output is not real.

    See Also
    --------
    grad : Functions with a scalar output.

    Examples
    --------
    >>> elementwise_grad(np.sin)(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """
    require_function("elementwise_grad", f)
    call = f"elementwise_grad({name_of(f)})"

    def total(*args: Tree, **kwargs: Any) -> Any:
        out = f(*args, **kwargs)
        leaves = [np.float64(leaf) if type(leaf) is float else leaf for leaf in flatten(out)[0]]
        check_outputs(call, out, leaves)
        totals = [
            np.sum(leaf if not _has_nan(leaf) else _KNOWN.apply_bound([leaf], {}))
            for leaf in leaves
        ]
        return sum(totals[1:], start=totals[0])

    total.__name__ = name_of(f)
    return Transformed(elementwise_grad, f, {"argnums": argnums}, grad(total, argnums).call)


def _has_nan(leaf: Value) -> bool:
    before = VARIABLE.get()
    try:
        VARIABLE.set(SILENT)  # squares may overflow
        return assume(has_nan, untraced(leaf), False)
    finally:
        VARIABLE.set(before)


def _known(x: Value) -> Any:
    return np.where(np.isnan(x), 0, x)


# The elements of an output that are no NaN, which would take the whole sum; the derivatives by the
# others are NaN.
_KNOWN = Elementwise(
    _known, [lambda _out, x: np.where(np.isnan(untraced(x)), np.nan, 1.0)], batch="align"
)


# --- Parts --------------------------------------------------------------------------------------


class _Asked(NamedTuple):
    """The options of a matrix, and the transform that a user called."""

    name: str
    argnums: Argnums
    has_aux: bool
    chunk_size: ChunkSize
    progress: Progress

    def bar(self, f: Function) -> Bar:
        """The bar of a call."""
        return Bar(f"{self.name}({name_of(f)})", self.progress)

    def require_room(
        self, f: Function, outputs: Sequence[Value], inputs: Sequence[Value], *, forward: bool
    ) -> None:
        """Raise OutOfMemoryError where the matrix cannot fit into memory."""
        is_hessian = self.name == "hessian"
        products = "hvp for its products" if is_hessian else "jvp or vjp for its products"
        kind = "hessian" if is_hessian else "jacobian"
        ways = f"Take {products} with vectors, or tapegrad.sparse.{kind} if most elements are 0"
        require_room(f"{self.name}({name_of(f)})", outputs, inputs, ways, forward=forward)

    def options(self) -> dict[str, Any]:
        """Arguments that make the same transform again."""
        return {name: value for name, value in self._asdict().items() if name != "name"}


def _elements(leaves: list[Value]) -> int:
    return sum(math.prod(np.shape(leaf)) for leaf in leaves)


def _is_large(outputs: Sequence[Value], inputs: Sequence[Value]) -> bool:
    """Whether the memory for a matrix has to be asked for: others are small, and many."""
    rows = 0
    for leaf in outputs:
        rows += leaf.size
    columns = 0
    for leaf in inputs:
        columns += leaf.size
    return rows * columns > MANY


def _reduced(
    selection: Selection, f: Function, args: Tree, kwargs: Any
) -> tuple[Inputs, Function]:
    """The leaves that are selected, and f as a function of those alone."""
    inputs = Inputs(selection, args, kwargs)

    def of_leaves(*leaves: Value) -> Any:
        return inputs.call(f, list(leaves))

    of_leaves.__name__ = name_of(f)
    return inputs, of_leaves


def rows_by(
    pullback: Pullback, outputs: list[Value], size: ChunkSize = None, shown: Bar = NO_BAR
) -> list[list[Any]]:
    """For each output the derivatives of its elements by each input, of shape out + in."""
    inputs = pullback.inputs.leaves

    def pulled_at(position: int) -> Function:
        def pulled(bar: Cotangent) -> Any:
            bars = [bar] if len(outputs) == 1 else list(map(np.zeros_like, outputs))
            bars[position] = bar
            return pullback(unflatten(pullback.structure, bars))

        return pulled

    def rows_at(size: int | None) -> list[list[Any]]:
        found = []
        for position, leaf in enumerate(outputs):
            pulled = vmap(pulled_at(position), chunk_size=size)
            bases = _bases(leaf, size or _at_once(pullback, inputs), shown)
            parts = (_rows_along(pulled, basis, inputs) for basis in bases)
            found.append(_joined(parts, 0, math.prod(leaf.shape)))
        return found

    def probe(position: int, basis: Tangent) -> Any:
        return _rows_along(vmap(pulled_at(position)), basis, inputs)

    if size is None and _are_few(outputs, inputs):
        rows = [
            _stacked([_own(_rows_along(pulled_at(i), bar, inputs)) for bar in _units(leaf)], 0)
            for i, leaf in enumerate(outputs)
        ]
    else:
        shown.begin(_elements(outputs))
        rows = _in_chunks(size, rows_at, probe, outputs, pullback, inputs)
    return [
        [np.reshape(x, leaf.shape + like.shape) for x, like in zip(row, inputs, strict=True)]
        for row, leaf in zip(rows, outputs, strict=True)
    ]


def _columns_by(
    pushforward: Pushforward, outputs: list[Value], size: ChunkSize = None, shown: Bar = NO_BAR
) -> list[list[Any]]:
    """`rows_by` in forward mode: by the tangents of the outputs along each input's elements."""
    inputs = pushforward.inputs.leaves

    def pushed_at(position: int) -> Function:
        def pushed(dot: Tangent) -> Any:
            dots = [dot] if len(inputs) == 1 else list(map(np.zeros_like, inputs))
            dots[position] = dot
            return flatten(pushforward(*dots))[0]

        return pushed

    def columns_at(size: int | None) -> list[list[Any]]:
        found = []
        for position, leaf in enumerate(inputs):
            pushed = vmap(pushed_at(position), out_axes=-1, chunk_size=size)
            bases = _bases(leaf, size or _at_once(pushforward, inputs), shown)
            found.append(_joined(map(pushed, bases), -1, math.prod(leaf.shape)))
        return found

    def probe(position: int, basis: Tangent) -> Any:
        return vmap(pushed_at(position), out_axes=-1)(basis)

    if size is None and _are_few(inputs, inputs):
        columns = [
            _stacked([_own(pushed_at(i)(dot)) for dot in _units(leaf)], -1)
            for i, leaf in enumerate(inputs)
        ]
    else:
        shown.begin(_elements(inputs))
        columns = _in_chunks(size, columns_at, probe, inputs, pushforward, inputs)
    return [
        [np.reshape(x[i], leaf.shape + y.shape) for x, y in zip(columns, inputs, strict=True)]
        for i, leaf in enumerate(outputs)
    ]


# Up to how many basis vectors are replayed one by one: an operation on batched values has the
# price of several on NumPy's own.
FEW = 4


def _are_few(mapped: list[Value], inputs: list[Value]) -> bool:
    """Whether the basis vectors of `mapped` are replayed one by one, without a vmap."""
    count = 0
    for leaf in mapped:
        if not leaf.size:
            return False
        count += leaf.size
    if count > FEW:
        return False
    # An outer transform logs the replay: its tape is shorter with one for all of them.
    return count == 1 or all(
        type(x) is np.ndarray or issubclass(type(x), np.generic) for x in inputs
    )


def _units(like: Value) -> list[Any]:
    """The unit arrays of a shape."""
    if like.size == 1:
        return [np.ones(like.shape, like.dtype)[()]]  # without axes a number
    return list(np.reshape(np.eye(like.size, dtype=like.dtype), (like.size, *like.shape)))


def _own(parts: Sequence[Any]) -> list[Any]:
    """Results as arrays of their own: a derivative of a program's may return one array again."""
    return [x.copy() if type(x) is np.ndarray else x for x in parts]


def _stacked(parts: list[Any], axis: int) -> list[Any]:
    """Lists of results, one for each basis vector, stacked along an axis; of one as it is."""
    if len(parts) == 1:
        # The shape comes last; of a number an array is made, as which a Jacobian is returned.
        return [x if x.shape else np.reshape(x, (1,)) for x in parts[0]]
    return [_stack(part, axis) for part in zip(*parts, strict=True)]


def _stack(parts: Sequence[Any], axis: int) -> Any:
    if axis == 0 and all(type(part) is np.ndarray for part in parts):
        return np.array(parts)  # a third of the price
    return np.stack(parts, axis)


def _rows_along(pulled: Function, basis: Tangent, leaves: list[Value]) -> list[Any]:
    """Rows of the Jacobian. Those of a complex output by real inputs take two pulls: re and im."""
    rows = list(pulled(basis))
    if basis.dtype.kind == "c" and any(x.dtype.kind != "c" for x in leaves):
        turned = pulled(-1j * basis)
        for i, x in enumerate(leaves):
            if x.dtype.kind != "c":
                rows[i] = rows[i] + 1j * turned[i]
    return rows


def _by_input(inputs: Inputs, parts: list[Value]) -> Any:
    trees = inputs.trees(parts)
    return trees[0] if inputs.selection.single else tuple(trees)


def check_outputs(call: str, out: Tree, leaves: list[Value]) -> None:
    """Raise OutputError for an output that has no Jacobian, and for None."""
    if out is None:
        advice = "Return an array: a return statement may be missing"
        raise OutputError(message(call, "floating or complex outputs", "None", advice))
    for leaf in leaves:
        if getattr(leaf, "dtype", np.dtype(object)).kind not in "fc":
            advice = "Return float arrays"
            if isinstance(out, tuple) and len(out) == 2 and leaf is not leaves[0]:
                advice += ", or pass has_aux=True to differentiate the first alone"
            raise OutputError(message(call, "floating or complex outputs", describe(leaf), advice))


# How many bytes of tangents are replayed at once, so that the next operation finds them in the
# cache; and how many basis vectors at least, so that calls cost little beside elements.
CACHED_BYTES = 1 << 19
FEWEST_AT_ONCE = 32


def _at_once(replayed: Any, leaves: list[Value]) -> int:
    """How many basis vectors are replayed at once, for the least time."""
    if any(type(leaf) is not np.ndarray for leaf in leaves):
        return ALL  # an outer transform logs the replay, and one replay keeps its tape short
    sizes = [8, *filter(None, map(_result_bytes, replayed.recording.entries))]
    return max(CACHED_BYTES * len(sizes) // sum(sizes), FEWEST_AT_ONCE)


def _result_bytes(entry: Entry) -> int:
    """The bytes of an entry's result, if its kept values show the shape; else 0."""
    kind = kept_kind(entry)
    return 0 if kind is None else int(math.prod(kind.shape) * kind.dtype.itemsize)


def _bases(like: Value, at_once: int, shown: Bar) -> Iterator[Any]:
    """The unit arrays of a shape, stacked along a first axis, `at_once` at a time.

    Each is a step of the bar.
    """
    size = math.prod(like.shape)
    if at_once * 2 > size:
        at_once = size
    for start in range(0, size, at_once) if size else (0,):
        count = min(at_once, size - start)
        yield np.reshape(np.eye(count, size, start, like.dtype), (count, *like.shape))
        shown.step(count)


def _joined(parts: Iterable[list[Value]], axis: int, total: int) -> list[Any]:
    """Put together the results for each part of a basis."""
    wholes: list[Joined] = []
    for columns in parts:
        wholes = wholes or [Joined(axis, total) for _ in columns]
        for at, whole in enumerate(wholes):
            whole.add(columns[at])
        del columns  # the next part needs the memory
    return [whole.result() for whole in wholes]


def _in_chunks(
    chunk_size: ChunkSize,
    blocks_of: Callable[[int | None], list[Any]],
    probe: Callable[[int, Tangent], Any],
    mapped: list[Value],
    replayed: Any,
    leaves: list[Value],
) -> list[Any]:
    """`blocks_of` of the chunk size that is meant. `mapped`: what has the basis vectors.

    "auto" is never more than what takes the least time.
    """
    if not isinstance(chunk_size, str):
        return blocks_of(chunk_size)
    if not measures() or not any(math.prod(leaf.shape) for leaf in mapped):
        return blocks_of(None)
    sizes = [math.prod(leaf.shape) for leaf in mapped]
    largest = sizes.index(max(sizes))  # whose vectors need about what those of others need
    like = mapped[largest]

    def run(count: int) -> Any:
        basis = np.eye(count, sizes[largest], 0, like.dtype)
        return probe(largest, np.reshape(basis, (count, *like.shape)))

    kept = bytes_kept(replayed.recording.entries)
    chosen = Chosen(run, min(_at_once(replayed, leaves), sizes[largest]), kept)
    return in_budget(chosen, blocks_of)


__all__ = [
    "check_outputs",
    "elementwise_grad",
    "hessian",
    "jacfwd",
    "jacobian",
    "jacrev",
    "rows_by",
]
