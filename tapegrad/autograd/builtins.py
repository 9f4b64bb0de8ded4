"""Python's containers, `isinstance` and `type`, by the names of HIPS autograd.

Derivatives trace what is in a container, never the container: a program gets tuples, lists and
dicts of Python's, and may make them with Python's own. `isinstance` and `type` see the value
inside a trace.
"""

from __future__ import annotations

import builtins
from typing import Any

from tapegrad.autograd._boxes import DictBox, SequenceBox, getval
from tapegrad.autograd._completed import complete
from tapegrad.autograd._spaces import (
    ContainerVSpace,
    DictVSpace,
    ListVSpace,
    NamedTupleVSpace,
    SequenceVSpace,
    SparseObject,
    TupleVSpace,
)
from tapegrad.autograd.core import vspace

isinstance_, type_ = builtins.isinstance, builtins.type
tuple_, list_, dict_ = builtins.tuple, builtins.list, builtins.dict


class _Native(builtins.type):
    """`isinstance(x, autograd.list)`: whether x is a list of Python's."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance_(instance, cls.__mro__[1])


def _native(kind: Any) -> Any:
    """A class that makes values of another; packages register it beside that one."""

    def make(self: Any, *args: Any, **kwargs: Any) -> Any:
        return kind(*args, **kwargs)

    scope = {"__new__": make, "__module__": __name__, "__doc__": kind.__doc__}
    return _Native(kind.__name__, (kind,), scope)


tuple, list, dict = map(_native, (tuple_, list_, dict_))  # noqa: A001 - HIPS's names
TupleMeta = ListMeta = DictMeta = _Native


def _isinstance(x: Any, kinds: Any) -> bool:
    """Whether the value inside a trace is of some class.

    Parameters
    ----------
    x : object
        Any value.
    kinds : type or tuple of type
        As for Python's isinstance.

    Returns
    -------
    bool
        The answer.

    Examples
    --------
    >>> isinstance([1.0], list), isinstance((1.0,), list)
    (True, False)
    """
    return isinstance_(getval(x), kinds)


def _type(x: Any) -> Any:
    """The class of the value inside a trace.

    Parameters
    ----------
    x : object
        Any value.

    Returns
    -------
    type
        The class.

    Examples
    --------
    >>> type(1.0)
    <class 'float'>
    """
    return type_(getval(x))


isinstance, type = _isinstance, _type  # noqa: A001 - HIPS's names


def container_take(A: Any, idx: Any) -> Any:
    """An item of a container, `A[idx]`.

    Parameters
    ----------
    A : container
        The container.
    idx : object
        The index or key.

    Returns
    -------
    object
        The item.

    Examples
    --------
    >>> container_take((1.0, 2.0), 1)
    2.0
    """
    return A[idx]


def container_untake(x: Any, idx: Any, vs: Any) -> SparseObject:
    """The cotangent of a container, of whose part at an index it is known.

    Parameters
    ----------
    x : object
        The cotangent of the part.
    idx : int, slice or key
        Where the part is.
    vs : VSpace
        The space of the container.

    Returns
    -------
    SparseObject
        The cotangent.

    Examples
    --------
    >>> container_untake(5.0, 1, vspace((1.0, 2.0))).dense()[1]
    np.float64(5.0)
    """

    def mut_add(total: Any) -> Any:
        if isinstance_(total, dict_):
            return {**total, idx: vspace(x).add(total[idx], x)}
        parts = list_(total)
        if isinstance_(idx, slice):
            parts[idx] = [vspace(b).add(a, b) for a, b in zip(parts[idx], x, strict=True)]
        else:
            parts[idx] = vspace(x).add(parts[idx], x)
        return parts if isinstance_(total, list_) else _like(total, parts)

    return SparseObject(vs, mut_add)


def _like(sequence: Any, parts: Any) -> Any:
    kind = type_(sequence)
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def sequence_extend_right(seq: Any, *elts: Any) -> Any:
    """A tuple or list with more items after its own.

    Parameters
    ----------
    seq : tuple or list
        The sequence.
    *elts : object
        The items.

    Returns
    -------
    tuple or list
        The longer one.

    Examples
    --------
    >>> sequence_extend_right((1, 2), 3)
    (1, 2, 3)
    """
    return seq + type_(seq)(elts)


def sequence_extend_left(seq: Any, *elts: Any) -> Any:
    """A tuple or list with more items before its own.

    Parameters
    ----------
    seq : tuple or list
        The sequence.
    *elts : object
        The items.

    Returns
    -------
    tuple or list
        The longer one.

    Examples
    --------
    >>> sequence_extend_left((1, 2), 0)
    (0, 1, 2)
    """
    return type_(seq)(elts) + seq


def make_sequence(seq_type: Any, *args: Any) -> Any:
    """A tuple or list of some items.

    Parameters
    ----------
    seq_type : type
        The class.
    *args : object
        The items.

    Returns
    -------
    tuple or list
        The sequence.

    Examples
    --------
    >>> make_sequence(list, 1, 2)
    [1, 2]
    """
    return seq_type(args)


complete(__name__)

__all__ = [
    "ContainerVSpace",
    "DictBox",
    "DictVSpace",
    "ListVSpace",
    "NamedTupleVSpace",
    "SequenceBox",
    "SequenceVSpace",
    "TupleVSpace",
    "container_take",
    "container_untake",
    "dict",
    "dict_",
    "isinstance",
    "isinstance_",
    "list",
    "list_",
    "make_sequence",
    "sequence_extend_left",
    "sequence_extend_right",
    "tuple",
    "tuple_",
    "type",
    "type_",
]
