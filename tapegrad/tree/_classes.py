"""Classes as containers: registration by functions, by methods, or by the names of attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tapegrad._errors import InputError, message
from tapegrad._tree import register


def register_class(
    kind: type | None = None,
    *,
    children: Sequence[str] | None = None,
    static: Sequence[str] = (),
) -> Any:
    """Make a class a container, as a decorator.

    Without `children` the class says how it comes apart by `tree_flatten(self) -> (children, aux)`
    and a class method `tree_unflatten(aux, children)`. Dataclasses and namedtuples need neither.

    Parameters
    ----------
    kind : type, optional
        The class. Without it, a decorator is returned.
    children : sequence of str, optional
        The attributes that hold subtrees.
    static : sequence of str, optional
        The attributes that are carried along, which must support `==`; read only with `children`.

    Returns
    -------
    type or callable
        The class, or the decorator. Registered by attributes, it is made again
        without its `__init__`.

    Raises
    ------
    InputError
        If the class has neither `children` nor the two methods, or is registered already.

    See Also
    --------
    register : The same by two functions.

    Examples
    --------
    >>> @register_class(children=["weight"], static=["name"])
    ... class Layer:
    ...     def __init__(self, weight, name):
    ...         self.weight, self.name = weight, name
    >>> from tapegrad import tree
    >>> tree.map(lambda x: 2 * x, Layer(1.5, "first")).weight
    3.0
    """
    if kind is None:
        return lambda kind: register_class(kind, children=children, static=static)
    if children is not None:
        register(kind, *_by_names(kind, tuple(children), tuple(static)))
        return kind
    if not (hasattr(kind, "tree_flatten") and hasattr(kind, "tree_unflatten")):
        raise InputError(
            message(
                "tree.register_class",
                "names of attributes, or methods tree_flatten and tree_unflatten",
                f"{kind.__name__} without them",
                'Write @tree.register_class(children=["w"], static=["name"])',
            )
        )
    register(kind, lambda x: x.tree_flatten(), kind.tree_unflatten)
    return kind


def _by_names(
    kind: type, children: tuple[str, ...], static: tuple[str, ...]
) -> tuple[Callable[[Any], Any], Callable[[Any, Iterable[Any]], Any]]:
    def flatten(x: Any) -> tuple[list[Any], tuple[Any, ...]]:
        return [getattr(x, name) for name in children], tuple(getattr(x, n) for n in static)

    def unflatten(aux: Any, parts: Iterable[Any]) -> Any:
        # Not __init__: it may convert, check or refuse what stands in for a leaf.
        made: Any = object.__new__(kind)
        for name, part in zip((*children, *static), (*parts, *aux), strict=True):
            object.__setattr__(made, name, part)
        return made

    return flatten, unflatten


__all__ = ["register", "register_class"]
