"""`gradcheck` and `gradgradcheck`: compare derivatives with finite differences.

Knows `autograd.grad` and finite differences. Must not know the graph.

The differences are central ones. A complex input is moved along the real and the imaginary axis,
which gives the two Wirtinger derivatives that PyTorch's gradient is made of.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._block import contextmanager
from tapegrad._core.quiet import errstate
from tapegrad._core.types import Function, Index, Tree, Value
from tapegrad._errors import name_of
from tapegrad._progress import Bar, Progress, current
from tapegrad._warning import warn
from tapegrad.torch._dtypes import Size, of_numpy
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of
from tapegrad.torch.autograd import forward_ad
from tapegrad.torch.autograd._passes import grad
from tapegrad.torch.autograd.function import Function as _Function

Array = np.ndarray[Any, Any]


class GradcheckError(RuntimeError):
    """A derivative differs from the differences, or a check could not be made."""


@errstate()  # np.allclose sets NumPy's error state, and an interrupt may leave that set
def gradcheck(
    func: Function,
    inputs: Tree,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
    progress: Progress = None,
    blame: bool = False,
) -> bool:
    """Whether the derivatives of `func(*inputs)` agree with central differences.

    Each element moves on its own. A function that reads one triangle of a matrix, such as
    `torch.linalg.cholesky` or `eigh`, has a symmetric gradient: check it of `(a + a.mH) / 2`.

    inputs (Tensor or tuple): Those that require grad are checked, and should be float64 or
        complex128: in float32 the differences themselves are only good to a few digits.
    eps (float, default 1e-6): The step of the differences.
    atol, rtol (float, defaults 1e-5 and 1e-3): A derivative may differ by `atol + rtol *
        |difference|`.
    check_undefined_grad: Also check that undefined gradients of outputs are taken.
    check_batched_forward_grad: Also check batched forward mode.
    check_forward_ad: Check forward mode.
    check_backward_ad: Check backward passes.
    blame: Add to the error which operation of `func` is wrong, by its name, the line that calls
        it, the argument and the element; where a derivative raises, a note says whose. PyTorch's
        gradcheck has no such parameter.
    -> bool: True, or False where they differ and `raise_exception` is False.
    GradcheckError: Where they differ; it is a RuntimeError.
    ValueError: If no input requires grad.
    RuntimeError: If an input has elements that share memory by a stride of 0.
    AssertionError: If neither mode is to be checked, or a batched check is asked for without its
        mode.
    UserWarning: If an input that requires grad is not of double precision.
    See also gradgradcheck: The same of second derivatives.

    >>> x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.sin, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    _require("check_batched_grad", check_batched_grad, "check_backward_ad", check_backward_ad)
    name = "check_batched_forward_grad"
    _require(name, check_batched_forward_grad, "check_forward_ad", check_forward_ad)
    check = _Check(func, inputs, eps, atol, rtol, nondet_tol, fast_mode)
    with _blaming(blame, func, check.inputs, 1):
        try:
            check.inputs_are_fit()
            outputs = check.outputs()
            with Bar(f"gradcheck({name_of(func)})", progress) as bar:
                bar.begin(check.partials(outputs, check_backward_ad, check_forward_ad))
                check.gradients_exist(outputs)
                if check_backward_ad:
                    check.backward(outputs)
                if check_forward_ad:
                    check.forward(
                        outputs, undefined=check_undefined_grad, batched=check_batched_forward_grad
                    )
            if check_backward_ad:
                if check_batched_grad:
                    check.batched(outputs)
                if check_grad_dtypes:
                    check.dtypes(outputs)
                check.zero_and_undefined(outputs, undefined=check_undefined_grad)
        except GradcheckError:
            if raise_exception:
                raise
            return False
    return True


@contextmanager
def _blaming(blame: bool, func: Function, inputs: Sequence[Any], order: int) -> Iterator[None]:
    """Context in which an error gets the operation that is to blame, if that is asked for."""
    try:
        yield
    except Exception as error:
        if not blame:
            raise
        from tapegrad.torch.autograd._blame import raising_of, text_of  # which import this package

        if isinstance(error, GradcheckError):
            raise GradcheckError(f"{error}\n{text_of(func, inputs, order)}") from None
        note = raising_of(func, inputs, order)
        if note:
            error.add_note(note)
        raise


def gradgradcheck(
    func: Function,
    inputs: Tree,
    grad_outputs: Tree = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
    progress: Progress = None,
    blame: bool = False,
) -> bool:
    """Whether the second derivatives of `func(*inputs)` agree with differences of the first.

    inputs (Tensor or tuple): As in `gradcheck`.
    grad_outputs (Tensor or tuple of Tensor): The cotangents of the outputs that require grad;
        random ones if left out.
    eps (float, default 1e-6): The step of the differences.
    atol, rtol (float, defaults 1e-5 and 1e-3): A derivative may differ by `atol + rtol *
        |difference|`.
    gen_non_contig_grad_outputs: Let random cotangents have gaps in memory.
    check_undefined_grad: Also check that undefined gradients are taken.
    check_fwd_over_rev: Differentiate the backward pass in forward mode.
    check_rev_over_rev: Differentiate the backward pass by a backward pass.
    blame: As in `gradcheck`.
    -> bool: True, or False where they differ and `raise_exception` is False.
    GradcheckError: Where they differ; it is a RuntimeError.
    AssertionError: If neither way is asked for, or what only the second checks is asked for
        without it.
    See also gradcheck: The same of first derivatives.

    >>> x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.sin, (x,))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    way = ("check_rev_over_rev", check_rev_over_rev)
    _require("check_undefined_grad", check_undefined_grad, *way)
    _require("check_batched_grad", check_batched_grad, *way)
    given = _as_tuple(inputs)
    outputs = _differentiable(func(*given))
    if grad_outputs is None:
        random = np.random.default_rng(0)
        directions = tuple(
            _random_like(out, random, contiguous=not gen_non_contig_grad_outputs)
            for out in outputs
        )
    else:
        directions = _as_tuple(grad_outputs)
    count = len(directions)

    def first(*args: Any) -> Any:
        xs, vs = args[:-count], args[-count:]
        for x, like in zip(xs, given, strict=False):  # forward mode takes tensors off the graph
            if _is_checked(like):
                x.requires_grad_()
        wanted = tuple(x for x in xs if _is_checked(x))
        out = _differentiable(func(*xs))
        found: list[Any] = [*grad(out, wanted, vs, create_graph=True, allow_unused=True)]
        return tuple(g for g in found if g is not None)

    with _blaming(blame, func, given, 2):
        return gradcheck(
            first,
            given + directions,
            eps=eps,
            atol=atol,
            rtol=rtol,
            raise_exception=raise_exception,
            nondet_tol=nondet_tol,
            check_undefined_grad=check_undefined_grad,
            check_grad_dtypes=check_grad_dtypes,
            check_batched_grad=check_batched_grad,
            check_forward_ad=check_fwd_over_rev,
            check_backward_ad=check_rev_over_rev,
            fast_mode=fast_mode,
            masked=masked,
            progress=progress,
        )


def _require(name: str, asked: bool, mode: str, checked: bool) -> None:
    """Raise AssertionError for a check that is asked for without its mode."""
    if asked and not checked:
        raise AssertionError(f"Setting {name}=True requires {mode} to be True")


# --- Inputs and outputs -------------------------------------------------------------------------


def _as_tuple(given: Tree) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def _is_checked(x: object) -> bool:
    return isinstance(x, Tensor) and x.requires_grad


def _differentiable(outputs: Tree) -> tuple[Tensor, ...]:
    return tuple(out for out in _as_tuple(outputs) if _is_checked(out))


def _floating(outputs: Tree) -> tuple[Tensor, ...]:
    given = (out for out in _as_tuple(outputs) if isinstance(out, Tensor))
    return tuple(out for out in given if out._value.dtype.kind in "fcV")


def _axes(x: Tensor) -> int:
    """How many real numbers it has."""
    return x.numel() * (2 if x._value.dtype.kind == "c" else 1)


def _random_like(out: Tensor, random: np.random.Generator, *, contiguous: bool) -> Tensor:
    values = random.standard_normal(out.shape)
    if out._value.dtype.kind == "c":
        values = values + 1j * random.standard_normal(out.shape)
    values = np.asarray(values).astype(out._value.dtype)
    if not contiguous and values.ndim:
        values = np.repeat(values, 2, axis=-1)[..., ::2]
    return of_value(values).requires_grad_(True)


# --- The check ----------------------------------------------------------------------------------


NONDETERMINISTIC = """
NOTE: If your op relies on non-deterministic operations, this failure might be expected: then call
gradcheck/gradgradcheck with `nondet_tol=<tol>` as a keyword argument.
"""


class _Check:
    """One gradcheck: a function at a point, with its tolerances."""

    def __init__(
        self,
        func: Function,
        inputs: Tree,
        eps: float,
        atol: float,
        rtol: float,
        nondet_tol: float,
        fast: bool,
    ) -> None:
        self.func = func
        self.inputs = _as_tuple(inputs)
        self.eps, self.atol, self.rtol, self.nondet_tol = eps, atol, rtol, nondet_tol
        self.fast = fast
        self.checked = [x for x in self.inputs if _is_checked(x)]
        self.random = np.random.default_rng(0)
        self.measured: dict[int, list[Array]] = {}

    def inputs_are_fit(self) -> None:
        """Raise ValueError if no input requires grad; warn of inputs without double precision."""
        if not self.checked:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of "
                "them have requires_grad=True."
            )
        for position, x in enumerate(self.inputs):
            if _is_checked(x) and x._value.dtype not in (np.float64, np.complex128):
                warn(
                    f"Input #{position} requires gradient and is not a double precision floating "
                    "point or complex. This check will likely fail if all the inputs are not of "
                    "double precision floating point or complex. "
                )
            if _is_checked(x) and any(
                x.numel() and stride == 0 and side > 1
                for stride, side in zip(x._value.strides, x._value.shape, strict=True)
            ):
                raise RuntimeError(
                    f"The {position}th input has a dimension with stride 0. gradcheck only "
                    "supports inputs that are non-overlapping to be able to compute the numerical "
                    "gradients correctly. You should call .contiguous on the input before passing "
                    "it to gradcheck."
                )

    def outputs(self) -> tuple[Tensor, ...]:
        """The outputs that can be differentiated, of a new run."""
        return _differentiable(self.func(*self.inputs))

    def partials(self, outputs: tuple[Tensor, ...], backward: bool, forward: bool) -> int:
        """How many directions are run along: by differences, forward, and backward twice."""
        moved = sum(_axes(x) for x in self.checked)
        return moved * (1 + forward) + 2 * backward * sum(map(_axes, outputs))

    def gradients_exist(self, outputs: tuple[Tensor, ...]) -> None:
        """A function without differentiable outputs must not change with its inputs."""
        if outputs:
            return
        for position, x in enumerate(self.checked):
            for out, column in enumerate(self._numerical(x)):
                if np.any(column != 0):
                    raise GradcheckError(
                        "Numerical gradient for function expected to be zero: output "
                        f"{out} changes with input {position}, but does not require grad."
                    )

    # -- numerical -------------------------------------------------------------------------------

    def _values(self) -> list[Array]:
        return [np.array(out._value) for out in _floating(self.func(*self.inputs))]

    def _slope(self, x: Tensor, index: Index, step: complex) -> list[Array]:
        """Central differences of all outputs along one element."""
        before = x._value[index]
        x._value[index] = before + step
        above = self._values()
        x._value[index] = before - step
        below = self._values()
        x._value[index] = before
        self._check_alike(above, below, f"on index {index} by {abs(step)}")
        return [(a - b) / (2 * abs(step)) for a, b in zip(above, below, strict=True)]

    def _check_alike(self, above: list[Array], below: list[Array], where: str) -> None:
        """Raise AssertionError where the number, shape or dtype of the outputs changes."""
        if len(above) != len(below):
            raise AssertionError(
                "Expected `func` to return the same number of outputs when inputs are perturbed "
                f"{where}, but got: {len(below)} and {len(above)}."
            )
        for a, b in zip(above, below, strict=True):
            for what, shown in (("shape", Size), ("dtype", of_numpy)):
                one, other = getattr(b, what), getattr(a, what)
                if one != other:
                    raise AssertionError(
                        f"Expected `func` to return outputs with the same {what} when inputs are "
                        f"perturbed {where}, but got: {what}s {shown(one)} and {shown(other)}."
                    )

    def _numerical(self, x: Tensor) -> list[Array]:
        """For each output d out / d x by differences, of shape (x.size, out.size).

        For a complex x two such matrices on top of each other: along the real and imaginary axis.
        Both modes are compared with the same.
        """
        if id(x) not in self.measured:  # the inputs are kept, so are their addresses
            self.measured[id(x)] = self._differences(x)
        return self.measured[id(x)]

    def _differences(self, x: Tensor) -> list[Array]:
        steps: tuple[complex, ...] = (self.eps,)
        if x._value.dtype.kind == "c":
            steps = (self.eps, 1j * self.eps)
        rows: list[list[Array]] = []
        for step in steps:
            for index in current().over(np.ndindex(x._value.shape)):
                for position, slope in enumerate(self._slope(x, index, step)):
                    if position == len(rows):
                        rows.append([])
                    rows[position].append(slope.reshape(-1))
        if not rows:  # of an input of no elements
            return [np.zeros((0, out.size)) for out in self._values()]
        return [np.stack(parts) for parts in rows]

    # -- analytical ------------------------------------------------------------------------------

    def _differentiable_positions(self, outputs: Sequence[Tensor]) -> list[int]:
        """Which of the floating outputs require grad."""
        floating = _floating(self.func(*self.inputs))
        return [position for position, out in enumerate(floating) if out.requires_grad]

    def _analytical(self, out: Tensor) -> list[Array]:
        """For each checked input the pullbacks of a basis of an output: (x.size, out.size).

        For a complex output the basis has imaginary vectors too: twice as many columns.
        """
        units: tuple[complex, ...] = (1.0,) if out._value.dtype.kind != "c" else (1.0, 1j)
        columns: list[list[Array]] = [[] for _ in self.checked]
        for unit in units:
            for index in current().over(np.ndindex(out._value.shape)):
                basis = np.zeros(out._value.shape, out._value.dtype)
                basis[index] = unit
                found = self._pull(out, of_value(basis))
                for parts, g, x in zip(columns, found, self.checked, strict=True):
                    value = np.zeros(x._value.shape) if g is None else g._value
                    parts.append(np.array(value).reshape(-1))
        return [
            np.stack(parts, axis=1) if parts else np.zeros((x.numel(), 0))
            for parts, x in zip(columns, self.checked, strict=True)
        ]

    def _pull(self, out: Tensor, direction: Tensor) -> list[Any]:
        found: list[Any]
        found = [*grad(out, self.checked, direction, retain_graph=True, allow_unused=True)]
        for g, x in zip(found, self.checked, strict=True):
            if g is not None and g.shape != x.shape:
                raise GradcheckError("Analytical gradient has incorrect size")
        return found

    def backward(self, outputs: tuple[Tensor, ...]) -> None:
        """Raise GradcheckError where a backward pass differs from the differences."""
        positions = self._differentiable_positions(outputs)
        numerical = [self._numerical(x) for x in self.checked]
        pairs = []
        for at, out in zip(positions, outputs, strict=True):
            analytical = self._analytical(out)
            again = self._analytical(out)
            for number, (first, second) in enumerate(zip(analytical, again, strict=True)):
                if np.abs(first - second).max(initial=0) > self.nondet_tol:
                    raise GradcheckError(
                        "Backward is not reentrant, i.e., running backward with same input and "
                        "grad_output multiple times gives different values, although analytical "
                        "gradient matches numerical gradient.The tolerance for nondeterminism "
                        f"was {self.nondet_tol}.\n{NONDETERMINISTIC}"
                    )
                expected = _as_gradients(numerical[number][at], self.checked[number], out)
                pairs.append(_Pair(first, expected, at, number, _is_complex(out)))
        self._compare_parts(pairs, "outputs", 1, "Jacobian mismatch")

    def _compare_parts(self, pairs: list[_Pair], of: str, axis: int, what: str) -> None:
        """Compare Jacobians; those of complex tensors by halves, all imaginary parts first."""
        for part in ("imaginary", "real"):
            for found, expected, out, number, split in pairs:
                if split:
                    half = part == "imaginary"
                    halves = [np.split(each, 2, axis)[half] for each in (found, expected)]
                    prefix = f"While considering the {part} part of complex {of} only, "
                    self._compare(halves[0], halves[1], out, number, prefix + what)
                elif part == "imaginary":
                    self._compare(found, expected, out, number, what)

    def _compare(self, found: Value, expected: Value, out: int, number: int, what: str) -> None:
        left: Any = expected
        right: Any = found
        least = self.atol
        if self.fast:  # one random combination of rows and columns, of length one
            u, v = (self.random.random(side) for side in found.shape)
            u, v = u / (np.linalg.norm(u) or 1), v / (np.linalg.norm(v) or 1)
            left, right = (u @ matrix @ v for matrix in (expected, found))
            least *= float(np.abs(np.outer(u, v)).sum())
        if np.allclose(right, left, self.rtol, least):
            return
        shown = [str(x.item()) if self.fast else _shown(x) for x in (left, right)]
        raise GradcheckError(
            f"{what} for output {out} with respect to input {number},\n"
            f"numerical:{shown[0]}\nanalytical:{shown[1]}\n"
            + (_slowly(found, expected, self.rtol, self.atol) if self.fast else "")
        )

    # -- more ------------------------------------------------------------------------------------

    def forward(self, outputs: tuple[Tensor, ...], *, undefined: bool, batched: bool) -> None:
        """Raise GradcheckError where forward mode differs from the differences."""
        positions = self._differentiable_positions(outputs)
        pairs = []
        for number, x in enumerate(self.checked):
            numerical = self._numerical(x)
            units: tuple[complex, ...] = (1.0, 1j) if _is_complex(x) else (1.0,)
            rows: list[list[Any]] = [[] for _ in numerical]
            for unit in units:
                for index in current().over(np.ndindex(x._value.shape)):
                    tangent = np.zeros_like(x._value)
                    tangent[index] = unit
                    for parts, dot in zip(rows, self._pushed({id(x): tangent}), strict=True):
                        parts.append(dot.reshape(-1))
            for at in positions:
                if rows[at]:
                    found = np.stack(rows[at])
                    pairs.append(_Pair(found, numerical[at], at, number, _is_complex(x)))
        self._compare_parts(pairs, "inputs", 0, "Jacobian computed with forward mode mismatch")
        if undefined:
            self._undefined_forward()
        if batched:
            for number, x in enumerate(self.checked):
                self._batched_forward(x, number)

    def _pushed(self, tangents: dict[int, Value], without: Tensor | None = None) -> list[Array]:
        """The tangents of the floating outputs, for tangents of inputs by their ids.

        Those of the other checked inputs are zeros; `without` has none.
        """
        with forward_ad.dual_level():
            args = []
            for arg in self.inputs:
                if _is_checked(arg):
                    tangent = tangents.get(id(arg))
                    tangent = np.zeros_like(arg._value) if tangent is None else tangent
                    plain = arg.detach()
                    if arg is not without:
                        plain = forward_ad.make_dual(plain, of_value(tangent))
                    args.append(plain)
                else:
                    args.append(arg)
            found = []
            for out in _floating(self.func(*args)):
                primal, dot = forward_ad.unpack_dual(out)
                found.append(np.array(np.zeros(primal.shape) if dot is None else plain_of(dot)))
            return found

    def _undefined_forward(self) -> None:
        """Raise GradcheckError where no tangent of an input is not the same as zeros."""
        tangents = {
            id(x): np.asarray(self.random.standard_normal(x.shape)).astype(x._value.dtype)
            for x in self.checked
        }
        for number, x in enumerate(self.checked):
            others = {key: tangent for key, tangent in tangents.items() if key != id(x)}
            zeros, none = self._pushed(others), self._pushed(others, without=x)
            for at, (one, other) in enumerate(zip(zeros, none, strict=True)):
                if not np.allclose(one, other):
                    raise GradcheckError(
                        f"Mismatch in tangent values for output with index: {at} when input: "
                        f"{number} has an undefined tangent value.  Got: {one} but expected: "
                        f"{other}"
                    )

    def _batched_forward(self, x: Tensor, number: int) -> None:
        """Raise GradcheckError where batched tangents give something else than single ones."""
        from tapegrad.torch import func as transforms

        def pushed(tangent: Tensor) -> Any:
            def of_x(primal: Tensor) -> Any:
                return _floating(self.func(*(primal if arg is x else arg for arg in self.inputs)))

            return transforms.jvp(of_x, (x.detach(),), (tangent,))[1]

        directions = self.random.standard_normal((2, *x.shape)).astype(x._value.dtype)
        try:
            together = transforms.vmap(pushed)(of_value(directions))
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}") from error
        alone = [self._pushed({id(x): direction}) for direction in directions]
        for at, found in enumerate(together):
            expected = np.stack([parts[at] for parts in alone])
            self._same_batch(plain_of(found), expected, at, number)

    def batched(self, outputs: tuple[Tensor, ...]) -> None:
        """Raise GradcheckError where a batched pass differs from single ones."""
        for at, out in enumerate(outputs):
            directions = self.random.standard_normal((3, *out.shape)).astype(out._value.dtype)
            together = grad(
                out,
                self.checked,
                of_value(directions),
                retain_graph=True,
                allow_unused=True,
                is_grads_batched=True,
            )
            alone = [self._pull(out, of_value(part)) for part in directions]
            for number, found in enumerate(together):
                if found is None:
                    continue
                expected = np.stack([part[number]._value for part in alone])
                self._same_batch(found._value, expected, at, number)

    def _same_batch(self, found: Value, expected: Value, out: int, number: int) -> None:
        if not np.allclose(found, expected, self.rtol, self.atol, equal_nan=True):
            raise GradcheckError(
                f"For output {out} and input {number}: the batched gradient differs from that of "
                f"a loop.\nGot:\n{found}\n\nExpected:\n{expected}\n"
            )

    def dtypes(self, outputs: tuple[Tensor, ...]) -> None:
        """Raise GradcheckError where a gradient has another dtype than its input."""
        for out in outputs:
            found = self._pull(out, of_value(np.ones_like(out._value)))
            for g, x in zip(found, self.checked, strict=True):
                if g is not None and g.dtype != x.dtype:
                    raise GradcheckError(
                        "grad is complex where its input is not, or differs: "
                        f"{g.dtype} for an input of {x.dtype}"
                    )

    def zero_and_undefined(self, outputs: tuple[Tensor, ...], *, undefined: bool) -> None:
        """Raise GradcheckError where cotangents of zero, or None, give nonzero gradients."""
        for out in outputs:
            for g in self._pull(out, of_value(np.zeros_like(out._value))):
                if g is not None and np.any(g._value != 0):
                    raise GradcheckError("backward not multiplied by grad_output")
        if undefined:
            everywhere = range(len(outputs))
            self._undefined_backward(everywhere)
            for position in everywhere if len(outputs) > 1 else ():
                self._undefined_backward([position])

    def _undefined_backward(self, positions: Container[int]) -> None:
        """Raise GradcheckError where a pass without the gradients of some outputs is not zero."""
        outputs = [
            _without_gradient(out) if position in positions else out
            for position, out in enumerate(self.outputs())
        ]
        zeros = [of_value(np.zeros_like(out._value)) for out in outputs]
        try:
            found: list[Any] = [*grad(outputs, self.checked, zeros, allow_unused=True)]
        except RuntimeError as error:
            warn(UNDEFINED)
            raise GradcheckError(
                "Expected backward function to handle undefined output grads. Please look at "
                '"Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
            ) from error
        if any(g is not None and np.any(g._value != 0) for g in found):
            warn(UNDEFINED)
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are "
                'undefined or zero. Please look at "Notes about undefined output gradients" in '
                '"tools/autograd/derivatives.yaml"'
            )


UNDEFINED = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by "
    "default, but it may break existing callers of this function. If this is true for you, you "
    'can call this function with "check_undefined_grad=False" to disable the feature'
)


class _Undefined(_Function):
    """A copy whose backward gives no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> None:
        return None


def _without_gradient(out: Tensor) -> Tensor:
    made: Tensor = _Undefined.apply(out)
    assert made.grad_fn is not None
    made.grad_fn.register_prehook(_ignored)  # so that the pass runs node by node
    return made


def _ignored(_: object) -> None:
    """A hook that changes nothing."""


class _Pair(NamedTuple):
    """A Jacobian and that of differences, of an output and an input by number."""

    found: Value
    expected: Value
    out: int
    number: int
    split: bool  # whether it has two halves, for real and imaginary directions


def _is_complex(x: Tensor) -> bool:
    return bool(x._value.dtype.kind == "c")


def _as_gradients(slopes: Array, x: Tensor, out: Tensor) -> Array:
    """Convert differences to what a backward pass returns for a basis of the output.

    With a = d out / d Re x and b = d out / d Im x, PyTorch's gradient for a direction v is
    Re(conj(a) v) + i Re(conj(b) v).
    """
    if x._value.dtype.kind == "c":
        along_real, along_imag = np.split(slopes, 2)
    else:
        along_real, along_imag = slopes, None
    units = (1.0, 1j) if out._value.dtype.kind == "c" else (1.0,)
    blocks = []
    for unit in units:
        block = np.real(np.conj(along_real) * unit)
        if along_imag is not None:
            block = block + 1j * np.real(np.conj(along_imag) * unit)
        blocks.append(block)
    return np.concatenate(blocks, axis=1)


def _slowly(found: Value, expected: Value, rtol: float, atol: float) -> str:
    """Message about a mismatch in fast mode: both matrices, and how far they are apart."""
    text = (
        "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
        "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n"
        "about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
        f"Numerical:\n {_shown(expected)}\nAnalytical:\n{_shown(found)}\n\n"
        "The max per-element difference (slow mode) is: "
        f"{float(np.abs(expected - found).max(initial=0))}.\n"
    )
    if np.allclose(found, expected, rtol, atol):
        text += (
            "\nFast gradcheck failed but element-wise differences are small. This means that the\n"
            "test might've passed in slow_mode!\n"
        )
    return text


def _shown(matrix: Value) -> str:
    return repr(of_value(np.asarray(matrix) + 0))  # which has no -0


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
