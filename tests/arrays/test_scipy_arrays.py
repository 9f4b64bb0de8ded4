"""SciPy's functions of traced arrays: right, or an error; with its array namespaces on and off.

SciPy decides at import whether it honours array namespaces (SCIPY_ARRAY_API=1); the last test runs
this file in a process where it does.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

from tapegrad import grad, vjp
from tapegrad.testing import check_grads

pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(importlib.util.find_spec("scipy") is None, reason="needs SciPy"),
]

NAMESPACES = os.environ.get("SCIPY_ARRAY_API") == "1"
random = np.random.default_rng(0)
X, Y, A = random.normal(size=12), random.normal(size=12), random.normal(size=(3, 4))
P = np.abs(X) + 0.5

# module.function: arguments, of which the first is traced
CALLS = {
    "special.expit": (X,),
    "special.gammaln": (P,),
    "special.logsumexp": (X,),
    "special.softmax": (A,),
    "special.log_softmax": (A,),
    "special.xlogy": (P, 2.0),
    "special.erf": (X,),
    "stats.differential_entropy": (X,),
    "stats.kurtosistest": (X,),
    "stats.normaltest": (X,),
    "stats.moment": (X, 2),
    "stats.sem": (X,),
    "stats.skew": (X,),
    "stats.kurtosis": (X,),
    "stats.zscore": (X,),
    "stats.gmean": (P,),
    "stats.hmean": (P,),
    "stats.tvar": (X,),
    "stats.tmean": (X,),
    "stats.circmean": (X,),
    "stats.iqr": (X,),
    "stats.trim_mean": (X, 0.1),
    "stats.pearsonr": (X, Y),
    "stats.linregress": (X, Y),
    "stats.ttest_1samp": (X, 0.0),
    "stats.shapiro": (X,),
    "stats.entropy": (P,),
    "stats.norm.pdf": (X,),
    "stats.norm.fit": (X,),
    "linalg.norm": (A,),
    "linalg.det": (A[:, :3],),
    "linalg.inv": (A[:, :3],),
    "linalg.solve": (A[:, :3], Y[:3]),
    "linalg.expm": (A[:, :3],),
    "linalg.svdvals": (A,),
    "fft.fft": (X,),
    "fft.rfft": (X,),
    "fft.dct": (X,),
    "fft.fftshift": (X,),
    "signal.detrend": (X,),
    "signal.convolve": (X, Y),
    "signal.hilbert": (X,),
    "integrate.simpson": (X,),
    "integrate.trapezoid": (X,),
    "integrate.cumulative_trapezoid": (X,),
    "interpolate.make_interp_spline": (np.sort(X), Y),
    "ndimage.gaussian_filter": (X, 1.0),
    "spatial.distance.pdist": (A,),
    "spatial.distance.cosine": (X, Y),
    "cluster.vq.whiten": (A,),
    "optimize.rosen": (X,),
    "sparse.csr_array": (A,),
}
WITH_NAMESPACES = (
    "special.expit special.gammaln special.erf special.xlogy special.logsumexp special.softmax "
    "stats.skew stats.zscore stats.gmean stats.circmean stats.differential_entropy fft.fft "
    "integrate.trapezoid"
).split()


def function(name):
    module, _, rest = name.partition(".")
    parts = [module, *rest.split(".")]
    for count in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module("scipy." + ".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)


def first_array(result):
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_right_or_raises(name):
    x, *rest = CALLS[name]

    def program(x):
        return first_array(function(name)(x, *rest))

    try:
        out = vjp(program, x)[0]
    except (TypeError, ValueError, NotImplementedError):
        assert not (NAMESPACES and name in WITH_NAMESPACES)
        return
    np.testing.assert_allclose(out, program(x), rtol=1e-12)
    check_grads(program, (x,), order=1)


@pytest.mark.skipif(not NAMESPACES, reason="needs SciPy with array namespaces")
def test_constants_are_given_the_same_namespace_by_like():
    logsumexp = function("special.logsumexp")
    with pytest.raises(TypeError, match="Multiple namespaces"):
        grad(lambda x: logsumexp(x, b=P))(X)
    found = grad(lambda x: logsumexp(x, b=np.asarray(P, like=x)))(X)
    np.testing.assert_allclose(found, grad(lambda x: np.log(np.sum(P * np.exp(x))))(X))


@pytest.mark.slow
@pytest.mark.skipif(NAMESPACES, reason="runs once, in the process without namespaces")
def test_the_same_with_array_namespaces():
    env = {**os.environ, "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
