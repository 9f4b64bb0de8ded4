"""The class `torch.Tensor`.

Written by docs/torch_stubs.py from what is there at run time: change that, not this.
"""

from builtins import bool as _bool, bytes as _bytes, complex as _complex, float as _float
from builtins import int as _int, str as _str, type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, Literal, NamedTuple, NoReturn, Self, TypeAlias, overload
import os

import numpy as np

from tapegrad.torch import return_types
from tapegrad.torch._dtypes import Size
from tapegrad.torch._dtypes import device as _device, dtype as _dtype
from tapegrad.torch._ops.create.generator import Generator
from tapegrad.torch._graph.hooks import Handle
from tapegrad.torch._graph.node import Node

# A number of Python, what stands for a tensor beside one, and integers one a dimension.
_Number: TypeAlias = _int | _float | _bool | _complex
_Operand: TypeAlias = Tensor | _Number | np.ndarray[Any, Any] | np.generic
_Sizes: TypeAlias = _int | Sequence[_int]
_Device: TypeAlias = _device | _str | _int


# Names that other modules of the package use.
LEAF: Any
ndarray: Any
require_floating: Any
of_value: Any
_with_memory: Any
of_array: Any
array_of: Any
_leave_transforms: Any
_is_open: Any
array_below: Any
_array_of_dual: Any
tangent_on_graph: Any
THIRD: Any
settled: Any
plain_of: Any
node_of: Any
node_at: Any
retain_at: Any
accumulator_of: Any
require_current: Any
_plain_word: Any

class Tensor:
    """A multi-dimensional array that can be differentiated: `torch.Tensor`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix."""
    @property
    def T(self) -> Tensor:
        """The dimensions in reverse order: the transpose of a matrix."""
    def __abs__(self) -> Tensor:
        """The absolute value."""
    def __add__(self, other: _Operand) -> Tensor: ...
    def __and__(self, other: _Operand) -> Tensor: ...
    def __array__(
        self, dtype: _dtype | None = None, copy: _bool | None = None
    ) -> np.ndarray[Any, Any]:
        """NumPy's hook for `np.asarray(tensor)`."""
    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's hook for its other functions."""
    __array_priority__: _int
    def __array_ufunc__(
        self, ufunc: np.ufunc, method: _str, *inputs: Tensor | Sequence[Tensor], **kwargs: Any
    ) -> Any:
        """NumPy's hook for ufuncs and their methods."""
    def __bool__(self) -> _bool: ...
    def __complex__(self) -> _complex: ...
    def __contains__(self, element: object) -> _bool: ...
    def __copy__(self) -> Tensor:
        """Another tensor over the same memory: a leaf, as PyTorch makes it."""
    def __deepcopy__(self, memo: dict[_int, Any]) -> Tensor: ...
    def __delitem__(self, index: Any) -> None:
        """TypeError: a tensor keeps its elements."""
    def __dlpack__(self, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __eq__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __float__(self) -> _float: ...
    def __floordiv__(self, other: _Operand) -> Tensor: ...
    def __ge__(self, other: _Operand) -> Tensor: ...
    def __getitem__(self, index: Any) -> Tensor:
        """`x[index]`: a view for integers, slices, None and Ellipsis; a copy for tensors and lists."""
    def __gt__(self, other: _Operand) -> Tensor: ...
    def __hash__(self) -> _int:
        """Return hash(self)."""
    def __iadd__(self, other: _Operand) -> Tensor: ...
    def __iand__(self, other: _Operand) -> Tensor: ...
    def __ifloordiv__(self, other: _Operand) -> Tensor: ...
    def __ilshift__(self, other: _Operand) -> Tensor: ...
    def __imod__(self, other: _Operand) -> Tensor: ...
    def __imul__(self, other: _Operand) -> Tensor: ...
    def __index__(self) -> _int: ...
    def __int__(self) -> _int: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: _Operand) -> Tensor: ...
    def __ipow__(self, other: _Operand) -> Tensor: ...
    def __irshift__(self, other: _Operand) -> Tensor: ...
    def __isub__(self, other: _Operand) -> Tensor: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __itruediv__(self, other: _Operand) -> Tensor: ...
    def __ixor__(self, other: _Operand) -> Tensor: ...
    def __le__(self, other: _Operand) -> Tensor: ...
    def __len__(self) -> _int: ...
    def __lshift__(self, other: _Operand) -> Tensor: ...
    def __lt__(self, other: _Operand) -> Tensor: ...
    def __matmul__(self, other: _Operand) -> Tensor: ...
    def __mod__(self, other: _Operand) -> Tensor: ...
    def __mul__(self, other: _Operand) -> Tensor: ...
    def __ne__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor:
        """`-input`."""
    def __or__(self, other: _Operand) -> Tensor: ...
    def __pos__(self) -> Tensor:
        """The tensor itself; RuntimeError for booleans."""
    def __pow__(self, other: _Operand) -> Tensor: ...
    def __radd__(self, other: _Operand) -> Tensor: ...
    def __rand__(self, other: _Operand) -> Tensor: ...
    def __reversed__(self) -> Tensor: ...
    def __rfloordiv__(self, other: _Operand) -> Tensor: ...
    def __rlshift__(self, other: _Operand) -> Tensor: ...
    def __rmod__(self, other: _Operand) -> Tensor: ...
    def __rmul__(self, other: _Operand) -> Tensor: ...
    def __ror__(self, other: _Operand) -> Tensor: ...
    def __rpow__(self, other: _Operand) -> Tensor: ...
    def __rrshift__(self, other: _Operand) -> Tensor: ...
    def __rshift__(self, other: _Operand) -> Tensor: ...
    def __rsub__(self, other: _Operand) -> Tensor: ...
    def __rtruediv__(self, other: _Operand) -> Tensor: ...
    def __rxor__(self, other: _Operand) -> Tensor: ...
    def __setitem__(self, index: Any, value: _Operand) -> None:
        """`x[index] = value`: written into this tensor's memory, and logged."""
    def __sub__(self, other: _Operand) -> Tensor: ...
    def __truediv__(self, other: _Operand) -> Tensor: ...
    def __xor__(self, other: _Operand) -> Tensor: ...
    _accumulator: Any
    _accumulator_is: Any
    _after: Any
    _attr_version: Any
    _base: Tensor | None
    _creation_meta: Any
    _dual: Any
    _entered: Any
    _grad: Any
    _hooked_node: Any
    _hooks: Any
    _implied: Any
    _inference: Any
    _is_argument: Any
    _is_hooked: Any
    def _is_view(self) -> _bool: ...
    _make_subclass: Any
    _maker: Any
    _memory: Any
    _of_call: Any
    _primal: Any
    _retains: Any
    _tangent: Any
    _value: Any
    @property
    def _version(self) -> _int: ...
    _version_of: Any
    _view_fn: Any
    _views: Any
    def abs(self) -> Tensor:
        """The absolute value."""
    def abs_(self) -> Tensor:
        """`abs`, written into this tensor's own memory."""
    def absolute(self) -> Tensor:
        """The absolute value."""
    def absolute_(self) -> Tensor:
        """`abs`, written into this tensor's own memory."""
    def acos(self) -> Tensor:
        """The angle in radians whose cosine is the element."""
    def acos_(self) -> Tensor:
        """`acos`, written into this tensor's own memory."""
    def acosh(self) -> Tensor:
        """The inverse hyperbolic cosine of each element."""
    def acosh_(self) -> Tensor:
        """`acosh`, written into this tensor's own memory."""
    def add(self, other: _Operand, *, alpha: _Number = 1) -> Tensor:
        """`input + alpha * other`."""
    def add_(self, other: _Operand, *, alpha: _Number = 1) -> Tensor:
        """`add`, written into this tensor's own memory."""
    def addbmm(
        self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
    ) -> Tensor:
        """`beta * input + alpha *` the sum of the products of two stacks of matrices."""
    def addbmm_(
        self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
    ) -> Tensor:
        """`addbmm`, written into this tensor's own memory."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor:
        """`input + value * tensor1 / tensor2`."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor:
        """`addcdiv`, written into this tensor's own memory."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor:
        """`input + value * tensor1 * tensor2`."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor:
        """`addcmul`, written into this tensor's own memory."""
    def addmm(
        self, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
    ) -> Tensor:
        """`beta * input + alpha * (mat1 @ mat2)` of matrices; input broadcasts."""
    def addmm_(
        self, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
    ) -> Tensor:
        """`addmm`, written into this tensor's own memory."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """`beta * input + alpha * (mat @ vec)`."""
    def addmv_(
        self, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1
    ) -> Tensor:
        """`addmv`, written into this tensor's own memory."""
    def addr(
        self, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
    ) -> Tensor:
        """`beta * input + alpha * outer(vec1, vec2)`."""
    def addr_(
        self, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
    ) -> Tensor:
        """`addr`, written into this tensor's own memory."""
    def adjoint(self) -> Tensor:
        """The last two dimensions swapped, of the conjugate."""
    def all(self, dim: _Sizes | None = None, keepdim: _bool = False) -> Tensor:
        """Whether all elements are true, of everything or along dimensions."""
    def allclose(
        self,
        other: _Operand,
        rtol: _float = 1e-05,
        atol: _float = 1e-08,
        equal_nan: _bool = False,
    ) -> _bool:
        """Whether `|input - other| <= atol + rtol * |other|` everywhere."""
    def amax(self, dim: _Sizes = (), keepdim: _bool = False) -> Tensor:
        """The largest element; elements that tie share the gradient."""
    def amin(self, dim: _Sizes = (), keepdim: _bool = False) -> Tensor:
        """The smallest element; elements that tie share the gradient."""
    def aminmax(
        self, *, dim: _Sizes | None = None, keepdim: _bool = False
    ) -> return_types.aminmax:
        """The smallest and the largest element, as a named tuple (min, max)."""
    def angle(self) -> Tensor:
        """The angle of complex numbers in radians; of real ones 0 or pi."""
    def any(self, dim: _Sizes | None = None, keepdim: _bool = False) -> Tensor:
        """Whether any element is true, of everything or along dimensions."""
    def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
        """Replace each element by what a function of Python's makes of it; slow, and not logged."""
    def arccos(self) -> Tensor:
        """The angle in radians whose cosine is the element."""
    def arccos_(self) -> Tensor:
        """`acos`, written into this tensor's own memory."""
    def arccosh(self) -> Tensor:
        """The inverse hyperbolic cosine of each element."""
    def arccosh_(self) -> Tensor:
        """`acosh`, written into this tensor's own memory."""
    def arcsin(self) -> Tensor:
        """The angle in radians whose sine is the element."""
    def arcsin_(self) -> Tensor:
        """`asin`, written into this tensor's own memory."""
    def arcsinh(self) -> Tensor:
        """The inverse hyperbolic sine of each element."""
    def arcsinh_(self) -> Tensor:
        """`asinh`, written into this tensor's own memory."""
    def arctan(self) -> Tensor:
        """The angle in radians whose tangent is the element."""
    def arctan2(self, other: _Operand) -> Tensor:
        """The angle of the point (other, input)."""
    def arctan2_(self, other: _Operand) -> Tensor:
        """`atan2`, written into this tensor's own memory."""
    def arctan_(self) -> Tensor:
        """`atan`, written into this tensor's own memory."""
    def arctanh(self) -> Tensor:
        """The inverse hyperbolic tangent of each element."""
    def arctanh_(self) -> Tensor:
        """`atanh`, written into this tensor's own memory."""
    def argmax(self, dim: _Sizes | None = None, keepdim: _bool = False) -> Tensor:
        """Where the largest element is, the first of those that tie."""
    def argmin(self, dim: _Sizes | None = None, keepdim: _bool = False) -> Tensor:
        """Where the smallest element is, the first of those that tie."""
    def argsort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Tensor:
        """Where the elements in order along a dimension are."""
    def argwhere(self) -> Tensor:
        """The positions of what is not 0, a row for each."""
    def as_strided(
        self, size: _Sizes, stride: _Sizes, storage_offset: _int | None = None
    ) -> Tensor:
        """A view of the memory of a tensor with other sizes, strides and offset."""
    def as_strided_(
        self, size: _Sizes, stride: _Sizes, storage_offset: _int | None = None
    ) -> Tensor:
        """Give this tensor other sizes, strides and offset over its memory."""
    def as_strided_scatter(
        self, src: Tensor, size: _Sizes, stride: _Sizes, storage_offset: _int | None = None
    ) -> Tensor:
        """A copy of the tensor, in which `src` is written to what `as_strided` would show."""
    def as_subclass(self, cls: object) -> Any:
        """The same memory and history as a tensor of a subclass."""
    def asin(self) -> Tensor:
        """The angle in radians whose sine is the element."""
    def asin_(self) -> Tensor:
        """`asin`, written into this tensor's own memory."""
    def asinh(self) -> Tensor:
        """The inverse hyperbolic sine of each element."""
    def asinh_(self) -> Tensor:
        """`asinh`, written into this tensor's own memory."""
    def atan(self) -> Tensor:
        """The angle in radians whose tangent is the element."""
    def atan2(self, other: _Operand) -> Tensor:
        """The angle of the point (other, input)."""
    def atan2_(self, other: _Operand) -> Tensor:
        """`atan2`, written into this tensor's own memory."""
    def atan_(self) -> Tensor:
        """`atan`, written into this tensor's own memory."""
    def atanh(self) -> Tensor:
        """The inverse hyperbolic tangent of each element."""
    def atanh_(self) -> Tensor:
        """`atanh`, written into this tensor's own memory."""
    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: _bool | None = None,
        create_graph: _bool = False,
        inputs: Tensor | Sequence[Tensor] | None = None,
        *,
        retain_variables: _bool | None = None,
    ) -> None:
        """Add to the `grad` of the leaves the derivative of this tensor."""
    def baddbmm(
        self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
    ) -> Tensor:
        """`beta * input + alpha * bmm(batch1, batch2)`."""
    def baddbmm_(
        self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
    ) -> Tensor:
        """`baddbmm`, written into this tensor's own memory."""
    def bernoulli(
        self, p: _Operand | None = None, *, generator: Generator | None = None
    ) -> Tensor:
        """Zeros and ones; each element (or `p`) is the probability of a one."""
    def bernoulli_(self, p: _Operand = 0.5, *, generator: Generator | None = None) -> Tensor:
        """Write ones with the probability `p`, a number or a tensor, else zeros."""
    def bfloat16(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.bfloat16."""
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """How often each number from 0 on occurs, or the sum of its weights."""
    def bitwise_and(self, other: _Operand) -> Tensor:
        """Elementwise bitwise and of integers and bools."""
    def bitwise_and_(self, other: _Operand) -> Tensor:
        """`bitwise_and`, written into this tensor's own memory."""
    def bitwise_left_shift(self, other: _Operand) -> Tensor:
        """Elementwise bitwise left shift of integers."""
    def bitwise_left_shift_(self, other: _Operand) -> Tensor:
        """`bitwise_left_shift`, written into this tensor's own memory."""
    def bitwise_not(self) -> Tensor:
        """All bits inverted; of booleans, `not`."""
    def bitwise_not_(self) -> Tensor:
        """`bitwise_not`, written into this tensor's own memory."""
    def bitwise_or(self, other: _Operand) -> Tensor:
        """Elementwise bitwise or of integers and bools."""
    def bitwise_or_(self, other: _Operand) -> Tensor:
        """`bitwise_or`, written into this tensor's own memory."""
    def bitwise_right_shift(self, other: _Operand) -> Tensor:
        """Elementwise bitwise right shift of integers."""
    def bitwise_right_shift_(self, other: _Operand) -> Tensor:
        """`bitwise_right_shift`, written into this tensor's own memory."""
    def bitwise_xor(self, other: _Operand) -> Tensor:
        """Elementwise bitwise xor of integers and bools."""
    def bitwise_xor_(self, other: _Operand) -> Tensor:
        """`bitwise_xor`, written into this tensor's own memory."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """The products of two stacks of matrices, pair by pair."""
    def bool(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.bool."""
    def broadcast_to(self, *size: _Sizes, **words: Any) -> Tensor:
        """`input.expand(size)`."""
    def byte(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.uint8."""
    def cauchy_(
        self, median: _float = 0.0, sigma: _float = 1.0, *, generator: Generator | None = None
    ) -> Tensor:
        """Write Cauchy numbers."""
    def ccol_indices(self) -> NoReturn:
        """Raise RuntimeError: this tensor is dense, and on the CPU."""
    def cdouble(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.complex128."""
    def ceil(self) -> Tensor:
        """Elementwise ceil; a derivative of 0."""
    def ceil_(self) -> Tensor:
        """`ceil`, written into this tensor's own memory."""
    def cfloat(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.complex64."""
    def char(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.int8."""
    def cholesky(self, upper: _bool = False) -> Tensor:
        """The older name of `linalg.cholesky`."""
    def cholesky_inverse(self, upper: _bool = False) -> Tensor:
        """The inverse of `L @ L.mH`."""
    def cholesky_solve(self, L: Tensor, upper: _bool = False) -> Tensor:
        """X with `L @ L.mH @ X == B`."""
    def chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """At most so many parts along a dimension, of one size but maybe for the last."""
    def clamp(self, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
        """The elements clamped to bounds: numbers or tensors, of which one may be None."""
    def clamp_(self, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
        """`clamp`, written into this tensor's own memory."""
    def clamp_max(self, max: _Operand) -> Tensor:
        """The elements clamped to an upper bound."""
    def clamp_max_(self, max: _Operand) -> Tensor:
        """`clamp_max`, written into this tensor's own memory."""
    def clamp_min(self, min: _Operand) -> Tensor:
        """The elements clamped to a lower bound."""
    def clamp_min_(self, min: _Operand) -> Tensor:
        """`clamp_min`, written into this tensor's own memory."""
    def clip(self, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
        """The elements clamped to bounds: numbers or tensors, of which one may be None."""
    def clip_(self, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
        """`clamp`, written into this tensor's own memory."""
    def clone(self, *, memory_format: Any = None) -> Tensor:
        """A copy that passes the gradient on; in the memory order of the tensor by default."""
    def coalesce(self) -> NoReturn:
        """Raise RuntimeError: this tensor is dense, and on the CPU."""
    def col_indices(self) -> NoReturn:
        """Raise RuntimeError: this tensor is dense, and on the CPU."""
    def conj(self) -> Tensor:
        """The complex conjugate; of real tensors the tensor itself."""
    def conj_physical(self) -> Tensor:
        """The complex conjugate."""
    def conj_physical_(self) -> Tensor:
        """`conj_physical`, written into this tensor's own memory."""
    def contiguous(self, memory_format: Any = None) -> Tensor:
        """The tensor with its elements in order in memory: itself where they are."""
    def copy_(self, src: Tensor, non_blocking: _bool = False) -> Tensor:
        """Write another tensor's elements into this one, in its dtype and broadcast to its shape."""
    def copysign(self, other: _Operand) -> Tensor:
        """The size of one and the sign of the other."""
    def copysign_(self, other: _Operand) -> Tensor:
        """`copysign`, written into this tensor's own memory."""
    def corrcoef(self) -> Tensor:
        """The correlation coefficients of variables in rows over observations in columns."""
    def cos(self) -> Tensor:
        """The cosine of each element, in radians."""
    def cos_(self) -> Tensor:
        """`cos`, written into this tensor's own memory."""
    def cosh(self) -> Tensor:
        """The hyperbolic cosine of each element."""
    def cosh_(self) -> Tensor:
        """`cosh`, written into this tensor's own memory."""
    def count_nonzero(self, dim: _Sizes | None = None) -> Tensor:
        """How many elements are not zero."""
    def cov(
        self,
        *,
        correction: _int = 1,
        fweights: Tensor | None = None,
        aweights: Tensor | None = None,
    ) -> Tensor:
        """The covariances of variables in rows over observations in columns."""
    def cpu(self, *, memory_format: Any = None) -> Tensor:
        """The tensor itself, which is in the CPU's memory; a copy if in another memory format."""
    def cross(self, other: _Operand, dim: _int | None = None) -> Tensor:
        """The cross products of vectors of three elements along `dim`: the first of length 3."""
    def crow_indices(self) -> NoReturn:
        """Raise RuntimeError: this tensor is dense, and on the CPU."""
    def cuda(self, device: _Device | None = None, **_: Any) -> Tensor:
        """RuntimeError: tensors are in the CPU's memory."""
    def cummax(self, dim: _Sizes) -> return_types.cummax:
        """The largest element so far, and where it is."""
    def cummin(self, dim: _Sizes) -> return_types.cummin:
        """The smallest element so far, and where it is."""
    def cumprod(self, dim: _Sizes, *, dtype: _dtype | None = None) -> Tensor:
        """The product of the elements so far along a dimension."""
    def cumprod_(self, dim: _Sizes, *, dtype: _dtype | None = None) -> Tensor:
        """`cumprod`, written into this tensor's own memory."""
    def cumsum(self, dim: _Sizes, *, dtype: _dtype | None = None) -> Tensor:
        """The sum of the elements so far along a dimension."""
    def cumsum_(self, dim: _Sizes, *, dtype: _dtype | None = None) -> Tensor:
        """`cumsum`, written into this tensor's own memory."""
    @property
    def data(self) -> Tensor:
        """A tensor over the same memory without history; writes to it are not counted."""
    @data.setter
    def data(self, value: Tensor) -> None: ...
    def data_ptr(self) -> _int:
        """The address of the first element."""
    def deg2rad(self) -> Tensor:
        """Degrees as radians."""
    def deg2rad_(self) -> Tensor:
        """`deg2rad`, written into this tensor's own memory."""
    def dense_dim(self) -> Tensor:
        """The number of dimensions."""
    def det(self) -> Tensor:
        """The determinant of a square matrix, or of each of a stack."""
    def detach(self) -> Tensor:
        """A tensor over the same memory without history; the two share their version."""
    def detach_(self) -> Tensor:
        """Cut this tensor from the graph that made it: it becomes a leaf without grad."""
    @property
    def device(self) -> _device:
        """The CPU; "meta" where there is no data."""
    def diag(self, diagonal: _int = 0) -> Tensor:
        """The diagonal of a matrix, as a copy; the matrix whose diagonal is a vector."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Matrices whose diagonals are the last dimension, zero elsewhere."""
    def diagflat(self, offset: _int = 0) -> Tensor:
        """The matrix whose diagonal is the flat tensor."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """The diagonal of two dimensions, as the last dimension of the result."""
    def diagonal_scatter(
        self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1
    ) -> Tensor:
        """The tensor with src on a diagonal."""
    def diff(
        self,
        n: _int = 1,
        dim: _int = -1,
        prepend: Tensor | None = None,
        append: Tensor | None = None,
    ) -> Tensor:
        """Differences of neighbours along a dimension, n times."""
    def digamma(self) -> Tensor:
        """The derivative of lgamma at each element."""
    def digamma_(self) -> Tensor:
        """`digamma`, written into this tensor's own memory."""
    def dim(self) -> _int:
        """The number of dimensions."""
    def dim_order(self, *, ambiguity_check: _bool | list[Any] = False) -> tuple[_int, ...]:
        """The dimensions in the order in which they lie in memory, the outermost first."""
    def dist(self, other: _Operand, p: _Number = 2) -> Tensor:
        """The p-norm of a difference."""
    def div(self, other: _Operand, *, rounding_mode: _str | None = None) -> Tensor:
        """`input / other`; rounding_mode: "trunc" towards zero, "floor" downwards."""
    def div_(self, other: _Operand, *, rounding_mode: _str | None = None) -> Tensor:
        """`div`, written into this tensor's own memory."""
    def divide(self, other: _Operand, *, rounding_mode: _str | None = None) -> Tensor:
        """`input / other`; rounding_mode: "trunc" towards zero, "floor" downwards."""
    def divide_(self, other: _Operand, *, rounding_mode: _str | None = None) -> Tensor:
        """`div`, written into this tensor's own memory."""
    def dot(self, tensor: Tensor) -> Tensor:
        """The sum of the products of two vectors' elements, without a conjugate."""
    def double(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.float64."""
    def dsplit(
        self,
        indices_or_sections: _int | Sequence[_int] | Tensor | None = None,
        *,
        sections: _int | None = None,
        indices: _Sizes | None = None,
    ) -> tuple[Tensor, ...]:
        """`tensor_split` along dimension 2, evenly where a number of parts is given."""
    @property
    def dtype(self) -> _dtype:
        """The type of the elements."""
    def eig(self, **_kwargs: Any) -> Tensor:
        """RuntimeError, as in PyTorch, which has removed it: see `linalg`."""
    def element_size(self) -> _int:
        """Bytes of one element."""
    def eq(self, other: _Operand) -> Tensor:
        """Elementwise `input == other`."""
    def eq_(self, other: _Operand) -> Tensor:
        """`eq`, written into this tensor's own memory."""
    def equal(self, other: _Operand) -> _bool:
        """Whether two tensors have the same shape and elements."""
    def erf(self) -> Tensor:
        """The error function of each element."""
    def erf_(self) -> Tensor:
        """`erf`, written into this tensor's own memory."""
    def erfc(self) -> Tensor:
        """1 - erf(x) of each element."""
    def erfc_(self) -> Tensor:
        """`erfc`, written into this tensor's own memory."""
    def erfinv(self) -> Tensor:
        """The inverse of erf of each element."""
    def erfinv_(self) -> Tensor:
        """`erfinv`, written into this tensor's own memory."""
    def exp(self) -> Tensor:
        """`e` to the power of each element."""
    def exp2(self) -> Tensor:
        """2 to the power of each element."""
    def exp2_(self) -> Tensor:
        """`exp2`, written into this tensor's own memory."""
    def exp_(self) -> Tensor:
        """`exp`, written into this tensor's own memory."""
    def expand(self, *size: _Sizes, **words: Any) -> Tensor:
        """A view of a larger shape, in which dimensions of size 1 repeat; -1 keeps a size."""
    def expand_as(self, other: Tensor) -> Tensor:
        """`self.expand(other.size())`."""
    def expm1(self) -> Tensor:
        """`exp(x) - 1` of each element, exact to rounding near 0."""
    def expm1_(self) -> Tensor:
        """`expm1`, written into this tensor's own memory."""
    def exponential_(self, lambd: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Write exponential numbers of rate `lambd`, which are never 0."""
    def fill_(self, value: _Operand) -> Tensor:
        """Write a number, or a tensor of no dimensions, into all elements of this tensor."""
    def fill_diagonal_(self, fill_value: _Number, wrap: _bool = False) -> Tensor:
        """Write a number on the main diagonal."""
    def fix(self) -> Tensor:
        """Elementwise trunc; a derivative of 0."""
    def fix_(self) -> Tensor:
        """`trunc`, written into this tensor's own memory."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """The dimensions from start_dim to end_dim merged into one."""
    def flip(self, *dims: _Sizes) -> Tensor:
        """The elements in reverse order along these dimensions."""
    def fliplr(self) -> Tensor:
        """The columns in reverse order."""
    def flipud(self) -> Tensor:
        """The rows in reverse order."""
    def float(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.float32."""
    def float_power(self, exponent: _Operand) -> Tensor:
        """`input ** exponent` in double precision."""
    def float_power_(self, exponent: _Operand) -> Tensor:
        """`float_power`, written into this tensor's own memory."""
    def floor(self) -> Tensor:
        """Elementwise floor; a derivative of 0."""
    def floor_(self) -> Tensor:
        """`floor`, written into this tensor's own memory."""
    def floor_divide(self, other: _Operand) -> Tensor:
        """The quotient rounded down; a derivative of 0."""
    def floor_divide_(self, other: _Operand) -> Tensor:
        """`floor_divide`, written into this tensor's own memory."""
    def fmax(self, other: _Operand) -> Tensor:
        """Elementwise the larger of two; the other one where one is NaN."""
    def fmin(self, other: _Operand) -> Tensor:
        """Elementwise the smaller of two; the other one where one is NaN."""
    def fmod(self, other: _Operand) -> Tensor:
        """The remainder with the sign of the dividend."""
    def fmod_(self, other: _Operand) -> Tensor:
        """`fmod`, written into this tensor's own memory."""
    def frac(self) -> Tensor:
        """The fractional part, with the sign of the element."""
    def frac_(self) -> Tensor:
        """`frac`, written into this tensor's own memory."""
    def frexp(self) -> Tensor:
        """Mantissas from 0.5 to before 1, and exponents of 2."""
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """`out[i, j] = input[index[i, j], j]` for dim 0, and so on: one element for each index."""
    def gcd(self, other: _Operand) -> Tensor:
        """The greatest common divisor."""
    def gcd_(self, other: _Operand) -> Tensor:
        """`gcd`, written into this tensor's own memory."""
    def ge(self, other: _Operand) -> Tensor:
        """Elementwise `input >= other`."""
    def ge_(self, other: _Operand) -> Tensor:
        """`ge`, written into this tensor's own memory."""
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Tensor:
        """Write geometric numbers: how many trials of probability `p` it takes to succeed."""
    def geqrf(self) -> Tensor:
        """QR as LAPACK packs it: R above, the vectors of reflections below, and their factors tau."""
    def ger(self, vec2: Tensor) -> Tensor:
        """The products of every element of one vector with every element of another."""
    def get_device(self) -> _int:
        """-1: tensors are in the CPU's memory."""
    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have added up; None before the first."""
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @property
    def grad_dtype(self) -> Tensor:
        """The dtype of the gradient: the tensor's own."""
    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that made this tensor; None of leaves."""
    def greater(self, other: _Operand) -> Tensor:
        """Elementwise `input > other`."""
    def greater_(self, other: _Operand) -> Tensor:
        """`gt`, written into this tensor's own memory."""
    def greater_equal(self, other: _Operand) -> Tensor:
        """Elementwise `input >= other`."""
    def greater_equal_(self, other: _Operand) -> Tensor:
        """`ge`, written into this tensor's own memory."""
    def gt(self, other: _Operand) -> Tensor:
        """Elementwise `input > other`."""
    def gt_(self, other: _Operand) -> Tensor:
        """`gt`, written into this tensor's own memory."""
    def half(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.float16."""
    def hardshrink(self, lambd: _float = 0.5) -> Tensor:
        """`x`, but 0 where |x| is at most lambd."""
    def heaviside(self, values: _Operand) -> Tensor:
        """0 below zero, 1 above, `values` at it; a derivative of 0."""
    def heaviside_(self, values: _Operand) -> Tensor:
        """`heaviside`, written into this tensor's own memory."""
    def histc(self, bins: _int = 100, min: _float = 0, max: _float = 0) -> Tensor:
        """Counts in bins of equal width from min to max; where these are equal, of the data."""
    def histogram(
        self,
        bins: Any,
        *,
        range: Sequence[_float] | None = None,
        weight: _Operand | None = None,
        density: _bool = False,
    ) -> Tensor:
        """Counts, or sums of weights, of the elements in bins, and the edges of these."""
    def hsplit(
        self,
        indices_or_sections: _int | Sequence[_int] | Tensor | None = None,
        *,
        sections: _int | None = None,
        indices: _Sizes | None = None,
    ) -> tuple[Tensor, ...]:
        """`tensor_split` along dimension 0, 1 of matrices, evenly where a number of parts is given."""
    def hypot(self, other: _Operand) -> Tensor:
        """`sqrt(input**2 + other**2)`."""
    def hypot_(self, other: _Operand) -> Tensor:
        """`hypot`, written into this tensor's own memory."""
    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind, of order 0."""
    def i0_(self) -> Tensor:
        """`i0`, written into this tensor's own memory."""
    def igamma(self, other: _Operand) -> Tensor:
        """The regularized lower incomplete gamma function of a = input and x = other."""
    def igamma_(self, other: _Operand) -> Tensor:
        """`igamma`, written into this tensor's own memory."""
    def igammac(self, other: _Operand) -> Tensor:
        """The regularized upper incomplete gamma function of a = input and x = other."""
    def igammac_(self, other: _Operand) -> Tensor:
        """`igammac`, written into this tensor's own memory."""
    @property
    def imag(self) -> Tensor:
        """The imaginary parts, in the same memory."""
    @imag.setter
    def imag(self, value: Tensor) -> None: ...
    def index_add(self, dim: _int, index: Tensor, source: Any, *, alpha: _Number = 1) -> Tensor:
        """The parts of source added at these positions of a dimension."""
    def index_add_(self, dim: _int, index: Tensor, source: Any, *, alpha: _Number = 1) -> Tensor:
        """`index_add`, written into this tensor's own memory."""
    def index_copy(self, dim: _int, index: Tensor, source: Any) -> Tensor:
        """The parts of source in place of those at these positions of a dimension."""
    def index_copy_(self, dim: _int, index: Tensor, source: Any) -> Tensor:
        """`index_copy`, written into this tensor's own memory."""
    def index_fill(self, dim: _int, index: Tensor, value: _Operand) -> Tensor:
        """One value at these positions of a dimension."""
    def index_fill_(self, dim: _int, index: Tensor, value: _Operand) -> Tensor:
        """`index_fill`, written into this tensor's own memory."""
    def index_put(
        self, indices: Sequence[Tensor], values: _Operand, accumulate: _bool = False
    ) -> Tensor:
        """The tensor after `input[indices] = values`."""
    def index_put_(
        self, indices: Sequence[Tensor], values: _Operand, accumulate: _bool = False
    ) -> Tensor:
        """`index_put`, written into this tensor's own memory."""
    def index_reduce(
        self, dim: _int, index: Tensor, source: Any, reduce: _str, *, include_self: _bool = True
    ) -> Tensor:
        """The parts of source combined at these positions: prod, mean, amax or amin."""
    def index_reduce_(
        self, dim: _int, index: Tensor, source: Any, reduce: _str, *, include_self: _bool = True
    ) -> Tensor:
        """`index_reduce`, written into this tensor's own memory."""
    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """The parts at these positions of a dimension."""
    def indices(self) -> NoReturn:
        """Raise RuntimeError: this tensor is dense, and on the CPU."""
    def inner(self, other: _Operand) -> Tensor:
        """Sums of products over the last dimensions of both; of a number, the product."""
    def int(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.int32."""
    def inverse(self) -> Tensor:
        """The inverse of a square matrix, or of each of a stack."""
    def is_coalesced(self) -> NoReturn:
        """Raise RuntimeError: this tensor is dense, and on the CPU."""
    def is_complex(self) -> _bool:
        """Whether the elements are complex."""
    def is_conj(self) -> _bool:
        """False: conjugates are computed at once."""
    def is_contiguous(self, memory_format: Any = None) -> _bool:
        """Whether the elements lie in order in memory: in that of a format, where one is given."""
    is_cpu: _bool
    is_cuda: _bool
    def is_distributed(self) -> _bool:
        """Return False: this tensor is dense, and on the CPU."""
    def is_floating_point(self) -> _bool:
        """Whether the elements are real floats."""
    def is_inference(self) -> _bool:
        """Whether the tensor was made in inference mode."""
    is_ipu: _bool
    @property
    def is_leaf(self) -> _bool:
        """Whether no logged operation made this tensor."""
    is_maia: _bool
    @property
    def is_meta(self) -> _bool:
        """Whether there is no data, but a shape and a dtype alone."""
    is_mkldnn: _bool
    is_mps: _bool
    is_mtia: _bool
    def is_neg(self) -> _bool:
        """False: negatives are computed at once."""
    is_nested: _bool
    def is_nonzero(self) -> _bool:
        """Whether the one element of a tensor is not zero."""
    def is_pinned(self, device: _Device | None = None) -> _bool:
        """False: there is no other device to copy to."""
    is_quantized: _bool
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether two tensors have the same shape."""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether two tensors are the same elements of the same memory, with the same strides."""
    def is_shared(self) -> _bool:
        """False: memory belongs to this process."""
    def is_signed(self) -> _bool:
        """Whether the elements may be negative."""
    is_sparse: _bool
    is_sparse_csr: _bool
    is_vulkan: _bool
    is_xla: _bool
    is_xpu: _bool
    def isclose(
        self,
        other: _Operand,
        rtol: _float = 1e-05,
        atol: _float = 1e-08,
        equal_nan: _bool = False,
    ) -> Tensor:
        """Where `|input - other| <= atol + rtol * |other|`."""
    def isfinite(self) -> Tensor:
        """Where the elements are neither infinite nor NaN."""
    def isinf(self) -> Tensor:
        """Where the elements are infinite."""
    def isnan(self) -> Tensor:
        """Where the elements are NaN."""
    def isneginf(self) -> Tensor:
        """Where the elements are minus infinity."""
    def isposinf(self) -> Tensor:
        """Where the elements are plus infinity."""
    def isreal(self) -> Tensor:
        """Where the elements have no imaginary part."""
    def istft(
        self,
        n_fft: _int,
        hop_length: _int | None = None,
        win_length: _int | None = None,
        window: Tensor | None = None,
        center: _bool = True,
        normalized: _bool = False,
        onesided: _bool | None = None,
        length: _int | None = None,
        return_complex: _bool = False,
    ) -> Tensor:
        """The signal of which `stft` with the same parameters gives `input`."""
    def item(self) -> _int | _float | _bool:
        """The one element, as a Python number without history."""
    @property
    def itemsize(self) -> _int:
        """Bytes of one element."""
    def kron(self, other: _Operand) -> Tensor:
        """The Kronecker product: every element of `input` times the whole of `other`."""
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False) -> return_types.kthvalue:
        """The k-th smallest element along a dimension, and where it is."""
    @property
    def layout(self) -> Any:
        """`torch.strided`: each element has its place in memory."""
    def lcm(self, other: _Operand) -> Tensor:
        """The least common multiple."""
    def lcm_(self, other: _Operand) -> Tensor:
        """`lcm`, written into this tensor's own memory."""
    def ldexp(self, other: _Operand) -> Tensor:
        """`input * 2**other`."""
    def ldexp_(self, other: _Operand) -> Tensor:
        """`ldexp`, written into this tensor's own memory."""
    def le(self, other: _Operand) -> Tensor:
        """Elementwise `input <= other`."""
    def le_(self, other: _Operand) -> Tensor:
        """`le`, written into this tensor's own memory."""
    def lerp(self, end: _Operand, weight: _Operand) -> Tensor:
        """`input + weight * (end - input)`."""
    def lerp_(self, end: _Operand, weight: _Operand) -> Tensor:
        """`lerp`, written into this tensor's own memory."""
    def less(self, other: _Operand) -> Tensor:
        """Elementwise `input < other`."""
    def less_(self, other: _Operand) -> Tensor:
        """`lt`, written into this tensor's own memory."""
    def less_equal(self, other: _Operand) -> Tensor:
        """Elementwise `input <= other`."""
    def less_equal_(self, other: _Operand) -> Tensor:
        """`le`, written into this tensor's own memory."""
    def lgamma(self) -> Tensor:
        """The logarithm of abs(gamma(x)) of each element."""
    def lgamma_(self) -> Tensor:
        """`lgamma`, written into this tensor's own memory."""
    def log(self) -> Tensor:
        """The natural logarithm of each element."""
    def log10(self) -> Tensor:
        """The logarithm of each element to base 10."""
    def log10_(self) -> Tensor:
        """`log10`, written into this tensor's own memory."""
    def log1p(self) -> Tensor:
        """`log(1 + x)` of each element, exact to rounding near 0."""
    def log1p_(self) -> Tensor:
        """`log1p`, written into this tensor's own memory."""
    def log2(self) -> Tensor:
        """The logarithm of each element to base 2."""
    def log2_(self) -> Tensor:
        """`log2`, written into this tensor's own memory."""
    def log_(self) -> Tensor:
        """`log`, written into this tensor's own memory."""
    def log_normal_(
        self, mean: _float = 1.0, std: _float = 2.0, *, generator: Generator | None = None
    ) -> Tensor:
        """Write numbers whose logarithms are normal."""
    def log_softmax(self, dim: _Sizes, dtype: _dtype | None = None) -> Tensor:
        """`log(softmax(x))`, without overflow."""
    def logaddexp(self, other: _Operand) -> Tensor:
        """`log(e**x + e**y)`."""
    def logaddexp2(self, other: _Operand) -> Tensor:
        """`log2(2**x + 2**y)`."""
    def logcumsumexp(self, dim: _Sizes) -> Tensor:
        """`log(cumsum(exp(x)))` along a dimension, without overflow."""
    def logdet(self) -> Tensor:
        """The logarithm of the determinant: NaN where that is negative."""
    def logical_and(self, other: _Operand) -> Tensor:
        """Elementwise and of truth values; numbers but 0 are true."""
    def logical_and_(self, other: _Operand) -> Tensor:
        """`logical_and`, written into this tensor's own memory."""
    def logical_not(self) -> Tensor:
        """Where the elements are 0."""
    def logical_not_(self) -> Tensor:
        """`logical_not`, written into this tensor's own memory."""
    def logical_or(self, other: _Operand) -> Tensor:
        """Elementwise or of truth values; numbers but 0 are true."""
    def logical_or_(self, other: _Operand) -> Tensor:
        """`logical_or`, written into this tensor's own memory."""
    def logical_xor(self, other: _Operand) -> Tensor:
        """Elementwise xor of truth values; numbers but 0 are true."""
    def logical_xor_(self, other: _Operand) -> Tensor:
        """`logical_xor`, written into this tensor's own memory."""
    def logit(self, eps: _float | None = None) -> Tensor:
        """`log(x / (1 - x))`, NaN outside of [0, 1]; with eps, of x clamped to [eps, 1 - eps]."""
    def logit_(self, eps: _float | None = None) -> Tensor:
        """`logit`, written into this tensor's own memory."""
    def logsumexp(self, dim: _Sizes, keepdim: _bool = False) -> Tensor:
        """`log(sum(exp(x)))` along dimensions, without overflow."""
    def long(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.int64."""
    def lstsq(self, **_kwargs: Any) -> Tensor:
        """RuntimeError, as in PyTorch, which has removed it: see `linalg`."""
    def lt(self, other: _Operand) -> Tensor:
        """Elementwise `input < other`."""
    def lt_(self, other: _Operand) -> Tensor:
        """`lt`, written into this tensor's own memory."""
    def lu(
        self, pivot: _bool = True, get_infos: _bool = False, out: Tensor | None = None
    ) -> Tensor:
        """The older form of `linalg.lu_factor`: LU and the swaps of rows, and codes if get_infos."""
    def lu_solve(self, LU_data: Any, LU_pivots: Any, *, out: Tensor | None = None) -> Tensor:
        """The older form of `linalg.lu_solve`: X with `A @ X == b`."""
    @property
    def mH(self) -> Tensor:
        """The conjugate transpose of each matrix."""
    @property
    def mT(self) -> Tensor:
        """The last two dimensions swapped."""
    def map2_(self, x: Tensor, y: Tensor, callable: Any) -> Tensor:
        """Write `callable(a, b, c)` of the elements of three tensors; not if one requires grad."""
    def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
        """Replace each element by a function of it and of that of another tensor."""
    def masked_fill(self, mask: Tensor, value: _Operand) -> Tensor:
        """The tensor with one value where a mask is true."""
    def masked_fill_(self, mask: Tensor, value: _Operand) -> Tensor:
        """`masked_fill`, written into this tensor's own memory."""
    def masked_scatter(self, mask: Tensor, source: Any) -> Tensor:
        """The elements of source, in order, where a mask is true."""
    def masked_scatter_(self, mask: Tensor, source: Any) -> Tensor:
        """`masked_scatter`, written into this tensor's own memory."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where a mask is true, as a vector."""
    def matmul(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """`input @ other`: of vectors, matrices, and stacks of matrices that broadcast."""
    def matrix_exp(self) -> Tensor:
        """The exponential of a square matrix, or of each of a stack."""
    def matrix_power(self, n: _int) -> Tensor:
        """A square matrix multiplied n times; of its inverse where n is negative."""
    @overload
    def max(self) -> Tensor: ...
    @overload
    def max(self, dim: _int, keepdim: _bool = False) -> return_types.max: ...
    @overload
    def max(self, other: Tensor) -> Tensor:
        """The largest element of all, or along a dimension; or elementwise, of two tensors."""
    def maximum(self, other: _Operand) -> Tensor:
        """Elementwise the larger of two; NaN where either is."""
    def mean(
        self, dim: _Sizes | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None
    ) -> Tensor:
        """The mean of all elements, or along dimensions."""
    @overload
    def median(self) -> Tensor: ...
    @overload
    def median(self, dim: _int, keepdim: _bool = False) -> return_types.median:
        """The median, of two middle ones the lower."""
    @overload
    def min(self) -> Tensor: ...
    @overload
    def min(self, dim: _int, keepdim: _bool = False) -> return_types.min: ...
    @overload
    def min(self, other: Tensor) -> Tensor:
        """The smallest element of all, or along a dimension; or elementwise, of two tensors."""
    def minimum(self, other: _Operand) -> Tensor:
        """Elementwise the smaller of two; NaN where either is."""
    def mm(self, mat2: Tensor) -> Tensor:
        """The product of two matrices."""
    def mode(self, dim: _int = -1, keepdim: _bool = False) -> return_types.mode:
        """The most frequent element along a dimension, the smallest of such, and its last place."""
    def module_load(self, other: Tensor, assign: _bool = False) -> Tensor:
        """Value that `load_state_dict` stores for this parameter: a detached tensor."""
    def moveaxis(self, source: _Sizes, destination: _Sizes) -> Tensor:
        """Dimensions moved to other places; the others keep their order."""
    def movedim(self, source: _Sizes, destination: _Sizes) -> Tensor:
        """Dimensions moved to other places; the others keep their order."""
    def msort(self) -> Tensor:
        """The elements in order along the first dimension."""
    def mul(self, other: _Operand) -> Tensor:
        """`input * other`."""
    def mul_(self, other: _Operand) -> Tensor:
        """`mul`, written into this tensor's own memory."""
    def multinomial(
        self,
        num_samples: _int,
        replacement: _bool = False,
        *,
        generator: Generator | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """Indices drawn with the probabilities in each row of `input`, which need not sum to 1."""
    def multiply(self, other: _Operand) -> Tensor:
        """`input * other`."""
    def multiply_(self, other: _Operand) -> Tensor:
        """`mul`, written into this tensor's own memory."""
    def mv(self, vec: Tensor) -> Tensor:
        """The product of a matrix and a vector."""
    def mvlgamma(self, p: _int) -> Tensor:
        """The logarithm of the gamma function of dimension p; RuntimeError at most (p - 1) / 2."""
    def mvlgamma_(self, p: _int) -> Tensor:
        """`mvlgamma`, written into this tensor's own memory."""
    name: _str | None
    def nan_to_num(
        self,
        nan: _float | None = None,
        posinf: _float | None = None,
        neginf: _float | None = None,
    ) -> Tensor:
        """NaN and infinities replaced; by default by 0 and the largest finite numbers."""
    def nan_to_num_(
        self,
        nan: _float | None = None,
        posinf: _float | None = None,
        neginf: _float | None = None,
    ) -> Tensor:
        """`nan_to_num`, written into this tensor's own memory."""
    def nanmean(
        self, dim: _Sizes | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None
    ) -> Tensor:
        """The mean of the elements that are not NaN."""
    @overload
    def nanmedian(self) -> Tensor: ...
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = False) -> return_types.nanmedian:
        """The median of the elements that are not NaN, of two middle ones the lower."""
    def nanquantile(
        self,
        q: Tensor | _float,
        dim: _Sizes | None = None,
        keepdim: _bool = False,
        *,
        interpolation: _str = 'linear',
    ) -> Tensor:
        """Those of n elements that are not NaN whose rank is q * (n - 1), interpolated; q from 0 to 1."""
    def nansum(
        self, dim: _Sizes | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None
    ) -> Tensor:
        """The sum of the elements that are not NaN."""
    def narrow(self, dim: _int, start: _Number, length: _int) -> Tensor:
        """The part of a dimension from index `start` to before `start + length`."""
    def narrow_copy(self, dim: _int, start: _int, length: _int) -> Tensor:
        """A copy of what `narrow` returns a view of."""
    @property
    def nbytes(self) -> _int:
        """Bytes of all elements."""
    @property
    def ndim(self) -> _int:
        """The number of dimensions."""
    def ndimension(self) -> _int:
        """The number of dimensions."""
    def ne(self, other: _Operand) -> Tensor:
        """Elementwise `input != other`."""
    def ne_(self, other: _Operand) -> Tensor:
        """`ne`, written into this tensor's own memory."""
    def neg(self) -> Tensor:
        """`-input`."""
    def neg_(self) -> Tensor:
        """`neg`, written into this tensor's own memory."""
    def negative(self) -> Tensor:
        """`-input`."""
    def negative_(self) -> Tensor:
        """`neg`, written into this tensor's own memory."""
    def nelement(self) -> _int:
        """The number of elements."""
    def new(self, *args: Any, **kwargs: Any) -> Tensor:
        """A tensor of this one's dtype, of sizes or data: an older form of `new_tensor`."""
    def new_empty(
        self,
        *size: _Sizes,
        dtype: _dtype | None = None,
        device: _Device | None = None,
        layout: Any = None,
        pin_memory: _bool = False,
        requires_grad: _bool = False,
    ) -> Tensor:
        """A tensor of a shape, in the dtype of this one, holding whatever the memory does."""
    def new_empty_strided(
        self, size: _Sizes, stride: _Sizes, *, dtype: _dtype | None = None, **options: Any
    ) -> Tensor:
        """`empty_strided` with this tensor's dtype."""
    def new_full(
        self,
        size: _Sizes,
        fill_value: _Operand,
        *,
        dtype: _dtype | None = None,
        device: _Device | None = None,
        layout: Any = None,
        pin_memory: _bool = False,
        requires_grad: _bool = False,
    ) -> Tensor:
        """A tensor of a shape filled with a number, in the dtype of this one."""
    def new_ones(
        self,
        *size: _Sizes,
        dtype: _dtype | None = None,
        device: _Device | None = None,
        layout: Any = None,
        pin_memory: _bool = False,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Ones of a shape, in the dtype of this tensor."""
    def new_tensor(
        self,
        data: Any,
        *,
        dtype: _dtype | None = None,
        device: _Device | None = None,
        layout: Any = None,
        pin_memory: _bool = False,
        requires_grad: _bool = False,
    ) -> Tensor:
        """A tensor of data as `torch.tensor`, in the dtype of this tensor."""
    def new_zeros(
        self,
        *size: _Sizes,
        dtype: _dtype | None = None,
        device: _Device | None = None,
        layout: Any = None,
        pin_memory: _bool = False,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Zeros of a shape, in the dtype of this tensor."""
    def nextafter(self, other: _Operand) -> Tensor:
        """The next number in a direction."""
    def nextafter_(self, other: _Operand) -> Tensor:
        """`nextafter`, written into this tensor's own memory."""
    node: Any
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor: ...
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
        """The positions of what is not 0, a row for each; as_tuple: a tensor for each dimension."""
    def nonzero_static(self, *, size: _int, fill_value: _int = -1) -> Tensor:
        """The coordinates of the first `size` elements that are not 0, then rows of `fill_value`."""
    def norm(
        self,
        p: _Number | _str = 'fro',
        dim: _Sizes | None = None,
        keepdim: _bool = False,
        dtype: _dtype | None = None,
    ) -> Tensor:
        """The p-norm of all elements or along dimensions; p="nuc": of matrices' singular values."""
    def normal_(
        self, mean: _float = 0.0, std: _float = 1.0, *, generator: Generator | None = None
    ) -> Tensor:
        """Write normal numbers."""
    def not_equal(self, other: _Operand) -> Tensor:
        """Elementwise `input != other`."""
    def not_equal_(self, other: _Operand) -> Tensor:
        """`ne`, written into this tensor's own memory."""
    def numel(self) -> _int:
        """The number of elements."""
    def numpy(self, *, force: _bool = False) -> np.ndarray[Any, Any]:
        """A NumPy array over the same memory: writes to one are seen in the other."""
    def orgqr(self, input2: Tensor) -> Tensor:
        """The older name of `linalg.householder_product`."""
    def ormqr(
        self, tau: Tensor, other: _Operand, left: _bool = True, transpose: _bool = False
    ) -> Tensor:
        """`Q @ other`, or `other @ Q` if not left, for the square Q of reflections."""
    def outer(self, vec2: Tensor) -> Tensor:
        """The products of every element of one vector with every element of another."""
    @property
    def output_nr(self) -> _int:
        """Which of the results of its operation this tensor is."""
    def permute(self, *dims: _Sizes, **words: Any) -> Tensor:
        """The dimensions in another order."""
    def pin_memory(self, device: _Device | None = None) -> Tensor:
        """The tensor itself: there is no other device to copy to."""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """The pseudo-inverse: the older name of `linalg.pinv`."""
    def polygamma(self, n: _int) -> Tensor:
        """The n-th derivative of digamma."""
    def polygamma_(self, n: _int) -> Tensor:
        """`polygamma`, written into this tensor's own memory."""
    def positive(self) -> Tensor:
        """The tensor itself; RuntimeError for booleans."""
    def pow(self, exponent: _Operand) -> Tensor:
        """`input ** exponent`."""
    def pow_(self, exponent: _Operand) -> Tensor:
        """`pow`, written into this tensor's own memory."""
    def prelu(self, weight: _Operand) -> Tensor:
        """`x`, and `weight * x` below 0: one weight, or one a channel (dimension 1)."""
    def prod(
        self, dim: _Sizes | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None
    ) -> Tensor:
        """The product of all elements, or along a dimension."""
    def put(self, index: Tensor, source: Any, accumulate: _bool = False) -> Tensor:
        """The elements of source at these positions of the flat tensor."""
    def put_(self, index: Tensor, source: Any, accumulate: _bool = False) -> Tensor:
        """`put`, written into this tensor's own memory."""
    def qr(self, some: _bool = True) -> return_types.qr:
        """`linalg.qr`, complete if not some."""
    def quantile(
        self,
        q: Tensor | _float,
        dim: _Sizes | None = None,
        keepdim: _bool = False,
        *,
        interpolation: _str = 'linear',
    ) -> Tensor:
        """Those of n elements whose rank is q * (n - 1), interpolated; q from 0 to 1."""
    def rad2deg(self) -> Tensor:
        """Radians as degrees."""
    def rad2deg_(self) -> Tensor:
        """`rad2deg`, written into this tensor's own memory."""
    def random_(
        self,
        *args: Any,
        generator: Generator | None = None,
        to: _Number | None = None,
        **words: Any,
    ) -> Tensor:
        """Write whole numbers: `random_(to)`, `random_(from, to)`, or all that the dtype holds."""
    def ravel(self) -> Tensor:
        """The tensor as one dimension."""
    @property
    def real(self) -> Tensor:
        """The real parts, in the same memory; a real tensor itself."""
    @real.setter
    def real(self, value: Tensor) -> None: ...
    def reciprocal(self) -> Tensor:
        """1 / x of each element."""
    def reciprocal_(self) -> Tensor:
        """`reciprocal`, written into this tensor's own memory."""
    def record_stream(self, stream: Any) -> None:
        """Do nothing: this tensor is dense, and on the CPU."""
    def register_hook(self, hook: Callable[[Tensor], Any]) -> Handle:
        """Call `hook(grad)` when the gradient of this tensor is computed; the hook may replace it."""
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> Handle:
        """Call `hook(tensor)` after a leaf's gradient has been added to its `grad`."""
    def reinforce(self, reward: Any = None) -> NoReturn:
        """Raise RuntimeError: this tensor is dense, and on the CPU."""
    def relu(self) -> Tensor:
        """`max(x, 0)`; the gradient at 0 is 0."""
    def relu_(self) -> Tensor:
        """`relu`, written into this tensor's own memory."""
    def remainder(self, other: _Operand) -> Tensor:
        """The remainder with the sign of the divisor, as Python's %; a zero has the dividend's."""
    def remainder_(self, other: _Operand) -> Tensor:
        """`remainder`, written into this tensor's own memory."""
    def renorm(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """Each slice along a dimension, made smaller where its p-norm is larger than maxnorm."""
    def renorm_(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """`renorm`, written into this tensor's own memory."""
    def repeat(self, *repeats: _Sizes | Tensor) -> Tensor:
        """The tensor so many times along each dimension."""
    def repeat_interleave(
        self,
        repeats: _Sizes | Tensor | None = None,
        dim: _int | None = None,
        *,
        output_size: _int | None = None,
    ) -> Tensor:
        """Each element (of the flat tensor), or each part along `dim`, so many times in a row."""
    @property
    def requires_grad(self) -> _bool:
        """Whether operations on this tensor are logged, so that they can be differentiated."""
    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None: ...
    def requires_grad_(self, requires_grad: _bool = True) -> Tensor:
        """Set whether a leaf requires grad."""
    def reshape(self, *shape: _Sizes, **words: Any) -> Tensor:
        """A view in another shape, of which one size may be -1; a copy where memory does not allow it."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """`self.reshape(other.size())`."""
    def resize(self, *sizes: Any) -> Tensor:
        """The tensor in another shape of as many elements."""
    def resize_(self, *sizes: Any, memory_format: Any = None) -> Tensor:
        """Give this tensor other sizes: its first elements stay, further ones are not initialised."""
    def resize_as(self, *sizes: Any) -> Tensor:
        """The tensor in another shape of as many elements."""
    def resize_as_(self, other: Tensor, memory_format: Any = None) -> Tensor:
        """`resize_` to the sizes of another tensor."""
    def resolve_conj(self) -> Tensor:
        """The tensor itself: conjugates are computed at once."""
    def resolve_neg(self) -> Tensor:
        """The tensor itself: negatives are computed at once."""
    def retain_grad(self) -> None:
        """Let backward passes fill `grad` of this tensor although it is not a leaf."""
    @property
    def retains_grad(self) -> _bool:
        """Whether backward passes fill `grad` although this tensor is no leaf."""
    def roll(self, shifts: _Sizes, dims: _Sizes | None = None) -> Tensor:
        """The elements shifted along dimensions; those beyond one end come back at the other."""
    def rot90(self, k: _int = 1, dims: _Sizes = (0, 1)) -> Tensor:
        """A rotation by k * 90 degrees in the plane of two dims, from the first to the second."""
    def round(self, *, decimals: _int = 0) -> Tensor:
        """The nearest number with so many decimals, halves to even; a derivative of 0."""
    def round_(self, *, decimals: _int = 0) -> Tensor:
        """`round`, written into this tensor's own memory."""
    def row_indices(self) -> NoReturn:
        """Raise RuntimeError: this tensor is dense, and on the CPU."""
    def rsqrt(self) -> Tensor:
        """1 / sqrt(x) of each element."""
    def rsqrt_(self) -> Tensor:
        """`rsqrt`, written into this tensor's own memory."""
    def scatter(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor | None = None,
        *,
        value: _Operand | None = None,
        reduce: _str | None = None,
    ) -> Tensor:
        """The inverse of gather: elements of src (or one number) written to the positions in `index`."""
    def scatter_(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor | None = None,
        *,
        value: _Operand | None = None,
        reduce: _str | None = None,
    ) -> Tensor:
        """`scatter`, written into this tensor's own memory."""
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """Elements of src added at the positions in `index`."""
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """`scatter_add`, written into this tensor's own memory."""
    def scatter_reduce(
        self, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = True
    ) -> Tensor:
        """Elements of src combined at the positions in `index`; those at no position are unchanged."""
    def scatter_reduce_(
        self, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = True
    ) -> Tensor:
        """`scatter_reduce`, written into this tensor's own memory."""
    def select(self, dim: _int, index: _int) -> Tensor:
        """The part at one index of a dimension; the result lacks that dimension."""
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """The tensor with src at one place of a dimension."""
    def set_(
        self, source: Any = None, storage_offset: _int = 0, size: Any = None, stride: Any = None
    ) -> Tensor:
        """Let this tensor have the memory of another one, or of its storage; without any, none."""
    def sgn(self) -> Tensor:
        """The sign; of complex numbers x / |x|."""
    def sgn_(self) -> Tensor:
        """`sgn`, written into this tensor's own memory."""
    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
    def share_memory_(self) -> Tensor:
        """The tensor itself: threads share memory as it is."""
    def short(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.int16."""
    def sigmoid(self) -> Tensor:
        """The logistic function of each element, 1 / (1 + exp(-x))."""
    def sigmoid_(self) -> Tensor:
        """`sigmoid`, written into this tensor's own memory."""
    def sign(self) -> Tensor:
        """-1, 0 or 1; a derivative of 0."""
    def sign_(self) -> Tensor:
        """`sign`, written into this tensor's own memory."""
    def signbit(self) -> Tensor:
        """Where the sign is a minus, that of -0.0 too."""
    def sin(self) -> Tensor:
        """The sine of each element, in radians."""
    def sin_(self) -> Tensor:
        """`sin`, written into this tensor's own memory."""
    def sinc(self) -> Tensor:
        """`sin(pi x) / (pi x)` of each element, and 1 at 0."""
    def sinc_(self) -> Tensor:
        """`sinc`, written into this tensor's own memory."""
    def sinh(self) -> Tensor:
        """The hyperbolic sine of each element."""
    def sinh_(self) -> Tensor:
        """`sinh`, written into this tensor's own memory."""
    @overload
    def size(self, dim: None = None) -> Size: ...
    @overload
    def size(self, dim: _int) -> _int:
        """The shape, or its length along one dimension."""
    def slice_inverse(
        self,
        src: Tensor,
        dim: _int = 0,
        start: _int | None = None,
        end: _int | None = None,
        step: _int = 1,
    ) -> Tensor:
        """The tensor of which `input` is a slice: `src`."""
    def slice_scatter(
        self,
        src: Tensor,
        dim: _int = 0,
        start: _int | None = None,
        end: _int | None = None,
        step: _int = 1,
    ) -> Tensor:
        """The tensor with src at a slice of a dimension."""
    def slogdet(self) -> return_types.slogdet:
        """The sign of the determinant, and the logarithm of its absolute value."""
    def softmax(self, dim: _Sizes, dtype: _dtype | None = None) -> Tensor:
        """`exp(x)` over its sum along a dimension."""
    def solve(self, **_kwargs: Any) -> Tensor:
        """RuntimeError, as in PyTorch, which has removed it: see `linalg`."""
    def sort(
        self, dim: _int = -1, descending: _bool = False, stable: _bool | None = None
    ) -> return_types.sort:
        """The elements in order along a dimension, and where they were: (values, indices)."""
    def sparse_dim(self) -> _int:
        """Return 0: this tensor is dense, and on the CPU."""
    def split(self, split_size: _Sizes, dim: _int = 0) -> tuple[Tensor, ...]:
        """Parts along a dimension: of one size, the last maybe smaller, or of these sizes."""
    def split_with_sizes(self, split_sizes: _Sizes, dim: _int = 0) -> tuple[Tensor, ...]:
        """Parts along a dimension, of these sizes."""
    def sqrt(self) -> Tensor:
        """The square root of each element."""
    def sqrt_(self) -> Tensor:
        """`sqrt`, written into this tensor's own memory."""
    def square(self) -> Tensor:
        """`x * x` of each element."""
    def square_(self) -> Tensor:
        """`square`, written into this tensor's own memory."""
    def squeeze(self, dim: _Sizes | None = None) -> Tensor:
        """The tensor without dimensions of size 1: all of them, or those named if they are."""
    def squeeze_(self, dim: _Sizes | None = None) -> Tensor:
        """`squeeze` of this tensor itself."""
    def std(
        self,
        dim: _Sizes | None = None,
        unbiased: _bool | None = None,
        keepdim: _bool = False,
        *,
        correction: _Number | None = None,
    ) -> Tensor:
        """The standard deviation of all elements, or along dimensions; correction=1 divides by n - 1."""
    def stft(
        self,
        n_fft: _int,
        hop_length: _int | None = None,
        win_length: _int | None = None,
        window: Tensor | None = None,
        center: _bool = True,
        pad_mode: _str = 'reflect',
        normalized: _bool = False,
        onesided: _bool | None = None,
        return_complex: _bool | None = None,
        align_to_window: _bool | None = None,
    ) -> Tensor:
        """The Fourier transforms of overlapping windows: frequencies along -2, windows along -1."""
    def storage(self) -> Any:
        """The memory of this tensor as elements of its dtype; `untyped_storage` in newer programs."""
    def storage_offset(self) -> _int:
        """How many elements after the start of its memory a tensor begins."""
    @overload
    def stride(self, dim: None = None) -> tuple[_int, ...]: ...
    @overload
    def stride(self, dim: _int) -> _int:
        """How many elements apart neighbours lie in memory, along each dimension or one of them."""
    def sub(self, other: _Operand, *, alpha: _Number = 1) -> Tensor:
        """`input - alpha * other`."""
    def sub_(self, other: _Operand, *, alpha: _Number = 1) -> Tensor:
        """`sub`, written into this tensor's own memory."""
    def subtract(self, other: _Operand, *, alpha: _Number = 1) -> Tensor:
        """`input - alpha * other`."""
    def subtract_(self, other: _Operand, *, alpha: _Number = 1) -> Tensor:
        """`sub`, written into this tensor's own memory."""
    def sum(
        self, dim: _Sizes | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None
    ) -> Tensor:
        """The sum of all elements, or along dimensions; of integers and booleans as int64."""
    def sum_to_size(self, *size: _Sizes) -> Tensor:
        """The sum over the dimensions that broadcasting would add or stretch."""
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> return_types.svd:
        """U, S and V with `input == U @ diag(S) @ V.mH`; U and V are zeros if not compute_uv."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """NumPy's word for transpose."""
    def swapaxes_(self, dim0: _int, dim1: _int) -> Tensor:
        """`transpose` of this tensor itself."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Another word for transpose."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor:
        """`transpose` of this tensor itself."""
    def symeig(self, **_kwargs: Any) -> Tensor:
        """RuntimeError, as in PyTorch, which has removed it: see `linalg`."""
    def t(self) -> Tensor:
        """A matrix transposed; a vector or a single element as it is."""
    def t_(self) -> Tensor:
        """`t` of this tensor itself."""
    def take(self, index: Tensor) -> Tensor:
        """The elements of the flat tensor at these positions."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = None) -> Tensor:
        """One element for each index, along a dimension; the other dimensions broadcast."""
    def tan(self) -> Tensor:
        """The tangent of each element, in radians."""
    def tan_(self) -> Tensor:
        """`tan`, written into this tensor's own memory."""
    def tanh(self) -> Tensor:
        """The hyperbolic tangent of each element."""
    def tanh_(self) -> Tensor:
        """`tanh`, written into this tensor's own memory."""
    def tensor_split(
        self,
        indices_or_sections: _int | Sequence[_int] | Tensor | None = None,
        dim: _int = 0,
        *,
        sections: _int | None = None,
        indices: _Sizes | None = None,
        tensor_indices_or_sections: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """Parts along a dimension: so many of nearly one size, or split before these indices."""
    def tile(self, *dims: _Sizes, **words: Any) -> Tensor:
        """The tensor so many times along each dimension; fewer counts are those of the last ones."""
    @overload
    def to(
        self,
        dtype: _dtype,
        non_blocking: _bool = False,
        copy: _bool = False,
        *,
        memory_format: Any = None,
    ) -> Tensor: ...
    @overload
    def to(
        self,
        device: _Device | None = None,
        dtype: _dtype | None = None,
        non_blocking: _bool = False,
        copy: _bool = False,
        *,
        memory_format: Any = None,
    ) -> Tensor: ...
    @overload
    def to(
        self,
        other: Tensor,
        non_blocking: _bool = False,
        copy: _bool = False,
        *,
        memory_format: Any = None,
    ) -> Tensor:
        """The tensor with another dtype; itself where it has it already, unless `copy=True`."""
    def to_dense(self, dtype: _dtype | None = None, *, masked_grad: Any = None) -> Tensor:
        """The tensor itself, which is dense; of another dtype where one is given."""
    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
    def topk(
        self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True
    ) -> return_types.topk:
        """The k largest (or smallest) elements along a dimension in order, and where they are."""
    def trace(self) -> Tensor:
        """The sum of the diagonal of a matrix."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """The tensor with two dimensions swapped."""
    def transpose_(self, dim0: _int, dim1: _int) -> Tensor:
        """`transpose` of this tensor itself."""
    def triangular_solve(
        self,
        A: Tensor,
        upper: _bool = True,
        transpose: _bool = False,
        unitriangular: _bool = False,
    ) -> return_types.triangular_solve:
        """The older form of `solve_triangular`: X with `A @ X == b`, and a copy of A."""
    def tril(self, diagonal: _int = 0) -> Tensor:
        """The matrix with zeros above a diagonal."""
    def tril_(self, diagonal: _int = 0) -> Tensor:
        """`tril`, written into this tensor's own memory."""
    def triu(self, diagonal: _int = 0) -> Tensor:
        """The matrix with zeros below a diagonal."""
    def triu_(self, diagonal: _int = 0) -> Tensor:
        """`triu`, written into this tensor's own memory."""
    def true_divide(self, other: _Operand, *, rounding_mode: _str | None = None) -> Tensor:
        """`input / other`; rounding_mode: "trunc" towards zero, "floor" downwards."""
    def true_divide_(self, other: _Operand, *, rounding_mode: _str | None = None) -> Tensor:
        """`div`, written into this tensor's own memory."""
    def trunc(self) -> Tensor:
        """Elementwise trunc; a derivative of 0."""
    def trunc_(self) -> Tensor:
        """`trunc`, written into this tensor's own memory."""
    @overload
    def type(self, dtype: None = None, non_blocking: _bool = False) -> _str: ...
    @overload
    def type(self, dtype: _dtype | _str, non_blocking: _bool = False) -> Tensor:
        """`torch.FloatTensor` as a string; with a dtype, a type or its name, the tensor converted."""
    def type_as(self, other: Tensor) -> Tensor:
        """The tensor with the dtype of another one."""
    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]:
        """The parts at each index of a dimension; they lack that dimension."""
    def unflatten(self, dim: _int, sizes: _Sizes) -> Tensor:
        """One dimension split into several, of which one size may be -1."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Windows of a dimension, `step` apart, along a new last one."""
    def uniform_(
        self,
        from_: _float = 0.0,
        to: _float = 1.0,
        *,
        generator: Generator | None = None,
        **words: Any,
    ) -> Tensor:
        """Write uniform numbers from `from` to before `to`."""
    @overload
    def unique(
        self,
        sorted: _bool = True,
        *,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: _int | None = None,
    ) -> Tensor: ...
    @overload
    def unique(
        self,
        sorted: _bool = True,
        *,
        return_inverse: Literal[True],
        return_counts: Literal[False] = False,
        dim: _int | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique(
        self,
        sorted: _bool = True,
        *,
        return_inverse: Literal[False] = False,
        return_counts: Literal[True],
        dim: _int | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique(
        self,
        sorted: _bool = True,
        *,
        return_inverse: Literal[True],
        return_counts: Literal[True],
        dim: _int | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def unique(
        self,
        sorted: _bool,
        return_inverse: _bool,
        return_counts: _bool = False,
        dim: _int | None = None,
    ) -> Any:
        """The distinct elements in order, or slices along `dim`; their places; their counts."""
    @overload
    def unique_consecutive(
        self,
        *,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: _int | None = None,
    ) -> Tensor: ...
    @overload
    def unique_consecutive(
        self,
        *,
        return_inverse: Literal[True],
        return_counts: Literal[False] = False,
        dim: _int | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(
        self,
        *,
        return_inverse: Literal[False] = False,
        return_counts: Literal[True],
        dim: _int | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(
        self,
        *,
        return_inverse: Literal[True],
        return_counts: Literal[True],
        dim: _int | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def unique_consecutive(
        self, return_inverse: _bool, return_counts: _bool = False, dim: _int | None = None
    ) -> Any:
        """The elements, or slices along `dim`, that differ from the one before."""
    def unsafe_chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """`chunk`, of which one part may be written to if no other part is used afterwards."""
    def unsafe_split(self, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """`split`, of which one part may be written to if no other part is used afterwards."""
    def unsafe_split_with_sizes(self, split_sizes: _Sizes, dim: _int = 0) -> tuple[Tensor, ...]:
        """`split_with_sizes`, of which one part may be written to if no other is used afterwards."""
    def unsqueeze(self, dim: _int) -> Tensor:
        """The tensor with a new dimension of size 1, which becomes dimension `dim`."""
    def unsqueeze_(self, dim: _int) -> Tensor:
        """`unsqueeze` of this tensor itself."""
    def untyped_storage(self) -> Any:
        """The memory of this tensor, which its views share."""
    def values(self) -> NoReturn:
        """Raise RuntimeError: this tensor is dense, and on the CPU."""
    def var(
        self,
        dim: _Sizes | None = None,
        unbiased: _bool | None = None,
        keepdim: _bool = False,
        *,
        correction: _Number | None = None,
    ) -> Tensor:
        """The variance of all elements, or along dimensions; correction=1 divides by n - 1."""
    def vdot(self, other: _Operand) -> Tensor:
        """`dot` of the conjugate of `input` and `other`."""
    @overload
    def view(self, dtype: _dtype) -> Tensor: ...
    @overload
    def view(self, *size: _Sizes, **words: Any) -> Tensor:
        """The same memory in another shape, or read as another dtype; never a copy."""
    def view_as(self, other: Tensor) -> Tensor:
        """`self.view(other.size())`."""
    @property
    def volatile(self) -> _bool:
        """Return False: `with torch.no_grad():` is its new name."""
    @volatile.setter
    def volatile(self, value: _bool) -> None: ...
    def vsplit(
        self,
        indices_or_sections: _int | Sequence[_int] | Tensor | None = None,
        *,
        sections: _int | None = None,
        indices: _Sizes | None = None,
    ) -> tuple[Tensor, ...]:
        """`tensor_split` along dimension 0, evenly where a number of parts is given."""
    def where(self, condition: Tensor, other: _Operand) -> Tensor:
        """This tensor where the condition holds, else `other`."""
    def xlogy(self, other: _Operand) -> Tensor:
        """`x * log(y)`, and 0 where x is 0."""
    def xlogy_(self, other: _Operand) -> Tensor:
        """`xlogy`, written into this tensor's own memory."""
    def zero_(self) -> Tensor:
        """Write zeros into this tensor."""
