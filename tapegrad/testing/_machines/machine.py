"""`GraphMachine`: draws the steps of a program in a library, which is checked after each.

Knows Hypothesis. What a step does is in `graph.py`; what is right, `reference.py` knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from hypothesis import Phase, Verbosity, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tapegrad._errors import InputError, message
from tapegrad.testing._machines.graph import Graph
from tapegrad.testing._machines.shrinking import GraphError, Step
from tapegrad.testing._machines.texts import Texts, arity, pairs_of

choices = st.integers(0, 999)
# Which value, counted from the last one: an integer rather than a member of a bundle, since most
# steps take fewer values than are drawn, and a bundle keeps the steps that made the others.
recent = st.integers(0, 7)
seldom = st.sampled_from([False, False, False, True])


class GraphMachine(RuleBasedStateMachine):
    r"""A base class of state machines that test a library of derivatives.

    A subclass says in lines of Python how the library is used. The machine writes programs of
    these lines: it makes leaves, applies operations, takes views, writes in place, detaches,
    takes gradients. After each step every value is compared with NumPy's, and every gradient with
    a reference that knows no rule of any library: the partial derivatives of each step, measured
    by differences together with what they are off by, multiplied along the program. Where a kink
    or a jump lies near, whatever lies between the slopes of its sides passes. A failure shows the
    shortest program that still fails, to paste: steps are left away, and values replaced by
    others, as long as something fails.

    Attributes
    ----------
    imports : str
        Lines that the program starts with; NumPy is `np`.
    names : mapping
        What stands in the file of the machine itself and cannot be imported, by its name.
    operations, views, writes : sequence of str or mapping of str to str
        Texts of steps, in which `{0}`, `{1}`, `{2}` are values; a mapping gives beside the
        library's text what NumPy calls it. Operations and views are expressions, writes are
        statements that change `{0}`. Results that do not share memory in NumPy are no views, as of
        `{0}.reshape(-1)`.
    leaf, constant : str
        An expression for a value that is differentiated by, or not, of `{array}`, a list or a
        number.
    value : str
        What `np.asarray` makes an array of.
    backward : str
        A statement that adds the gradients of `{0}`, times `{cotangent}`, to leaves. Without
        `{cotangent}` only values of one element are differentiated. Where `{retain}` stands, True
        or False says whether the graph is needed again.
    gradient : str
        An expression for the gradient of a leaf: None, or an array.
    zero : str
        A statement that forgets it.
    detach : str
        An expression for a constant that shares the memory of `{0}`.
    detach_shares : bool
        False if that has memory of its own.
    no_grad : str
        An expression for a context in which nothing is recorded.
    hook : str
        A statement that multiplies the gradient of `{0}` by `{factor}`.
    retain : str
        A statement after which `{0}` has a gradient although it is no leaf.
    refuses : tuple of type
        Errors that mean that a value was overwritten or freed before it was needed. They pass
        where a library may need it, and only there: a wrong gradient never passes.
    vjp : str or tuple of str
        Statements that set `value` and `gradients` (one for each leaf) from a function `f`, its
        arguments `leaves`, and `cotangent`.
    jvp : str or tuple of str
        Statements that set `value` and `slope` from `f`, `leaves` and `directions`.
    second : str or tuple of str
        Statements that set `curvature`, the second derivative of
        `np.sum(f(*leaves) * cotangent)` along `directions`, a number.
    functions : str or tuple of str
        Expressions of `f`, as "compile(f)", one of which is taken in its place.
    against : type
        Another machine, with the same steps in the same order, whose library does the same beside
        this one: its values and gradients are held against the reference too, and it must refuse
        what this one refuses.
    shapes : tuple of tuple of int
        Of which shapes leaves are.
    write_leaves, write_constants, overlapping_writes : bool
        Whether leaves are written to while steps are recorded, what depends on leaves into what
        does not, and parts of a value with other parts of it.
    most_values, most_elements : int
        How many values there are at most, and how large they are.
    largest : float
        How large their numbers are at most.
    rtol : float
        How much two right libraries may differ by in one step, beside what the differences are off
        by.

    Raises
    ------
    InputError
        If a machine has both `vjp` and `backward` with `gradient`, or neither.
    GraphError
        If the library differs from the reference, or raises: an AssertionError whose `program` is
        the text of the program.

    See Also
    --------
    tapegrad.testing.machines : Two machines to copy.

    Notes
    -----
    A library whose values remember how they were made, as PyTorch's and MyGrad's, is described by
    `leaf`, `backward`, `gradient` and what follows them; one that differentiates functions, as
    tapegrad and JAX, by `vjp`, `jvp`, `second` and `functions`. Those that are left away are not
    drawn. Where `vjp`, `jvp`, `second` and `functions` are several texts, one is taken at a time.

    `YourMachine.TestCase` is a class of `unittest`, which pytest collects; see Hypothesis on
    `RuleBasedStateMachine` for its settings. They leave out Hypothesis's own shrinking, which
    adds nothing to that of the program and takes many times as long.

    Examples
    --------
    >>> from hypothesis import settings
    >>> from hypothesis.stateful import run_state_machine_as_test
    >>> class Machine(GraphMachine):
    ...     imports = "import tapegrad"
    ...     operations = ("np.sin({0})", "{0} * {1}", "np.sum({0})")
    ...     views = ("{0}[..., ::-1]",)
    ...     writes = ("{0}[..., :1] = {1}[..., :1]",)
    ...     vjp = "value, pull = tapegrad.vjp(f, *leaves)\ngradients = pull(cotangent)"
    >>> few = settings(Machine.TestCase.settings, max_examples=5)
    >>> run_state_machine_as_test(Machine, settings=few)
    """

    imports: ClassVar[str] = ""
    names: ClassVar[Mapping[str, Any]] = {}
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
    vjp: ClassVar[str | tuple[str, ...]] = ""
    jvp: ClassVar[str | tuple[str, ...]] = ""
    second: ClassVar[str | tuple[str, ...]] = ""
    functions: ClassVar[str | tuple[str, ...]] = "f"
    against: ClassVar[type[GraphMachine] | None] = None
    shapes: ClassVar[tuple[tuple[int, ...], ...]] = ((3,), (2, 3), (), (1,))
    write_leaves: ClassVar[bool] = False
    write_constants: ClassVar[bool] = True
    overlapping_writes: ClassVar[bool] = False
    most_values: ClassVar[int] = 8
    most_elements: ClassVar[int] = 9
    largest: ClassVar[float] = 30.0
    rtol: ClassVar[float] = 1e-9

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # GraphError makes programs shorter itself, and prints them; what was drawn says nothing.
        phases = [Phase.explicit, Phase.reuse, Phase.generate]
        cls.TestCase.settings = settings(
            cls.TestCase.settings, phases=phases, verbosity=Verbosity.quiet
        )

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
        self._graph = Graph(type(self))

    # -- steps -----------------------------------------------------------------------------------

    @initialize(shape=choices, seed=choices)
    def first_leaf(self, shape: int, seed: int) -> None:
        """Make the leaf that every program has.

        Parameters
        ----------
        shape : int
            Which of `shapes`.
        seed : int
            Of the numbers that are drawn.
        """
        self.new_leaf(shape, seed, False)

    @precondition(lambda self: self._has_room() and self._graph.takes_leaves())
    @rule(shape=choices, seed=choices, constant=seldom)
    def new_leaf(self, shape: int, seed: int, constant: bool) -> None:
        """Make another leaf, or a constant.

        Parameters
        ----------
        shape : int
            Which of `shapes`.
        seed : int
            Of the numbers that are drawn.
        constant : bool
            Whether it is a constant, if the class has them.
        """
        sides = self.shapes[shape % len(self.shapes)]
        self._do("leaf", [], shape=sides, seed=seed, constant=constant and bool(self.constant))

    @precondition(lambda self: self.operations and self._has_room())
    @rule(which=choices, x=recent, y=recent, z=recent, blocked=seldom)
    def operation(self, which: int, x: int, y: int, z: int, blocked: bool) -> None:
        """Make a value of others.

        Parameters
        ----------
        which : int
            Which text of the class, modulo how many there are.
        x, y, z : int
            Which values, counted from the last one.
        blocked : bool
            Whether it stands within `no_grad`, if the class has that.
        """
        self._draw("operation", self.operations, which, [x, y, z], blocked and bool(self.no_grad))

    @precondition(lambda self: self.operations and self._has_room())
    @rule(which=choices, y=recent, z=recent)
    def next_operation(self, which: int, y: int, z: int) -> None:
        """Make a value of the last one: programs get longer.

        Parameters
        ----------
        which : int
            Which text of the class, modulo how many there are.
        y, z : int
            Which values come next, counted from the last one.
        """
        self._draw("operation", self.operations, which, [0, y, z], False)

    @precondition(lambda self: self.views and self._has_room())
    @rule(which=choices, x=recent, y=recent)
    def view(self, which: int, x: int, y: int) -> None:
        """Make a value that shows a part of another one, whatever is written there later.

        Parameters
        ----------
        which : int
            Which text of the class, modulo how many there are.
        x, y : int
            Which values, counted from the last one.
        """
        self._draw("view", self.views, which, [x, y], False)

    @precondition(lambda self: self.writes)
    @rule(which=choices, x=recent, y=recent, z=recent, blocked=seldom)
    def write(self, which: int, x: int, y: int, z: int, blocked: bool) -> None:
        """Write in place.

        Parameters
        ----------
        which : int
            Which text of the class, modulo how many there are.
        x, y, z : int
            Which values, counted from the last one.
        blocked : bool
            Whether it stands within `no_grad`, if the class has that.
        """
        self._draw("write", self.writes, which, [x, y, z], blocked and bool(self.no_grad))

    @precondition(lambda self: self.detach and self._has_room())
    @rule(x=recent)
    def detached(self, x: int) -> None:
        """Make a constant of a value.

        Parameters
        ----------
        x : int
            Which value, counted from the last one.
        """
        self._do("detached", [x])

    @precondition(lambda self: len(self._graph.live) > 2)
    @rule(x=recent)
    def delete(self, x: int) -> None:
        """Leave the program without a name for a value.

        Parameters
        ----------
        x : int
            Which value, counted from the last one.
        """
        self._do("delete", [x])

    # -- gradients -------------------------------------------------------------------------------

    @rule(x=recent, seed=choices, retain_graph=seldom, which=choices)
    def differentiate(self, x: int, seed: int, retain_graph: bool, which: int) -> None:
        """Take the gradient of a value by all leaves.

        Parameters
        ----------
        x : int
            Which value, counted from the last one.
        seed : int
            Of the cotangent and the directions.
        retain_graph : bool
            Whether the graph is needed again.
        which : int
            Which text of the class, modulo how many there are.
        """
        self._do("differentiate", [x], seed=seed, retain=retain_graph, which=which)

    @precondition(lambda self: self.zero and self.gradient and not self.vjp)
    @rule(x=recent)
    def forget(self, x: int) -> None:
        """Set a gradient to nothing, or to zeros.

        Parameters
        ----------
        x : int
            Which value, counted from the last one.
        """
        self._do("forget", [x])

    @precondition(lambda self: self.hook and not self.vjp)
    @rule(x=recent, factor=st.sampled_from([2.0, -1.0, 0.5]))
    def hooked(self, x: int, factor: float) -> None:
        """Add a hook that changes a gradient on its way.

        Parameters
        ----------
        x : int
            Which value, counted from the last one.
        factor : float
            What the hook multiplies by.
        """
        self._do("hooked", [x], factor=factor)

    @precondition(lambda self: self.retain and not self.vjp)
    @rule(x=recent)
    def retained(self, x: int) -> None:
        """Let a value that is no leaf keep its gradient.

        Parameters
        ----------
        x : int
            Which value, counted from the last one.
        """
        self._do("retained", [x])

    def teardown(self) -> None:
        """Differentiate each value of the program at its end."""
        for i in range(len(self._graph.live)):
            self._do("differentiate", [i], seed=0, retain=True, which=i)

    # -- how steps are drawn ---------------------------------------------------------------------

    def _has_room(self) -> bool:
        return len(self._graph.live) < self.most_values and not self._graph.over

    def _draw(self, kind: str, texts: Texts, which: int, places: list[int], blocked: bool) -> None:
        pairs = pairs_of(texts)
        text, plain = pairs[which % len(pairs)]
        places = places[: max(arity(text), 1)]
        self._do(kind, places, text=text, plain=plain, blocked=blocked)

    def _do(self, kind: str, places: list[int], **given: Any) -> None:
        live = self._graph.live
        names = tuple(live[-1 - place % len(live)].name for place in places)
        self._graph.do(Step(kind, names, given, self._graph.new_name()))


__all__ = ["GraphError", "GraphMachine"]
