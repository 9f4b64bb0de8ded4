"""`torch.utils`: loading data, segments of a model that are computed anew, swapped tensors.

Knows which modules there are, and the places in which a tensor keeps what it is.
"""

from __future__ import annotations

from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.utils import _pytree as _pytree  # `torch.utils._pytree` needs no import
from tapegrad.torch.utils import checkpoint, data


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange what two tensors are: class, elements, node, gradient, hooks and attributes.

    Names of either tensor, as attributes of modules, then stand for the other's content.

    t1: One tensor.
    t2: The other one.
    RuntimeError: If a graph or a view refers to one of them.

    >>> x, y = torch.zeros(2), torch.ones(3)
    >>> torch.utils.swap_tensors(x, y)
    >>> x, y
    (tensor([1., 1., 1.]), tensor([0., 0.]))
    """
    for word, tensor in (("t1", t1), ("t2", t2)):
        graph = tensor._accumulator is not None and tensor._accumulator() is not None
        views = any(view() is not None for view in tensor._views or ())
        if graph or views or tensor._base is not None:
            what = "the graph" if graph else "a view"
            raise RuntimeError(f"Cannot swap {word} because {what} refers to it")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    t1._value, t2._value = t2._value, t1._value
    t1.node, t2.node = t2.node, t1.node


__all__ = ["checkpoint", "data", "swap_tensors"]
__dir__ = __all__.copy
