"""Who asks a traced value for a plain one, and whether what the refusal advises works."""

from __future__ import annotations

import cmath
import contextlib
import datetime as dt
import decimal
import json
import logging
import math
import operator
import pickle
import re
import statistics
import struct
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from math import sqrt
from types import ModuleType

import numpy as np
import pytest

import tapegrad
import tapegrad.numpy as tnp
from tapegrad import (
    BatchingError,
    ConversionError,
    ConversionWarning,
    NotDifferentiableError,
    OutputError,
    checkpoint,
    elementwise_grad,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    stop_gradient,
    vjp,
    vmap,
)

X = np.array([1.0, 2.0, 3.0])
RNG = np.random.default_rng(0)
LOST = "expected a plain value, got a traced one, whose derivative would be lost."


def element(x):
    z = np.zeros(3)
    z[0] = x[0]
    return x * np.sum(z)


def in_grad(f, x=X):
    """The error of f on a traced array."""
    with pytest.raises(Exception, match=r".") as caught:
        grad(lambda x: f(x) or np.sum(x))(x)
    return caught.value


# --- Writes into plain arrays -------------------------------------------------------------------


def total(x):
    return np.sum(element(x))


TRANSFORMS = {
    "grad": lambda: grad(total)(X),
    "grad of grad": lambda: grad(lambda x: np.sum(grad(total)(x)))(X),
    "checkpoint": lambda: grad(checkpoint(total))(X),
    "vjp": lambda: vjp(element, X),
    "jvp": lambda: jvp(element, (X,), (X,)),
    "linearize": lambda: linearize(element, X),
    "jacobian": lambda: jacobian(element)(X),
    "hessian": lambda: hessian(total)(X),
    "hvp": lambda: hvp(total, (X,), (X,)),
    "elementwise_grad": lambda: elementwise_grad(element)(X),
    "vmap of grad": lambda: vmap(grad(total))(np.stack([X, X])),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_write_into_a_plain_array(name):
    with pytest.raises(ConversionError) as caught:
        TRANSFORMS[name]()
    assert str(caught.value) == (
        f"z[...] = x: {LOST} A plain array z cannot hold a traced value. To make one that can, "
        "import tapegrad.numpy as np, or put @tapegrad.adopt over the function; NumPy's own way "
        "is np.zeros_like(x, shape=shape), or np.stack; for plain numbers use "
        "tapegrad.stop_gradient(x)."
    )
    assert caught.traceback[-1].name == "element"  # the program's own line


@pytest.mark.parametrize("nested", [False, True])
def test_a_write_into_a_plain_array_in_vmap(nested):
    def f(x):
        return np.sum(vmap(element)(x))

    with pytest.raises(BatchingError) as caught:
        grad(f)(np.stack([X, X])) if nested else vmap(element)(np.stack([X, X]))
    assert str(caught.value) == (
        "vmap(element): z[...] = x, for a plain array z, of a batched value; each example may "
        "have another one. Make z with np.zeros_like(x, shape=shape), or with a + "
        "np.zeros_like(x, shape=a.shape) to start with the values of a; join values with np.stack."
    )
    assert caught.traceback[-1].name == "element"


def write(index, part):
    def f(x):
        z = np.zeros(3)
        z[index] = part(x)

    return f


def write_flat(x):
    z = np.zeros(3)
    z.flat[0] = x[0]


def add_in_place(x):
    z = np.zeros(3)
    z[0] += x[0]


@pytest.mark.parametrize(
    "f",
    [
        write(slice(None), lambda x: x),
        write([0, 1], lambda x: x[:2]),
        write(np.array([True, False, False]), lambda x: x[:1]),
        write(slice(None), list),
        write_flat,
        add_in_place,
    ],
)
def test_every_write_into_a_plain_array(f):
    error = in_grad(f)
    assert isinstance(error, ConversionError)
    assert str(error).startswith(f"z[...] = x: {LOST}")


def test_the_command_line_shows_the_refusal(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(
        "import numpy as np\ndef f(x):\n    z = np.zeros(3)\n    z[0] = x[0]\n    return z.sum()\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "tapegrad", "grad", f"{file}:f", "--at", "np.ones(3)"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"tapegrad: z[...] = x: {LOST}")


# --- Other callers -------------------------------------------------------------------------------

# The operator itself, which linters rewrite.
formatted = eval("lambda x: '%.3f' % x")

ASKERS = {
    "fromiter": (lambda x: np.fromiter(x, float), "np.fromiter(x)", "tapegrad.numpy"),
    "array": (lambda x: np.array([x[0], 1.0]), "np.array(x)", "np.stack"),
    "zeros": (lambda x: np.zeros(3).fill(x[0]), "float(x), or a write of x", "np.zeros_like"),
    "math": (lambda x: math.sin(x[0]), "math.sin(x)", "Use np.sin(x), or put @tapegrad.adopt"),
    "from math": (lambda x: sqrt(x[0]), "math.sqrt(x)", "Use np.sqrt(x), or put @tapegrad.adopt"),
    "cmath": (lambda x: cmath.exp(x[0]), "cmath.exp(x)", "Use np.exp(x), or put @tapegrad.adopt"),
    "ufunc of a list": (lambda x: tnp.sin([x[0]]), "tapegrad.numpy.sin(x)", "np.array([x, y])"),
    "method of it": (lambda x: tnp.add.reduce([x[0]]), "tapegrad.numpy.add.reduce(x)", "np.array"),
    "fsum": (lambda x: math.fsum(x), "math.fsum(x)", "It takes plain values only"),
    "list index": (lambda x: [1, 2][x[0]], "a[x]", "use int(x)."),
    "list slice": (lambda x: [1, 2][: x[0]], "a[x]", "use int(x)."),
    "array index": (lambda x: X[x[0]], "a[x]", "use int(x)."),
    "operator": (lambda x: operator.index(x[0]), "operator.index(x)", "use int(x)."),
    "shape": (lambda x: np.zeros(x[0]), "np.zeros(x)", "use int(x)."),
    "as_strided": (
        lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)),
        "np.lib.stride_tricks.as_strided(x)",
        "sliding_window_view(x, shape).",
    ),
    "generator": (
        lambda x: RNG.normal(x),
        "np.random.Generator.normal(x)",
        "mean + scale * rng.standard_normal(size)",
    ),
    "struct": (lambda x: struct.pack("d", x[0]), "struct.pack(x)", "Pack float(tapegrad.stop_g"),
    "bytes": (lambda x: bytes(x), "bytes(x)", "np.asarray(tapegrad.stop_gradient(x))"),
    "pickle": (lambda x: pickle.dumps(x), "pickle.dumps(x)", "Pickle tapegrad.stop_gradient(x)."),
    "statistics": (lambda x: statistics.fmean(x), "statistics.fmean(x)", "NumPy's functions"),
    "ratio": (lambda x: statistics.mean(x), "statistics.mean(x)", "NumPy's functions"),
    "ratio of a program": (lambda x: x[0].as_integer_ratio(), "x.as_integer_ratio()", "Integers"),
}


@pytest.mark.parametrize("name", ASKERS)
def test_the_asker_is_named(name):
    f, call, advice = ASKERS[name]
    error = in_grad(f)
    assert isinstance(error, ConversionError)
    assert str(error).startswith(call)
    assert advice in str(error)


def test_an_extension_module_is_named(monkeypatch):
    module = ModuleType("waves.fast")
    file = f"fast{EXTENSION_SUFFIXES[0]}"
    module.__file__ = f"/site-packages/waves/{file}"
    sine = np.frompyfunc(math.sin, 1, 1)
    vars(module)[sine.__name__] = sine
    monkeypatch.setitem(sys.modules, module.__name__, module)
    error = in_grad(sine)
    assert isinstance(error, NotDifferentiableError)
    assert str(error).startswith(f"waves.fast.{sine.__name__}: no derivative rule for it. ")
    assert f"It is written in C, in {file}" in str(error)
    assert "tapegrad.primitive, or call a function of Python" in str(error)


def test_keys_of_dicts_and_elements_of_sets():
    text = (
        "unhashable type: a value inside a transform, like every array. Use a name or a position"
    )
    for f in (lambda x: {x[0]: 1}, lambda x: {x}, lambda x: {}.get(x)):
        error = in_grad(f)
        assert isinstance(error, ConversionError)
        assert text in str(error)


# Errors of a library that asked for no conversion get a note.
NOTES = {
    "json": (lambda x: json.dumps({"loss": x[0]}), "json.dumps(x)", "float(tapegrad.stop_grad"),
    "json of a list": (
        lambda x: json.dumps(x.tolist()),
        "json.dumps(x)",
        ".tolist() of an array.",
    ),
    "decimal": (lambda x: decimal.Decimal(x[0]), "decimal.Decimal(x)", "tapegrad.primitive"),
    "datetime": (
        lambda x: dt.timedelta(seconds=x[0]),
        "datetime.timedelta(x)",
        "tapegrad.stop_gradient(x)",
    ),
    "memoryview": (lambda x: memoryview(x), "memoryview(x)", "whose memory is plain"),
    "frombuffer": (lambda x: np.frombuffer(x), "np.frombuffer(x)", "whose memory is plain"),
}


@pytest.mark.parametrize("name", NOTES)
def test_a_note_names_the_call(name):
    f, call, advice = NOTES[name]
    (note,) = in_grad(f).__notes__
    assert note.startswith(f"{call}: got a value inside a transform. ")
    assert advice in note


def test_nested_transforms_add_one_note():
    def dumped(x):
        return grad(lambda y: json.dumps(y) or y)(x)

    with pytest.raises(TypeError) as caught:
        grad(dumped)(1.0)
    assert len(caught.value.__notes__) == 1


def test_a_batched_value_has_words_for_each_asker_too():
    for f, text in (
        (math.sin, ": math.sin(x) of a batched value; each example may have another one. Use np."),
        (lambda x: struct.pack("d", x), ": struct.pack(x) of a batched value;"),
        (formatted, ': "%..." % x of a batched value;'),
        (lambda x: np.from_dlpack(x), ": x.__dlpack__() of a batched value;"),
        (lambda x: x + 0 * complex(x), ": complex() of a batched value;"),
    ):
        with pytest.raises(BatchingError, match=re.escape(text)):
            vmap(lambda x, f=f: f(x))(X)


# --- Libraries ----------------------------------------------------------------------------------

LIBRARIES = {
    "scipy": ("scipy.cluster", "_vq", "whiten", "tapegrad has no rule for it"),
    "matplotlib": ("matplotlib.pyplot", "", "plot", "Plot tapegrad.stop_gradient(x), or what"),
    "pandas": ("pandas", "core.frame", "DataFrame", "s.to_numpy() of a Series"),
    "torch": ("torch", "", "tensor", "PyTorch cannot see tapegrad's derivatives"),
    "another": ("another", "_code", "call", 'Call tapegrad.adopt("another") before'),
}


def make_library(monkeypatch, directory, public, private, name):
    """Modules of an installed package, whose function converts, and stores into a plain array."""
    module = f"{public}.{private}" if private else public
    source = f"import numpy as np\ndef {name}(x):\n    return _inner(x)\n"
    source += "def _inner(x):\n    return np.asarray(x)\n"
    made = ModuleType(module)
    file = directory / "site-packages" / f"{module}.py"
    exec(compile(source, str(file), "exec"), made.__dict__)
    shown = made if module == public else ModuleType(public)
    setattr(shown, name, getattr(made, name))
    monkeypatch.setitem(sys.modules, module, made)
    monkeypatch.setitem(sys.modules, public, shown)
    return getattr(made, name)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_is_named_and_has_its_own_words(library, monkeypatch, tmp_path):
    public, private, name, advice = LIBRARIES[library]
    function = make_library(monkeypatch, tmp_path, public, private, name)
    for f in (function, lambda x: [function][0](x)):
        error = in_grad(f)
        assert isinstance(error, ConversionError)
        assert str(error).startswith(f"{public}.{name}(x): {LOST}")
        assert advice in str(error)
        assert "np.stack" not in str(error)
    with pytest.raises(BatchingError, match=f"{public}.{name}.x. of a batched value"):
        vmap(function)(X)


def test_functions_of_scipy_have_scipys_names():
    special = pytest.importorskip("scipy.special")
    integrate = pytest.importorskip("scipy.integrate")
    optimize = pytest.importorskip("scipy.optimize")
    stats = pytest.importorskip("scipy.stats")
    for f, name in (
        (lambda x: special.factorial(x), f"scipy.special.factorial(x): {LOST} Import it with"),
        (lambda x: integrate.quad(lambda t: t * x[0], 0, 1), "scipy.integrate.quad(x): "),
        (lambda x: optimize.brentq(lambda y: y - x[0], 0, 5), "scipy.optimize.brentq(x): "),
        (lambda x: optimize.minimize(lambda y: y @ x, X), "scipy.optimize.minimize(x): "),
        (lambda x: stats.norm.pdf(x), "scipy.stats.norm.pdf(x): "),
    ):
        error = in_grad(f)
        assert isinstance(error, tapegrad.TapegradError)
        assert str(error).startswith(name)
        assert "np.stack" not in str(error)


def test_what_tapegrads_own_functions_of_scipy_cannot_take_is_not_to_be_imported_from_there():
    pytest.importorskip("scipy")
    import scipy.interpolate
    import scipy.signal
    import scipy.sparse.linalg
    import scipy.stats

    from tapegrad.scipy import signal

    line, operator = np.arange(9.0), scipy.sparse.linalg.aslinearoperator(np.eye(3))
    plain = scipy.interpolate.CubicSpline(line, line)
    for f, words in (
        (lambda x: signal.savgol_coeffs(5, 2, pos=x[0]), "It has no derivative by this argument"),
        (lambda x: scipy.signal.unique_roots(x), "no derivative: roots are grouped"),
        (lambda x: scipy.signal.butter(2, x[0] / 9), "from tapegrad.scipy import signal, and"),
        (lambda x: plain(x), "from tapegrad.scipy import interpolate, and call interpolate.Cubic"),
        (
            lambda x: scipy.stats.norm(x).pdf(0.0),
            "distribution from tapegrad.scipy.stats",
        ),
        (lambda x: operator @ x, "Operators of sparse matrices take traced values"),
        (lambda x: operator.matvec(x), "Operators of sparse matrices take traced values"),
    ):
        error = in_grad(f)
        assert isinstance(error, ConversionError)
        assert words in str(error)


def test_a_library_that_goes_on_after_a_refusal_is_named():
    """SciPy's root finders, in C, call the function again with the refusal still set."""
    optimize = pytest.importorskip("scipy.optimize")

    later = AttributeError("a lookup that fails because an error is set")

    def solve(x):
        called = [False]

        def shifted(y):
            if called[0]:  # no call in here: it would see the error, and be a SystemError
                raise later
            called[0] = True
            return y - x[0]

        return optimize.brentq(shifted, 0, 5)

    assert str(in_grad(solve)).startswith("scipy.optimize.brentq(x): ")


# --- Errors that are not replaced ---------------------------------------------------------------


def test_errors_of_a_programs_own_stay():
    def handled(x):
        z = np.zeros(3)
        try:
            z[0] = x[0]
        except ValueError:
            z = np.zeros_like(x)
        return z[[7]]

    def raised_from(x):
        try:
            float(x[0])
        except TypeError as error:
            raise KeyError("mine") from error

    def in_a_handler(x):
        try:
            float(x[0])
        except TypeError:
            return int("nine")

    def at_the_same_place(x):
        z = np.zeros(3)
        for i in (0, 7):
            with contextlib.suppress(ValueError):
                z[i] = x[0] if i == 0 else 1.0

    for f, kind in (
        (handled, IndexError),
        (raised_from, KeyError),
        (in_a_handler, ValueError),
        (at_the_same_place, IndexError),
        (lambda x: x.no_such_attribute, AttributeError),
    ):
        error = in_grad(f)
        assert type(error) is kind
        assert not hasattr(error, "__notes__")


def test_a_refusal_keeps_no_array():
    def f(x):
        try:
            float(x[0])
        except ConversionError:
            (refused,) = x.tape.root.refused.values()
            assert not any(type(part) is np.ndarray for part in refused)
            assert set(map(type, (c.cell_contents for c in refused.again.__closure__))) == {str}
        return np.sum(x)

    with pytest.warns(ConversionWarning, match=r"test_refusals.py:\d+: float\(x\)"):
        np.testing.assert_array_equal(grad(f)(X), np.ones(3))


# --- The ways out work inside and outside of a transform ----------------------------------------


def filled(x):
    z = np.zeros_like(x, shape=3)
    for i in range(3):
        z[i] = x**i
    return np.sum(z)


def started(x):
    z = X + np.zeros_like(x, shape=X.shape)
    z[0] = x
    return np.sum(z)


WAYS_OUT = {
    "np.zeros_like": filled,
    "a + np.zeros_like": started,
    "np.full_like": lambda x: np.sum(np.full_like(x, x, shape=3)),
    "np.stack": lambda x: np.sum(np.stack([x, 2 * x])),
    "np.hstack": lambda x: np.sum(np.hstack([x, np.stack([x, x])])),
    "tapegrad.numpy": lambda x: np.sum(tnp.array([x, [1.0, x][0]]) + tnp.full(2, x)),
    "x + 0j": lambda x: (x + 0j).real,
    "np.sin": lambda x: np.sin(x),
    "out": lambda x: np.sum(np.add(np.stack([x, x]), 1.0, out=np.zeros_like(x, shape=2))),
    "add.at": lambda x: [z := np.zeros_like(x, shape=2), np.add.at(z, [0, 0], x), np.sum(z)][-1],
    "z = z + x": lambda x: np.sum(X + x),
    "sliding_window_view": lambda x: np.sum(
        np.lib.stride_tricks.sliding_window_view(np.stack([x, x, x]), 2)
    ),
    "random": lambda x: np.sum(x + 2.0 * np.array([0.5, -0.5])),
}
PLAIN_WAYS_OUT = {
    "int": lambda x: [x, x][int(x) - 2],
    "f-string": lambda x: x * float(f"{x:.3f}"),
    "float": lambda x: x * json.loads(json.dumps(float(stop_gradient(x)))),
    "tolist": lambda x: x * json.loads(json.dumps(np.asarray(stop_gradient(x)).tolist())),
    "pack": lambda x: x * len(struct.pack("d", float(stop_gradient(x)))),
    "bytes": lambda x: x * len(bytes(np.asarray(stop_gradient(x)))),
    "pickle": lambda x: x * pickle.loads(pickle.dumps(stop_gradient(x))),
}


@pytest.mark.parametrize("name", WAYS_OUT | PLAIN_WAYS_OUT)
@pytest.mark.parametrize(
    "x", [2.0, np.float64(2.0), np.array(2.0)], ids=["float", "number", "0-d"]
)
def test_a_way_out_works_inside_and_outside(name, x):
    f = (WAYS_OUT | PLAIN_WAYS_OUT)[name]
    expected = f(x)
    value, derivative = tapegrad.value_and_grad(f)(x)
    np.testing.assert_allclose(value, expected)
    np.testing.assert_allclose(jvp(f, (x,), (1.0,)), (expected, derivative))
    if name in WAYS_OUT:
        np.testing.assert_allclose(derivative, (f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rtol=1e-5)
        np.testing.assert_allclose(vmap(f)(np.array([2.0, 2.0])), [expected, expected])
        np.testing.assert_allclose(vmap(grad(f))(np.array([2.0])), [derivative])


def test_a_scalar_of_a_library_with_dtypes_of_its_own_is_no_output():
    class Scalar:
        shape, dtype = (), object()

    with pytest.raises(OutputError, match="expected a real scalar output, got"):
        grad(lambda x: Scalar())(1.0)


# --- Texts take the value -----------------------------------------------------------------------


def said(x):
    text = "%.3f" % x  # noqa: UP031
    logging.getLogger("tapegrad.tests").warning("%5.2f", x)
    return text + "%(a)g" % {"a": x} + "%s" % x + "%d" % x  # noqa: UP031


@pytest.mark.filterwarnings("ignore::tapegrad.EagerWarning")
def test_a_text_takes_the_value(caplog):
    texts = []

    def f(x):
        texts.append(said(x))
        return x * x

    assert grad(f)(1.5) == 3
    assert jvp(f, (1.5,), (1.0,))[1] == 3
    assert grad(grad(f))(1.5) == 2
    assert tapegrad.compile(f)(1.5) == 2.25
    assert set(texts) == {"1.5001.51.51"}
    assert set(caplog.messages) == {" 1.50"}
    for other in (lambda x: x * float(x), lambda x: x * (3 % float(x)), lambda x: x * math.exp(x)):
        with pytest.raises(ConversionError):
            grad(other)(1.5)
