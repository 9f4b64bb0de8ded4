"""Values of a trace with nodes of a program's own: what `tracer.trace` gives to a function.

Derivatives do not need these: the values of a transform are `tapegrad.Array`. A program that
defines a class of nodes (to print, draw or replay a computation) sees each call as one node.
Knows NumPy's protocols, and which of two transforms is the inner one. Must not know derivatives.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from tapegrad._block import contextmanager
from tapegrad._core.tape import next_level
from tapegrad._core.values import Traced, level_of
from tapegrad._errors import NotDifferentiableError
from tapegrad._tree import LEAF, flatten, unflatten
from tapegrad._tree import register as register_pytree
from tapegrad._warning import warn
from tapegrad.autograd._likeness import BoxesByType, ShowsTraced
from tapegrad.autograd._nodes import subvals

INDEPENDENT = "Output seems independent of input."


class Node:
    """A call in a trace: a subclass says in `__init__` what it keeps of the call.

    Parameters
    ----------
    value : object
        The result.
    fun : callable
        What was called.
    args : tuple
        Its arguments, with values of no trace (of this one).
    kwargs : dict
        Its keywords.
    parent_argnums : tuple of int
        The positions of the traced arguments.
    parents : tuple of Node
        The nodes of the traced arguments.

    See Also
    --------
    trace : Run a function with nodes of a class.

    Examples
    --------
    >>> class Named(Node):
    ...     __slots__ = ("name",)
    ...
    ...     def __init__(self, value, fun, args, kwargs, parent_argnums, parents):
    ...         self.name = fun.__name__
    ...
    ...     def initialize_root(self):
    ...         self.name = "input"
    >>> value, node = trace(Named.new_root(), np.sin, 0.0)
    >>> node.name
    'sin'
    """

    __slots__: tuple[str, ...] | list[str] = ()

    def __init__(
        self,
        value: Any,
        fun: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        parent_argnums: tuple[int, ...],
        parents: tuple[Any, ...],
    ) -> None:
        raise NotImplementedError(f"{type(self).__name__}.__init__")

    def initialize_root(self, *args: Any, **kwargs: Any) -> None:
        """Set up the node of the input.

        Parameters
        ----------
        *args : object
            The arguments of `new_root`.
        **kwargs : object
            Its keywords.
        """
        raise NotImplementedError(f"{type(self).__name__}.initialize_root")

    @classmethod
    def new_root(cls, *args: Any, **kwargs: Any) -> Any:
        """Make the node of the input of a trace.

        Parameters
        ----------
        *args : object
            What `initialize_root` gets.
        **kwargs : object
            Its keywords.

        Returns
        -------
        Node
            The node.
        """
        root = cls.__new__(cls)
        root.initialize_root(*args, **kwargs)
        return root


class Box(metaclass=ShowsTraced):
    """A value in a trace: `isinstance(x, Box)` tells that a value is traced.

    Parameters
    ----------
    value : object
        The value inside, itself a box where traces are nested.
    trace : int
        The number of the trace.
    node : Node
        The node of the value.

    See Also
    --------
    getval : The plain value.

    Examples
    --------
    >>> from tapegrad.autograd import grad
    >>> seen = []
    >>> def f(x):
    ...     seen.append(isinstance(x, Box))
    ...     return x
    >>> grad(f)(1.0), seen
    (np.float64(1.0), [True])
    """

    __slots__ = ("_node", "_trace", "_value")

    _of_arrays = True
    type_mappings: ClassVar[dict[type, Any]] = BoxesByType()
    types: ClassVar[set[type]] = set()

    def __init__(self, value: Any, trace: int, node: Any) -> None:
        self._value, self._trace, self._node = value, trace, node

    def __bool__(self) -> bool:
        return bool(self._value)

    __nonzero__ = __bool__

    def __str__(self) -> str:
        return f"Autograd {type(self).__name__} with value {self._value}"

    @classmethod
    def register(cls, value_type: type) -> None:
        """Box values of a class with this class of boxes, in traces with nodes.

        Derivatives take containers that `tapegrad.register_pytree` knows. A box of sequences or
        dicts registers its class there too.

        Parameters
        ----------
        value_type : type
            The class of the values.
        """
        Box.types.add(cls)
        Box.type_mappings[value_type] = Box.type_mappings[cls] = cls


def _call(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call with boxes among its arguments, as a node of the innermost of their traces."""
    leaves, structure = flatten((args, kwargs))
    trace = max(leaf._trace for leaf in leaves if issubclass(type(leaf), Box))
    at_top = [issubclass(type(arg), Box) and arg._trace == trace for arg in args]
    if sum(at_top) < sum(issubclass(type(x), Box) and x._trace == trace for x in leaves):

        def spread(*leaves: Any) -> Any:
            given, named = unflatten(structure, leaves)
            return fun(*given, **named)

        spread.__name__ = getattr(fun, "__name__", "call")
        return _call(spread, tuple(leaves), {})
    positions = tuple(i for i, is_box in enumerate(at_top) if is_box)
    boxes = [args[i] for i in positions]
    values = subvals(args, ((i, args[i]._value) for i in positions))
    if fun in notrace_primitives[type(boxes[0]._node)]:
        return fun(*values, **kwargs)
    result = fun(*values, **kwargs)
    parents = tuple(box._node for box in boxes)
    node = type(boxes[0]._node)(result, fun, values, kwargs, positions, parents)
    return new_box(result, trace, node)


class _NodesByType(dict[type, set[Any]]):
    def __missing__(self, kind: type) -> set[Any]:
        return self.setdefault(kind, set())


notrace_primitives: dict[type, set[Any]] = _NodesByType()


def call_boxed(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call of a primitive with boxes among its arguments; NotImplemented without any.

    NotImplemented too where a value of a transform inside the trace is among them.
    """
    leaves = flatten((args, kwargs))[0]
    level = max((x._trace for x in leaves if issubclass(type(x), Box)), default=-1)
    if level < 0 or max(map(level_of, leaves)) > level:
        return NotImplemented
    return _call(fun, args, kwargs)


def _item(value: Any, index: Any) -> Any:
    return value[index]


_item.__name__ = "getitem"


class ArrayBox(Box, np.lib.mixins.NDArrayOperatorsMixin):  # type: ignore[metaclass]  # none there
    """The class that `isinstance(x, ArrayBox)` asks for: of arrays in a trace.

    Parameters
    ----------
    value : ndarray or scalar
        The value inside, itself a box where traces are nested.
    trace : int
        The number of the trace.
    node : Node
        The node of the value.

    Examples
    --------
    >>> from tapegrad.autograd import grad
    >>> seen = []
    >>> def f(x):
    ...     seen.append(isinstance(x, ArrayBox))
    ...     return np.sum(x)
    >>> grad(f)(np.ones(2)), seen
    (array([1., 1.]), [True])
    """

    __slots__ = ()
    _of_arrays = True
    __array_priority__ = 100.0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        fun = ufunc if method == "__call__" else getattr(ufunc, method)
        return call_boxed(fun, inputs, kwargs)

    def __array_function__(self, fun: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if fun in _OF_SHAPES:
            return fun(*map(getval, args), **kwargs)
        return call_boxed(fun, args, kwargs)

    def __getitem__(self, index: Any) -> Any:
        return _call(_item, (self, index), {})

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return np.shape(self._value)

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return np.ndim(self._value)

    @property
    def size(self) -> int:
        """The number of its elements."""
        return np.size(self._value)

    @property
    def dtype(self) -> Any:
        """Its dtype."""
        return np.result_type(self._value)

    @property
    def T(self) -> Any:
        """The transpose, traced."""
        return _call(np.transpose, (self,), {})

    @property
    def real(self) -> Any:
        """The real part, traced."""
        return np.real(self)

    @property
    def imag(self) -> Any:
        """The imaginary part, traced."""
        return np.imag(self)

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __int__(self) -> int:
        return int(self._value)

    def __hash__(self) -> int:
        return id(self)

    def __float__(self) -> float:
        raise NotDifferentiableError(
            "float(x): expected a plain number, got one in a trace. Use x._value for a constant."
        )

    def astype(self, dtype: Any, **options: Any) -> Any:
        """As `numpy.ndarray.astype`.

        Parameters
        ----------
        dtype : dtype
            The dtype of the result.
        **options : object
            What else the method takes.

        Returns
        -------
        ArrayBox
            The result, traced.
        """
        return _call(_astype, (self, dtype), options)

    def reshape(self, *shape: Any, **options: Any) -> Any:
        """As `numpy.ndarray.reshape`.

        Parameters
        ----------
        *shape : int or tuple of int
            The shape.
        **options : object
            What else the method takes.

        Returns
        -------
        ArrayBox
            The result, traced.
        """
        return _call(np.reshape, (self, shape[0] if len(shape) == 1 else shape), options)

    def transpose(self, *axes: Any) -> Any:
        """As `numpy.ndarray.transpose`.

        Parameters
        ----------
        *axes : int or tuple of int
            The order of the axes.

        Returns
        -------
        ArrayBox
            The result, traced.
        """
        given = () if not axes else (axes[0],) if len(axes) == 1 else (axes,)
        return _call(np.transpose, (self, *given), {})

    def flatten(self, order: Any = "C") -> Any:
        """As `numpy.ndarray.flatten`.

        Parameters
        ----------
        order : str, default "C"
            The order of the elements.

        Returns
        -------
        ArrayBox
            The result, traced.
        """
        return _call(np.ravel, (self, order), {})


def _astype(value: Any, dtype: Any, **options: Any) -> Any:
    return value.astype(dtype, **options)


# The docstring of a method that `_method` makes.
_WORDS = """As `numpy.ndarray.{name}`.

Parameters
----------
*args : object
    The arguments of the method.
**kwargs : object
    Its keywords.

Returns
-------
Box
    The result, traced.
"""


def _method(name: str) -> Any:
    function = getattr(np, name)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    call.__name__, call.__doc__ = name, _WORDS.format(name=name)
    return call


# Functions that ask for no element, and are no calls of the trace.
_OF_SHAPES = {np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj, np.result_type}

METHODS = """
    all any argmax argmin argpartition argsort clip compress conj copy cumprod cumsum diagonal dot
    max mean min nonzero prod ptp ravel repeat round searchsorted squeeze std sum swapaxes take
    trace var
    """.split()
for _name in METHODS:
    type.__setattr__(ArrayBox, _name, _method(_name))  # traced arrays have their own


class SequenceBox(Box):
    """A tuple or list in a trace with nodes. Derivatives trace what is in the containers.

    Parameters
    ----------
    value : tuple or list
        The value inside.
    trace : int
        The number of the trace.
    node : Node
        The node of the value.

    Examples
    --------
    >>> from tapegrad.autograd.misc.tracers import full_graph
    >>> float(full_graph(lambda pair: pair[0] * pair[1], (2.0, 3.0)).value)
    6.0
    """

    __slots__ = ()
    _of_arrays = False

    def __getitem__(self, index: Any) -> Any:
        return _call(_item, (self, index), {})

    def __getattr__(self, name: str) -> Any:
        fields = getattr(self._value, "_fields", ())
        if name not in fields:
            raise AttributeError(f"{type(self._value).__name__!r} has no attribute {name!r}")
        return self[fields.index(name)]

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    @classmethod
    def register(cls, value_type: type) -> None:
        """Box values of a class, and take them apart in derivatives.

        Parameters
        ----------
        value_type : type
            The class of the values; it is called with their items.
        """
        super().register(value_type)
        _register_container(
            value_type, lambda x: (list(x), None), lambda _, children: value_type(children)
        )


class DictBox(Box):
    """A dict in a trace with nodes. Derivatives trace what is in the containers.

    Parameters
    ----------
    value : dict
        The value inside.
    trace : int
        The number of the trace.
    node : Node
        The node of the value.

    Examples
    --------
    >>> from tapegrad.autograd.misc.tracers import full_graph
    >>> float(full_graph(lambda p: p["a"] * 2.0, {"a": 3.0}).value)
    6.0
    """

    __slots__ = ()
    _of_arrays = False

    def __getitem__(self, key: Any) -> Any:
        return _call(_item, (self, key), {})

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._value)

    def __contains__(self, key: Any) -> bool:
        return key in self._value

    def keys(self) -> Any:
        """The keys, which are not traced.

        Returns
        -------
        dict_keys
            The keys.
        """
        return self._value.keys()

    def values(self) -> list[Any]:
        """The values, traced.

        Returns
        -------
        list
            The values.
        """
        return [self[key] for key in self]

    def items(self) -> list[tuple[Any, Any]]:
        """The keys with their traced values.

        Returns
        -------
        list of tuple
            Pairs `(key, value)`.
        """
        return [(key, self[key]) for key in self]

    def get(self, key: Any, default: Any = None) -> Any:
        """The traced value of a key, or a default.

        Parameters
        ----------
        key : object
            The key.
        default : object, optional
            What to return without it.

        Returns
        -------
        object
            The value.
        """
        return self[key] if key in self else default  # noqa: SIM401 - it is self[key]

    @classmethod
    def register(cls, value_type: type) -> None:
        """Box values of a class, and take them apart in derivatives.

        Parameters
        ----------
        value_type : type
            The class of the values; it is called with pairs of keys and values.
        """
        super().register(value_type)
        _register_container(
            value_type,
            lambda x: (list(x.values()), tuple(x)),
            lambda keys, children: value_type(zip(keys, children, strict=True)),
        )


def _register_container(kind: type, take_apart: Any, put_together: Any) -> None:
    """Make a class of sequences or dicts a container of derivatives, unless it is one."""
    if hasattr(kind, "_fields"):
        return  # namedtuples are known at sight
    made: Any = kind
    if flatten(made.__new__(made))[1] is LEAF:
        register_pytree(kind, take_apart, put_together)


_NUMBERS = [np.dtype(char).type for char in np.typecodes["All"] if np.dtype(char).kind in "biufc"]
for _kind in (np.ndarray, bool, int, float, complex, *_NUMBERS):
    ArrayBox.register(_kind)
SequenceBox.register(tuple)
SequenceBox.register(list)
DictBox.register(dict)


def new_box(value: Any, trace: int, node: Any) -> Any:
    """A value in a trace, at a node.

    Parameters
    ----------
    value : object
        The value.
    trace : int
        The number of the trace.
    node : Node
        The node.

    Returns
    -------
    Box
        The boxed value.

    Raises
    ------
    TypeError
        If no box is registered for the class of the value.

    Examples
    --------
    >>> isinstance(new_box(1.0, 0, None), ArrayBox)
    True
    """
    kind = type(value)
    found = Box.type_mappings.get(kind)
    if found is None and issubclass(kind, tuple):
        found = SequenceBox
    if found is None:
        raise TypeError(f"Can't trace a value of type {kind.__name__}: no box is registered")
    return found(value, trace, node)


def has_own_box(leaf: Any) -> bool:
    """Whether a program has registered a box for the class of a value, which is no container."""
    found: Any = Box.type_mappings.get(type(leaf))
    if found is None or issubclass(type(leaf), np.ndarray):
        return False
    return not (isinstance(found, type) and issubclass(found, (ArrayBox, SequenceBox, DictBox)))


def base_array(leaf: Any) -> Any:
    """A value of a subclass of ndarray that has a box of arrays, as the array that it is.

    What is registered for the class may be a function, which may refuse the value.
    """
    kind = type(leaf)
    if kind is np.ndarray or not issubclass(kind, np.ndarray) or kind not in Box.type_mappings:
        return leaf
    Box.type_mappings[kind](leaf, -1, None)
    return leaf.view(np.ndarray)


def isbox(x: Any) -> bool:
    """Whether a value is traced, by a derivative or by a trace with nodes.

    Parameters
    ----------
    x : object
        Any value.

    Returns
    -------
    bool
        The answer.

    Examples
    --------
    >>> isbox(1.0)
    False
    """
    return issubclass(type(x), (Traced, Box))


def getval(x: Any) -> Any:
    """The plain value inside all traces.

    Parameters
    ----------
    x : object
        Any value.

    Returns
    -------
    object
        The value inside; x itself if it is not traced.

    Examples
    --------
    >>> getval(1.0)
    1.0
    """
    while issubclass(type(x), (Traced, Box)):
        x = x._value
    return x


def holds_box(value: Any) -> bool:
    """Whether a value is in a trace with nodes, or a container with such parts."""
    return any(issubclass(type(leaf), Box) for leaf in flatten(value)[0])


class TraceStack:
    """Where a program that traces by hand gets a new trace, inside all that are open.

    Examples
    --------
    >>> with trace_stack.new_trace() as outer, trace_stack.new_trace() as inner:
    ...     outer < inner
    True
    """

    @contextmanager
    def new_trace(self) -> Iterator[int]:
        """A context with a new trace.

        Yields
        ------
        int
            The number of the trace, for `new_box`.
        """
        yield next_level()


trace_stack = TraceStack()


def trace(start_node: Any, fun: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """Run a function with a node for each of its calls.

    Each call of a function of NumPy, or of a primitive, on a traced value is a node of the class
    of `start_node`.

    Parameters
    ----------
    start_node : Node
        The node of the input.
    fun : callable
        A function of one argument.
    x : object
        The argument.

    Returns
    -------
    value : object
        What the function returned, plain.
    node : Node or None
        Its node; None if it does not depend on x.

    Raises
    ------
    NotDifferentiableError
        If the function closes over a value of a derivative outside of the trace.

    Warns
    -----
    UserWarning
        If the value does not depend on x.

    Examples
    --------
    >>> from tapegrad.autograd.misc.tracers import FullGraphNode
    >>> value, node = trace(FullGraphNode.new_root(), lambda x: np.exp(x), 0.0)
    >>> float(value), node.recipe[0].__name__
    (1.0, 'exp')
    """
    level = next_level()
    end = fun(new_box(x, level, start_node))
    if builtins.isinstance(end, (tuple, list, dict)) and holds_box(end):
        leaves, structure = flatten(end)
        end = _call(lambda *parts: unflatten(structure, parts), tuple(leaves), {})
    if issubclass(type(end), Box) and end._trace == level:
        return end._value, end._node
    inside = getval(end)
    if inside is not end and holds_box(getattr(end, "_value", None)):
        raise NotDifferentiableError(
            "trace: the function closes over a value of a derivative outside of the trace. Pass "
            "that value as an argument."
        )
    warn(INDEPENDENT)
    return end, None


__all__ = [
    "INDEPENDENT",
    "ArrayBox",
    "Box",
    "DictBox",
    "Node",
    "SequenceBox",
    "TraceStack",
    "base_array",
    "call_boxed",
    "getval",
    "has_own_box",
    "holds_box",
    "isbox",
    "new_box",
    "notrace_primitives",
    "trace",
    "trace_stack",
]
