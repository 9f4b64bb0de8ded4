"""checkpoint: derivatives in less memory, at the price of more time.

Knows vjp, jvp, how a custom function is logged, and that arguments may lie in files. A
checkpointed call keeps only its arguments, and a replay computes its intermediate values again.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._batched.level import VmapLevel
from tapegrad._core.quiet import silence
from tapegrad._core.tape import CURRENT, RUNNING, Tape, hand_over
from tapegrad._core.types import Cotangent, Function, Tangent, Tree, Value, Wanted
from tapegrad._core.values import (
    Traced,
    innermost,
    is_inexact,
    is_mapped,
    is_plain_number,
    own_copy,
    snapshot,
    untraced,
)
from tapegrad._errors import InputError, RuleError, message, name_of
from tapegrad._transforms.caught import replaying
from tapegrad._transforms.custom import CustomCall, check_closure
from tapegrad._transforms.foreign_names import explaining
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.outputs import require_known
from tapegrad._transforms.reverse import pull_once
from tapegrad._transforms.state_files import StateFiles, StoredState
from tapegrad._transforms.tracebacks import folding
from tapegrad._transforms.wrapper import Transformed
from tapegrad._tree import Structure, flatten, unflatten


@explaining(
    policy="leave it away: the arguments are kept, and nothing of what happens inside",
    static_argnums="leave it away: what has no derivative passes through",
    use_reentrant="leave it away: there is one way",
)
def checkpoint(
    f: Function, *, save: str = "memory", directory: str | os.PathLike[str] | None = None
) -> Function:
    """The function f, of which a derivative keeps only the arguments, to run it again.

    Derivatives of any order, in both directions, are those of f.

    Parameters
    ----------
    f : callable
        Function of pytrees that returns a pytree. It may branch on its arguments, and may contain
        other checkpointed calls. It must return the same when it runs again.
    save : {"memory", "disk"}, default "memory"
        Where the arguments stay. "disk": a reverse derivative keeps those of each call in a file
        until it has been taken; what is called within another derivative or a vmap keeps them in
        memory.
    directory : str or PathLike, optional
        Where the files are, with "disk". By default where the system has its temporary files.

    Returns
    -------
    callable
        Function of f's arguments that returns what f returns.

    Raises
    ------
    InputError
        For another word in `save`, and with "disk" for arrays of objects.
    RuleError
        Where a replay gets another result (f draws random numbers: draw them outside), f writes
        into an argument, or f closes over a traced value (pass it as an argument).
    OSError
        FileNotFoundError, PermissionError, ... for what cannot be written, before f runs.

    See Also
    --------
    checkpoint_sequence : A step that is repeated many times.
    memory_report : Which functions are worth it.

    Examples
    --------
    >>> import tapegrad
    >>> tapegrad.grad(checkpoint(lambda x: np.sin(x) ** 2))(0.5) == np.sin(1.0)
    np.True_
    >>> block = checkpoint(np.tanh, save="disk")
    >>> x = np.ones(1000)
    >>> tapegrad.grad(lambda x: np.sum(block(block(x))))(x).shape
    (1000,)
    """
    if save not in ("memory", "disk") or (save == "memory" and directory is not None):
        raise InputError(
            message(
                f"checkpoint({name_of(f)})",
                'save="memory", or save="disk" with or without a directory',
                f"save={save!r}, directory={directory!r}",
                'Give save="disk" for files',
            )
        )
    options: dict[str, Any] = {}
    if save == "disk":
        options = {"save": save, "directory": directory}

    @folding
    def checkpointed(*args: Tree, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        inner = innermost(leaves)
        if isinstance(inner, Traced):
            call = _CheckpointedCall(f, leaves, structure, inner)
            if save == "disk":
                call.directory = tempfile.gettempdir() if directory is None else directory
            return call.run()
        if _is_traced_below(leaves, inner):
            whole = _OfWholeArrays(f, inner.vmap_level, leaves)
            args, kwargs = unflatten(structure, whole.values(leaves))
            return whole.examples(checkpoint(whole, **options)(*args, **kwargs))
        return f(*args, **kwargs)

    return Transformed(checkpoint, f, options, checkpointed)


def _is_traced_below(leaves: list[Value], inner: Value) -> bool:
    """Whether a transform around the vmap of `inner` differentiates the call."""
    while is_mapped(inner):
        vmap_level = inner.vmap_level
        leaves = [x._value if vmap_level.owns(x) else x for x in leaves]
        inner = innermost(leaves)
    return isinstance(inner, Traced)


class _OfWholeArrays:
    """A function inside vmap, as a function of arrays with the examples along axis 0.

    A replay may call it after the vmap has returned, so each run opens a vmap of its own.
    """

    def __init__(self, f: Function, vmap_level: Any, leaves: list[Value]) -> None:
        self.f, self.vmap_level = f, vmap_level
        self.__name__ = name_of(f)
        self.mapped = [vmap_level.owns(leaf) for leaf in leaves]
        self.out_mapped: list[bool] = []

    def values(self, leaves: list[Value]) -> list[Any]:
        """The leaves that this function takes, with the examples along axis 0."""
        return [x._value if self.vmap_level.owns(x) else x for x in leaves]

    def examples(self, out: Tree) -> Any:
        """A result of this function, batched by the vmap again."""
        leaves, structure = flatten(out)
        wrap = self.vmap_level.wrap
        return unflatten(
            structure,
            [wrap(x) if is_one else x for x, is_one in zip(leaves, self.out_mapped, strict=True)],
        )

    def __call__(self, *args: Tree, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        vmap_level = VmapLevel(self.vmap_level.name, self.vmap_level.size)
        before = CURRENT.get()
        RUNNING.append(None)
        try:
            CURRENT.set(vmap_level)
            args, kwargs = unflatten(
                structure,
                [
                    vmap_level.wrap(x) if is_one else x
                    for x, is_one in zip(leaves, self.mapped, strict=True)
                ],
            )
            out, out_structure = flatten(self.f(*args, **kwargs))
            self.out_mapped = [vmap_level.owns(leaf) for leaf in out]
            out = [x._value if vmap_level.owns(x) else x for x in out]
            return unflatten(out_structure, out)
        finally:
            vmap_level.open = False
            CURRENT.set(before)
            RUNNING.pop()
            if vmap_level.refused is not None:
                hand_over(vmap_level)


class _Leaves:
    """The leaves of a call: which of them are differentiated, and how to replace those."""

    def __init__(self, leaves: list[Value], structure: Structure) -> None:
        self.leaves, self.structure = leaves, structure
        self.differentiable = [
            i for i, leaf in enumerate(leaves) if isinstance(leaf, Traced) or is_inexact(leaf)
        ]
        # The program may write to the other leaves before a replay, so they are copied.
        self.fixed = [
            None if i in self.differentiable else snapshot(_own_copy(x))
            for i, x in enumerate(leaves)
        ]

    def arrays(self) -> list[Any]:
        return [self.leaves[i] for i in self.differentiable]

    def tree(self, arrays: Sequence[Value]) -> Any:
        filled = [_own_copy(x) for x in self.fixed]
        for position, array in zip(self.differentiable, arrays, strict=True):
            filled[position] = array
        return unflatten(self.structure, filled)


class _CheckpointedCall:
    """One call of a checkpointed function under a transform."""

    def __init__(self, f: Function, leaves: list[Value], structure: Structure, inner: Traced):
        self.f = f
        self.name = f"checkpoint({name_of(f)})"
        self.given = _Leaves(leaves, structure)
        self.tape = inner.tape
        self.out_structure: Structure | None = None
        self.fixed_outputs: list[Any] = []
        self.sums: list[Any] = []
        self.directory: str | os.PathLike[str] | None = None  # None: the entry keeps arguments
        self.files: StateFiles | None = None
        self.stored: StoredState | None = None

    def run(self) -> Any:
        rule = _Rule(self)
        parts = iter(rule.apply_bound(self.given.arrays(), {}))
        assert self.out_structure is not None
        return unflatten(
            self.out_structure,
            [next(parts) if out is _DIFFERENTIABLE else out for out in self.fixed_outputs],
        )

    def _outputs(self, arrays: Sequence[Value]) -> tuple[Any, ...]:
        args, kwargs = self.given.tree(arrays)
        leaves, self.out_structure = flatten(self.f(*args, **kwargs))
        for leaf in leaves:
            require_known(self.name, leaf, arrays)
        leaves = [_as_scalar(leaf) for leaf in leaves]
        self.fixed_outputs = [_DIFFERENTIABLE if is_inexact(leaf) else leaf for leaf in leaves]
        return tuple(leaf for leaf in leaves if is_inexact(leaf))

    def _forward(self, *arrays: Value) -> tuple[Any, ...]:
        self._store(arrays)
        # Each run gets copies, which show whether f writes into its arguments.
        given = [snapshot(_own_copy(x)) for x in arrays]
        out = self._outputs(given)
        check_closure(self.name, out, self.tape)
        for x, before in zip(given, arrays, strict=True):
            if type(x) is np.ndarray and not np.array_equal(x, before, equal_nan=True):
                raise RuleError(
                    f"{self.name}: it writes into an argument, which its replay cannot do to the "
                    "caller's array. Copy the argument first, and return what has changed."
                )
        self.sums = [_summary(part) for part in out]
        return out

    def _store(self, arrays: Sequence[Value]) -> None:
        """Write the arguments into a file, if they are to lie there and no other transform asks.

        An outer derivative needs the arguments as it traces them, not their values.
        """
        alone = type(self.tape) is Tape and self.tape.parent is None
        if self.directory is None or not alone or innermost(arrays) is not None:
            return
        self.files = StateFiles(self.name, self.directory)
        try:
            self.stored = self.files.write(arrays)
        except BaseException:
            self.files.close()
            raise
        self.given.leaves = []  # nothing reads them from here on

    def _arguments(self, args: Sequence[Value]) -> Sequence[Value]:
        """The arguments, from the file if they lie there."""
        if self.stored is None:
            return args
        assert self.files is not None
        return self.files.read(self.stored)

    def _recompute(self, *arrays: Value) -> tuple[Any, ...]:
        with replaying(self.name):
            out = self._outputs([snapshot(x) for x in arrays])
            _require_same(self.name, out, self.sums)
        return out

    def _pull(self, g: list[Cotangent], args: Sequence[Value]) -> Sequence[Any]:
        bars: Sequence[Any] = pull_once(self.name, self._recompute, self._arguments(args), g)
        return bars

    def _push(self, dots: Sequence[Tangent], args: Sequence[Value]) -> list[Any]:
        return list(jvp(self._recompute, tuple(self._arguments(args)), tuple(dots))[1])


class _Rule(CustomCall):
    """The rule of such a call: its entry keeps no argument that lies in a file."""

    def __init__(self, call: _CheckpointedCall) -> None:
        super().__init__(call.name, call._forward, call._pull, call._push)
        self.owner = call

    @property
    def in_files(self) -> bool:
        """Whether the arguments lie in a file, so that the entry keeps shapes and dtypes alone."""
        return self.owner.stored is not None

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        return [not self.in_files] * len(wanted), not self.in_files


_DIFFERENTIABLE = object()  # the place of a differentiable output


def _as_scalar(leaf: Value) -> Any:
    """A floating or complex Python number as a NumPy scalar; any other leaf unchanged."""
    if not is_plain_number(leaf):
        return leaf
    if isinstance(leaf, float):
        return np.float64(leaf)
    return np.complex128(leaf) if isinstance(leaf, complex) else leaf


def _own_copy(x: Value) -> Any:
    """A copy of an array, in the same order in memory: the rounding of a sum depends on it."""
    return own_copy(x) if type(x) is np.ndarray else x


def _require_same(name: str, parts: Sequence[Value], before: Sequence[Any]) -> None:
    """Raise RuleError if the results of a second run differ from the summaries of the first."""
    same = len(parts) == len(before) and all(
        _agree(_summary(part), was, part.dtype) for part, was in zip(parts, before, strict=True)
    )
    if not same:
        raise RuleError(
            f"{name}: it returned something else when a replay ran it again. Draw random numbers "
            "outside and pass them in, and change nothing that lies outside."
        )


def _summary(x: Value) -> tuple[float, float] | None:
    """Sums over an array, and a bound for them, by which two runs are compared."""
    x = untraced(x)
    if type(x) is not np.ndarray and not issubclass(type(x), np.generic):
        return None
    flat: Any = x
    with silence():
        # This bounds sum(abs(x)) without another array.
        size = np.sqrt(np.vdot(flat, flat).real * float(x.size))
        row = np.ravel(x)
        # Every second, third, ... element is added again, so that another order gives another sum.
        total = sum(k * np.sum(row[::k], dtype=_wide(x.dtype)) for k in (1, 2, 3, 5, 7))
        return total, size


def _wide(dtype: np.dtype[Any]) -> Any:
    return np.complex128 if dtype.kind == "c" else np.float64


def _agree(now: Any, before: Any, dtype: np.dtype[Any]) -> bool:
    """Whether two summaries agree up to rounding (a traced run may sum in another order)."""
    if now is None or before is None or not np.isfinite(before[1]):
        return True
    return bool(abs(now[0] - before[0]) <= 1e4 * np.finfo(dtype).eps * before[1])


__all__ = ["checkpoint"]
