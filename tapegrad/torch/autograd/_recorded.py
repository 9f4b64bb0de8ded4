"""Events of a profile of tensors: operations, the steps of backward passes, optimizers.

Knows where the operations are, and PyTorch's names of events. Must not know how they are recorded
or what becomes of the records: it puts `watcher.recording(function, name)` in the place of each.

A name that a program holds elsewhere than in a module (`self.act = torch.tanh`) is not switched:
such a call shows what it calls in turn.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from tapegrad._core.entry import PROJECT
from tapegrad._core.fast.backward import replay_backward as _replay_backward
from tapegrad._profile.events import FUNCTION, USER
from tapegrad._profile.switch import Place
from tapegrad.torch import fft, linalg, special
from tapegrad.torch._engine import backward_pass
from tapegrad.torch._engine.backward_pass import BackwardPass
from tapegrad.torch._engine.function_call import call as _call
from tapegrad.torch._engine.node_run import run_node as _run_node
from tapegrad.torch._graph.node import AccumulateGrad, CopySlices, Node
from tapegrad.torch._ops.declare import OPERATIONS
from tapegrad.torch._ops.elementwise import activations
from tapegrad.torch._tensor.gradients import root_of as _root_of
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.autograd import _passes
from tapegrad.torch.autograd import function as _function

# Names that PyTorch's events have where they are not aten:: and the name of the function.
LABELS = {
    **{f"__{word}__": word for word in "add sub mul pow eq ne lt le gt ge neg abs matmul".split()},
    **{f"__r{word}__": word for word in "add mul pow matmul".split()},
    **{f"__i{word}__": f"{word}_" for word in "add sub mul pow".split()},
    "__rsub__": "rsub",
    "__truediv__": "div",
    "__itruediv__": "div_",
    "__floordiv__": "floor_divide",
    "__rfloordiv__": "floor_divide",
    "__ifloordiv__": "floor_divide_",
    "__mod__": "remainder",
    "__rmod__": "remainder",
    "__imod__": "remainder_",
    "__invert__": "bitwise_not",
    "__bool__": "is_nonzero",
    "__float__": "item",
    "__int__": "item",
    "__iter__": "unbind",
    "norm": "linalg_vector_norm",
    "from_numpy": "lift_fresh",
    "logsigmoid": "log_sigmoid",
    "T": "numpy_T",
    "H": "matrix_H",
    "tensor": "lift_fresh",
    "as_tensor": "lift_fresh",
    **dict.fromkeys("bool byte char double float half int long short cpu".split(), "to"),
    **dict.fromkeys("cfloat cdouble".split(), "to"),
    "cross_entropy": "cross_entropy_loss",
    "nll_loss": "nll_loss_nd",
    "unique": "_unique2",
    "new_tensor": "lift_fresh",
}

# Calls without an event: questions about a tensor, conversions to Python, composites of others.
SILENT = frozenset(
    """
    __array__ __array_function__ __array_ufunc__ __contains__ __copy__ __deepcopy__ __dlpack__
    __dlpack_device__ __format__ __len__ __new__ __pos__ __reduce_ex__ __repr__ __reversed__
    __str__ __complex__ __index__ __hash__ __rtruediv__ _accumulator_is _is_view apply_
    as_subclass backward
    broadcast_shapes can_cast data_ptr default_generator dim element_size from_dlpack
    frombuffer get_device get_rng_state initial_seed is_complex is_conj is_contiguous is_cuda
    is_floating_point is_inference is_meta is_mkldnn is_mps is_neg is_nested is_pinned is_quantized
    is_shared is_signed is_sparse is_tensor manual_seed map_ ndimension nelement numel numpy
    promote_types register_hook register_post_accumulate_grad_hook requires_grad_ result_type
    retain_grad seed set_default_tensor_type set_printoptions set_rng_state share_memory_ size
    storage_offset stride tolist typename untyped_storage cuda pin_memory Generator
    """.split()
)

# Functions of `nn.functional` that PyTorch writes in Python: their parts make the events.
COMPOSITES = frozenset({"gumbel_softmax", "multi_head_attention_forward"})

NAMESPACES: list[tuple[ModuleType, str]] = [
    (activations, ""),
    (special, "special_"),
    (linalg, "linalg_"),
    (fft, "fft_"),
]
METHODS: list[tuple[type[Any], tuple[str, ...], Callable[..., str]]] = []


def record_functions(module: ModuleType, prefix: str = "") -> None:
    """Let a profile record the public functions of a module, as `aten::` and their name."""
    NAMESPACES.append((module, prefix))


def record_methods(holder: type[Any], names: tuple[str, ...], label: Callable[..., str]) -> None:
    """Let a profile record methods of a class and of its subclasses.

    label: gives the name of an event from the name of the method and the object.
    """
    METHODS.append((holder, names, label))


MODULES: dict[type[Any], str | Callable[..., str]] = {}


def record_modules(labels: dict[type[Any], str | Callable[..., str]]) -> None:
    """Let a profile record calls of modules that do not call a function of PyTorch's here."""
    MODULES.update(labels)


HOLDERS: list[type[Any]] = []


def record_held(holder: type[Any]) -> None:
    """Let a profile record the functions that a class or a subclass holds as static methods."""
    HOLDERS.append(holder)


# --- Operations ---------------------------------------------------------------------------------


def label_of(word: str) -> str | None:
    """`aten::mul` for `mul` and `__mul__`; None for what makes no event."""
    if word in SILENT:
        return None
    return f"aten::{LABELS.get(word, word)}"


def read_label(_self: Tensor, index: Any) -> str:
    """The name of `x[index]`: aten::select, aten::slice, aten::unsqueeze or aten::index."""
    parts = index if type(index) is tuple else (index,)
    words = [_part_label(part) for part in parts if type(part) is not slice or part != WHOLE]
    if "index" in words:
        return "aten::index"
    return f"aten::{next((word for word in words if word != 'alias'), 'alias')}"


def _part_label(part: Any) -> str:
    if type(part) is int:
        return "select"
    if part is None:
        return "unsqueeze"
    if part is Ellipsis:
        return "alias"
    return "slice" if type(part) is slice else "index"


WHOLE = slice(None)


def write_label(_self: Tensor, index: Any, value: Any) -> str:
    """The name of `x[index] = value`: aten::index_put_, aten::copy_ or aten::fill_."""
    if read_label(_self, index) == "aten::index":
        return "aten::index_put_"
    return "aten::copy_" if isinstance(value, Tensor) else "aten::fill_"


def contiguous_label(self: Tensor, *_: Any, **__: Any) -> str | None:
    """Nothing is done for a tensor that is contiguous."""
    return None if self.is_contiguous() else "aten::contiguous"


def type_label(_self: Tensor, *args: Any, **kwargs: Any) -> str | None:
    """`x.type()` is a question, `x.type(dtype)` a conversion."""
    return "aten::to" if args or kwargs else None


# Names that depend on the arguments.
CHOSEN: dict[str, Callable[..., str | None]] = {
    "__getitem__": read_label,
    "__setitem__": write_label,
    "contiguous": contiguous_label,
    "type": type_label,
}


def number_of(made: Any) -> int:
    """The number of the node that a call made; -1 where it made none."""
    if isinstance(made, (tuple, list)) and made:
        made = made[0]
    node = made.node if isinstance(made, Tensor) else None
    if not isinstance(node, Node) or isinstance(node, AccumulateGrad):
        return -1
    entry = node._entry
    if entry is not None and entry[0] is PROJECT:
        node = entry[4]
    return int(node._number)


def _operations(watcher: Any) -> Iterator[Place]:
    """Methods of Tensor and functions of `torch`, wherever a module has them under a name."""
    made: dict[int, Any] = {}
    known: dict[int, Any] = {}

    def recorded(function: Any, name: Any) -> Any:
        key = id(function)
        if key not in made:
            known[key] = function
            made[key] = watcher.recording(function, name, FUNCTION, number_of)
        return made[key]

    for word, value in list(vars(Tensor).items()):
        label: Any = CHOSEN.get(word) or label_of(word)
        if isinstance(value, property):
            if word in ("T", "H", "mT", "mH", "real", "imag") and value.fget is not None:
                getter = recorded(value.fget, label)
                yield Place(Tensor, word, property(getter, value.fset, value.fdel, value.__doc__))
        elif isinstance(value, FunctionType) and label is not None:
            yield Place(Tensor, word, recorded(value, label))
    namespace = sys.modules.get("tapegrad.torch")
    for word, value in list(OPERATIONS.items()):
        found = label_of(word)
        if isinstance(value, FunctionType) and found is not None:
            yield Place(OPERATIONS, word, recorded(value, found))
            if namespace is not None and word not in vars(namespace):
                # It would keep what it takes from the table for good.
                yield Place(namespace, word, recorded(value, found))
    named = {}
    for module, prefix in NAMESPACES:
        for word in _functions_of(module):
            value = vars(module)[word]
            title: Any = f"aten::{prefix}{word}" if prefix else label_of(word)
            if title is not None and "inplace" in inspect.signature(value).parameters:
                title = _in_place_or_not(value, title)
            recorded(value, title)
            named[module, word] = watcher.recording(value, title, FUNCTION, number_of)
    yield from _elsewhere(made, named)


def _in_place_or_not(function: Callable[..., Any], title: str) -> Callable[..., str]:
    """The name of a call of a function that may write into its argument: aten::relu_."""
    place = list(inspect.signature(function).parameters).index("inplace")

    def label(*args: Any, **kwargs: Any) -> str:
        inplace = args[place] if len(args) > place else kwargs.get("inplace", False)
        return f"{title}_" if inplace else title

    return label


def _functions_of(module: ModuleType) -> Iterator[str]:
    """The names of the public functions of a module; without `__all__`, those made within it."""
    listed = getattr(module, "__all__", None)
    for word, value in list(vars(module).items()):
        if not isinstance(value, FunctionType) or word.startswith("_") or word in COMPOSITES:
            continue
        if word in listed if listed is not None else value.__module__ == module.__name__:
            yield word


def _elsewhere(made: dict[int, Any], named: dict[tuple[ModuleType, str], Any]) -> Iterator[Place]:
    """The modules, of this package and of the program, and the classes that have a function."""
    for kind in {kind: None for holder in HOLDERS for kind in _with_subclasses(holder)}:
        for word, value in list(vars(kind).items()):
            if type(value) is staticmethod and id(value.__func__) in made:
                yield Place(kind, word, staticmethod(made[id(value.__func__)]))
    for name, module in list(sys.modules.items()):
        if type(module) is not ModuleType or name.partition(".")[0] in _WITHOUT:
            continue
        if made.keys().isdisjoint(map(id, list(vars(module).values()))):
            continue  # as most modules, thousands of names in all
        for word, value in list(vars(module).items()):
            if type(value) is FunctionType and id(value) in made:
                yield Place(module, word, named.get((module, word), made[id(value)]))


# Packages that import none of these functions, of which most modules are.
_WITHOUT = (sys.stdlib_module_names | {"numpy", "scipy"}) - {"__main__"}


# --- Backward passes ----------------------------------------------------------------------------

_TITLES: dict[type[Node], tuple[str, str]] = {}


def titles(kind: type[Node]) -> tuple[str, str]:
    """The names of the two events of a step: of the engine's part, and of the node."""
    found = _TITLES.get(kind)
    if found is None:
        name = kind.__name__
        if issubclass(kind, (AccumulateGrad, CopySlices)):
            name = f"torch::autograd::{name}"
        found = f"autograd::engine::evaluate_function: {name}", name
        if kind.__module__ == Node.__module__:  # other classes belong to custom Functions
            _TITLES[kind] = found
    return found


class Steps:
    """The entries of a replay. Taking the next one ends the event of the step before."""

    def __init__(self, entries: Iterable[Any], bars: Any, watcher: Any) -> None:
        self.entries, self.bars, self.watcher = entries, bars, watcher
        self.step: Any = None
        self.detailed = watcher.detailed

    def __iter__(self) -> Iterator[Any]:
        for entry in self.entries:
            self.finish()
            bar = None if entry[1] is PROJECT else self.bars[entry[0]]
            if bar is not None:
                shape = getattr(bar, "shape", ()) if self.detailed else ()
                self.step = self.watcher.begin(titles(type(entry[0])), entry[0]._number, shape)
            yield entry
            del entry  # so that the replay alone keeps its values
        self.finish()

    def finish(self) -> None:
        """End the event of the last step."""
        if self.step is not None:
            self.watcher.end(self.step)
            self.step = None


def _steps(watcher: Any) -> Iterator[Place]:
    replay, run = _replay_backward, _run_node
    set_grad, accumulate = BackwardPass._set_grad, BackwardPass._accumulate_leaf

    def replay_backward(entries: Iterable[Any], bars: Any, **options: Any) -> None:
        steps = Steps(entries, bars, watcher)
        try:
            replay(steps, bars, **options)
        finally:
            steps.finish()

    def run_node(node: Node, g: Any, **options: Any) -> Any:
        if node._entry is not None and node._entry[0] is PROJECT:
            return run(node, g, **options)
        step = watcher.begin(titles(type(node)), node._number, getattr(g, "shape", ()))
        try:
            return run(node, g, **options)
        finally:
            watcher.end(step)

    def _set_grad(self: BackwardPass, variable: Tensor, bar: Any) -> bool:
        step = watcher.begin(titles(AccumulateGrad), -1, bar.shape)
        done = set_grad(self, variable, bar)
        if done:
            watcher.end(step)
        return done

    def _accumulate_leaf(self: BackwardPass, leaf: AccumulateGrad, g: Any) -> None:
        if not self.accumulate:
            return accumulate(self, leaf, g)
        step = watcher.begin(titles(AccumulateGrad), -1, g.shape)
        try:
            return accumulate(self, leaf, g)
        finally:
            watcher.end(step)

    yield Place(backward_pass, "replay_backward", replay_backward)
    yield Place(backward_pass, "run_node", run_node)
    yield Place(BackwardPass, "_set_grad", _set_grad)
    yield Place(BackwardPass, "_accumulate_leaf", _accumulate_leaf)


# --- Methods of other classes -------------------------------------------------------------------


def _methods(watcher: Any) -> Iterator[Place]:
    recorded = watcher.recording(
        lambda kind, *args: _call(kind, args), lambda kind, *_: kind.__name__, FUNCTION, number_of
    )
    yield Place(_function, "call", lambda kind, args: recorded(kind, *args))
    yield Place(_passes, "root_of", watcher.recording(_root_of, _root_label, FUNCTION))
    for holder, names, label in METHODS:
        for kind in _with_subclasses(holder):
            for name in names:
                if isinstance(vars(kind).get(name), FunctionType):
                    yield Place(kind, name, _method(watcher, kind, name, label))


def _modules(watcher: Any) -> Iterator[Place]:
    for kind, label in MODULES.items():
        own = getattr(kind, "forward")  # noqa: B009 - of the class or of one that it derives from
        yield Place(kind, "forward", watcher.recording(own, label, FUNCTION, number_of))


def _method(watcher: Any, kind: type[Any], name: str, label: Callable[..., str]) -> Any:
    """A recorded method; that of a base class within it is not recorded again."""
    own = vars(kind)[name]

    def titled(self: Any, *_: Any, **__: Any) -> str | None:
        first = next(base for base in type(self).__mro__ if name in vars(base))
        return label(name, self) if first is kind else None

    return watcher.recording(own, titled, USER)


def _root_label(_tensor: Tensor, gradient: Tensor | None) -> str | None:
    """A backward pass from a tensor without a given gradient begins with one of ones."""
    return "aten::ones_like" if gradient is None else None


def _with_subclasses(holder: type[Any]) -> list[type[Any]]:
    found = [holder]
    for kind in holder.__subclasses__():
        found += [inner for inner in _with_subclasses(kind) if inner not in found]
    return found


def places(watcher: Any) -> Iterator[Place]:
    """All that is recorded of tensors."""
    yield from _operations(watcher)
    yield from _steps(watcher)
    yield from _methods(watcher)
    yield from _modules(watcher)


__all__ = [
    "label_of",
    "places",
    "record_functions",
    "record_held",
    "record_methods",
    "record_modules",
]
