"""`torch.distributions.utils`: what classes of distributions are written with.

Knows tensors. Must not know distributions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar, overload

from tapegrad.torch import _dtypes
from tapegrad.torch._absent import FINDER
from tapegrad.torch._docstrings.sections import complete
from tapegrad.torch._graph.modes import enable_grad
from tapegrad.torch._ops.declare import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor

R = TypeVar("R")
__getattr__ = partial(FINDER.attribute, "distributions.utils")


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape; numbers have the dtype of the first tensor.

    *values (number or Tensor): The numbers and tensors.
    -> tuple of Tensors: Views of one shape.
    ValueError: For anything else.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.distributions.utils import broadcast_all
    >>> broadcast_all(1.0, torch.zeros(2))
    (tensor([1., 1.]), tensor([0., 0.]))
    """
    if not all(isinstance(value, (Tensor, int, float, complex)) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects "
            "implementing __torch_function__."
        )
    given = next((value.dtype for value in values if isinstance(value, Tensor)), None)
    kind = _dtypes.get_default_dtype() if given is None else given
    make = OPERATIONS["tensor"]
    tensors = [v if isinstance(v, Tensor) else make(v, dtype=kind) for v in values]
    made: tuple[Tensor, ...] = tuple(OPERATIONS["broadcast_tensors"](*tensors))
    return made


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities moved into the range from eps to 1 - eps, for logarithms of both.

    probs: The probabilities.
    -> Tensor: The clamped ones.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.distributions.utils import clamp_probs
    >>> clamp_probs(torch.tensor([0.0, 0.5]))
    tensor([1.1921e-07, 5.0000e-01])
    """
    eps = _dtypes.finfo(probs.dtype).eps
    made: Tensor = probs.clamp(min=eps, max=1 - eps)
    return made


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Logarithms of probabilities along the last dimension; of odds if each is one of a pair.

    probs: The probabilities.
    is_binary: Whether each element is the probability of one of two outcomes.
    -> Tensor: The logits.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.distributions.utils import probs_to_logits
    >>> probs_to_logits(torch.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    within: Any = clamp_probs(probs)
    made: Tensor = within.log() - (-within).log1p() if is_binary else within.log()
    return made


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of logits along the last dimension; of log odds if each is one of a pair.

    logits: The logits.
    is_binary: Whether each element is the logarithm of the odds of one of two outcomes.
    -> Tensor: The probabilities.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.distributions.utils import logits_to_probs
    >>> logits_to_probs(torch.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """
    given: Any = logits
    made: Tensor = given.sigmoid() if is_binary else given.softmax(-1)
    return made


class lazy_property(Generic[R]):
    """A method as an attribute that is computed when it is first asked for, and then kept.

    wrapped (callable): The method.

    >>> from tapegrad.torch.distributions.utils import lazy_property
    >>> class Family:
    ...     @lazy_property
    ...     def scale(self):
    ...         print("computed")
    ...         return 2.0
    >>> family = Family()
    >>> family.scale + family.scale
    computed
    4.0
    """

    def __init__(self, wrapped: Callable[[Any], R]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    @overload
    def __get__(self, instance: None, obj_type: Any = None) -> lazy_property[R]: ...
    @overload
    def __get__(self, instance: object, obj_type: Any = None) -> R: ...
    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangles of matrices (..., n, n) as vectors, row by row.

    mat: The matrices.
    diag: The last diagonal that is meant, above the main one if positive.
    -> Tensor: The vectors.
    ValueError: For a diagonal outside of the matrices.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.distributions.utils import tril_matrix_to_vec
    >>> tril_matrix_to_vec(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 3, 4])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = OPERATIONS["tril_indices"](n, n, diag)
    made: Tensor = mat[..., rows, columns]
    return made


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Matrices (..., n, n) whose lower triangles are given row by row; zeros above.

    vec: The vectors.
    diag: The last diagonal that is meant, above the main one if positive.
    -> Tensor: The matrices.
    ValueError: If no matrix has so many elements there.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.distributions.utils import vec_to_tril_matrix
    >>> vec_to_tril_matrix(torch.tensor([1, 3, 4]))
    tensor([[1, 0],
            [3, 4]])
    """
    count, n = vec.shape[-1], 0
    while _count(n, diag) < count:
        n += 1
    if _count(n, diag) != count:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower "
            "triangular part of a square D x D matrix."
        )
    made: Tensor = OPERATIONS["zeros"](*vec.shape[:-1], n, n, dtype=vec.dtype)
    rows, columns = OPERATIONS["tril_indices"](n, n, diag)
    made[..., rows, columns] = vec
    return made


def _count(n: int, diag: int) -> int:
    """How many elements lie on and below a diagonal of an n x n matrix."""
    return sum(min(max(row + 1 + diag, 0), n) for row in range(n))


__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

complete(late=__name__)
