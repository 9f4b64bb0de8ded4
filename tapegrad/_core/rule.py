"""The class of rules, their registry, and how the arguments of a call are bound.

Knows how a tape logs and what a replay asks for. Must not know which functions exist (`rules/`),
the forms in which they are declared (`forms`), nor the class of traced arrays.

One declaration serves every replay: `function` gives the value, `pull` the cotangents, `push` the
tangent, and `batch` says how the function acts under vmap.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from tapegrad._core.entry import spec_of
from tapegrad._core.out import write_out
from tapegrad._core.reads import parameters_of, unwrapped
from tapegrad._core.tape import require_numbers
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Value, Values, Wanted
from tapegrad._core.values import (
    Traced,
    as_order,
    holds_traced,
    innermost,
    is_smooth,
    lift,
    untraced,
)
from tapegrad._errors import NotDifferentiableError, RuleError, name_of
from tapegrad._numpy_versions import deprecated_keywords, signature_of

Partial = Function | int | None

REGISTRY: dict[Function, Rule] = {}
# Rules of a program's primitives, which hold them themselves: both go with the last reference.
_HELD: weakref.WeakSet[Rule] = weakref.WeakSet()
_HOLDING = threading.Lock()

# Modules whose functions come with rules that are declared when that of one is asked for, and the
# module that declares them: it is not imported before the module of the functions is.
LATE = {
    "numpy.fft": "tapegrad.rules.fft",
    "numpy.polynomial": "tapegrad.rules.series",
    "scipy.special": "tapegrad.scipy.special",
}

# The package whose primitives are other libraries' functions, and are called and named as these.
MIRRORS = "tapegrad.scipy"
# Packages of ours whose rules may keep what they get, as those of a program: these, and one whose
# rules call functions of the program's.
_FREE = (MIRRORS, "tapegrad.implicit")

# How a function batches: one of these words, which `_batched/batching_rules.py` explains, or a
# signature of core dimensions like "(m,m),(m,k)", or the batched function itself.
BATCH_WORDS = ("align", "axis", "flat", "shape", "example", "ragged", "loop")


ALL = -1  # how many arrays a call has: all its arguments, those that go by keyword, too
_ONE = (True,)
# Classes of parameters that are never traced, nor hold what is: what most of them are.
_SETTLED = frozenset((int, type(None), bool, str, float, np.ndarray, type, np.bool))
_OF_ALL = object()  # the pattern of a function of *args


def given_alone(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments without those that are np._NoValue: wrappers pass it on for none."""
    for value in kwargs.values():
        if value is np._NoValue:
            return {name: each for name, each in kwargs.items() if each is not np._NoValue}
    return kwargs


class Rule:
    """The rule of one function. The forms are subclasses (`forms.py`)."""

    form = "rule"
    unary = False
    strong = False
    fresh = False  # the result is an array with its own memory, also if the argument is a number
    product = False  # x * y: the replay takes the other factor as the partial, without a call
    plain = True  # neither a product nor one whose first partial is an `Over`
    y_plain = True  # the second partial is not one
    foreign = True  # the function is the program's own: its rule may keep the arrays that it gets
    hermitian = False  # the first argument is Hermitian by promise: see `general`
    fixed = 0  # how many of the first arrays are not differentiated
    declared: int | None = None  # for how many arrays there are derivatives; None: for all
    varargs = False  # a function of *args: all that is passed by position are arrays
    keyword_arrays = False  # the arrays are not the first parameters, and go by keyword
    # Whether calls are planned from the rule's own functions where it has no kernels, those of one
    # array (1) or of several (2) too: see `rule_plans`.
    planned_from_rule = 0
    # The kernels of a call, and the calls that came: see `call_plans`.
    plan: Function | None = None
    calls: dict[Any, Any] | None = None
    plans_one = False  # whether such a call has its first array alone
    numbers = False  # whether one of several arrays may have Python numbers in their places
    # Of a composite function: the call of one primitive that a call comes to, or None.
    primitive: Function | None = None
    formula: Function | None = None  # what a limit takes in its place: other functions
    opposite = False  # whether a slope has opposite values on both sides of a kink
    leading_arrays = 0  # how many arrays come first, or `ALL`; 0: calls are not planned at once
    times: Function
    x_partial: Function | None = None
    y_partial: Function | None = None
    # Whether a strong partial reads a result that may be NaN, which nothing says in the replay.
    x_unseen = y_unseen = False

    def __init__(
        self,
        function: Function,
        *,
        arrays: int | Sequence[str] = 1,
        sequence: bool = False,
        name: str | None = None,
        signature: str | None = None,
        batch: str | Function = "loop",
        view: bool | str = False,
        fresh: bool = False,
        implementation: Function | None = None,
        singular: Function | None = None,
        plan: Function | None = None,
        plans_one: bool | None = None,
        numbers: bool = False,
    ) -> None:
        self.function = function
        self.implementation = implementation or function  # a faster one for untraced values
        self.name = name or _qualified_name(function)
        known = None if signature or sequence else parameters_of(unwrapped(function))
        if known is not None and isinstance(arrays, int) and arrays > max(len(known), 1):
            raise RuleError(
                f"{self.name}: expected one derivative for each of its arguments, "
                f"({', '.join(known)}), got {arrays}. Leave out what belongs to none."
            )
        self.sequence = sequence  # the first argument is a sequence of arrays
        self.several = sequence or arrays != 1  # arrays that are not traced may be among them
        self.singular = singular  # a test of a result: whether its cotangent is a limit
        home = getattr(function, "__module__", None) or "numpy"  # older ufuncs have none
        package = home.partition(".")[0]
        plannable = package == "numpy" and singular is None and not view
        from_rule = self.planned_from_rule if plannable else 0
        one = arrays == 1 and not sequence
        self.plans_one = one if plans_one is None else plans_one
        if plan is not None or from_rule and (one or from_rule > 1 and type(arrays) is int):
            self.plan, self.calls, self.numbers = plan, {}, numbers
            # Ufuncs come by a path of their own.
            if not self.plans_one and not isinstance(function, np.ufunc):
                self.leading_arrays = (
                    1 if sequence else len(arrays) if not isinstance(arrays, int) else arrays
                )
        self.batch = batch
        # Whether NumPy may return a view of the first argument. "part": a view that cannot be
        # written through; "number": a view, but a number for a 0-d array.
        self.view = view
        self.fresh = fresh
        self.deprecated = deprecated_keywords(function)
        self._arrays = arrays
        self._signature = signature
        self._names: tuple[str, ...] | None = None  # known after the first call
        self._array_names: tuple[str, ...] = ()
        self._defaults: dict[str, Any] = {}  # of arrays that a call may leave out
        own = package in ("numpy", "tapegrad")
        self.foreign = not own or home.startswith(_FREE)
        # Whether a call with one argument passes one array: else `bind` has to fill in the others.
        self._short = not sequence and not self.foreign
        self._needed: dict[tuple[bool, ...], tuple[Sequence[bool], bool]] = {}
        # How to bind calls, by the number of positional arguments and the keywords' names.
        self._patterns: dict[Any, Any] = {}

    # -- calling ---------------------------------------------------------------------------------

    def apply(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function on arguments, some of which are traced."""
        if not kwargs and len(args) == 1 and isinstance(args[0], Traced) and self._short:
            return self._apply_one(args[0], {})
        out = kwargs.pop("out", None)
        arrays, params = self.bind(args, kwargs)
        out = params.pop("out", None) if out is None else out
        dtype = params.get("dtype")
        if dtype is not None and np.dtype(dtype).kind not in "fc":
            result = self.call([untraced(array) for array in arrays], params)  # piecewise constant
            require_numbers(self, np.empty(0, dtype))
        else:
            result = self.apply_bound(arrays, params)
        return result if out is None else write_out(out, result, self.name)

    def apply_bound(self, arrays: list[Value], params: Params) -> Any:
        if params:
            self.require_constants(params)
        if (
            len(arrays) == 1
            and isinstance(arrays[0], Traced)
            and not self.sequence
            and not self.keyword_arrays
        ):
            return self._apply_one(arrays[0], params)
        inner = innermost(arrays)
        if inner is None:
            return self.call(arrays, params)
        if not isinstance(inner, Traced):
            return inner.call_rule(self, arrays, params)
        tape = inner.tape
        raws, slots = [], []
        for array in arrays:
            if isinstance(array, Traced) and array.tape.root is tape.root:
                raws.append(array._value)
                slots.append(array.slot)
            else:
                raws.append(array)
                slots.append(-1)
        return tape.record(self, self.call(raws, params), raws, slots, params)

    def _apply_one(self, x: Traced, params: Params) -> Any:
        """The frequent case of one traced array."""
        raw, slot, tape = x._value, x.slot, x.tape
        out = self.implementation(raw, **params)
        kind = type(out)
        if kind is not np.ndarray and kind is not np.float64:
            if not hasattr(out, "dtype") and not isinstance(out, (tuple, list)):
                out = np.asarray(out)[()]  # a user's function may return Python numbers
            if isinstance(out, (tuple, list)):
                return tape.record(self, out, [raw], [slot], params)
        if slot == -1 or self.singular is not None:
            return tape.record(self, out, [raw], [slot], params)
        spec = spec_of(out)
        if spec.family is not x.spec.family and not is_smooth(spec.dtype):
            require_numbers(self, out)
            return out  # integers are piecewise constant: np.sum(x, dtype=int)
        (needed,), out_needed = self.needed(_ONE)
        out_slot = tape.fresh()
        kept = (raw if needed else x.spec,)
        params = tape.keep_params(params) if params else params
        tape.log((out_slot, self, out if out_needed else spec, kept, params, (slot,), None))
        return tape.array(out, out_slot, tape, spec)

    def call(self, arrays: Sequence[Value], params: Params) -> Any:
        """The function on normalised arguments."""
        if self.sequence:
            return self.implementation(list(arrays), **params)
        if self.keyword_arrays:
            named = zip(self._array_names, arrays, strict=True)
            return self.implementation(**{k: x for k, x in named if x is not None}, **params)
        if arrays and arrays[-1] is None and not self.varargs:
            arrays = list(arrays)
            while arrays and arrays[-1] is None:
                arrays.pop()
        return self.implementation(*arrays, **params)

    def bind(
        self, args: tuple[Value, ...], kwargs: dict[str, Any], *, lifts: bool = True
    ) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call: a list of arrays, and keywords for others without defaults.

        `lifts`: lists with parts in a trace become arrays.
        """
        if kwargs:
            kwargs = given_alone(kwargs)
        key: Any = (len(args), *kwargs) if kwargs else len(args)
        pattern = self._patterns.get(key) or self._learn_pattern(key, len(args), kwargs)
        if pattern is _OF_ALL:
            given, params = self._bind_all(self._names or (), args, kwargs)
            return ([lift(array) for array in given] if lifts else given), params
        arrays, named, absent, has_order = pattern
        values = args
        if kwargs:
            values += tuple(kwargs.values())
        if absent:
            values += absent
        given = [values[at] for at in arrays]
        params = {name: values[at] for name, at in named}
        if has_order:
            order = params["order"]
            if order is not None and not (type(order) is str and order in "CFAK"):
                params["order"] = as_order(order)
        if not lifts:
            return given, params
        if self.sequence:
            if hasattr(given[0], "__next__"):  # NumPy has used it up as it looked for arrays
                raise TypeError(f"{self.name}: expected a sequence of arrays, got an iterator.")
            return [_as_part(part) for part in given[0]], params
        return [lift(x) if issubclass(type(x), (list, tuple)) else x for x in given], params

    def _learn_pattern(self, key: Any, count: int, kwargs: dict[str, Any]) -> Any:
        """How calls with this number of arguments and these keywords are bound, remembered.

        The values of a call are numbered: positional ones, keywords, then those that are absent.
        """
        names = self._names
        if names is None:
            names = self._learn_names()
        if self.varargs:
            self._patterns[key] = _OF_ALL
            return _OF_ALL
        if count > len(names):
            raise TypeError(
                f"{self.name}: expected at most {len(names)} positional arguments, got {count}."
            )
        at = {name: position for position, name in enumerate(names[:count])}
        twice = at.keys() & kwargs.keys()
        if twice:
            raise TypeError(f"{self.name}: got two values for argument {min(twice)!r}.")
        if kwargs and self.deprecated:
            self.refuse_deprecated(kwargs)
        for name in kwargs:
            at[name] = len(at)
        absent: list[Any] = []
        arrays = []
        for name in self._array_names:
            if name not in at:
                absent.append(self._defaults.get(name))
            arrays.append(at.pop(name, count + len(kwargs) + len(absent) - 1))
        named = tuple(at.items())
        self._patterns[key] = found = (tuple(arrays), named, tuple(absent), "order" in at)
        return found

    def _bind_all(
        self, names: tuple[str, ...], args: tuple[Value, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """`bind` for a function of *args."""
        twice = kwargs.keys() & set(names[: len(args)])
        if twice:
            raise TypeError(f"{self.name}: got two values for argument {min(twice)!r}.")
        given, params = list(args), dict(kwargs)
        for name in names[len(args) :]:
            if name not in params:
                break
            given.append(params.pop(name))
        for position, value in enumerate(given[self.declared :] if self.declared else ()):
            if holds_traced(value):
                raise NotDifferentiableError(
                    f"{self.name}: not differentiable by its argument "
                    f"{position + (self.declared or 0)}: its rule has derivatives by the first "
                    f"{self.declared} alone. Declare one for each, or pass "
                    "tapegrad.stop_gradient(...) of it if it is a constant."
                )
        return given, params

    def require_constants(self, params: Params) -> None:
        """Raise NotDifferentiableError if a parameter is traced, or holds what is."""
        for name, value in params.items():
            kind = type(value)
            if (
                kind not in _SETTLED
                and not (kind is tuple and _SETTLED.issuperset(map(type, value)))
                and holds_traced(value)
            ):
                self.refuse_parameter(name)

    def refuse_parameter(self, name: str) -> NoReturn:
        """Raise NotDifferentiableError for a traced value where the rule knows no array."""
        advice = "Pass tapegrad.stop_gradient(...) of it if it is a constant."
        if self.varargs:
            advice += " To pass an array by keyword, name it in the declaration's signature=."
        raise NotDifferentiableError(
            f"{self.name}: not differentiable by its argument {name!r}. {advice}"
        )

    def refuse_deprecated(self, kwargs: dict[str, Any]) -> None:
        """Raise TypeError for a keyword that NumPy is about to drop."""
        for name in self.deprecated.keys() & kwargs.keys():
            raise TypeError(
                f"{self.name}: the keyword {name!r} is deprecated, and not taken with traced "
                f"values. {self.deprecated[name]}"
            )

    def split_out(
        self, args: tuple[Value, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same call, with a positional `out` and the arguments after it given by keyword."""
        if len(args) < 2 or isinstance(self.function, np.ufunc):
            return args, kwargs
        names = self._names or self._learn_names()
        if "out" not in names[: len(args)]:
            return args, kwargs
        position = names.index("out")
        return args[:position], {
            **dict(zip(names[position:], args[position:], strict=False)),
            **kwargs,
        }

    def _learn_names(self) -> tuple[str, ...]:
        """The names of the positional parameters, and which of them are arrays."""
        defaults: dict[str, Any] = {}
        if isinstance(self.function, np.ufunc):
            names = [f"x{i + 1}" for i in range(self.function.nin)]
        elif self._signature is not None:
            parts = [part.partition("=") for part in self._signature.split(",")]
            names = [name.strip() for name, _, _ in parts]
            defaults = {
                name.strip(): ast.literal_eval(text.strip())
                for name, equals, text in parts
                if equals
            }
        else:
            parameters = signature_of(self.function).parameters.values()
            positional = [
                x for x in parameters if x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD)
            ]
            names = [parameter.name for parameter in positional]
            if self.foreign:
                self.varargs = any(x.kind is x.VAR_POSITIONAL for x in parameters)
                defaults = {
                    x.name: x.default
                    for x in positional
                    if x.default is not inspect.Parameter.empty and x.default is not None
                }
        arrays = self._arrays
        self._array_names = tuple(names[:arrays] if isinstance(arrays, int) else arrays)
        self.keyword_arrays = self.foreign and self._array_names != tuple(
            names[: len(self._array_names)]
        )
        self._defaults = {k: defaults[k] for k in self._array_names if k in defaults}
        self._short = not (self.sequence or self._defaults or self.keyword_arrays)
        self._names = tuple(names)
        return self._names

    def needed(self, wanted: tuple[bool, ...]) -> tuple[Sequence[bool], bool]:
        """`needs`, with its results remembered."""
        found = self._needed.get(wanted)
        if found is None:
            found = self._needed[wanted] = self.needs(wanted)
        return found

    # -- replaying -------------------------------------------------------------------------------

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        """Which arguments, and whether the result, the derivatives by wanted arguments read."""
        return [True] * len(wanted), True

    def pull(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        """The cotangents of the arguments, from that of the result; None for zeros."""
        raise NotImplementedError

    def push(self, dots: Sequence[Tangent], out: Value, args: Values, params: Params) -> Tangent:
        """The tangent of the result, from those of the arguments; None for zeros."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self.form} {self.name}>"


def _qualified_name(function: Function) -> str:
    module = getattr(function, "__module__", None) or ""
    if isinstance(function, np.ufunc):
        module = _home_of(function)
        if module.partition(".")[0] not in ("numpy", "tapegrad", ""):
            module = module.replace("special._ufuncs", "special")
            return f"{module}.{function.__name__}"
    if module.startswith(MIRRORS):
        return f"{module.removeprefix('tapegrad.')}.{name_of(function)}"
    prefix = "np" + module.removeprefix("numpy") + "." if module.startswith("numpy") else ""
    return prefix + name_of(function)


def _home_of(ufunc: np.ufunc) -> str:
    """The module that holds a ufunc, which knows none; "" for one that np.frompyfunc has made."""
    name = ufunc.__name__
    for home in ("numpy", "scipy.special", *list(sys.modules)):
        if getattr(sys.modules.get(home), "__dict__", {}).get(name) is ufunc:
            return home
    return "numpy" if name.isidentifier() else ""


def _as_part(part: Value) -> Any:
    """An element of a sequence of arrays, as an array."""
    if isinstance(part, Traced):
        return part
    part = lift(part)
    return part if hasattr(part, "shape") else np.asarray(part)


def register(rule: Rule) -> Rule:
    """Declare a function by its rule; a second declaration is an error."""
    function: Any = rule.function
    known = declared_rule(function)
    if known is not None:
        raise RuleError(f"{rule.name}: already declared as {known.form}. Declare it once.")
    word = rule.batch
    if isinstance(word, str) and word not in BATCH_WORDS and not word.startswith("("):
        raise RuleError(f"{rule.name}: unknown batch={rule.batch!r}.")
    if _holds_rule(function):
        function.rule = rule
        if str(function.__module__).partition(".")[0] != "tapegrad":  # ours stay
            with _HOLDING:
                _HELD.add(rule)
            return rule
    REGISTRY[function] = rule
    return rule


def _holds_rule(function: Any) -> bool:
    return getattr(type(function), "holds_rule", False)


def declared_rule(function: Any) -> Rule | None:
    """The rule of a function that has been declared, or of a primitive."""
    found: Rule | None = function.rule if _holds_rule(function) else REGISTRY.get(function)
    return found


def declared_rules() -> list[Rule]:
    """All declared rules, those of NumPy's functions among them."""
    for home in [home for home in LATE if home.startswith("numpy")]:
        _declare_late(home)
    with _HOLDING:
        return [*REGISTRY.values(), *_HELD]


def rule_of(function: Function) -> Rule | None:
    """The rule of a function; those of `LATE` are declared when one is asked for."""
    found = REGISTRY.get(function)
    if found is None and _holds_rule(function):
        return declared_rule(function)
    if found is None and LATE:
        is_ufunc, module = isinstance(function, np.ufunc), getattr(function, "__module__", None)
        for home in tuple(LATE):
            if home in sys.modules and (is_ufunc or f"{module}.".startswith(f"{home}.")):
                _declare_late(home)
        found = REGISTRY.get(function)
    return found


def _declare_late(home: str) -> None:
    """Declare the rules of the functions of a module."""
    rules = LATE.get(home)
    if rules is not None:
        importlib.import_module(rules)
        LATE.pop(home, None)  # not before: another thread waits for the import


def rules_of_form(form: str) -> Iterator[Rule]:
    """All declared rules of one form."""
    return (rule for rule in declared_rules() if rule.form == form)


__all__ = [
    "ALL",
    "LATE",
    "MIRRORS",
    "REGISTRY",
    "Function",
    "Partial",
    "Rule",
    "declared_rule",
    "declared_rules",
    "register",
    "rule_of",
    "rules_of_form",
]
