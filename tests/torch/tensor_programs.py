"""Random programs in the part of PyTorch that both libraries have, and what running them shows.

A program is a list of statements, each a name and a few integers that are read modulo whatever
there is to choose from: so every list is a program, and shrinks well. It runs on any library with
PyTorch's names; the trace holds all that must agree.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from hypothesis import strategies as st

SHAPES = [(), (1,), (3,), (2, 3), (3, 2), (2, 1, 3)]
SINGLE = "sin cos exp tanh neg sigmoid relu abs square sqrt_abs log_abs clone double_copy".split()
PAIRS = "add sub mul div maximum minimum where_pair atan2".split()
REDUCTIONS = "sum mean prod amax max_dim sum_dim mean_keep logsumexp cumsum softmax var".split()
VIEWS = (
    "reshape view_flat transpose t select narrow unsqueeze squeeze expand diagonal permute detach "
    "slice step unbind split"
).split()
JOINS = "cat stack index_select gather masked_fill index_list flip roll matmul".split()
INPLACE = (
    "add_ mul_ sub_number div_ sin_ exp_ relu_ zero_ fill_ copy_ setitem setslice setmask clamp_ "
    "neg_ iadd imul pow_ tanh_ masked_fill_ data_add index_add_ sqrt_"
).split()
GRAPH = (
    "backward backward_keep grad grad_create hook hook_replace retain requires_grad detach_ "
    "no_grad_op no_grad_inplace function function_two post_hook node_hook zero_grad set_grad"
).split()
KINDS = [*SINGLE, *PAIRS, *REDUCTIONS, *VIEWS, *JOINS, *INPLACE, *INPLACE, *GRAPH, *GRAPH]

statement = st.tuples(
    st.sampled_from(KINDS), st.integers(0, 11), st.integers(0, 11), st.integers(0, 5)
)
leaf = st.tuples(st.integers(0, len(SHAPES) - 1), st.booleans(), st.integers(0, 99))
programs = st.tuples(
    st.lists(leaf, min_size=1, max_size=4), st.lists(statement, min_size=1, max_size=14)
)


def functions_of(lib: Any) -> dict[str, Any]:
    """The custom Functions that programs use."""

    class Scaled(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            ctx.save_for_backward(x)
            return x * factor + x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (ctx.factor + 2 * x), None

    class Two(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.exp()
            ctx.save_for_backward(out)
            return out, x.detach() * 2

        @staticmethod
        def backward(ctx, g, h):
            (out,) = ctx.saved_tensors
            return g * out + 2 * h

    return {"scaled": Scaled.apply, "two": Two.apply}


class Machine:
    """A run of a program on one library."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.tensors: list[Any] = []
        self.trace: list[Any] = []
        self.functions = functions_of(lib)
        self.calls: list[Any] = []  # what hooks saw
        self.keep: list[Any] = []

    def leaf(self, shape: int, requires: bool, seed: int) -> None:
        values = np.random.default_rng(seed).uniform(0.3, 2.0, SHAPES[shape])
        values *= np.where(
            np.random.default_rng(seed + 1).uniform(size=SHAPES[shape]) < 0.3, -1, 1
        )
        tensor = self.lib.tensor(values.tolist(), dtype=self.lib.float64, requires_grad=requires)
        self.tensors.append(tensor)

    def pick(self, number: int) -> Any:
        return self.tensors[number % len(self.tensors)]

    def run(self, program: Any) -> list[Any]:
        leaves, statements = program
        for given in leaves:
            self.leaf(*given)
        for kind, a, b, c in statements:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    made = getattr(self, f"do_{kind}", None)
                    result = self.plain(kind, a, b, c) if made is None else made(a, b, c)
            except (RuntimeError, IndexError, ValueError, TypeError) as error:
                self.trace.append((kind, "error", family_of(error)))
                if kind.startswith(("backward", "grad")):  # ours is refused before anything runs
                    return self.trace
                break
            for part in result if isinstance(result, tuple) else (result,):
                if part is not None:
                    self.tensors.append(part)
            self.trace.append((kind, [self.seen(t) for t in self.tensors]))
        self.trace.append(("grads", [self.gradient(t) for t in self.tensors]))
        self.trace.append(("hooks", self.calls))
        return self.trace

    def seen(self, tensor: Any) -> Any:
        try:
            return (
                array_of(tensor),
                tensor.requires_grad,
                tensor.is_leaf,
                tensor._version,
                tensor.grad_fn is None,
            )
        except RuntimeError as error:  # a view that a write to its base has made unusable
            return family_of(error)

    def gradient(self, tensor: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return array_of(tensor.grad)
            except RuntimeError as error:
                return family_of(error)

    # -- operations ------------------------------------------------------------------------------

    def plain(self, kind: str, a: int, b: int, c: int) -> Any:
        x, y, lib = self.pick(a), self.pick(b), self.lib
        if kind in ("add", "sub", "mul", "maximum", "minimum", "atan2"):
            return getattr(lib, kind)(x, y)
        if kind in ("sum", "mean", "prod", "amax"):
            return getattr(x, kind)()
        return getattr(x, kind)()

    def do_sqrt_abs(self, a, b, c):
        return (self.pick(a).abs() + 0.5).sqrt()

    def do_log_abs(self, a, b, c):
        return (self.pick(a).abs() + 0.5).log()

    def do_double_copy(self, a, b, c):
        return self.pick(a).to(self.lib.float64)

    def do_div(self, a, b, c):
        return self.pick(a) / (self.pick(b).abs() + 1)

    def do_where_pair(self, a, b, c):
        x, y = self.pick(a), self.pick(b)
        return self.lib.where(x > 0.5, x, y)

    def dim(self, x, c):
        return c % max(x.dim(), 1) - (x.dim() if c % 2 and x.dim() else 0)

    def do_max_dim(self, a, b, c):
        x = self.pick(a)
        return x.max(self.dim(x, c))[0]

    def do_sum_dim(self, a, b, c):
        x = self.pick(a)
        return x.sum(self.dim(x, c))

    def do_mean_keep(self, a, b, c):
        x = self.pick(a)
        return x.mean(self.dim(x, c), keepdim=True)

    def do_logsumexp(self, a, b, c):
        x = self.pick(a)
        return self.lib.logsumexp(x, self.dim(x, c))

    def do_cumsum(self, a, b, c):
        x = self.pick(a)
        return x.cumsum(self.dim(x, c))

    def do_softmax(self, a, b, c):
        x = self.pick(a)
        return self.lib.softmax(x, self.dim(x, c))

    def do_var(self, a, b, c):
        return self.pick(a).var(unbiased=False)

    # -- views -----------------------------------------------------------------------------------

    def do_reshape(self, a, b, c):
        return self.pick(a).reshape(-1)

    def do_view_flat(self, a, b, c):
        return self.pick(a).view(-1)

    def do_transpose(self, a, b, c):
        x = self.pick(a)
        return x.transpose(0, -1)

    def do_select(self, a, b, c):
        return self.pick(a)[b % 2]

    def do_slice(self, a, b, c):
        return self.pick(a)[b % 2 :]

    def do_step(self, a, b, c):
        return self.pick(a)[..., ::2]

    def do_narrow(self, a, b, c):
        return self.pick(a).narrow(-1, b % 2, 1)

    def do_unsqueeze(self, a, b, c):
        x = self.pick(a)
        return x.unsqueeze(c % (x.dim() + 1))

    def do_expand(self, a, b, c):
        x = self.pick(a)
        return x.expand(2, *x.shape)

    def do_permute(self, a, b, c):
        x = self.pick(a)
        return x.permute(tuple(reversed(range(x.dim()))))

    def do_unbind(self, a, b, c):
        return tuple(self.pick(a).unbind(0))[:2]

    def do_split(self, a, b, c):
        return tuple(self.pick(a).split(2, 0))[:2]

    # -- joins and indices -----------------------------------------------------------------------

    def do_cat(self, a, b, c):
        return self.lib.cat([self.pick(a), self.pick(b)], 0)

    def do_stack(self, a, b, c):
        return self.lib.stack([self.pick(a), self.pick(b)], 0)

    def do_index_select(self, a, b, c):
        x = self.pick(a)
        return self.lib.index_select(x, 0, self.lib.tensor([0, b % 2, 0])) if x.dim() else None

    def do_gather(self, a, b, c):
        x = self.pick(a)
        return self.lib.gather(x, 0, self.lib.zeros(x.shape, dtype=self.lib.int64))

    def do_masked_fill(self, a, b, c):
        x = self.pick(a)
        return x.masked_fill(x > 0.5, 0.25)

    def do_index_list(self, a, b, c):
        return self.pick(a)[[b % 2, 0, b % 2]]

    def do_flip(self, a, b, c):
        return self.pick(a).flip(0)

    def do_roll(self, a, b, c):
        return self.pick(a).roll(1, 0)

    def do_matmul(self, a, b, c):
        return (self.pick(a) @ self.pick(b)).clone()  # PyTorch squeezes its own in place

    # -- in-place --------------------------------------------------------------------------------

    def other(self, x: Any, b: int) -> Any:
        """A second operand that does not lie in part of the first one's memory."""
        y = self.pick(b)
        apart = y is x or not np.shares_memory(x.detach().numpy(), y.detach().numpy())
        return y if apart else y.clone()

    def do_add_(self, a, b, c):
        x = self.pick(a)
        x.add_(self.other(x, b), alpha=2)

    def do_mul_(self, a, b, c):
        x = self.pick(a)
        x.mul_(self.other(x, b))

    def do_sub_number(self, a, b, c):
        self.pick(a).sub_(0.25)

    def do_div_(self, a, b, c):
        x = self.pick(a)
        x.div_(self.other(x, b).abs() + 1)

    def do_sin_(self, a, b, c):
        self.pick(a).sin_()

    def do_exp_(self, a, b, c):
        self.pick(a).exp_()

    def do_tanh_(self, a, b, c):
        self.pick(a).tanh_()

    def do_relu_(self, a, b, c):
        self.pick(a).relu_()

    def do_neg_(self, a, b, c):
        self.pick(a).neg_()

    def do_zero_(self, a, b, c):
        x = self.pick(a)
        if not is_stretched(x):
            x.zero_()

    def do_fill_(self, a, b, c):
        x = self.pick(a)
        if not is_stretched(x):  # PyTorch still allows what it warns of
            x.fill_(0.75)

    def do_pow_(self, a, b, c):
        self.pick(a).pow_(2)

    def do_sqrt_(self, a, b, c):
        self.pick(a).abs_().add_(0.5).sqrt_()

    def do_clamp_(self, a, b, c):
        self.pick(a).clamp_(-0.8, 0.9)

    def do_copy_(self, a, b, c):
        x = self.pick(a)
        x.copy_(self.other(x, b))

    def do_setitem(self, a, b, c):
        self.pick(a)[c % 2] = self.pick(b).sum()

    def do_setslice(self, a, b, c):
        self.pick(a)[..., :1] = 0.5

    def do_setmask(self, a, b, c):
        x = self.pick(a)
        if not is_stretched(x):
            x[x > 0.9] = 0.1

    def do_masked_fill_(self, a, b, c):
        x = self.pick(a)
        if not is_stretched(x):
            x.masked_fill_(x > 0.5, 0.25)

    def do_iadd(self, a, b, c):
        x = self.pick(a)
        x += self.other(x, b)

    def do_imul(self, a, b, c):
        x = self.pick(a)
        x *= 1.5

    def do_data_add(self, a, b, c):
        self.pick(a).data.add_(0.125)

    def do_index_add_(self, a, b, c):
        x = self.pick(a)
        x.index_add_(0, self.lib.tensor([0]), x.detach()[:1].clone())

    # -- the graph -------------------------------------------------------------------------------

    def do_backward(self, a, b, c):
        self.pick(a).sum().backward()

    def do_backward_keep(self, a, b, c):
        self.pick(a).mul(2).sum().backward(retain_graph=True)

    def do_grad(self, a, b, c):
        x, y = self.pick(a), self.pick(b)
        found = self.lib.autograd.grad(y.sum(), x, allow_unused=True, retain_graph=True)[0]
        # A copy: PyTorch's may be a stretched view, ours has memory of its own.
        return None if found is None else found.clone()

    def do_grad_create(self, a, b, c):
        x, y = self.pick(a), self.pick(b)
        found = self.lib.autograd.grad((y * y).sum(), x, allow_unused=True, create_graph=True)[0]
        return None if found is None else found.clone()

    def do_hook(self, a, b, c):
        def seen(g):
            if g is not None:  # PyTorch calls hooks of gradients that are undefined
                self.calls.append(array_of(g))

        self.pick(a).register_hook(seen)

    def do_hook_replace(self, a, b, c):
        self.pick(a).register_hook(lambda g: None if g is None else g * 0.5)

    def do_post_hook(self, a, b, c):
        def seen(t):
            self.calls.append(array_of(t.grad))

        self.pick(a).register_post_accumulate_grad_hook(seen)

    def do_node_hook(self, a, b, c):
        node = self.pick(a).grad_fn
        if node is not None:
            node.register_hook(lambda inputs, outputs: self.calls.append(len(outputs)))

    def do_retain(self, a, b, c):
        self.pick(a).retain_grad()

    def do_requires_grad(self, a, b, c):
        # A new leaf: what becomes of views made before is PyTorch's secret.
        return self.pick(a).detach().clone().requires_grad_(bool(b % 2))

    def do_detach_(self, a, b, c):
        return self.pick(a).clone().detach_()

    def do_no_grad_op(self, a, b, c):
        with self.lib.no_grad():
            return self.pick(a) * 2

    def do_no_grad_inplace(self, a, b, c):
        with self.lib.no_grad():
            self.pick(a).mul_(0.5)

    def do_function(self, a, b, c):
        return self.functions["scaled"](self.pick(a), 1.5)

    def do_function_two(self, a, b, c):
        return self.functions["two"](self.pick(a))

    def do_zero_grad(self, a, b, c):
        self.pick(a).grad = None

    def do_set_grad(self, a, b, c):
        x = self.pick(a)
        if x.is_leaf:
            x.grad = self.lib.ones(x.shape, dtype=self.lib.float64)


def array_of(tensor: Any) -> Any:
    """The values of a tensor, copied."""
    if tensor is None:
        return None
    return np.array(tensor.detach().numpy())


def is_stretched(tensor: Any) -> bool:
    """Whether several elements lie in one place of memory."""
    sides = zip(tensor.stride(), tensor.shape, strict=True)
    return any(stride == 0 and side > 1 for stride, side in sides)


STALE = "RuntimeError: a value that the graph kept was changed"
CRASH = "RuntimeError: an assertion inside PyTorch failed"
USELESS = "RuntimeError: a view of several that a write to its base made unusable"


def family_of(error: Exception) -> str:
    """The type of an error, as far as programs can tell by catching it."""
    if "modified by an inplace operation" in str(error):
        return STALE
    if "INTERNAL ASSERT FAILED" in str(error):
        return CRASH
    if "base has been modified inplace" in str(error) or (
        "or another view of its base has been modified inplace" in str(error)
    ):
        return USELESS
    for kind in (IndexError, TypeError, ValueError, RuntimeError):
        if isinstance(error, kind):
            return kind.__name__
    return type(error).__name__


class ExplainedError(Exception):
    """The libraries part here, in a way that docs/torch.md explains."""


def difference(ours: list[Any], theirs: list[Any], program: Any = ((), ())) -> str | None:
    """Where two traces first disagree, in words; None where they agree or docs say why not."""
    unnoticed = any(kind == "data_add" for kind, *_ in program[1])
    try:
        for number, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
            if unnoticed and mine[-1] == STALE and other[-1] != STALE:
                return None  # PyTorch does not notice writes through `data`, and goes wrong
            if not same(mine, other):
                return f"statement {number}: ours {mine!r}\n theirs {other!r}"
    except ExplainedError:
        return None
    if len(ours) != len(theirs):
        return f"lengths {len(ours)} {len(theirs)}"
    return None


def same(mine: Any, other: Any) -> bool:
    if is_explained(mine, other):
        raise ExplainedError
    if isinstance(mine, (list, tuple)):
        return (
            isinstance(other, (list, tuple))
            and len(mine) == len(other)
            and all(same(a, b) for a, b in zip(mine, other, strict=True))
        )
    if isinstance(mine, np.ndarray):
        return (
            isinstance(other, np.ndarray)
            and mine.shape == other.shape
            and np.allclose(mine, other, rtol=1e-9, atol=1e-11, equal_nan=True)
        )
    return bool(mine == other)


def is_explained(mine: Any, other: Any) -> bool:
    """Ours goes on, and rightly, where PyTorch has lost what it would need.

    A rule of ours may keep less than PyTorch's, so that a write does not matter to it. Views of
    several outputs are taken anew from a base that was written to.
    """
    if isinstance(other, str) and other == USELESS:
        return True
    if not (isinstance(other, tuple) and len(other) == 3 and isinstance(other[1], str)):
        return False
    mine_failed = len(mine) == 3 and isinstance(mine[1], str)
    if mine_failed and mine[2].partition(":")[0] == other[2].partition(":")[0]:
        return True  # an error of the same type, where there are two reasons for one
    return other[2] in (USELESS, CRASH) or (other[2] == STALE and not mine_failed)
