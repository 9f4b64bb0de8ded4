"""tapegrad.autograd.install: `import autograd` finds tapegrad's; nothing is imported too early."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap

import pytest


def run(program, *, check=True):
    """Output of a program, in a Python of its own."""
    code = textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.split() if check else done.stderr


def test_packages_that_import_autograd_find_tapegrads():
    printed = run("""
        import pickle, sys
        import tapegrad.autograd
        tapegrad.autograd.install()
        tapegrad.autograd.install()

        import autograd
        import autograd.numpy as np
        import autograd.numpy.random as npr
        from autograd import grad, value_and_grad
        from autograd.extend import primitive, defvjp
        from autograd.numpy.numpy_boxes import ArrayBox
        from autograd.misc.optimizers import adam
        from autograd.core import make_vjp as make_vjp_of_one
        import autograd.test_util

        assert autograd is tapegrad.autograd
        assert np is tapegrad.autograd.numpy
        assert np.__spec__.name == "tapegrad.autograd.numpy", np.__spec__
        assert np.__name__ == "tapegrad.autograd.numpy"
        assert grad(lambda x: np.sum(np.sin(x)))(np.zeros(2)).tolist() == [1.0, 1.0]
        again = pickle.loads(pickle.dumps(grad(np.sin)))
        assert again(0.0) == 1.0
        try:
            import autograd.no_such_module
        except ModuleNotFoundError as error:
            print(error.name)

        tapegrad.autograd.uninstall()
        tapegrad.autograd.uninstall()
        print([name for name in sys.modules if name.partition(".")[0] == "autograd"])
        assert pickle.loads(pickle.dumps(grad(np.sin)))(0.0) == 1.0
        import tapegrad.autograd.numpy
        assert tapegrad.autograd.numpy is np
    """)
    assert printed == ["autograd.no_such_module", "[]"]


@pytest.mark.parametrize("before", ["", "import tapegrad.autograd.misc"])
def test_a_module_does_not_take_the_place_of_its_function(before):
    run(f"""
        import tapegrad.autograd
        {before}
        tapegrad.autograd.install()
        from autograd.misc.flatten import flatten
        from autograd.misc import flatten as again
        import autograd.misc.flatten, sys
        assert flatten is again is autograd.misc.flatten is tapegrad.autograd.misc.flatten
        assert sys.modules["autograd.misc.flatten"].flatten is flatten
    """)


def test_packages_that_know_boxes_find_them():
    """They ask for the module of a value's class, or for ndarray to tell arrays from boxes."""
    run("""
        import sys, types
        import numpy as np
        import tapegrad.autograd
        from tapegrad.autograd import grad
        tapegrad.autograd.install()

        import autograd.numpy as anp
        import autograd.tracer
        assert {"exp", "array", "linalg", "random"} <= vars(anp).keys()
        sys.modules["plugin.values"] = types.ModuleType("plugin.values")
        sys.modules["plugin.values"].plain = autograd.tracer.getval
        asked = {}
        for name in ("pennylane.math", "autoray.autoray", "lifelines.fitters", "plugin.arrays"):
            scope = {"__name__": name, "np": np}
            exec("def ask(x): return x.__class__.__module__, isinstance(x, np.ndarray)", scope)
            asked[name] = scope["ask"]

        def f(x):
            shown = {name: ask(x) for name, ask in asked.items()}
            assert shown["pennylane.math"] == ("autograd.numpy.numpy_boxes", False)
            assert shown["autoray.autoray"] == ("autograd.numpy.numpy_boxes", False)
            assert shown["plugin.arrays"] == ("autograd.numpy.numpy_boxes", False)
            assert shown["lifelines.fitters"] == ("numpy", True)
            assert isinstance(x, np.ndarray)
            return np.sum(x * x)

        assert grad(f)(np.ones(2)).tolist() == [2, 2]
        tapegrad.autograd.uninstall()

        def g(x):
            assert asked["pennylane.math"](x) == ("numpy", True)
            return np.sum(x * x)

        assert grad(g)(np.ones(2)).tolist() == [2, 2]

        import inspect
        assert "norm" in vars(anp.linalg) and "fft" in vars(anp.fft) and "rand" in vars(anp.random)
        assert "__getattr__" not in {*vars(anp), *vars(anp.linalg)}
        assert list(inspect.signature(grad).parameters)[:2] == ["fun", "argnum"]
    """)


def test_an_autograd_that_is_imported_already_is_not_replaced():
    error = run(
        """
        import sys, types
        sys.modules["autograd"] = other = types.ModuleType("autograd")
        other.__file__ = "/somewhere/autograd/__init__.py"
        import tapegrad.autograd
        tapegrad.autograd.uninstall()
        assert sys.modules["autograd"] is other
        tapegrad.autograd.install()
        """,
        check=False,
    )
    assert "tapegrad.InputError" in error or "InputError" in error
    assert "/somewhere/autograd/__init__.py" in error
    assert "Call install() first" in error


@pytest.mark.peers
def test_the_installed_autograd_comes_back():
    if importlib.util.find_spec("autograd") is None:
        pytest.skip("HIPS autograd is not installed")
    run("""
        import tapegrad.autograd
        tapegrad.autograd.install()
        import autograd.numpy
        assert autograd is tapegrad.autograd
        tapegrad.autograd.uninstall()
        import autograd
        assert autograd is not tapegrad.autograd
        assert autograd.numpy is not tapegrad.autograd.numpy
        assert autograd.grad(autograd.numpy.sin)(0.0) == 1.0
    """)


def test_names_that_others_have_put_into_numpy():
    run("""
        import numpy as np
        np.in1d, np.product, np.fix = np.isin, np.prod, np.trunc
        import tapegrad
        f = lambda x: np.product(x) + np.fix(x[0]) + np.sum(x[np.in1d(x, [1.0])])
        assert tapegrad.grad(f)(np.array([1.0, 2.0])).tolist() == [3, 1]
    """)


def test_imports_are_lazy():
    printed = run("""
        import sys
        import tapegrad
        print("tapegrad.autograd" in sys.modules)
        import tapegrad.autograd
        import tapegrad.autograd.numpy, tapegrad.autograd.misc.optimizers
        import tapegrad.autograd.extend, tapegrad.autograd.test_util
        print(any(name.partition(".")[0] in ("scipy", "autograd") for name in sys.modules))
        import tapegrad.autograd.scipy
        print("scipy" in sys.modules)
    """)
    assert printed == ["False", "False", "False"]


@pytest.mark.slow
def test_scipys_modules_by_their_own_imports():
    pytest.importorskip("scipy")
    run("""
        import tapegrad.autograd
        tapegrad.autograd.install()
        import autograd.scipy.special as special
        import autograd.scipy.stats.norm as norm
        from autograd.scipy.misc import logsumexp
        from autograd.scipy.signal import convolve
        import autograd.scipy.linalg, autograd.scipy.integrate
        from autograd import grad
        assert grad(special.expit)(0.0) == 0.25
        assert norm.cdf(0.0) == 0.5
    """)
