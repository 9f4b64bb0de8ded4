"""The structures of pytrees in the words of PyTorch's errors.

Knows structures. Must not know tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from tapegrad import (
    InputError,
    NonFiniteError,
    OutOfMemoryError,
    ShapeMismatchError,
    TapegradError,
)
from tapegrad._block import contextmanager
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Function, Tree
from tapegrad._errors import name_of
from tapegrad._transforms import chunks
from tapegrad._tree import Structure, flatten, flatten_prefix, unflatten
from tapegrad.torch._tensor.tensor import Tensor, require_floating


class _Leaf:
    """Stands for any leaf."""

    def __repr__(self) -> str:
        return "*"


def specification(structure: Structure, indent: int = 0) -> str:
    """A structure as PyTorch's `TreeSpec` prints it; None is a leaf there."""
    kind = structure.kind
    if kind is None or kind is type(None):
        return "*"
    indent += 2
    children = [specification(child, indent) for child in structure.children]
    aux = list(structure.aux) if isinstance(structure.aux, tuple) else structure.aux
    return f"TreeSpec({kind.__name__}, {aux}, [{(f',{chr(10)}' + ' ' * indent).join(children)}])"


def outline(structure: Structure) -> str:
    """A structure as its containers print themselves, around stars."""
    return repr(unflatten(structure, [_Leaf()] * _count(structure)))


def _count(structure: Structure) -> int:
    if structure.kind is None:
        return 1
    return sum(_count(child) for child in structure.children)


Argnums = int | tuple[int, ...]


@contextmanager
def pytorch_errors(arguments: type[Exception] = RuntimeError) -> Iterator[None]:
    """Turn the core's errors into `arguments`, if they are about arguments, or RuntimeError.

    Within another transform they stay as they are, because the core may handle them; and so does
    what `debug_nans` has found, and what does not fit into memory.
    """
    if CURRENT.get() is not None:
        yield
        return
    try:
        yield
    except (InputError, ShapeMismatchError) as error:
        text = str(error)
        for word in ("in", "out"):
            text = text.replace(f"{word}_axes", f"{word}_dims")
        raise arguments(text) from error
    except (NonFiniteError, OutOfMemoryError):
        raise
    except TapegradError as error:
        raise RuntimeError(str(error)) from error


def require_chunk_size(chunk_size: object, words: str) -> None:
    """Raise ValueError with PyTorch's words for what is no chunk size; "auto" is one."""
    try:
        chunks.require_chunk_size("chunk_size", chunk_size)
    except InputError:
        raise ValueError(f'{words} "auto" is the third choice.') from None


def positions_of(argnums: object, count: int) -> tuple[int, ...]:
    """The positions that argnums name, of `count` arguments."""
    if isinstance(argnums, bool) or not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    wanted = (argnums,) if isinstance(argnums, int) else argnums
    if not wanted:
        raise RuntimeError("argnums must be non-empty")
    for index in wanted:
        if not isinstance(index, int):
            raise RuntimeError(f"argnums elements must be int, got: {type(index)}")
        if not -count <= index < count:
            raise RuntimeError(f"Got argnum={index}, but only {count} positional inputs")
    positions = tuple(index % count for index in wanted)
    if len(set(positions)) < len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return positions


def require_tensors(tree: Tree) -> None:
    """Raise ValueError for leaves that are no tensors, RuntimeError for those of integers."""
    for leaf in flatten(tree)[0]:
        if not isinstance(leaf, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")
        require_floating(leaf._value.dtype)


def require_real(call: str, trees: Iterable[Tree], what: str) -> None:
    """Raise RuntimeError for complex tensors."""
    for position, leaf in enumerate(flatten(list(trees))[0]):
        if isinstance(leaf, Tensor) and leaf.is_complex():
            raise RuntimeError(
                f"{call}: Expected all {what} to be real but received complex tensor at flattened "
                f"input idx: {position}"
            )


def require_tensors_out(call: str, out: Tree) -> None:
    """Raise RuntimeError where a function returned nothing, or anything but tensors."""
    leaves = _with_none(out)
    if not leaves or out is None:
        raise RuntimeError(
            f"{call}: Expected f to be a function that has non-empty output (got output = "
            f"{leaves})"
        )
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{call}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(leaf)}"
            )


def require_floating_out(call: str, out: Tree) -> None:
    """As `require_tensors_out`, and RuntimeError for tensors that have no gradients."""
    require_tensors_out(call, out)
    for leaf in flatten(out)[0]:
        if not (leaf.is_floating_point() or leaf.is_complex()):
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                f"Tensor with dtype {leaf.dtype}"
            )


def _with_none(tree: Tree) -> list[Any]:
    """The leaves of a tree, of which None is one."""
    leaves, structure = flatten(tree)
    rest = iter(leaves)

    def walk(part: Structure) -> Iterator[Any]:
        if part.kind is None:
            yield next(rest)
        elif part.kind is type(None):
            yield None
        for child in part.children:
            yield from walk(child)

    return list(walk(structure))


def require_pair(call: str, out: Tree) -> None:
    """Raise RuntimeError where a function with `has_aux` did not return a pair."""
    if not (isinstance(out, tuple) and len(out) == 2):
        raise RuntimeError(
            f"{call}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )


def require_scalar(call: str, out: Tree) -> None:
    """Raise RuntimeError for an output that has no gradient."""
    if not isinstance(out, Tensor):
        raise RuntimeError(f"{call}: Expected f(*args) to return a Tensor, got {type(out)}")
    if out.dim() != 0:
        raise RuntimeError(
            f"{call}: Expected f(*args) to return a scalar Tensor, got tensor with {out.dim()} "
            "dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )
    if out.is_complex():
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {out.dtype}"
        )


def check_jvp(primals: Tree, tangents: Tree) -> None:
    """Raise RuntimeError for primals and tangents that do not match."""
    call = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{call}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    leaves, structure = flatten(primals)
    dots, dot_structure = flatten(tangents)
    if structure != dot_structure:
        raise RuntimeError(
            f"{call}: Expected primals and tangents to have the same python structure. For "
            "example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with "
            f"structure {specification(structure)} and tangents with structure "
            f"{specification(dot_structure)}"
        )
    if not leaves:
        raise RuntimeError(f"{call}: Expected primals to contain at least one Tensor.")
    for name, given in (("primals", leaves), ("tangents", dots)):
        for leaf in given:
            if not isinstance(leaf, Tensor):
                raise RuntimeError(
                    f"{call}: Expected {name} to only contain Tensors, got {type(leaf)}"
                )
    for leaf, dot in zip(leaves, dots, strict=True):
        require_floating(leaf._value.dtype)
        if leaf.shape != dot.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the "
                f"original Tensor, this is not supported. Tensor is of size {list(leaf.shape)} "
                f"while the given forward gradient is of size {list(dot.shape)}."
            )


def check_in_dims(function: Function, in_dims: Tree, args: tuple[Tree, ...]) -> list[Any]:
    """The dimension of each leaf of the arguments of a vmap. ValueError for what does not fit."""
    call = f"vmap({name_of(function)}, in_dims={in_dims}, ...)(<inputs>)"
    if isinstance(in_dims, bool) or not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{call}: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    leaves, structure = flatten(args)
    if not leaves:
        raise ValueError(
            f"{call}: got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
            "over a function with no inputs. The latter is unsupported."
        )
    try:
        dims = flatten_prefix(structure, in_dims, call)
    except (TapegradError, TypeError, ValueError):
        raise ValueError(
            f"{call}: in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {specification(flatten(in_dims)[1])} but inputs has structure "
            f"{specification(structure)}."
        ) from None
    for leaf, dim in zip(leaves, dims, strict=True):
        _check_in_dim(call, leaf, dim)
    return dims


def _check_in_dim(call: str, leaf: object, dim: object) -> None:
    if dim is None:
        return
    if not isinstance(dim, int):
        raise ValueError(
            f"{call}: Got in_dim={dim} for an input but in_dim must be either an integer "
            "dimension or None."
        )
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"{call}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We "
            "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -leaf.dim() <= dim < leaf.dim():
        raise ValueError(
            f"{call}: Got in_dim={dim} for some input, but that input is a Tensor of "
            f"dimensionality {leaf.dim()} so expected in_dim to satisfy -{leaf.dim()} <= in_dim < "
            f"{leaf.dim()}."
        )


def check_out_dims(function: Function, out_dims: Tree, out: Tree) -> None:
    """Raise ValueError or IndexError where the outputs of a vmap are not as out_dims says."""
    name = name_of(function)
    leaves, structure = flatten(out)
    if out_dims is not None and any(leaf is None for leaf in _with_none(out)):
        _refuse_output(name, None)
    try:
        if isinstance(out, Tensor) and isinstance(out_dims, tuple) and len(out_dims) != 1:
            raise ValueError  # noqa: TRY301 - as another structure
        dims = flatten_prefix(structure, out_dims, name)
    except (TapegradError, TypeError, ValueError):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with "
            "the structure of `outputs`. out_dims has structure "
            f"{specification(flatten(out_dims)[1])} but outputs has structure "
            f"{specification(structure)}."
        ) from None
    for leaf, dim in zip(leaves, dims, strict=True):
        if dim is not None and (isinstance(dim, bool) or not isinstance(dim, int)):
            raise ValueError(
                f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a "
                "python collection of ints representing where in the outputs the vmapped "
                "dimension should appear."
            )
        if dim is None:
            continue
        if not isinstance(leaf, Tensor):
            _refuse_output(name, leaf)
        if not -leaf.dim() - 1 <= dim <= leaf.dim():
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{leaf.dim() + 1}, "
                f"{leaf.dim()}], but got {dim})"
            )


def _refuse_output(name: str, leaf: object) -> NoReturn:
    raise ValueError(
        f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(leaf)}. Did you "
        "mean to set out_dims= to None for output?"
    )


def check_push(primals: tuple[Tree, ...], tangents: tuple[Tree, ...]) -> None:
    """Raise RuntimeError for tangents of `linearize` that are not as its primals."""
    leaves, structure = flatten(primals)
    dots, dot_structure = flatten(tangents)
    if structure != dot_structure:
        raise RuntimeError(
            f"Expected the tangents {specification(dot_structure)} to have the same argspec as "
            f"the primals {specification(structure)}"
        )
    for position, (leaf, dot) in enumerate(zip(leaves, dots, strict=True)):
        for what in ("shape", "dtype"):
            if getattr(leaf, what) != getattr(dot, what):
                raise RuntimeError(
                    f"tangent:{position} with {what} {getattr(dot, what)} in flattened pytree "
                    f"doesn't match the {what} {getattr(leaf, what)} of the corresponding primal."
                )
