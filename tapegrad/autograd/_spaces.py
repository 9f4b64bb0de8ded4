"""Vector spaces of values: zeros, ones, random vectors, sums and inner products like a value.

Knows arrays and containers. Must not know tapes or rules: all is NumPy code, differentiable.
Integers and truth values count as floating numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from tapegrad._core.values import is_array
from tapegrad._errors import describe
from tapegrad._tree import LEAF, flatten, flatten_like, unflatten
from tapegrad.autograd._boxes import Box, getval, isbox


class VSpace:
    """The space of a value: a subclass says what its vectors are.

    A program may register its own for a class of leaves, for `test_util` and its own rules.
    Derivatives take a class apart that `tapegrad.register_pytree` knows.

    Parameters
    ----------
    value : object
        A value of the space.

    See Also
    --------
    vspace : The space of a value.

    Examples
    --------
    >>> space = vspace(np.ones(2))
    >>> space.add(space.ones(), space.zeros())
    array([1., 1.])
    """

    mappings: ClassVar[dict[type, Callable[[Any], VSpace]]] = {}
    iscomplex = False

    def __init__(self, value: Any) -> None:
        pass

    def zeros(self) -> Any:
        """The vector of zeros.

        Returns
        -------
        object
            The vector.
        """
        raise NotImplementedError(f"{type(self).__name__}.zeros")

    def ones(self) -> Any:
        """The vector of ones; of complex spaces of 1 + 1j.

        Returns
        -------
        object
            The vector.
        """
        raise NotImplementedError(f"{type(self).__name__}.ones")

    def standard_basis(self) -> Iterator[Any]:
        """The unit vectors, one after another; of complex spaces also i times each.

        Yields
        ------
        object
            A vector.
        """
        raise NotImplementedError(f"{type(self).__name__}.standard_basis")

    def randn(self) -> Any:
        """A vector of normally distributed numbers, from `numpy.random`.

        Returns
        -------
        object
            The vector.
        """
        raise NotImplementedError(f"{type(self).__name__}.randn")

    def add(self, x_prev: Any, x_new: Any) -> Any:
        """The sum of two vectors.

        Parameters
        ----------
        x_prev, x_new : object
            The vectors.

        Returns
        -------
        object
            The sum.
        """
        return self._add(x_prev, x_new)

    def mut_add(self, x_prev: Any, x_new: Any) -> Any:
        """The sum, which may be made in the memory of the first.

        Parameters
        ----------
        x_prev : object or None
            A vector; None stands for zeros.
        x_new : object
            Another.

        Returns
        -------
        object
            The sum.
        """
        return self._mut_add(self.zeros() if x_prev is None else x_prev, x_new)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """A vector times a number.

        Parameters
        ----------
        x : object
            The vector.
        a : scalar
            The number.

        Returns
        -------
        object
            The product.
        """
        return self._scalar_mul(x, a)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """The real inner product.

        Parameters
        ----------
        x, y : object
            The vectors.

        Returns
        -------
        scalar
            The product, a real number.
        """
        return self._inner_prod(x, y)

    def covector(self, x: Any) -> Any:
        """A vector as a cotangent, and back: complex ones are conjugated.

        Parameters
        ----------
        x : object
            The vector.

        Returns
        -------
        object
            The cotangent.
        """
        return self._covector(x)

    def _add(self, x: Any, y: Any) -> Any:
        return x + y

    def _mut_add(self, x: Any, y: Any) -> Any:
        x += y
        return x

    def _scalar_mul(self, x: Any, a: Any) -> Any:
        return x * a

    def _inner_prod(self, x: Any, y: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._inner_prod")

    def _covector(self, x: Any) -> Any:
        return x

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # as HIPS: spaces are compared, not collected

    def __repr__(self) -> str:
        return f"{type(self).__name__}_{vars(self)}"

    @classmethod
    def register(
        cls, value_type: type, vspace_maker: Callable[[Any], VSpace] | None = None
    ) -> None:
        """Use this class for values of a class.

        Parameters
        ----------
        value_type : type
            The class of the values.
        vspace_maker : callable, optional
            `vspace_maker(value)` returns the space, in place of this class.
        """
        VSpace.mappings[value_type] = vspace_maker or cls


class ArrayVSpace(VSpace):
    """The real arrays of one shape and dtype.

    Parameters
    ----------
    value : array_like
        An array or a number; integers count as float64.

    Attributes
    ----------
    shape : tuple of int
        The shape of the arrays.
    dtype : dtype
        Their dtype.

    Examples
    --------
    >>> ArrayVSpace(np.ones((2, 3))).size
    6
    """

    def __init__(self, value: Any) -> None:
        self.shape = np.shape(value)
        dtype = np.result_type(value)
        self.dtype = dtype if dtype.kind in "fc" else np.dtype(float)

    @property
    def size(self) -> int:
        """The dimension over the real numbers."""
        return int(np.prod(self.shape))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def zeros(self) -> Any:
        return np.zeros(self.shape, self.dtype)

    def ones(self) -> Any:
        return np.ones(self.shape, self.dtype)

    def standard_basis(self) -> Iterator[Any]:
        for index in np.ndindex(*self.shape):
            vector = np.zeros(self.shape, self.dtype)
            vector[index] = 1
            yield vector

    def randn(self) -> Any:
        return np.array(np.random.randn(*self.shape)).astype(self.dtype)  # noqa: NPY002 - seeds

    def _inner_prod(self, x: Any, y: Any) -> Any:
        return np.dot(np.ravel(x), np.ravel(y))


class ComplexArrayVSpace(ArrayVSpace):
    """The complex arrays of one shape and dtype, as a real space.

    Parameters
    ----------
    value : array_like
        An array or a number.

    Attributes
    ----------
    shape : tuple of int
        The shape of the arrays.
    dtype : dtype
        Their dtype.

    Examples
    --------
    >>> ComplexArrayVSpace(np.ones(3, complex)).size
    6
    """

    iscomplex = True

    @property
    def size(self) -> int:
        """The dimension over the real numbers."""
        return 2 * int(np.prod(self.shape))

    def ones(self) -> Any:
        return np.full(self.shape, 1 + 1j, self.dtype)

    def standard_basis(self) -> Iterator[Any]:
        for unit in super().standard_basis():
            yield unit
            yield 1j * unit

    def randn(self) -> Any:
        return super().randn() + 1j * super().randn()

    def _inner_prod(self, x: Any, y: Any) -> Any:
        return np.real(np.dot(np.conj(np.ravel(x)), np.ravel(y)))

    def _covector(self, x: Any) -> Any:
        return np.conj(x)


class ContainerVSpace(VSpace):
    """The product of the spaces of what a container holds.

    Parameters
    ----------
    value : pytree
        The container.

    Attributes
    ----------
    shape : pytree
        A container like it of spaces.

    Examples
    --------
    >>> ContainerVSpace((1.0, np.ones(2))).size
    3
    """

    def __init__(self, value: Any) -> None:
        leaves, self._structure = flatten(value)
        self.shape = unflatten(self._structure, [vspace(leaf) for leaf in leaves])

    @property
    def spaces(self) -> list[Any]:
        """The spaces of the leaves."""
        return flatten_like(self._structure, self.shape, "vspace")

    @property
    def size(self) -> int:
        """The dimension over the real numbers."""
        return sum(space.size for space in self.spaces)

    def _map(self, function: Callable[..., Any], *args: Any) -> Any:
        """A container of `function(space, *leaves)`."""
        leaves = [flatten_like(self._structure, arg, "vspace") for arg in args]
        return unflatten(self._structure, map(function, self.spaces, *leaves))

    def zeros(self) -> Any:
        return self._map(lambda space: space.zeros())

    def ones(self) -> Any:
        return self._map(lambda space: space.ones())

    def randn(self) -> Any:
        return self._map(lambda space: space.randn())

    def standard_basis(self) -> Iterator[Any]:
        for position, space in enumerate(self.spaces):
            for unit in space.standard_basis():
                leaves = [other.zeros() for other in self.spaces]
                leaves[position] = unit
                yield unflatten(self._structure, leaves)

    def _add(self, x: Any, y: Any) -> Any:
        return self._map(lambda space, a, b: space._add(a, b), x, y)

    def _mut_add(self, x: Any, y: Any) -> Any:
        return self._map(lambda space, a, b: space._mut_add(a, b), x, y)

    def _scalar_mul(self, x: Any, a: Any) -> Any:
        return self._map(lambda space, part: space._scalar_mul(part, a), x)

    def _inner_prod(self, x: Any, y: Any) -> Any:
        parts = [flatten_like(self._structure, tree, "vspace") for tree in (x, y)]
        products = map(lambda space, a, b: space._inner_prod(a, b), self.spaces, *parts)
        return sum(products)

    def _covector(self, x: Any) -> Any:
        return self._map(lambda space, part: space._covector(part), x)


class SequenceVSpace(ContainerVSpace):
    """The space of a list, a tuple or a namedtuple.

    Parameters
    ----------
    value : sequence
        The value.

    Attributes
    ----------
    seq_type : type
        The class of the values.

    Examples
    --------
    >>> isinstance(vspace([1.0]), SequenceVSpace)
    True
    """

    seq_type: type


class ListVSpace(SequenceVSpace):
    """The space of a list.

    Parameters
    ----------
    value : list
        The value.

    Examples
    --------
    >>> ListVSpace([1.0, np.ones(2)]).zeros()
    [array(0.), array([0., 0.])]
    """

    seq_type = list


class TupleVSpace(SequenceVSpace):
    """The space of a tuple.

    Parameters
    ----------
    value : tuple
        The value.

    Examples
    --------
    >>> TupleVSpace((1.0, np.ones(2))).zeros()
    (array(0.), array([0., 0.]))
    """

    seq_type = tuple


class NamedTupleVSpace(SequenceVSpace):
    """The space of a namedtuple.

    Parameters
    ----------
    value : tuple
        The value.

    Examples
    --------
    >>> isinstance(vspace(np.linalg.eigh(np.eye(2))), NamedTupleVSpace)
    True
    """


class DictVSpace(ContainerVSpace):
    """The space of a dict.

    Parameters
    ----------
    value : dict
        The value.

    Examples
    --------
    >>> DictVSpace({"a": np.ones(2)}).zeros()
    {'a': array([0., 0.])}
    """


class EigResultVSpace(NamedTupleVSpace):
    """The space of the results of np.linalg.eig.

    Parameters
    ----------
    value : tuple
        Such a result.

    Examples
    --------
    >>> vspace(np.linalg.eig(np.array([[0.0, 1.0], [-1.0, 0.0]]))).size
    12
    """


class EighResultVSpace(NamedTupleVSpace):
    """The space of the results of np.linalg.eigh.

    Parameters
    ----------
    value : tuple
        Such a result.

    Examples
    --------
    >>> vspace(np.linalg.eigh(np.eye(2))).size
    6
    """


class QRResultVSpace(NamedTupleVSpace):
    """The space of the results of np.linalg.qr.

    Parameters
    ----------
    value : tuple
        Such a result.

    Examples
    --------
    >>> vspace(np.linalg.qr(np.eye(2))).size
    8
    """


class SVDResultVSpace(NamedTupleVSpace):
    """The space of the results of np.linalg.svd.

    Parameters
    ----------
    value : tuple
        Such a result.

    Examples
    --------
    >>> vspace(np.linalg.svd(np.eye(2))).size
    10
    """


class SlogdetResultVSpace(NamedTupleVSpace):
    """The space of the results of np.linalg.slogdet.

    Parameters
    ----------
    value : tuple
        Such a result.

    Examples
    --------
    >>> vspace(np.linalg.slogdet(np.eye(2))).size
    2
    """


def _of_array(value: Any) -> VSpace:
    kind = ComplexArrayVSpace if np.result_type(value).kind == "c" else ArrayVSpace
    return kind(value)


VSpace.register(np.ndarray, _of_array)
for _char in "efdg":
    ArrayVSpace.register(np.dtype(_char).type)
for _char in "FDG":
    ComplexArrayVSpace.register(np.dtype(_char).type)
for _kind in (bool, int, float):
    ArrayVSpace.register(_kind)
ComplexArrayVSpace.register(complex)
ListVSpace.register(list)
TupleVSpace.register(tuple)
DictVSpace.register(dict)
for _space, _made in (
    (EigResultVSpace, np.linalg.eig(np.eye(1))),
    (EighResultVSpace, np.linalg.eigh(np.eye(1))),
    (QRResultVSpace, np.linalg.qr(np.eye(1))),
    (SVDResultVSpace, np.linalg.svd(np.eye(1))),
    (SlogdetResultVSpace, np.linalg.slogdet(np.eye(1))),
):
    _space.seq_type = type(_made)
    _space.register(type(_made))


def vspace(value: Any) -> Any:
    """The space of a number, an array, or a container of them.

    Parameters
    ----------
    value : pytree
        The value.

    Returns
    -------
    VSpace
        Its space.

    Raises
    ------
    TypeError
        For values of another class, unless `VSpace.register` knows it.

    Examples
    --------
    >>> vspace(np.ones((2, 3))).zeros()
    array([[0., 0., 0.],
           [0., 0., 0.]])
    """
    kind = type(value)
    found = VSpace.mappings.get(kind)
    if found is not None:
        return found(value)
    if isbox(value) and not hasattr(value, "dtype"):
        return vspace(getval(value))
    if is_array(value) and value.dtype.kind in "biufc":
        return _of_array(value)
    if flatten(value)[1] is not LEAF and value is not None:
        return ContainerVSpace(value)
    raise TypeError(
        f"vspace(value): expected numbers, arrays or containers of them, got {describe(value)}. "
        "Register a space with VSpace.register."
    )


class SparseObject:
    """A cotangent as the change that it makes.

    Parameters
    ----------
    vs : VSpace
        Its space.
    mut_add : callable
        `mut_add(vector)` adds it, in the vector's memory if it can, and returns the sum.

    Examples
    --------
    >>> def first(total):
    ...     total[0] += 5.0
    ...     return total
    >>> SparseObject(vspace(np.ones(2)), first).dense()
    array([5., 0.])
    """

    __slots__ = ("mut_add", "vs")

    def __init__(self, vs: Any, mut_add: Callable[[Any], Any]) -> None:
        self.vs, self.mut_add = vs, mut_add

    def dense(self) -> Any:
        """The same as a vector.

        Returns
        -------
        object
            The vector.
        """
        return self.mut_add(self.vs.zeros())


class SparseBox(Box):
    """The class of traced `SparseObject` in HIPS, which are no values of a trace here.

    Parameters
    ----------
    value : SparseObject
        The value inside.
    trace : int
        The number of the trace.
    node : Node
        The node of the value.

    Examples
    --------
    >>> isinstance(np.ones(2), SparseBox)
    False
    """

    __slots__ = ()
    _of_arrays = False


VSpace.register(SparseObject, lambda value: value.vs)
sparse_object_types = {SparseObject, SparseBox}


def sparse_add(vs: Any, x_prev: Any, x_new: Any) -> Any:
    """The sum of a vector and a `SparseObject`.

    Parameters
    ----------
    vs : VSpace
        Their space.
    x_prev : object or None
        The vector, which may be written into; None stands for zeros.
    x_new : SparseObject
        What is added.

    Returns
    -------
    object
        The sum.

    Examples
    --------
    >>> space = vspace(np.ones(2))
    >>> sparse_add(space, None, SparseObject(space, lambda total: total + 1.0))
    array([1., 1.])
    """
    return x_new.mut_add(vs.zeros() if x_prev is None else x_prev)


def add_outgrads(prev_g_flagged: Any, g: Any) -> tuple[Any, bool]:
    """The sum of a cotangent so far and one more.

    Parameters
    ----------
    prev_g_flagged : tuple or None
        `(vector, own)`, own being whether its memory may be written into; None stands for zeros.
    g : object
        The cotangent that is added, a vector or a `SparseObject`.

    Returns
    -------
    total : object
        The sum.
    own : bool
        Whether its memory may be written into.

    Examples
    --------
    >>> add_outgrads((1.0, False), 2.0)
    (3.0, True)
    """
    sparse = type(g) in sparse_object_types
    if not prev_g_flagged:
        return (g.dense(), True) if sparse else (g, False)
    space = vspace(g)
    before, own = prev_g_flagged
    if sparse:
        return sparse_add(space, before if own else space.add(space.zeros(), before), g), True
    return space.add(before, g), True


def sum_outgrads(gs: Iterable[Any]) -> Any:
    """The sum of cotangents.

    Parameters
    ----------
    gs : iterable
        Vectors and `SparseObject`.

    Returns
    -------
    object
        The sum; None of no cotangents.

    Examples
    --------
    >>> sum_outgrads([1.0, 2.0, 3.0])
    6.0
    """
    total: Any = None
    for g in gs:
        total = add_outgrads(total, g)
    return None if total is None else total[0]


__all__ = [
    "ArrayVSpace",
    "ComplexArrayVSpace",
    "ContainerVSpace",
    "DictVSpace",
    "EigResultVSpace",
    "EighResultVSpace",
    "ListVSpace",
    "NamedTupleVSpace",
    "QRResultVSpace",
    "SVDResultVSpace",
    "SequenceVSpace",
    "SlogdetResultVSpace",
    "SparseBox",
    "SparseObject",
    "TupleVSpace",
    "VSpace",
    "add_outgrads",
    "sparse_add",
    "sparse_object_types",
    "sum_outgrads",
    "vspace",
]
