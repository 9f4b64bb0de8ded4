"""Programs over autograd: writes, views, modes, passes with options, Functions, transforms."""

from __future__ import annotations

from typing import Any

from drawn import Draw, Transcript, family

UNARY = (
    "sin",
    "exp",
    "tanh",
    "sigmoid",
    "square",
    "relu",
    "abs",
    "neg",
    "t",
    "sum",
    "mean",
    "clone",
    "detach",
    "contiguous",
    "cos",
    "sqrt",
    "log",
    "cumsum0",
    "softmax0",
    "flatten",
    "max",
    "prod",
    "norm",
    "unsqueeze0",
    "logsumexp0",
    "std",
    "sort",
)
VIEWS = (
    "[0]",
    "[:, 1]",
    "[1:]",
    "view(-1)",
    "t()",
    "unsqueeze(0)",
    "expand(3, 2, 2)",
    "diagonal()",
    "reshape(4)",
    "transpose(0, 1)",
    "squeeze()",
    "narrow(0, 0, 1)",
    "unbind(0)[0]",
    "chunk(2)[1]",
    "permute(1, 0)",
    "detach()",
    "select(1, 0)",
    "as_strided((2,), (2,))",
    "split(1)[0]",
    "real",
    "mT",
)
WRITES = (
    "mul_(2)",
    "add_(1)",
    "zero_()",
    "copy_(other)",
    "sin_()",
    "fill_(3.0)",
    "[0] = 1.0",
    "[:] = other",
    "exp_()",
    "clamp_(0, 1)",
    "neg_()",
    "add_(other)",
    "sub_(other, alpha=2)",
    "t_()",
    "unsqueeze_(0)",
    "requires_grad_()",
    "detach_()",
    "relu_()",
    "masked_fill_(other > 0, 2.0)",
    "index_fill_(0, index, 0.5)",
    "data[0] = 2.0",
    "set",
    "div_(other)",
    "pow_(2)",
    "squeeze_()",
    "resize_(1)",
)


def _unary(x: Any, name: str) -> Any:
    if name.endswith("0"):
        return getattr(x, name[:-1])(0)
    return getattr(x, name)() if name != "sort" else x.sort().values


def _path(x: Any, path: str) -> Any:
    return eval(f"x{path}" if path.startswith("[") else f"x.{path}", {"x": x})


def _write(t: Any, x: Any, write: str, other: Any) -> Any:
    known = {"x": x, "other": other, "index": t.tensor([0]), "t": t}
    if write == "set":
        x.data = other.detach().clone()
    elif "=" in write and "alpha" not in write:
        exec(f"x{write}" if write.startswith("[") else f"x.{write}", known)
    else:
        eval(f"x.{write}", known)
    return x


def _state(x: Any) -> Any:
    return [x, x._version, x._is_view(), x.retains_grad, list(x.stride()), x.is_contiguous()]


@family
def graphs(t: Any, log: Transcript, draw: Draw) -> None:
    """Operations, views, writes, modes, then passes with drawn options."""
    values = [t.from_numpy(draw.numbers(2, 2)) for _ in range(3)]
    for x in values[:2]:
        x.requires_grad_()
    leaves = list(values)
    for _ in range(draw.count(4, 9)):
        x, other = draw.one(*values), draw.one(*values)
        kind = draw.one("unary", "binary", "view", "view", "write", "write", "mode", "look")
        name = draw.one(*{"unary": UNARY, "view": VIEWS, "write": WRITES}.get(kind, ("",)))
        mode = draw.one("no_grad", "inference_mode", "enable_grad")
        sign = draw.one("+", "*", "@", "/", "-", "where", "cat", "stack")

        def step(x=x, other=other, kind=kind, name=name, mode=mode, sign=sign) -> Any:  # type: ignore[no-untyped-def]
            if kind == "unary":
                return _unary(x, name)
            if kind == "view":
                return _path(x, name)
            if kind == "write":
                return _write(t, x, name, other)
            if kind == "look":
                return log(_state(x))
            if kind == "mode":
                with getattr(t, mode)():
                    return x[:1] if x.dim() else x * 2
            if sign in ("where", "cat", "stack"):
                return (
                    t.where(x > 0, x, other) if sign == "where" else getattr(t, sign)([x, other])
                )
            return eval(f"x {sign} y", {"x": x, "y": other})

        log(kind, name or sign)
        found = log.attempt(step)
        if isinstance(found, t.Tensor):
            values.append(found)
            log.attempt(lambda f=found: _state(f))
    _passes(t, log, draw, values, leaves)


def _passes(t: Any, log: Transcript, draw: Draw, values: Any, leaves: Any) -> None:
    anomaly = draw.chance(0.1)
    for _ in range(2):
        roots = draw.several(values[2:], 1, 2)
        how = draw.one("backward", "backward", "grad", "grad", "scalar", "weights", "inputs")
        options = draw.some({"retain_graph": (True, False), "create_graph": (True, False)})
        unused = draw.some({"allow_unused": (True, False), "materialize_grads": (True, False)})
        targets = draw.several(values[:4], 1, 3)
        weights = draw.one(None, t.ones(2, 2, dtype=t.float64), t.ones(2), t.ones(2, 2))

        def run(
            roots=roots, how=how, options=options, targets=targets, weights=weights, unused=unused
        ) -> Any:  # type: ignore[no-untyped-def]
            total = sum((r * r).sum() for r in roots)
            if how == "grad":
                return t.autograd.grad(total, targets, **options, **unused)
            if how == "scalar":
                return roots[0].backward()
            if how == "weights":
                return roots[0].backward(weights)
            if how == "inputs":
                return total.backward(inputs=targets, **options)
            return total.backward(**options)

        log("pass", how, str(options))
        if anomaly:
            with t.autograd.set_detect_anomaly(True):
                log.attempt(run)
        else:
            log.attempt(run)
        log([x.grad if x.is_leaf else None for x in leaves])


def _function(t: Any, log: Transcript, draw: Draw) -> Any:
    what = draw.one(
        "right",
        "right",
        "once",
        "two",
        "none",
        "few",
        "many",
        "wrong shape",
        "dirty",
        "non differentiable",
        "saved",
        "not tensor",
        "materialize",
        "twice",
        "view",
        "input",
        "setup",
        "no backward",
        "raise",
        "wrong dtype",
        "jvp",
    )
    F = t.autograd.Function

    def backward(ctx: Any, *gs: Any) -> Any:
        log("backward", what, gs, ctx.needs_input_grad)
        x, y = ctx.saved_tensors
        g = gs[0] if gs[0] is not None else t.zeros(2, 2, dtype=t.float64)
        if what == "few":
            return g * y
        if what == "many":
            return g * y, g * x, g
        if what == "none":
            return None, g * x
        if what == "wrong shape":
            return (g * y).sum(0), g * x
        if what == "wrong dtype":
            return (g * y).float(), g * x
        if what == "not tensor":
            return 3, g * x
        if what == "raise":
            raise ValueError("backward fails")
        return g * y, g * x

    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        if what == "two":
            return x * y, x + y
        if what == "dirty":
            ctx.mark_dirty(x)
            return x.mul_(y)
        if what == "non differentiable":
            out = x * y
            rounded = x > 0
            ctx.mark_non_differentiable(rounded)
            return out, rounded
        if what == "saved":
            ctx.save_for_backward(3)
        if what == "materialize":
            ctx.set_materialize_grads(False)
            return x * y, x + y
        if what == "twice":
            out = x * y
            return out, out
        if what == "view":
            return x.view(4)
        if what == "input":
            return x
        return x * y

    body: dict[str, Any] = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    if what == "once":
        body["backward"] = staticmethod(t.autograd.function.once_differentiable(backward))
    if what == "no backward":
        del body["backward"]
    if what == "setup":
        body["forward"] = staticmethod(lambda x, y: x * y)
        body["setup_context"] = staticmethod(
            lambda ctx, inputs, output: ctx.save_for_backward(*inputs)
        )
    if what == "jvp":
        body["jvp"] = staticmethod(lambda ctx, a, b: a + b)
    log(what)
    return type("Product", (F,), body)


@family
def functions(t: Any, log: Transcript, draw: Draw) -> None:
    """Custom Functions that do right and wrong, differentiated once and twice."""
    function = _function(t, log, draw)
    x, y = (t.from_numpy(draw.numbers(2, 2)) for _ in range(2))
    a, b = x.requires_grad_(draw.chance(0.8)), y.requires_grad_(draw.chance(0.8))
    if draw.chance(0.7):
        a, b = a * 1, b * 1
    mode, create = draw.one("enable_grad", "enable_grad", "enable_grad", "no_grad"), draw.chance()
    extra = draw.one((), (), (), (3,))

    def run() -> Any:
        with getattr(t, mode)():
            return function.apply(a, b, *extra)

    found = log.attempt(run, "applied")
    outputs = found if isinstance(found, tuple) else (found,)
    use = draw.one(outputs, outputs[:1])
    leaves = [v for v in (x, y) if v.requires_grad]

    def gradients() -> Any:
        total = sum((o * o).sum() for o in use)
        first = t.autograd.grad(total, leaves, create_graph=create, allow_unused=True)
        log(first)
        second = sum((g * g).sum() for g in first if g is not None)
        return t.autograd.grad(second, leaves, allow_unused=True)

    if found is not None:
        log.attempt(gradients, "gradients")
    log.attempt(lambda: function(), "made")
    log.attempt(lambda: function.apply(), "nothing")
    log.attempt(lambda: [a, b, a._version])


BODIES: tuple[Any, ...] = (
    lambda t, x: x.sin() * x,
    lambda t, x: (x * x).sum(),
    lambda t, x: x.exp().sum(-1),
    lambda t, x: x @ x.t() if x.dim() == 2 else x * 2,
    lambda t, x: x.detach() * 2,
    lambda t, x: (x.sin().sum(), x * 3),
    lambda t, x: 3.0,
    lambda t, x: t.ones(2, dtype=t.float64),
    lambda t, x: x.tanh().mean(),
    lambda t, x: {"a": x.cos(), "b": x.sum()},
    lambda t, x: x[0] * x[-1],
    lambda t, x: x.prod(),
    lambda t, x: x.item(),
    lambda t, x: (x > 0) * x,
    lambda t, x: None,
)


@family
def transforms(t: Any, log: Transcript, draw: Draw) -> None:
    """autograd.functional, torch.func and checkpoints of drawn functions."""
    body = draw.one(*BODIES)
    shape = draw.one((2,), (2, 2), (3,))
    x = t.from_numpy(draw.numbers(*shape))
    v = t.from_numpy(draw.numbers(*draw.one(shape, shape, (2,), ())))
    if draw.chance(0.3):
        x.requires_grad_()
    name = draw.one(
        "jacobian",
        "hessian",
        "vjp",
        "jvp",
        "hvp",
        "vhp",
        "func",
        "func",
        "func",
        "func",
        "checkpoint",
        "checkpoint",
        "forward_ad",
    )
    options = draw.some({"strict": (True, False), "create_graph": (True, False)})
    log(name, str(options))

    def f(x: Any) -> Any:
        return body(t, x)

    if name == "func":
        _func(t, log, draw, f, x, v)
    elif name == "checkpoint":
        _checkpoint(t, log, draw, f, x)
    elif name == "forward_ad":
        _dual(t, log, draw, f, x, v)
    else:
        vectors = () if name in ("jacobian", "hessian") else draw.one((v,), (v,), ())
        if name in ("jacobian", "hessian"):
            options |= draw.some({"vectorize": (True, False)}) if draw.chance(0.3) else {}
        log.attempt(lambda: getattr(t.autograd.functional, name)(f, x, *vectors, **options), name)


def _func(t: Any, log: Transcript, draw: Draw, f: Any, x: Any, v: Any) -> None:
    func = t.func
    programs = {
        "grad": lambda: func.grad(f)(x),
        "grad_and_value": lambda: func.grad_and_value(f)(x),
        "jacrev": lambda: func.jacrev(f)(x),
        "jacfwd": lambda: func.jacfwd(f)(x),
        "hessian": lambda: func.hessian(f)(x),
        "vmap": lambda: func.vmap(f)(x),
        "vmap of grad": lambda: func.vmap(func.grad(f))(x),
        "vmap, in_dims": lambda: func.vmap(f, in_dims=1)(x),
        "vmap, out_dims": lambda: func.vmap(f, out_dims=1)(x),
        "vmap, wrong": lambda: func.vmap(f, in_dims=(0, 1))(x),
        "vmap, none": lambda: func.vmap(f, in_dims=None)(x),
        "vjp": lambda: func.vjp(f, x)[0],
        "vjp, pulled": lambda: func.vjp(f, x)[1](v),
        "jvp": lambda: func.jvp(f, (x,), (v,)),
        "jvp, wrong": lambda: func.jvp(f, x, v),
        "grad of grad": lambda: func.grad(lambda y: func.grad(f)(y).sum())(x),
        "linearize": lambda: func.linearize(f, x)[1](v),
        "argnums": lambda: func.grad(f, argnums=1)(x),
        "argnums pair": lambda: func.grad(f, argnums=(0,))(x),
        "has_aux": lambda: func.grad(f, has_aux=True)(x),
        "chunks": lambda: func.vmap(f, chunk_size=1)(x),
        "two": lambda: func.vmap(lambda a, b: a * b)(x, v),
        "integers": lambda: func.grad(f)(x.detach().long()),
        "no tensor": lambda: func.grad(f)(3.0),
    }
    for name in draw.several(programs, 2, 4):
        log(name)
        log.attempt(programs[name], name)


def _checkpoint(t: Any, log: Transcript, draw: Draw, f: Any, x: Any) -> None:
    options: dict[str, Any] = {"use_reentrant": draw.one(True, False, None)}
    options |= draw.some({"preserve_rng_state": (True, False)})
    y = x * 1 if draw.chance() else x
    body = draw.one("plain", "plain", "changes", "early")
    calls = []

    def counted(x: Any) -> Any:
        calls.append(1)
        if body == "changes" and len(calls) > 1:
            return f(x.sum().reshape(1))
        if body == "early":
            return f(x).sum().sin().cos()
        return f(x)

    out = log.attempt(lambda: t.utils.checkpoint.checkpoint(counted, y, **options), "checkpoint")
    if isinstance(out, t.Tensor):
        log.attempt(lambda: out.sum().backward(), "backward")
        log(x.grad, len(calls))


def _dual(t: Any, log: Transcript, draw: Draw, f: Any, x: Any, v: Any) -> None:
    ad = t.autograd.forward_ad

    def program() -> Any:
        with ad.dual_level():
            dual = ad.make_dual(x.detach(), v)
            out = f(dual)
            return ad.unpack_dual(out)

    log.attempt(program, "dual")
    log.attempt(lambda: ad.make_dual(x, v), "no level")

    def other() -> Any:
        with ad.dual_level():
            return ad.make_dual(x.detach(), x.detach().float())

    log.attempt(other, "dtype")
