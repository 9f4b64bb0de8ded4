"""`GraphMachine`: grows a random graph of values in a library, and checks it at every step.

Knows Hypothesis, and which steps there are. What is right, `reference.py` knows.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    multiple,
    precondition,
    rule,
)

from tapegrad._errors import InputError, message
from tapegrad.testing._machines.library import Library
from tapegrad.testing._machines.reference import Reference, Slope, Unfit, Value
from tapegrad.testing._machines.texts import (
    Texts,
    arity,
    array_text,
    expression,
    pairs_of,
    statement,
)

Array = Any

choices = st.integers(0, 999)
seldom = st.sampled_from([False, False, False, True])


Note = tuple[str, int, dict[str, Any]]  # a rule, how many names there were, its arguments


class GraphError(AssertionError):
    """A library differs from the reference: the text ends with a program to paste."""

    def __init__(
        self, said: str, source: str, kind: type[GraphMachine], notes: list[Note]
    ) -> None:
        super().__init__(said)
        self.said = said
        self.source = source
        self.kind = kind
        self.notes = notes

    def __str__(self) -> str:
        shortest = self.shortest
        return f"{shortest.said}\n\nThe program:\n\n{shortest.source}\n"

    @property
    def program(self) -> str:
        """The program, without the steps that it fails without."""
        return self.shortest.source

    @functools.cached_property
    def shortest(self) -> GraphError:
        """The same with steps left away, one after another, as long as a program still fails.

        Hypothesis shrinks what it draws, and keeps some steps that print a line and do nothing.
        """
        best, place = self, len(self.notes)
        while place > 1:
            place -= 1
            trial = repeated(self.kind, best.notes[:place] + best.notes[place + 1 :])
            if trial is not None:
                best, place = trial, min(place + 1, len(trial.notes))
        return best


def repeated(kind: type[GraphMachine], notes: list[Note]) -> GraphError | None:
    """What goes wrong where a machine goes through known steps."""
    machine = kind()
    try:
        for name, names, given in notes:
            machine._names = names
            known = {value.name: value for value in machine._live}
            values = {key: known[each] if key in "xyz" else each for key, each in given.items()}
            getattr(machine, name)(**values)
    except GraphError as error:
        return error
    except Exception:  # noqa: BLE001 - a step needs one that was left away
        return None
    return None


class GraphMachine(RuleBasedStateMachine):
    r"""A base class of state machines that test a library of derivatives.

    A subclass says in lines of Python how the library is used. The machine writes programs of
    these lines: it makes leaves, applies operations, takes views, writes in place, detaches,
    takes gradients. After each step every value is compared with NumPy's, and every gradient with
    a reference that knows no rule of any library: the partial derivatives of each step, measured
    by differences together with what they are off by, multiplied along the program. Where a kink
    or a jump lies near, whatever lies between the slopes of its sides passes. A failure shows the
    shortest program that Hypothesis finds, to paste.

    In all texts `{0}`, `{1}`, `{2}` are values.

    imports: lines that the program starts with; NumPy is `np`.
    operations, views, writes: texts of steps; a mapping gives beside the library's text what NumPy
    calls it. Operations and views are expressions, writes are statements that change `{0}`.
    Results that do not share memory in NumPy are no views, as of `{0}.reshape(-1)`.
    leaf, constant: an expression for a value that is differentiated by, or not, of `{array}`, a
    list or a number.
    value: what `np.asarray` makes an array of.

    A library whose values remember how they were made, as PyTorch's and MyGrad's:

    backward: a statement that adds the gradients of `{0}`, times `{cotangent}`, to leaves. Without
    `{cotangent}` only values of one element are differentiated. Where `{retain}` stands, True
    or False says whether the graph is needed again.
    gradient: an expression for the gradient of a leaf: None, or an array.
    zero: a statement that forgets it. detach: an expression for a constant that shares the memory
    of `{0}` (that has its own where `detach_shares` is False). no_grad: an expression for a
    context in which nothing is recorded. hook: a statement that multiplies the gradient of
    `{0}` by `{factor}`. retain: one after which `{0}` has a gradient although it is no leaf.
    Those that are left away are not drawn.
    refuses: types of errors that mean that a value was overwritten or freed before it was needed.
    They pass where a library may need it, and only there: a wrong gradient never passes.

    A library that differentiates functions, as tapegrad and JAX:

    vjp: statements that set `value` and `gradients` (one for each leaf) from a function `f`, its
    arguments `leaves`, and `cotangent`. jvp: statements that set `value` and `slope` from
    `f`, `leaves` and `directions`. functions: expressions of `f`, as "compile(f)", one of
    which is taken in its place.

    against: another machine, with the same steps in the same order, whose library does the same
    beside this one: its values and gradients are held against the reference too, and it
    must refuse what this one refuses.
    shapes, write_leaves, write_constants, overlapping_writes, most_values, most_elements, largest,
    rtol: of which shapes leaves are; whether leaves are written to while steps are recorded, what
    depends on leaves into what does not, and parts of a value with other parts of it; how many
    values there are at most, and how large they and their numbers are; how much two right
    libraries may differ by in one step, beside what the differences are off by.

    `YourMachine.TestCase` is a class of `unittest`, which pytest collects; see Hypothesis on
    `RuleBasedStateMachine` for its settings. Raises GraphError, an AssertionError whose `program`
    is the text of the program.

    >>> from hypothesis import settings
    >>> from hypothesis.stateful import run_state_machine_as_test
    >>> class Machine(GraphMachine):
    ...     imports = "import tapegrad"
    ...     operations = ("np.sin({0})", "{0} * {1}", "np.sum({0})")
    ...     views = ("{0}[..., ::-1]",)
    ...     writes = ("{0}[..., :1] = {1}[..., :1]",)
    ...     vjp = "value, pull = tapegrad.vjp(f, *leaves)\ngradients = pull(cotangent)"
    >>> run_state_machine_as_test(Machine, settings=settings(max_examples=5, deadline=None))
    """

    imports: ClassVar[str] = ""
    operations: ClassVar[Texts] = ()
    views: ClassVar[Texts] = ()
    writes: ClassVar[Texts] = ()
    leaf: ClassVar[str] = ""
    constant: ClassVar[str] = ""
    value: ClassVar[str] = "{0}"
    backward: ClassVar[str] = ""
    gradient: ClassVar[str] = ""
    zero: ClassVar[str] = ""
    detach: ClassVar[str] = ""
    detach_shares: ClassVar[bool] = True
    no_grad: ClassVar[str] = ""
    hook: ClassVar[str] = ""
    retain: ClassVar[str] = ""
    refuses: ClassVar[tuple[type[BaseException], ...]] = ()
    vjp: ClassVar[str] = ""
    jvp: ClassVar[str] = ""
    functions: ClassVar[tuple[str, ...]] = ("f",)
    against: ClassVar[type[GraphMachine] | None] = None
    shapes: ClassVar[tuple[tuple[int, ...], ...]] = ((3,), (2, 3), (), (1,))
    write_leaves: ClassVar[bool] = False
    write_constants: ClassVar[bool] = True
    overlapping_writes: ClassVar[bool] = False
    most_values: ClassVar[int] = 8
    most_elements: ClassVar[int] = 9
    largest: ClassVar[float] = 30.0
    rtol: ClassVar[float] = 1e-9

    values: Bundle[Value] = Bundle("values")

    def __init__(self) -> None:
        super().__init__()
        if bool(self.vjp) == bool(self.backward and self.gradient):
            raise InputError(
                message(
                    f"{type(self).__name__}",
                    "either `vjp`, or `backward` and `gradient`",
                    "both" if self.vjp else "neither",
                    "Say how the library takes a derivative",
                )
            )
        kinds = [type(self)] if self.against is None else [type(self), self.against]
        self._libraries = [Library(kind) for kind in kinds]
        self._reference = Reference(self.most_elements, self.largest)
        self._live: list[Value] = []
        self._names = 0
        self._leaves: list[Value] = []
        self._kept: list[tuple[str, int]] = []  # what has a gradient, and of which slot
        self._notes: list[Note] = []
        self._over = False  # has failed: its values mean nothing more

    # -- steps -----------------------------------------------------------------------------------

    @initialize(target=values, shape=choices, seed=choices)
    def first_leaf(self, shape: int, seed: int) -> Any:
        """Every program has a leaf."""
        self._note("first_leaf", shape=shape, seed=seed)
        return self._new_leaf(shape, seed, constant=False)

    @precondition(lambda self: self._has_room())
    @rule(target=values, shape=choices, seed=choices, constant=seldom)
    def new_leaf(self, shape: int, seed: int, constant: bool) -> Any:
        """Another leaf, or a constant."""
        self._note("new_leaf", shape=shape, seed=seed, constant=constant)
        if self._libraries[0].body or (constant and not self.constant):
            return multiple()  # the arguments of a function come first
        return self._new_leaf(shape, seed, constant)

    @precondition(lambda self: self.operations and self._has_room())
    @rule(target=values, which=choices, x=values, y=values, z=values, blocked=seldom)
    def operation(self, which: int, x: Value, y: Value, z: Value, blocked: bool) -> Any:
        """A value made of others."""
        self._note("operation", which=which, x=x, y=y, z=z, blocked=blocked)
        made = self._made(self.operations, which, [x, y, z], blocked=blocked, view=False)
        return multiple() if made is None else made

    @precondition(lambda self: self.views and self._has_room())
    @rule(target=values, which=choices, x=values, y=values)
    def view(self, which: int, x: Value, y: Value) -> Any:
        """A value that shows a part of another one, whatever is written there later."""
        self._note("view", which=which, x=x, y=y)
        made = self._made(self.views, which, [x, y], blocked=False, view=True)
        return multiple() if made is None else made

    @precondition(lambda self: self.writes)
    @rule(which=choices, x=values, y=values, z=values, blocked=seldom)
    def write(self, which: int, x: Value, y: Value, z: Value, blocked: bool) -> None:
        """A write in place."""
        self._note("write", which=which, x=x, y=y, z=z, blocked=blocked)
        text, plain = self._chosen(self.writes, which)
        tracked = not (blocked and self.no_grad)
        given = [x, y, z][: arity(text)]
        if tracked and not self.write_leaves and any(x.memory is v.memory for v in self._leaves):
            return
        depends = self._reference.depends
        if not (self.write_constants or depends(x)) and any(map(depends, given)):
            return
        if self.vjp and x.array.ndim == 0:  # NumPy has numbers there, which cannot be written to
            return
        if x.memory.slot in self._reference.kept and tracked and x not in self._leaves:
            return  # which of the two values keeps its gradient, libraries differ in
        if not self.overlapping_writes and any(x.memory is v.memory for v in given[1:]):
            return
        line = text.format(*given)
        reference = self._reference
        before = (x.memory.content, x.memory.slot, x.memory.writes, len(reference.entries))
        try:
            reference.write(statement(plain, "import numpy as np"), given, tracked=tracked)
        except Unfit:
            return
        if self._step(line, tracked=tracked, may_refuse=True):
            x.memory.content, x.memory.slot, x.memory.writes, known = before
            del reference.entries[known:]
        self._check()

    @precondition(lambda self: self.detach and self._has_room())
    @rule(target=values, x=values)
    def detached(self, x: Value) -> Any:
        """The same value as a constant."""
        self._note("detached", x=x)
        value = self._reference.detach(self._name(), x, shares=self.detach_shares)
        self._step(f"{value.name} = {self.detach.format(x)}")
        return self._added(value)

    @precondition(lambda self: len(self._live) > 1)
    @rule(target=values, x=consumes(values))
    def delete(self, x: Value) -> Any:
        """The program has no name for a value any longer."""
        self._note("delete", x=x)
        if self._libraries[0].takes_functions and x in self._leaves:
            return x  # an argument of the function
        self._live.remove(x)
        self._kept = [(name, slot) for name, slot in self._kept if name != x.name]
        self._step(f"del {x}")
        self._check()
        return multiple()

    # -- gradients -------------------------------------------------------------------------------

    @rule(x=values, seed=choices, retain=seldom, which=choices)
    def differentiate(self, x: Value, seed: int, retain: bool, which: int) -> None:
        """The gradient of a value by all leaves."""
        self._note("differentiate", x=x, seed=seed, retain=retain, which=which)
        if not self._reference.depends(x) or self._over:
            return
        if self.vjp:
            self._check_function(x, seed, which)
        else:
            self._backward(x, seed, retain)

    @precondition(lambda self: self.zero and self.gradient and not self.vjp)
    @rule(x=values)
    def forget(self, x: Value) -> None:
        """Gradients are set to nothing, or to zeros."""
        self._note("forget", x=x)
        if any(x.name == name for name, _ in self._kept):
            self._step(self.zero.format(x))
            self._reference.gradients.pop(self._slot_of(x), None)
            self._check()

    @precondition(lambda self: self.hook and not self.vjp)
    @rule(x=values, factor=st.sampled_from([2.0, -1.0, 0.5]))
    def hooked(self, x: Value, factor: float) -> None:
        """A hook that changes a gradient on its way."""
        self._note("hooked", x=x, factor=factor)
        if self._reference.depends(x) and not x.views and self._is_whole(x):
            self._step(self.hook.format(x, factor=factor))
            self._reference.hook(x, factor)

    @precondition(lambda self: self.retain and not self.vjp)
    @rule(x=values)
    def retained(self, x: Value) -> None:
        """A value that is no leaf keeps its gradient."""
        self._note("retained", x=x)
        if x in self._leaves or not self._reference.depends(x) or x.views or x.memory.writes:
            return
        self._step(self.retain.format(x))
        self._reference.kept.add(x.memory.slot)
        if x.name not in dict(self._kept):
            self._kept.append((x.name, x.memory.slot))

    def teardown(self) -> None:
        """Each program is differentiated at its end."""
        for value in reversed(self._live):
            if not self._over and self._reference.depends(value):
                self.differentiate(value, 0, True, 0)

    # -- how steps are done ----------------------------------------------------------------------

    def _note(self, name: str, **given: Any) -> None:
        plain = {key: v.name if isinstance(v, Value) else v for key, v in given.items()}
        self._notes.append((name, self._names, plain))

    def _has_room(self) -> bool:
        return len(self._live) < self.most_values and not self._over

    def _name(self) -> str:
        self._names += 1
        return f"x{self._names - 1}"

    def _added(self, value: Value) -> Value:
        self._live.append(value)
        self._check()
        return value

    def _chosen(self, texts: Texts, which: int) -> tuple[str, str]:
        pairs = pairs_of(texts)
        return pairs[which % len(pairs)]

    def _slot_of(self, x: Value) -> int:
        return dict(self._kept)[x.name]

    def _is_whole(self, x: Value) -> bool:
        """Whether the hook is on the value that is a leaf, or on one that no other name shows."""
        return not x.memory.writes or x not in self._leaves

    def _new_leaf(self, shape: int, seed: int, constant: bool) -> Value:
        sides = self.shapes[shape % len(self.shapes)]
        array = np.asarray(np.random.default_rng(seed).uniform(-2.0, 2.0, sides).round(2))
        value = self._reference.leaf(self._name(), array, constant)
        for library in self._libraries:
            library.leaf(value.name, array, constant=constant)
        self._leaves.append(value)
        if not constant:
            self._kept.append((value.name, value.memory.slot))
        return self._added(value)

    def _made(
        self, texts: Texts, which: int, values: list[Value], *, blocked: bool, view: bool
    ) -> Value | None:
        text, plain = self._chosen(texts, which)
        tracked = not (blocked and self.no_grad)
        given = values[: max(arity(text), 1)]
        step = expression(plain, "import numpy as np")
        try:
            value = self._reference.apply("", step, given, tracked=tracked, view=view)
        except Unfit:
            return None
        value.name = self._name()
        self._step(f"{value.name} = {text.format(*given)}", tracked=tracked)
        return self._added(value)

    def _step(self, line: str, *, tracked: bool = True, may_refuse: bool = False) -> bool:
        """Do a step in each library: whether they refused it."""
        refused = []
        for library in self._libraries:
            try:
                error = library.step(line, tracked=tracked)
            except Exception as raised:
                raise self._failure(library, f"raises {raised!r}") from raised
            if error is not None and not may_refuse:
                raise self._failure(library, f"raises {error!r}") from error
            refused.append(error is not None)
        self._same_refusals(refused)
        return refused[0]

    def _same_refusals(self, refused: list[bool]) -> None:
        if len(set(refused)) > 1:
            words = ["refuses this" if each else "does this" for each in refused]
            raise self._failure(self._libraries[0], f"{words[0]}, and the other {words[1]}")

    def _cotangent(self, x: Value, seed: int) -> Array:
        if not self.vjp and "{cotangent}" not in self.backward:
            return np.ones(x.array.shape)
        random = np.random.default_rng(seed)
        return np.asarray(random.uniform(0.5, 2.0, x.array.shape).round(1))

    def _backward(self, x: Value, seed: int, retain: bool) -> None:
        if "{cotangent}" not in self.backward and x.array.size != 1:
            return
        cotangent = self._cotangent(x, seed)
        keeps = retain or "{retain}" not in self.backward
        _, visited = self._reference.pull(x, cotangent)
        may_refuse = any(entry.may_refuse() for entry in visited)
        line = self.backward.format(x, cotangent=array_text(cotangent), retain=keeps)
        if not self._step(line, may_refuse=may_refuse):
            self._reference.backward(x, cotangent, retain=keeps)
            self._check()
            return
        self._reference.free(visited, keeps)
        for name, _ in self._kept:  # some may have come before the error
            if self.zero:
                self._step(self.zero.format(name))
        self._reference.gradients.clear()
        self._over = not self.zero

    # -- checks ----------------------------------------------------------------------------------

    def _check(self) -> None:
        """Every value and every gradient that the program has a name for."""
        if self.vjp or self._over:
            return
        for library in self._libraries:
            for value in self._live:
                text = library.author.value.format(value)
                self._same(library, text, library.array(text), value.array)
            for name, slot in self._kept:
                text = library.author.gradient.format(name)
                self._same_gradient(library, text, library.array(text), slot)

    def _same(self, library: Library, text: str, found: Array, expected: Array) -> None:
        if found.shape != expected.shape:
            raise self._failure(
                library, f"{text} has the shape {found.shape}, and {expected.shape} in NumPy"
            )
        allowed = self.rtol * (1.0 + np.abs(expected))
        if not np.all(np.abs(found - expected) <= allowed):
            raise self._failure(library, differing(text, found, expected, allowed), text)

    def _same_gradient(self, library: Library, text: str, found: Array, slot: int) -> None:
        slope = self._reference.gradients.get(slot)
        if found is None and slope is None:
            return
        if slope is None:
            slope = Slope.zeros(found.size)
        self._near(library, text, np.zeros(slope.size.size) if found is None else found, slope)

    def _near(self, library: Library, text: str, found: Array, slope: Slope) -> None:
        flat = np.asarray(found).reshape(-1)
        if flat.shape != slope.best.shape:
            raise self._failure(
                library, f"{text} has {flat.size} elements, and its value {slope.best.size}"
            )
        allowed = self.rtol * (1.0 + slope.size) + 4.0 * slope.error
        if not np.all((np.abs(flat - slope.best) <= allowed) | np.isinf(allowed)):
            raise self._failure(library, differing(text, flat, slope.best, allowed), text)

    def _check_function(self, x: Value, seed: int, which: int) -> None:
        cotangent = self._cotangent(x, seed)
        function = self.functions[which % len(self.functions)]
        found, _ = self._reference.pull(x, cotangent)
        slopes = [
            found.get(slot, Slope.zeros(leaf.memory.content.size))
            for leaf, slot in zip(self._leaves, dict(self._kept).values(), strict=True)
        ]
        for library in self._libraries:
            settings = [f"cotangent = np.array({array_text(cotangent)})"]
            settings += [] if function == "f" else [f"f = {function}"]
            scope = self._differentiated(library, library.author.vjp, x, settings)
            self._same(library, "value", np.asarray(scope["value"]), x.array)
            for i, slope in enumerate(slopes):
                self._near(library, f"gradients[{i}]", scope["gradients"][i], slope)
            if self.jvp:
                self._check_forward(library, x, cotangent, slopes, settings)

    def _check_forward(
        self, library: Library, x: Value, cotangent: Array, slopes: list[Slope], settings: Any
    ) -> None:
        random = np.random.default_rng(7)
        directions = [random.uniform(0.5, 2.0, v.array.shape).round(1) for v in self._leaves]
        text = ", ".join(f"np.array({array_text(each)})" for each in directions)
        settings = [*settings, f"directions = ({text},)"]
        scope = self._differentiated(library, library.author.jvp, x, settings)
        total = Slope.zeros(1)
        for slope, along in zip(slopes, directions, strict=True):
            flat = along.reshape(-1)
            ways = np.sum(slope.ways * flat, axis=-1, keepdims=True)
            total = total.plus(Slope(ways, np.array([slope.size @ np.abs(flat)])))
        found = np.array([np.sum(np.asarray(scope["slope"]) * cotangent)])
        self._near(library, "np.sum(slope * cotangent)", found, total)

    def _differentiated(self, library: Library, text: str, x: Value, settings: list[str]) -> Any:
        try:
            return library.differentiate(text, x.name, settings)
        except Exception as error:
            raise self._failure(library, f"raises {error!r}") from error

    def _failure(self, library: Library, what: str, text: str = "") -> GraphError:
        self._over = True
        program = library.program() + (f"\nprint({text})" if text else "")
        return GraphError(f"{type(self).__name__}: {what}", program, type(self), self._notes)


def differing(text: str, found: Array, expected: Array, allowed: Array) -> str:
    """What came and what was expected, with what that may be off by."""
    error = float(np.max(np.where(np.isfinite(allowed), allowed, 0.0), initial=0.0))
    return (
        f"{text} is\n    {array_text(found)}\nand the reference has\n    "
        f"{array_text(expected)}\nwhich may be off by {error:.1e}"
    )
