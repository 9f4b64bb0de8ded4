"""Signatures of the object layer that its sources do not say: for docs/torch_stubs.py.

Overloads where the type of a result depends on arguments, results that are no tensor, and types
of parameters by their names. The types are written with Python's own names.
"""

from __future__ import annotations

# --- Parameters, by name, where the source says no more than "what stands for an array" ----------

VAGUE = ("", "Any", "Value", "TensorLike", "Sizes", "Tree")
_OPERANDS = "other end exponent fill_value max mean min std value values p s"
PARAMETERS = dict.fromkeys(_OPERANDS.split(), "_Operand") | {
    "atol": "Tensor | float",
    "data": "Any",
    "element": "object",
    "copy": "bool",
    "device": "_Device | None",
    "dtype": "_dtype | None",
    "indices_or_sections": "int | Sequence[int] | Tensor",
    "inplace": "bool",
    "inputs": "Tensor | Sequence[Tensor]",
    "layout": "Any",
    "memory_format": "Any",
    "ndarray": "np.ndarray[Any, Any]",
    "norm": "str",
    "obj": "Any",
    "ord": "_Number | str",
    "out": "Tensor | None",
    "padding": "_Sizes | str",
    "pin_memory": "bool",
    "q": "Tensor | float",
    "rcond": "Tensor | float",
    "repeats": "_Sizes | Tensor",
    "requires_grad": "bool",
    "rtol": "Tensor | float",
    "source": "Any",
    "tol": "Tensor | float",
    "upper": "bool",
    "weight": "_Operand",
}

# --- Results that are no tensor ------------------------------------------------------------------

_TUPLES = "cummax cummin kthvalue mode qr slogdet sort svd topk triangular_solve aminmax"
_MATRICES = "cholesky_ex eig eigh inv_ex lstsq lu lu_factor qr slogdet solve_ex svd"
_PAIR = "tuple[Tensor, Tensor]"
_COPIES = "is_pinned is_shared"
RESULTS = (
    {
        f"{space}.{word}": f"return_types.{word}"
        for word in _TUPLES.split()
        for space in ("torch", "Tensor")
    }
    | {f"torch.linalg.{word}": f"return_types.linalg_{word}" for word in _MATRICES.split()}
    | {f"torch.nn.functional.adaptive_max_pool{n}d_with_indices": _PAIR for n in (1, 2, 3)}
    | {f"torch.nn.functional.max_pool{n}d_with_indices": _PAIR for n in (1, 2, 3)}
    | {f"Tensor.{word}": "bool" for word in _COPIES.split()}
    | {
        "torch.adaptive_max_pool1d": _PAIR,
        "torch.compile": "Any",
        "torch.gradient": "tuple[Tensor, ...]",
        "torch.gru": _PAIR,
        "torch.load": "Any",
        "torch.lstm": "tuple[Tensor, Tensor, Tensor]",
        "torch.lstm_cell": _PAIR,
        "torch.max_pool1d_with_indices": _PAIR,
        "torch.rnn_relu": _PAIR,
        "torch.rnn_tanh": _PAIR,
        "torch.std_mean": _PAIR,
        "torch.var_mean": _PAIR,
        "torch.nn.functional.multi_head_attention_forward": "tuple[Tensor, Tensor | None]",
        "Tensor.__array__": "np.ndarray[Any, Any]",
        "Tensor.__array_function__": "Any",
        "Tensor.__array_ufunc__": "Any",
        "Tensor.__complex__": "complex",
        "Tensor.__dlpack__": "Any",
        "Tensor.__float__": "float",
        "Tensor.__int__": "int",
        "Tensor._base": "Tensor | None",
        "Tensor.as_subclass": "Any",
        "Tensor.item": "int | float | bool",
        "Tensor.layout": "Any",
        "Tensor.name": "str | None",
        "Tensor.node": "Any",
        "Tensor.numpy": "np.ndarray[Any, Any]",
        "Tensor.tolist": "Any",
    }
)

# --- Overloads -----------------------------------------------------------------------------------

_OPTIONS = (
    "generator: Generator | None = None, out: Tensor | None = None, dtype: _dtype | None = None, "
    "layout: Any = None, device: _Device | None = None, pin_memory: bool = False, "
    "requires_grad: bool = False"
)
_OUT = "*, out: Tensor | None = None"
_NEW = (
    "*, dtype: _dtype | None = None, device: _Device | None = None, layout: Any = None, "
    "pin_memory: bool = False, requires_grad: bool = False"
)

_HOW = "non_blocking: bool = False, copy: bool = False, *, memory_format: Any = None"


def _extremum(word: str, *, pairwise: bool) -> list[str]:
    forms = [
        f"(input: Tensor, {_OUT}) -> Tensor",
        "(input: Tensor, dim: int, keepdim: bool = False) -> return_types." + word,
    ]
    return [*forms, f"(input: Tensor, other: Tensor, {_OUT}) -> Tensor"] if pairwise else forms


def _unique(options: str, tail: str) -> list[str]:
    """By whether the inverse and the counts are asked for."""
    yes, no = "Literal[True]", "Literal[False] = False"
    forms = []
    for inverse, counts, result in (
        (no, no, "Tensor"),
        (yes, no, _PAIR),
        (no, yes, _PAIR),
        (yes, yes, "tuple[Tensor, Tensor, Tensor]"),
    ):
        forms.append(
            f"(input: Tensor{options}, *, return_inverse: {inverse}, return_counts: {counts}"
            f"{tail}) -> {result}"
        )
    words = "return_inverse: bool, return_counts: bool = False"
    forms.append(f"(input: Tensor{options.replace(' = True', '')}, {words}{tail}) -> Any")
    return forms


def _pooling(space: str, n: int, *, adaptive: bool) -> dict[str, list[str]]:
    """By whether the places of the maxima are asked for."""
    sizes = (
        "output_size: Any"
        if adaptive
        else (
            "kernel_size: _Sizes, stride: _Sizes | None = None, padding: _Sizes = 0, "
            "dilation: _Sizes = 1, ceil_mode: bool = False"
        )
    )
    word = f"{space}.adaptive_max_pool{n}d" if adaptive else f"{space}.max_pool{n}d"
    return {
        word: [
            f"(input: Tensor, {sizes}, return_indices: Literal[False] = False) -> Tensor",
            f"(input: Tensor, {sizes}, *, return_indices: Literal[True]) -> {_PAIR}",
        ]
    }


_SEVERAL = [
    "(tensor: Tensor, /) -> Tensor",
    "(first: Tensor, second: Tensor, /, *rest: Tensor) -> tuple[Tensor, ...]",
    "(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]",
]

OVERLOADS: dict[str, list[str]] = {
    "torch.atleast_1d": _SEVERAL,
    "torch.atleast_2d": _SEVERAL,
    "torch.atleast_3d": _SEVERAL,
    "torch.broadcast_tensors": [
        "(*tensors: Tensor) -> tuple[Tensor, ...]",
        "(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]",
    ],
    "torch.cartesian_prod": ["(*tensors: Tensor) -> Tensor"],
    "torch.einsum": ["(equation: Any, *operands: Any) -> Tensor"],
    "torch.max": _extremum("max", pairwise=True),
    "torch.median": _extremum("median", pairwise=False),
    "torch.meshgrid": [
        "(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]",
        "(tensors: Sequence[Tensor], /, *, indexing: str | None = None) -> tuple[Tensor, ...]",
    ],
    "torch.min": _extremum("min", pairwise=True),
    "torch.nanmedian": _extremum("nanmedian", pairwise=False),
    "torch.nonzero": [
        "(input: Tensor, *, as_tuple: Literal[False] = False) -> Tensor",
        "(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]",
    ],
    "torch.pow": [f"(input: _Operand, exponent: _Operand, {_OUT}) -> Tensor"],
    "torch.randint": [
        f"(high: int, size: Sequence[int], *, {_OPTIONS}) -> Tensor",
        f"(low: int, high: int, size: Sequence[int], *, {_OPTIONS}) -> Tensor",
    ],
    "torch.randint_like": [
        f"(input: Tensor, high: int, *, {_OPTIONS}) -> Tensor",
        f"(input: Tensor, low: int, high: int, *, {_OPTIONS}) -> Tensor",
    ],
    "torch.unique": _unique(", sorted: bool = True", ", dim: int | None = None"),
    "torch.unique_consecutive": _unique("", ", dim: int | None = None"),
    "torch.where": [
        "(condition: Tensor) -> tuple[Tensor, ...]",
        f"(condition: Tensor, input: _Operand, other: _Operand, {_OUT}) -> Tensor",
    ],
    "torch.result_type": ["(tensor1: _Operand, tensor2: _Operand) -> _dtype"],
    "Tensor.__array_function__": [
        "(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any"
    ],
    "Tensor.__eq__": ["(self, other: object) -> Tensor"],
    "Tensor.__hash__": ["(self) -> int"],
    "Tensor.__ne__": ["(self, other: object) -> Tensor"],
    "Tensor.new_empty": [f"(self, *size: _Sizes, {_NEW[3:]}) -> Tensor"],
    "Tensor.new_full": [f"(self, size: _Sizes, fill_value: _Operand, {_NEW}) -> Tensor"],
    "Tensor.new_ones": [f"(self, *size: _Sizes, {_NEW[3:]}) -> Tensor"],
    "Tensor.new_tensor": [f"(self, data: Any, {_NEW}) -> Tensor"],
    "Tensor.new_zeros": [f"(self, *size: _Sizes, {_NEW[3:]}) -> Tensor"],
    "Tensor.pow": ["(self, exponent: _Operand) -> Tensor"],
    "Tensor.size": ["(self, dim: None = None) -> Size", "(self, dim: int) -> int"],
    "Tensor.stride": [
        "(self, dim: None = None) -> tuple[int, ...]",
        "(self, dim: int) -> int",
    ],
    "Tensor.to": [
        f"(self, dtype: _dtype, {_HOW}) -> Tensor",
        f"(self, device: _Device | None = None, dtype: _dtype | None = None, {_HOW}) -> Tensor",
        f"(self, other: Tensor, {_HOW}) -> Tensor",
    ],
    "Tensor.type": [
        "(self, dtype: None = None, non_blocking: bool = False) -> str",
        "(self, dtype: _dtype | str, non_blocking: bool = False) -> Tensor",
    ],
    "Tensor.view": [
        "(self, dtype: _dtype) -> Tensor",
        "(self, *size: _Sizes, **words: Any) -> Tensor",
    ],
    "Tensor.where": ["(self, condition: Tensor, other: _Operand) -> Tensor"],
}
OVERLOADS["torch.max_pool1d"] = _pooling("torch", 1, adaptive=False)["torch.max_pool1d"]
for _n in (1, 2, 3):
    for _adaptive in (False, True):
        OVERLOADS |= _pooling("torch.nn.functional", _n, adaptive=_adaptive)

# --- Functions of functions ----------------------------------------------------------------------

# Lines at the head of a stub, and overloads that have the names there.
HEADS = {
    "torch.func": """\
from typing import Concatenate, ParamSpec, Protocol, TypeVar
from tapegrad._transforms.chunks import ChunkSize

P = ParamSpec("P")
A = TypeVar("A", bound=Any)  # which lets the body of a lambda do anything with it
B = TypeVar("B", bound=Any)
R = TypeVar("R")
Aux = TypeVar("Aux")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)

class _Gradient(Protocol[A, P]):
    # A class, since mypy takes the gradient of a lambda for a function without types.
    def __call__(self, x: A, /, *args: P.args, **kwargs: P.kwargs) -> A: ...

class _HasForward(Protocol[Result_co]):
    @property
    def forward(self) -> Callable[..., Result_co]: ...
""",
    "torch.autograd.functional": """\
from typing import TypeVar

In = TypeVar("In")  # a tensor or a tuple of tensors, which the gradients are, too
Out = TypeVar("Out")
""",
}
_OF_FIRST = "func: Callable[Concatenate[A, P], {}], argnums: Literal[0] = 0"
_OF_TENSOR = "func: Callable[Concatenate[Tensor, P], {}], argnums: Literal[0] = 0"
_OF_ANY = "func: Callable[P, Any], argnums: int | tuple[int, ...] = 0"
_NO_AUX, _WITH_AUX = "has_aux: Literal[False] = False", "has_aux: Literal[True]"
_PAIR_WITH_AUX = "tuple[R, Aux]"


def _gradient(alone: str, both: str) -> list[str]:
    """By whether the function returns something beside the value."""
    return [
        f"({_OF_FIRST.format('R')}, {_NO_AUX}) -> {alone}",
        (
            f"({_OF_FIRST.format(_PAIR_WITH_AUX)}, *, {_WITH_AUX}) -> "
            f"Callable[Concatenate[A, P], {both}]"
        ),
        f"({_OF_ANY}, has_aux: bool = False) -> Callable[P, Any]",
    ]


def _jacobian(before: str, options: str) -> list[str]:
    """The same; before: what stands in front of `has_aux`, which may be a star."""
    return [
        (
            f"({_OF_TENSOR.format('Tensor')}, {before}{_NO_AUX}, {options}) -> "
            "Callable[Concatenate[Tensor, P], Tensor]"
        ),
        (
            f"({_OF_TENSOR.format('tuple[Tensor, Aux]')}, *, {_WITH_AUX}, "
            f"{options.removeprefix('*, ')}) -> "
            "Callable[Concatenate[Tensor, P], tuple[Tensor, Aux]]"
        ),
        f"({_OF_ANY}, {before}has_aux: bool = False, {options}) -> Callable[P, Any]",
    ]


def _matrix(cases: tuple[tuple[str, str, str, str], ...], strategy: str) -> list[str]:
    """By the arguments, the result and the inputs of a function: the matrix of derivatives."""
    options = "create_graph: bool = False, strict: bool = False, vectorize: bool = False"
    return [
        f"(func: Callable[{arguments}, {result}], inputs: {inputs}, {options}, "
        f'{strategy}: str = "reverse-mode") -> {matrix}'
        for arguments, result, inputs, matrix in cases
    ]


_ROW = "tuple[Tensor, ...]"
_ONE_TO_ONE = ("[Tensor]", "Tensor", "Tensor", "Tensor")
_ANY_TO_ANY = ("...", "Any", "Any", "Any")
_PULLED = "tuple[R, Callable[..., tuple[{}]]{}]"
_PRIMALS, _STRICT = "primals: Any, tangents: Any", "*, strict: bool = False"
_MODULE = (
    "parameter_and_buffer_dicts: Any, args: Any = None, kwargs: dict[str, Any] | None = None, *, "
    "tie_weights: bool = True, strict: bool = False"
)
OVERLOADS |= {
    "torch.func.functional_call": [
        f"(module: _HasForward[Result_co], {_MODULE}) -> Result_co",
        f"(module: Any, {_MODULE}) -> Any",
    ],
    "torch.func.grad": _gradient("_Gradient[A, P]", "tuple[A, Aux]"),
    "torch.func.grad_and_value": _gradient(
        "Callable[Concatenate[A, P], tuple[A, R]]", "tuple[A, tuple[R, Aux]]"
    ),
    "torch.func.hessian": [
        f"({_OF_TENSOR.format('Tensor')}) -> Callable[Concatenate[Tensor, P], Tensor]",
        f"({_OF_ANY}) -> Callable[P, Any]",
    ],
    "torch.func.jacfwd": _jacobian("", '*, randomness: str = "error"'),
    "torch.func.jacrev": _jacobian("*, ", "chunk_size: ChunkSize = None"),
    "torch.func.jvp": [
        (
            "(func: Callable[[A], R], primals: tuple[A], tangents: tuple[A], "
            f"{_STRICT}, {_NO_AUX}) -> tuple[R, R]"
        ),
        f"(func: Callable[..., R], {_PRIMALS}, {_STRICT}, {_NO_AUX}) -> tuple[R, R]",
        (
            f"(func: Callable[..., {_PAIR_WITH_AUX}], {_PRIMALS}, {_STRICT}, {_WITH_AUX}) -> "
            "tuple[R, R, Aux]"
        ),
        (
            f"(func: Callable[..., Any], {_PRIMALS}, {_STRICT}, has_aux: bool = False) -> "
            "tuple[Any, ...]"
        ),
    ],
    "torch.func.linearize": [
        "(func: Callable[[A], R], *primals: *tuple[A]) -> tuple[R, Callable[[A], R]]",
        "(func: Callable[..., R], *primals: Any) -> tuple[R, Callable[..., R]]",
    ],
    "torch.func.vjp": [
        f"(func: Callable[[A], R], *primals: *tuple[A], {_NO_AUX}) -> {_PULLED.format('A', '')}",
        (
            f"(func: Callable[[A, B], R], *primals: *tuple[A, B], {_NO_AUX}) -> "
            f"{_PULLED.format('A, B', '')}"
        ),
        (
            f"(func: Callable[[A], {_PAIR_WITH_AUX}], *primals: *tuple[A], {_WITH_AUX}) -> "
            f"{_PULLED.format('A', ', Aux')}"
        ),
        f"(func: Callable[..., R], *primals: Any, {_NO_AUX}) -> {_PULLED.format('Any, ...', '')}",
        (
            f"(func: Callable[..., {_PAIR_WITH_AUX}], *primals: Any, {_WITH_AUX}) -> "
            f"{_PULLED.format('Any, ...', ', Aux')}"
        ),
        "(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]",
    ],
    "torch.autograd.functional.hessian": _matrix(
        (_ONE_TO_ONE, ("...", "Tensor", _ROW, f"tuple[{_ROW}, ...]"), _ANY_TO_ANY),
        "outer_jacobian_strategy",
    ),
    "torch.autograd.functional.jacobian": _matrix(
        (
            _ONE_TO_ONE,
            ("...", "Tensor", _ROW, _ROW),
            ("[Tensor]", _ROW, "Tensor", _ROW),
            ("...", _ROW, _ROW, f"tuple[{_ROW}, ...]"),
            _ANY_TO_ANY,
        ),
        "strategy",
    ),
}

# --- Names ---------------------------------------------------------------------------------------

# Attributes of Tensor that begin with an underscore, and that programs use all the same.
PRIVATE = ("_base", "_is_view", "_version")
# What Tensor has of any class.
OBJECTS = (
    "__annotate__ __annotate_func__ __annotations_cache__ __classdictcell__ "
    "__annotations__ __class__ __delattr__ __dict__ __dir__ __doc__ __format__ __getattribute__ "
    "__getstate__ __init__ __init_subclass__ __module__ __new__ __reduce__ __reduce_ex__ "
    "__repr__ __setattr__ __sizeof__ __slots__ __static_attributes__ __firstlineno__ __str__ "
    "__subclasshook__ __weakref__"
).split()
# Classes in namespaces of functions.
CLASSES = {"LinAlgError": "class LinAlgError(RuntimeError): ..."}
