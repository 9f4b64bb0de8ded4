"""Guards as generated code: each change outside is seen, after calls in which nothing changed.

A row of the table makes a function and a change of what it reads. The function is called until its
guard is generated code; then what its program gives must be what the function gives, after the
change and after the same change made again.
"""

import array
import contextlib
import contextvars
import functools
import types
from collections import OrderedDict, defaultdict, deque

import numpy as np
import pytest

import tapegrad
from tapegrad._compile.guards import Kept, guard_of
from tapegrad._compile.places import FEW, Items, Place

X = np.linspace(0.5, 1.5, 3)
CALLS = 7  # two are recorded, three look at all places, one generates the guard
CHANGES = {}


def change(make):
    CHANGES[make.__name__.strip("_")] = make
    return make


class Part:
    def __init__(self, **parts):
        self.__dict__.update(parts)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


@change
def attribute_replaced_by_an_equal_value_then_changed():
    part, values = Part(a=2.5), iter((float("2.5"), 3.5, float("3.5"), -1.0))
    return (lambda x: x * part.a), lambda: setattr(part, "a", next(values))


@change
def object_mutated_two_levels_down():
    part = Part(inner=Part(a=[1.0, {"k": 2.0}]))

    def act():
        part.inner.a[1]["k"] += 1.0

    return (lambda x: x * part.inner.a[1]["k"]), act


@change
def key_added():
    table = {"a": 1.0}
    return (lambda x: x * sum(table.values())), lambda: table.update({f"b{len(table)}": 2.0})


@change
def key_in_the_place_of_another():
    table, value = {"a": 1.0, "b": 2.0}, 2.0

    def act():
        key = next(iter(table))
        table[key + "'"] = table.pop(key)

    return (lambda x: x * (value if "a" in table else 3.0 + len("".join(table)))), act


@change
def order_of_keys():
    table = {"a": 1.0, "b": 2.0}

    def act():
        key = next(iter(table))
        table[key] = table.pop(key)

    return (lambda x: x * next(iter(table.values()))), act


@change
def large_dict():
    table = {f"k{i}": float(i) for i in range(2 * FEW)}
    return (lambda x: x * table["k20"]), lambda: table.update(k20=table["k20"] + 1.0)


@change
def keys_that_are_no_texts():
    table = {1: 1.0, (2, 3): 2.0}
    return (lambda x: x * table[2, 3]), lambda: table.update({(2, 3): table[2, 3] + 1.0})


@change
def empty_dict_is_filled():
    table = {}
    return (lambda x: x * (1.0 + len(table))), lambda: table.update({len(table): 0.0})


@change
def empty_list_is_filled():
    values = []
    return (lambda x: x * (1.0 + len(values))), lambda: values.append(0.0)


@change
def list_element():
    values = [1.0, 2.0]
    return (lambda x: x * values[1]), lambda: values.__setitem__(1, values[1] + 1.0)


@change
def large_list():
    values = [float(i) for i in range(2 * FEW)]
    return (lambda x: x * values[20]), lambda: values.__setitem__(20, values[20] + 1.0)


@change
def list_shrinks():
    values = [1.0, 2.0, 3.0, 4.0]
    return (lambda x: x * len(values)), values.pop


@change
def all_attributes_replaced_at_once():
    part = Part(a=1.0)

    def act():
        part.__dict__ = {"a": part.a + 1.0}

    return (lambda x: x * part.a), act


@change
def attributes_of_a_function_replaced_at_once():
    def inner(x):
        return x * inner.scale

    inner.scale = 1.0

    def act():
        inner.__dict__ = {"scale": inner.scale + 1.0}

    return (lambda x: inner(x)), act


@change
def attribute_deleted():
    part = Part(a=4.0, b=2.0, c=3.0)
    names = iter("ab")
    return (
        lambda x: x * getattr(part, "a", getattr(part, "b", part.c)),
        lambda: delattr(part, next(names)),
    )


@change
def slot_changed():
    part = Slotted(1.0)
    return (lambda x: x * part.a), lambda: setattr(part, "a", part.a + 1.0)


@change
def empty_slot_filled():
    part = Slotted(1.0)
    return (
        lambda x: x * (part.b if hasattr(part, "b") else 5.0),
        lambda: setattr(part, "b", getattr(part, "b", 1.0) + 1.0),
    )


@change
def array_changed_through_another_view():
    base = np.ones(6)
    part, other = Part(a=base[:3]), base[1:4]
    return (lambda x: x * part.a), lambda: other.__iadd__(1.0)


@change
def array_changed_through_a_view_of_before_its_lock():
    a = np.ones(3)
    view = a[:]
    a.flags.writeable = False
    return (lambda x: x * a), lambda: view.__iadd__(1.0)


@change
def fortran_array():
    a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    return (lambda x: x * a[1]), lambda: a.__setitem__((1, 2), a[1, 2] + 1.0)


@change
def strided_array():
    base = np.arange(6.0)
    a = base[::2]
    return (lambda x: x * a), lambda: base.__iadd__(1.0)


@change
def last_byte_of_a_large_array():
    a = np.ones(100_001)
    return (lambda x: x * a[-1]), lambda: a.__setitem__(-1, np.nextafter(a[-1], 2))


@change
def array_of_dates():
    a = np.array(["2020-01-01"], "M8[D]")
    return (lambda x: x * float(a.astype(int)[0])), lambda: a.__iadd__(np.timedelta64(1, "D"))


@change
def zero_dimensional_array():
    a = np.array(3)
    return (lambda x: x * int(a)), lambda: a.__iadd__(1)


@change
def sign_of_zero():
    part, signs = Part(a=0.0), iter((-0.0, 0.0))
    return (lambda x: np.copysign(x, part.a)), lambda: setattr(part, "a", next(signs))


@change
def number_of_another_type():
    part, kinds = Part(a=1), iter((True, 1.0))
    return (lambda x: x * (1 + len(type(part.a).__name__))), lambda: setattr(
        part, "a", next(kinds)
    )


@change
def cell_rebound():
    scale = 1.0

    def act():
        nonlocal scale
        scale += 1.0

    return (lambda x: x * scale), act


@change
def nested_closures():
    def outer():
        scale = 1.0

        def inner(x):
            def innermost(y):
                return y * scale

            return innermost(x)

        def act():
            nonlocal scale
            scale += 1.0

        return inner, act

    inner, act = outer()
    return (lambda x: inner(x)), act


@change
def global_rebound():
    names = {"np": np, "scale": 1.0}
    exec("def f(x):\n    return x * scale", names)

    def act():
        names["scale"] += 1.0

    return names["f"], act


@change
def global_that_hides_a_builtin():
    names = {}
    exec("def f(x):\n    return x * abs(-2.0)", names)
    made = iter((lambda _: 5.0, lambda _: 6.0))
    return names["f"], lambda: names.__setitem__("abs", next(made))


@change
def library_behind_a_name():
    names = {"xp": np}
    exec("def f(x):\n    return x * xp.pi", names)
    return names["f"], lambda: names.update(xp=types.SimpleNamespace(pi=3.0))


@change
def default_value():
    def f(x, k=1.0):
        return x * k

    def act():
        f.__defaults__ = (f.__defaults__[0] + 1.0,)

    return f, act


@change
def mutable_default_value():
    def f(x, *, k=[1.0]):  # noqa: B006
        return x * k[0]

    def act():
        f.__kwdefaults__["k"][0] += 1.0

    return f, act


@change
def class_attribute():
    class Model:
        scale = 1.0

    model = Model()
    return (lambda x: x * model.scale), lambda: setattr(Model, "scale", Model.scale + 1.0)


@change
def class_attribute_hidden_by_the_object():
    class Model:
        scale = 1.0

    model = Model()
    return (lambda x: x * model.scale), lambda: setattr(model, "scale", model.scale + 1.0)


@change
def attribute_of_a_base_class():
    class Base:
        pass

    class Model(Base):
        pass

    Base.scale, model = 1.0, Model()
    return (lambda x: x * model.scale), lambda: setattr(Base, "scale", Base.scale + 1.0)


@change
def attribute_added_to_a_class():
    class Model:
        pass

    model = Model()
    return (
        lambda x: x * getattr(model, "scale", 3.0),
        lambda: setattr(Model, "scale", getattr(Model, "scale", 0.0) + 1.0),
    )


@change
def property_behind_an_attribute():
    class Model:
        _scale = 1.0

        @property
        def scale(self):
            return self._scale * 2.0

    model = Model()
    return (lambda x: x * model.scale), lambda: setattr(model, "_scale", model._scale + 1.0)


@change
def attribute_made_by_getattr():
    class Model:
        def __init__(self):
            self.table = {"scale": 1.0}

        def __getattr__(self, name):
            return self.table[name]

    model = Model()
    return (
        lambda x: x * model.scale,
        lambda: model.table.update(scale=model.table["scale"] + 1.0),
    )


@change
def method_replaced():
    class Model:
        def act(self, x):
            return x

    model, made = Model(), iter((lambda self, x: x * 2.0, lambda self, x: x * 3.0))
    return (lambda x: model.act(x)), lambda: setattr(Model, "act", next(made))


@change
def argument_of_a_partial():
    part = functools.partial(lambda a, x: x * a[0], [1.0])

    def act():
        part.args[0][0] += 1.0

    return (lambda x: part(x)), act


@change
def other_containers():
    ordered, queue = OrderedDict(a=1.0, b=2.0), deque([1.0, 2.0])
    fallback = defaultdict(float, a=1.0)

    def act():
        ordered.move_to_end(next(iter(ordered)))
        queue.rotate()
        fallback["a"] += 1.0

    return (lambda x: x * next(iter(ordered.values())) * queue[0] * fallback["a"]), act


@change
def context_variable():
    scale = contextvars.ContextVar("scale", default=1.0)
    return (lambda x: x * scale.get()), lambda: scale.set(scale.get() + 1.0)


@change
def shape_set_in_place():
    a = np.arange(6.0)

    def act():
        a.resize((2, 3) if a.ndim == 1 else (3, 2), refcheck=False)

    return (lambda x: x * len(a)), act


@change
def memory_behind_an_array():
    numbers = array.array("d", [1.0, 2.0])
    a = np.frombuffer(numbers)
    return (lambda x: x * a[1]), lambda: numbers.__setitem__(1, numbers[1] + 1.0)


@change
def two_names_of_one_object():
    pair = [[1.0], [1.0]]
    return (lambda x: x * (2.0 if pair[0] is pair[1] else 1.0)), lambda: pair.__setitem__(
        1, pair[0]
    )


@change
def attribute_of_a_metaclass():
    class Meta(type):
        scale = 1.0

    class Model(metaclass=Meta):
        pass

    return (lambda x: x * type(Model).scale), lambda: setattr(Meta, "scale", Meta.scale + 1.0)


@change
def value_in_a_descriptor():
    class Held:
        def __init__(self):
            self.value = 1.0

        def __get__(self, owner, kind):
            return self.value

    class Model:
        scale = Held()

    model, held = Model(), vars(Model)["scale"]
    return (lambda x: x * model.scale), lambda: setattr(held, "value", held.value + 1.0)


@change
def class_of_a_dict():
    class Table(dict):
        def __missing__(self, key):
            return self.fallback

    table = Table(a=1.0)
    table.fallback = 2.0

    def act():
        table.fallback += 1.0
        table["a"] = table["a"] * 2.0

    return (lambda x: x * table["a"] * table["b"]), act


@change
def slots_and_attributes():
    class Both:
        __slots__ = ("__dict__", "a")

    part = Both()
    part.a, part.b = 1.0, 2.0

    def act():
        part.a, part.b = part.b, part.a + 1.0

    return (lambda x: x * part.a - part.b), act


@change
def namespace_object():
    space = types.SimpleNamespace(a=np.ones(3))

    def act():
        space.a = space.a + 1.0

    return (lambda x: x * space.a), act


@change
def class_of_an_object_replaced():
    class One:
        def scaled(self, x):
            return x * 2.0

    class Other:
        def scaled(self, x):
            return x - 7.0

    part, classes = One(), iter((Other, One))
    return (lambda x: part.scaled(x)), lambda: setattr(part, "__class__", next(classes))


@change
def class_derived_from_another():
    class One:
        a = 2.0

    class Other:
        a = 3.0

    class Derived(One):
        pass

    part, bases = Derived(), iter(((Other,), (One,)))
    return (lambda x: x * part.a), lambda: setattr(Derived, "__bases__", next(bases))


@change
def code_of_a_function():
    def inner(x):
        return x * 2.0

    codes = iter(((lambda x: x * 3.0).__code__, (lambda x: x - 1.0).__code__))
    return (lambda x: inner(x)), lambda: setattr(inner, "__code__", next(codes))


@change
def form_of_an_array_in_bytes():
    a = np.frombuffer(np.arange(36.0).tobytes()).reshape(6, 6)
    shapes = iter(((3, 12), (12, 3)))
    return (lambda x: x * a[:, 0].sum()), lambda: setattr(a, "shape", next(shapes))


@change
def shape_of_an_array_of_objects():
    a = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=object)
    shapes = iter(((3, 2), (6, 1)))
    return (lambda x: x * float(a[1, 0])), lambda: setattr(a, "shape", next(shapes))


@change
def shape_of_a_subclass_of_arrays():
    class Other(np.ndarray):
        pass

    a = np.arange(6.0).reshape(2, 3).view(Other)
    shapes = iter(((3, 2), (6, 1)))
    return (lambda x: x * np.asarray(a)[1, 0]), lambda: setattr(a, "shape", next(shapes))


@change
def factory_of_a_defaultdict():
    table, values = defaultdict(lambda: 2.0), iter((3.0, 4.0))

    def act():
        value = next(values)
        table.default_factory = lambda: value

    return (lambda x: x * table.copy()["k"]), act


@change
def attribute_of_a_number_of_numpys():
    class Number(np.float64):
        pass

    held = {"a": Number(2.0)}
    held["a"].scale = 1.0

    def act():
        scale = held["a"].scale
        held["a"] = Number(2.0)
        held["a"].scale = scale + 1.0

    return (lambda x: x * held["a"].scale), act


@change
def attribute_that_a_function_gets():
    def inner(x):
        return x * getattr(inner, "scale", 1.0)

    return (lambda x: inner(x)), lambda: setattr(inner, "scale", 3.0)


@change
def name_that_a_module_gets():
    module, names = types.ModuleType("module"), iter(("first", "second"))

    def f(x):
        return x * getattr(module, "first", 1.0) - getattr(module, "second", 1.0)

    return f, lambda: setattr(module, next(names), 3.0)


@change
def name_that_a_module_got_from_a_function():
    module = types.ModuleType("module")
    module.__getattr__ = lambda name: 2.0
    return (lambda x: x * module.scale), lambda: setattr(module, "scale", 3.0)


@change
def variable_that_gets_bound():
    def bind(value):
        nonlocal late
        late = value

    def f(x):
        try:
            return x * late
        except NameError:
            return x

    if not CHANGES:
        late = 0.0
    return f, lambda: bind(3.0)


@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")  # NumPy 2.5
@pytest.mark.parametrize("backend", ["numpy", "interpreter"])
@pytest.mark.parametrize("name", CHANGES)
def test_each_change_is_seen(name, backend):
    f, act = CHANGES[name]()
    fast = tapegrad.compile(f, backend=backend)
    for _ in range(CALLS):
        np.testing.assert_array_equal(fast(X), f(X))
    assert fast.call.surroundings.state.guard is not None
    for _ in range(2):
        with contextlib.suppress(StopIteration):
            act()
        for _ in range(CALLS):
            np.testing.assert_array_equal(fast(X), f(X))
            np.testing.assert_array_equal(np.signbit(fast(X)), np.signbit(f(X)))


def test_equal_values_need_no_new_program():
    part = Part(a=2.5, b=np.ones(3), c="text", d=1234)
    fast = tapegrad.compile(lambda x: x * part.a * part.b * part.d, backend="numpy")
    for _ in range(CALLS):
        fast(X)
    part.a, part.b, part.d = float("2.5"), np.ones(3), int("1234")
    part.c = "".join(list("text"))
    fast(X)
    assert fast.call.surroundings.changes == 0


def test_an_equal_array_may_be_the_argument_that_is_written_to():
    held = {"a": np.zeros(3)}

    def f(x):
        x += 1.0
        return x + held["a"]

    fast = tapegrad.compile(f, backend="numpy")
    for _ in range(CALLS):
        fast(np.zeros(3))
    for _ in range(2):
        held["a"] = x = np.zeros(3)
        np.testing.assert_array_equal(fast(x), np.full(3, 2.0))


def test_memory_of_bytes_is_not_compared():
    a = np.frombuffer(np.arange(4.0).tobytes()).reshape(2, 2)[:1]
    kept = Kept(a)
    assert np.shares_memory(kept.copy, a)
    assert kept.is_in(a)
    locked = np.ones(2)
    locked.flags.writeable = False
    assert Kept(locked).copy is not locked
    buffer = np.frombuffer(bytearray(16))
    assert Kept(buffer).copy is not buffer


def test_a_guard_asks_for_identical_objects():
    value, table = Part(), {}
    table["a"] = value
    place = Items(table)
    guard = guard_of([(place, place.read())], [], None)
    assert guard()
    table["a"] = Part()
    assert not guard()
    table["a"] = value
    assert guard()
    counter = iter(range(3))
    numbers = Place(lambda: [next(counter)])
    assert guard_of([(numbers, [0])], [], lambda now, held: now == held)()
