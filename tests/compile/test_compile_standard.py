"""State and results of objects of Python's own library are seen, refused, or found by `check=`.

Each row makes a program that reads a number from outside, and what sets that number. A compiled
function gives what the function itself gives, call by call, before and after a change.
"""

from __future__ import annotations

import abc
import builtins
import collections
import concurrent.futures
import configparser
import contextlib
import contextvars
import csv
import ctypes
import decimal
import functools
import gc
import importlib
import io
import itertools
import logging
import mmap
import multiprocessing
import os
import queue
import random
import sqlite3
import sys
import threading
import types
import weakref
from decimal import Decimal
from os import getenv

import numpy as np
import pytest

import tapegrad
from tapegrad import EagerWarning, StaleProgramError

X = np.array([0.5, -1.25, 2.0])
VARIABLE = "TAPEGRAD_TEST_RATE"


def local(_):
    held = threading.local()
    held.rate = 1.0
    return (lambda: held.rate), (lambda v: setattr(held, "rate", v))


def environ(_):
    return (lambda: float(os.environ[VARIABLE])), set_variable


def set_variable(v):
    os.environ[VARIABLE] = str(v)


def environ_of_a_local_import(_):
    def read():
        import os as system

        return float(system.environ.get(VARIABLE, "1"))

    return read, set_variable


def environ_by_a_function(_):
    return (lambda: float(getenv(VARIABLE)) * float(os.getenv(VARIABLE))), set_variable


def logger(_):
    log = logging.getLogger("tapegrad_test.outside")
    parent = logging.getLogger("tapegrad_test")
    return (lambda: 1.0 + log.isEnabledFor(logging.DEBUG)), (
        lambda v: parent.setLevel(logging.WARNING if v == 1 else logging.DEBUG)
    )


def logger_by_name(_):
    return (lambda: float(logging.getLogger("tapegrad_test.named").level)), (
        lambda v: logging.getLogger("tapegrad_test.named").setLevel(int(v))
    )


def logging_as_a_whole(_):
    log = logging.getLogger("tapegrad_test.outside")
    return (lambda: 1.0 + log.isEnabledFor(logging.CRITICAL)), (
        lambda v: logging.disable(logging.CRITICAL if v == 1 else 0)
    )


def program_of(text):
    """`read` of a module of its own, of which all names are looked at."""
    scope = {"__name__": "tapegrad_test_program", "RATE": 1.0, "NAME": "RATE", "sys": sys}
    exec(text, scope)
    return scope["read"], (lambda v: scope.update(RATE=v))


def by_globals(_):
    return program_of("def read(): return globals()[NAME]")


def by_eval(_):
    return program_of("def read(): return eval(NAME)")


def by_exec(_):
    return program_of(
        "def read():\n    made = {}\n    exec(f'rate = {NAME}', globals(), made)\n"
        "    return made['rate']"
    )


def by_a_frame(_):
    return program_of("def read(): return sys._getframe().f_globals[NAME]")


def new_name(_):
    read, _ = program_of("def read(): return globals().get('FURTHER', 1.0)")
    return read, (lambda v: read.__globals__.update(FURTHER=v) if v == 2 else None)


def decimal_context(_):
    return (lambda: float(Decimal(1) / Decimal(3))), set_precision


def set_precision(v):
    decimal.getcontext().prec = 20 if v == 1 else 3


def decimals_from_outside(_):
    one, seven = Decimal(1), Decimal(7)
    return (lambda: float(one / seven)), set_precision


def metaclass(_):
    class Meta(type):
        rate = 1.0

    class Settings(metaclass=Meta):
        pass

    return (lambda: Settings.rate), (lambda v: setattr(Meta, "rate", v))


def property_of_a_metaclass(_):
    held = {"rate": 1.0}

    class Meta(type):
        @property
        def rate(cls):
            return held["rate"]

    class Settings(metaclass=Meta):
        pass

    return (lambda: Settings.rate), (lambda v: held.update(rate=v))


def by_super(_):
    class Base:
        rate = 1.0

    class Settings(Base):
        def read(self):
            return super().rate

    settings = Settings()
    return settings.read, (lambda v: setattr(Base, "rate", v))


def context_variable(_):
    variable = contextvars.ContextVar("rate", default=1.0)
    return (lambda: variable.get()), (lambda v: variable.set(v))


def weak_reference(_):
    class Held:
        rate = 1.0

    held = Held()
    reference, proxy = weakref.ref(held), weakref.proxy(held)
    return (lambda: reference().rate * proxy.rate), (lambda v: setattr(held, "rate", v))


def weak_mapping(_):
    class Key:
        pass

    key, held = Key(), weakref.WeakKeyDictionary()
    held[key] = 1.0
    return (lambda: held[key]), (lambda v: held.__setitem__(key, v))


def cell(_):
    rate = 1.0

    def set_it(v):
        nonlocal rate
        rate = v

    return (lambda: rate), set_it


def view_of_a_dict(_):
    held = {"rate": 1.0}
    values = held.values()
    return (lambda: sum(values)), (lambda v: held.update(rate=v))


def order_of_a_dict(_):
    held = collections.OrderedDict(a=1.0, b=2.0)
    return (lambda: next(iter(held.values()))), (
        lambda v: held.move_to_end("a" if v == 2 else "b")
    )


def memory_of_c(_):
    class Point(ctypes.Structure):
        _fields_ = (("x", ctypes.c_double),)

    point, number = Point(1.0), ctypes.c_double(1.0)

    def set_it(v):
        point.x = number.value = v

    return (lambda: point.x * number.value), set_it


def value_of_processes(_):
    held = multiprocessing.Value("d", 1.0)
    return (lambda: held.value), (lambda v: setattr(held, "value", v))


def settings_of_a_file(_):
    held = configparser.ConfigParser()
    held["a"] = {"rate": "1"}
    return (lambda: held.getfloat("a", "rate")), (lambda v: held.set("a", "rate", str(v)))


def event(_):
    held = threading.Event()
    return (lambda: 1.0 + held.is_set()), (lambda v: held.set() if v == 2 else held.clear())


def future(_):
    held = concurrent.futures.Future()
    return (lambda: held.result() if held.done() else 1.0), (
        lambda v: held.set_result(v) if v == 2 else None
    )


def weak_set(_):
    class Key:
        pass

    keys = [Key(), Key()]
    held = weakref.WeakSet(keys[:1])
    return (lambda: float(len(held))), (lambda v: held.add(keys[v == 2]))


def bound_super(_):
    class Base:
        rate = 1.0

    class Settings(Base):
        pass

    held = super(Settings, Settings())
    return (lambda: held.rate), (lambda v: setattr(Base, "rate", v))


def record_of_numpy(_):
    held = np.zeros(2, [("rate", float)])[0]
    return (lambda: held["rate"]), (lambda v: held.__setitem__("rate", v))


def cleared_cache(_):
    held = {"rate": 1.0}

    @functools.cache
    def rate():
        return held.get("rate")

    def set_it(v):
        held["rate"] = v
        rate.cache_clear()

    return rate, set_it


def arguments_of_the_program(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["a"])
    return (lambda: float(len(sys.argv))), (lambda v: sys.argv.append("b") if v == 2 else None)


def attribute_that_a_module_makes(_):
    held = {"rate": 1.0}
    settings = types.ModuleType("tapegrad_test_settings")
    settings.__getattr__ = lambda name: held[name]
    return (lambda: settings.rate), (lambda v: held.update(rate=v))


def module_by_its_name(monkeypatch):
    settings = types.ModuleType("tapegrad_test_settings")
    monkeypatch.setitem(sys.modules, settings.__name__, settings)
    settings.rate = 1.0
    return (lambda: importlib.import_module("tapegrad_test_settings").rate), (
        lambda v: setattr(settings, "rate", v)
    )


def name_among_the_builtins(monkeypatch):
    monkeypatch.setattr(builtins, "tapegrad_test_rate", 1.0, raising=False)
    return (lambda: tapegrad_test_rate), (  # noqa: F821
        lambda v: setattr(builtins, "tapegrad_test_rate", v)
    )


SEEN = [
    local,
    environ,
    environ_of_a_local_import,
    environ_by_a_function,
    logger,
    logger_by_name,
    logging_as_a_whole,
    by_globals,
    by_eval,
    by_exec,
    by_a_frame,
    new_name,
    decimal_context,
    decimals_from_outside,
    metaclass,
    property_of_a_metaclass,
    by_super,
    context_variable,
    weak_reference,
    weak_mapping,
    cell,
    view_of_a_dict,
    order_of_a_dict,
    memory_of_c,
    value_of_processes,
    settings_of_a_file,
    event,
    future,
    weak_set,
    bound_super,
    record_of_numpy,
    cleared_cache,
    arguments_of_the_program,
    attribute_that_a_module_makes,
    module_by_its_name,
    name_among_the_builtins,
]


@pytest.fixture(autouse=True)
def around(monkeypatch):
    """All that rows change for all of Python is put back."""
    monkeypatch.setenv(VARIABLE, "1.0")
    levels = [(logging.getLogger(x), logging.getLogger(x).level) for x in ("", "tapegrad_test")]
    with decimal.localcontext():
        yield
    logging.disable(0)
    for log, level in levels:
        log.setLevel(level)


@pytest.mark.parametrize("make", SEEN)
def test_a_change_is_seen(monkeypatch, make):
    read, set_it = make(monkeypatch)

    def f(x):
        return x * read()

    fast = tapegrad.compile(f, backend="numpy")
    set_it(1.0)
    for _ in range(3):
        np.testing.assert_array_equal(fast(X), f(X))
    (program,) = fast.call.programs.values()
    assert program.runner is not None
    before = fast(X)
    set_it(2.0)
    for _ in range(3):
        np.testing.assert_array_equal(fast(X), f(X))
    assert (fast(X) != before).all()


# --- Functions of another value each time --------------------------------------------------------

NUMBERS = [1.0] * 4 + [2.0] * 9


def numbered():
    yield from NUMBERS


def filled(kind):
    made = kind()
    for number in NUMBERS:
        made.put(number)
    return made


def pipe():
    receiver, sender = multiprocessing.Pipe(duplex=False)
    for number in NUMBERS:
        sender.send(number)
    return receiver


def table():
    made = sqlite3.connect(":memory:")
    made.execute("create table held (rate real)")
    made.execute("insert into held values (0)")
    return made


def counted(connection):
    connection.execute("update held set rate = rate + 1")
    return connection.execute("select rate from held").fetchone()[0]


def file_of(tmp_path):
    path = tmp_path / "numbers"
    path.write_text("".join(f"{number}\n" for number in NUMBERS))
    return path.open()


def looped_over(it):
    for number in it:
        return number
    return None


def held_by_an_object():
    return types.SimpleNamespace(schedule=iter(NUMBERS))


TEXT = "".join(f"{number}\n" for number in NUMBERS)
SPENT = {
    "an iterator": (lambda: iter(NUMBERS), next),
    "one that a loop takes from": (lambda: iter(NUMBERS), looped_over),
    "a generator": (numbered, next),
    "a generator by send": (numbered, lambda it: it.send(None)),
    "a counter": (itertools.count, next),
    "a method of it": (lambda: itertools.count().__next__, lambda take: take()),
    "a zip": (lambda: zip(NUMBERS, strict=True), lambda it: next(it)[0]),
    "keys of a dict": (lambda: iter(dict.fromkeys(range(20))), next),
    "calls until": (lambda: iter(iter(NUMBERS).__next__, None), next),
    "what an object holds": (held_by_an_object, lambda held: next(held.schedule)),
    "what a list holds": (lambda: [iter(NUMBERS)], lambda held: next(held[0])),
    "a partial call": (lambda: functools.partial(next, iter(NUMBERS)), lambda take: take()),
    "a queue": (lambda: filled(queue.Queue), lambda q: q.get()),
    "a simple queue": (lambda: filled(queue.SimpleQueue), lambda q: q.get()),
    "a pipe": (pipe, lambda p: p.recv()),
    "a file in memory": (lambda: io.StringIO(TEXT), lambda file: float(file.readline())),
    "rows of it": (lambda: csv.reader(io.StringIO(TEXT)), lambda rows: float(next(rows)[0])),
    "a database": (table, counted),
    "an array's elements": (lambda: np.array(NUMBERS).flat, next),
}


def assert_refused(make, take):
    outside, again = make(), make()
    fast = tapegrad.compile(lambda x: x * take(outside), backend="numpy")
    with pytest.warns(EagerWarning, match="which gives another one each time") as warned:
        found = [fast(X) for _ in range(10)]
    np.testing.assert_array_equal(found, [X * take(again) for _ in range(10)])
    assert len(warned) == 1
    for held in (outside, again):
        getattr(held, "close", bool)()


@pytest.mark.parametrize("row", SPENT.values(), ids=SPENT)
def test_what_is_used_up_is_not_compiled(row):
    assert_refused(*row)


def test_files_are_used_up(tmp_path):
    with (
        contextlib.closing(file_of(tmp_path)) as one,
        contextlib.closing(file_of(tmp_path)) as two,
    ):
        files = iter([one, two])
        assert_refused(lambda: next(files), lambda file: float(file.readline()))


def test_the_schedule_of_the_first_hundred_steps():
    schedule = iter([0.1] * 100 + [0.01] * 900)
    fast = tapegrad.compile(lambda w: w - next(schedule) * 2 * w)
    with pytest.warns(EagerWarning):
        steps = [float(fast(np.float64(1.0))) for _ in range(102)]
    assert steps == [1 - 0.1 * 2] * 100 + [1 - 0.01 * 2] * 2


def test_iterators_of_a_program_keep_their_place_in_attributes():
    class Schedule:
        place = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.place += 1
            return NUMBERS[self.place - 1]

    outside, again = Schedule(), Schedule()
    fast = tapegrad.compile(lambda x: x * next(outside), backend="numpy")
    with pytest.warns(EagerWarning, match="went more than 8 ways"):
        found = [fast(X) for _ in range(12)]
    np.testing.assert_array_equal(found, [X * next(again) for _ in range(12)])


def test_counters_of_constructors_do_not_count():
    class Layer:
        counter = itertools.count()

        def __init__(self):
            self.number, self.weight = next(Layer.counter), 2.0

        def __call__(self, x):
            return x * self.weight

    layer = Layer()
    fast = tapegrad.compile(layer, backend="numpy")
    for _ in range(4):
        np.testing.assert_array_equal(fast(X), 2.0 * X)
    (program,) = fast.call.programs.values()
    assert program.runner is not None


@pytest.mark.parametrize("make", [io.StringIO, io.BytesIO])
def test_what_is_written_or_closed_gives_nothing(make, tmp_path):
    closed = make()
    closed.close()
    with (tmp_path / "log").open("w") as log:
        held = types.SimpleNamespace(log=log, closed=closed, out=sys.stdout, lock=threading.Lock())
        fast = tapegrad.compile(lambda x: x * bool(held), backend="numpy")
        for _ in range(4):
            np.testing.assert_array_equal(fast(X), X)
        (program,) = fast.call.programs.values()
    assert program.runner is not None


def test_the_environment_is_put_back_after_a_run_in_vain():
    """The system hears of it as well."""

    def f(x):
        os.environ[VARIABLE] = str(float(os.environ[VARIABLE]) + 1)
        np.asarray(x, dtype=object)
        return np.array([float(os.environ[VARIABLE])] * 3) * np.array(x)

    fast = tapegrad.compile(f, backend="numpy")
    with pytest.warns(EagerWarning):
        found = [fast(X) for _ in range(3)]
    np.testing.assert_array_equal(found, [X * 2, X * 3, X * 4])


# --- Changes that cannot be seen -----------------------------------------------------------------


def read_file(tmp_path):
    path = tmp_path / "rate"
    return (lambda: float(path.read_text())), (lambda v: path.write_text(str(v)))


def read_opened_file(tmp_path):
    path = tmp_path / "rate"

    def read():
        with open(path) as file:
            return float(file.read())

    return read, (lambda v: path.write_text(str(v)))


def mapped_file(_):
    held = mmap.mmap(-1, 8)
    return (lambda: held[0]), (lambda v: held.__setitem__(0, int(v)))


def directory(tmp_path):
    return (lambda: float(len(os.listdir(tmp_path)))), (
        lambda v: (tmp_path / f"{v}").write_text("")
    )


def lock(_):
    held = threading.Lock()
    return (lambda: 1.0 + held.locked()), (lambda v: held.acquire() if v == 2 else None)


def collector(_):
    return (lambda: 1.0 + gc.isenabled()), (lambda v: gc.disable() if v == 2 else gc.enable())


def options_of_printing(_):
    return (lambda: float(np.get_printoptions()["precision"])), (
        lambda v: np.set_printoptions(precision=8 if v == 1 else 4)
    )


def registered_class(_):
    class Kind(abc.ABC):  # noqa: B024, no abstract methods
        pass

    class One:
        pass

    return (lambda: 1.0 + issubclass(One, Kind)), (
        lambda v: Kind.register(One) if v == 2 else None
    )


HIDDEN = [
    read_file,
    read_opened_file,
    mapped_file,
    directory,
    lock,
    collector,
    options_of_printing,
    registered_class,
]


@pytest.mark.parametrize("make", HIDDEN)
def test_what_docs_say_is_not_seen_is_found_by_check(tmp_path, make):
    read, set_it = make(tmp_path)
    set_it(1.0)
    fast = tapegrad.compile(lambda x: x * read(), backend="numpy", check=2)
    try:
        for _ in range(4):
            fast(X)
        set_it(2.0)
        with pytest.raises(StaleProgramError):
            print([fast(X) for _ in range(2)])
    finally:
        gc.enable()
        np.set_printoptions(precision=8)


def test_random_numbers_of_python_are_drawn():
    generator, same = random.Random(0), random.Random(0)
    fast = tapegrad.compile(lambda x: x * generator.random(), backend="numpy")
    with pytest.warns(EagerWarning, match="draws random numbers"):
        found = [fast(X) for _ in range(5)]
    np.testing.assert_array_equal(found, [X * same.random() for _ in range(5)])
