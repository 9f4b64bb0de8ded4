"""Linear systems in time: their states by a recurrence, and what is made of these.

The transpose of x[k + 1] = A x[k] + f[k] is the same recurrence backward in time, with the
transpose of A, so that derivatives by matrices, inputs and initial states take linear time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as ss

from tapegrad._core.forms import composite, general
from tapegrad._core.types import Cotangent, Function, Value
from tapegrad._core.values import any_true, in_trace, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad._transforms.primitives import primitive
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy.signal import _conversions as conversions
from tapegrad.scipy.signal import _responses as responses
from tapegrad.scipy.signal._arrays import HERE, as_array, padded

lsim, impulse, step = (mirror(f, HERE) for f in (ss.lsim, ss.impulse, ss.step))
dlsim, dimpulse, dstep = (mirror(f, HERE) for f in (ss.dlsim, ss.dimpulse, ss.dstep))
freqresp, bode = mirror(ss.freqresp, HERE), mirror(ss.bode, HERE)
dfreqresp, dbode = mirror(ss.dfreqresp, HERE), mirror(ss.dbode, HERE)
cont2discrete = mirror(ss.cont2discrete, HERE)


@primitive
def recurrence(a: Value, f: Value) -> Value:
    """x[0] = f[0], then x[k] = A x[k - 1] + f[k]."""
    x = np.array(f, np.result_type(a.dtype, f.dtype))
    for k in range(1, x.shape[0]):
        x[k] += a @ x[k - 1]
    return x


def _adjoint(a: Value, g: Cotangent) -> Value:
    return np.flip(recurrence(np.transpose(a), np.flip(g, 0)), 0)


general(
    recurrence,
    vjp=[
        lambda g, out, a, _f: np.transpose(_adjoint(a, g)[1:]) @ out[:-1],
        lambda g, _out, a, _f: _adjoint(a, g),
    ],
)

Matrices = tuple[Value, Value, Value, Value]


def _matrices(system: Any, kinds: Any, name: str) -> Matrices:
    """A, B, C and D of a system object, or of 2, 3 or 4 arrays."""
    if isinstance(system, (ss.lti, ss.dlti)):
        if not isinstance(system, kinds):
            raise TypeError(f"scipy.signal.{name}: expected a {kinds.__name__} system.")
        space = system.to_ss()
        return space.A, space.B, space.C, space.D
    made: dict[int, Any] = {
        2: conversions.tf2ss,
        3: conversions.zpk2ss,
        4: lambda *matrices: [np.atleast_2d(as_array(m)) for m in matrices],
    }
    if len(system) not in made:
        raise ValueError(
            f"scipy.signal.{name}: expected a system of 2, 3 or 4 arrays, got {len(system)}."
        )
    a, b, c, d = made[len(system)](*system)
    return a, b, c, d


def _expm(matrix: Value) -> Value:
    """The matrix exponential, by SciPy's function unless the matrix is traced."""
    if in_trace(matrix):
        from tapegrad.scipy.linalg import expm

        return expm(matrix)
    import scipy.linalg

    return scipy.linalg.expm(matrix)


def _discrete(a: Value, b: Value, dt: Value, *, ramps: bool) -> tuple[Value, Value, Value]:
    """A over one step, and B by the input at its start and at its end.

    ramps: the input is linear in between, else constant.
    """
    states, inputs = b.shape
    rows = [np.concatenate([a * dt, b * dt, np.zeros((states, inputs * ramps))], 1)]
    if ramps:
        slope = [np.zeros((inputs, states + inputs)), np.eye(inputs)]
        rows.append(np.concatenate(slope, 1))
    rows.append(np.zeros((inputs, states + inputs * (1 + ramps))))
    whole = _expm(np.concatenate(rows))[:states]
    over, start = whole[:, :states], whole[:, states : states + inputs]
    if not ramps:
        return over, start, np.zeros((states, inputs))
    end = whole[:, states + inputs :]
    return over, start - end, end


def _lsim(system: Any, U: Value, T: Value, X0: Value = None, interp: bool = True) -> Any:
    a, b, c, d = _matrices(system, ss.lti, "lsim")
    return _simulated(a, b, c, d, U, T, X0, interp)


def _simulated(
    a: Value, b: Value, c: Value, d: Value, U: Any, T: Any, X0: Any, interp: bool
) -> Any:
    t = np.atleast_1d(as_array(T)) * 1.0
    times = untraced(t)
    steps = np.diff(times)
    equal = np.abs(steps - steps[:1]) <= 1e-8 + 1e-5 * np.abs(steps[:1])  # as np.allclose has it
    if any_true(times[0] < 0) or any_true(~equal):
        raise ValueError("scipy.signal.lsim: expected times from 0 on at equal steps.")
    start = np.zeros(a.shape[0]) if X0 is None else as_array(X0) * 1.0
    if in_trace(t) or any_true(times[0] > 0):  # the derivative by a first time of zero
        start = _expm(a * t[0]) @ start
    if U is None or isinstance(U, (int, float)) and U == 0:
        u = np.zeros((times.size, b.shape[1]))
    else:
        u = np.atleast_1d(as_array(U)) * 1.0
        u = u[:, None] if u.ndim == 1 else u
    if u.shape != (times.size, b.shape[1]):
        raise ValueError(
            "scipy.signal.lsim: expected a row of inputs for each time, shape "
            f"{(times.size, b.shape[1])}, got {u.shape}."
        )
    x = start[None]
    if times.size > 1:
        over, first, second = _discrete(a, b, t[1] - t[0], ramps=interp)
        forces = u[:-1] @ np.transpose(first) + u[1:] @ np.transpose(second)
        x = recurrence(over, np.concatenate([x, forces]))
    y = np.squeeze(x @ np.transpose(c)) + np.squeeze(u @ np.transpose(d))
    return t, y, np.squeeze(x)


def _times(a: Value, T: Any, N: Any, name: str) -> Any:
    """As SciPy chooses them: seven times the slowest of the time constants."""
    if T is not None:
        return as_array(T)
    poles = np.linalg.eigvals(untraced(a))
    rates = np.abs(np.real(poles))
    moves = np.min(rates) > 0
    if in_trace(a) and any_true(moves):
        apart = np.abs(poles - poles[np.argmin(rates)])
        if any_true(moves & (np.sum(apart <= 1e-4 * np.max(np.abs(poles))) > 1)):
            raise NotDifferentiableError(
                f"scipy.signal.{name}: SciPy chooses the times by the slowest pole, which has no "
                "derivative where poles coincide. Pass T."
            )
        rates = np.abs(np.real(np.linalg.eigvals(a)))
    slowest = np.min(rates)
    slowest = np.where(slowest == 0, 1.0, slowest)
    return np.linspace(0.0, 7.0 / slowest, 100 if N is None else N)


def _impulse(system: Any, X0: Value = None, T: Any = None, N: Any = None) -> Any:
    a, b, c, d = _matrices(system, ss.lti, "impulse")
    times = _times(a, T, N, "impulse")
    start = np.squeeze(b if X0 is None else b + as_array(X0))
    start = np.reshape(start, -1)
    t, y, _ = _simulated(a, b, c, d, None, times, start, False)
    return t, y


def _step(system: Any, X0: Value = None, T: Any = None, N: Any = None) -> Any:
    a, b, c, d = _matrices(system, ss.lti, "step")
    times = _times(a, T, N, "step")
    t, y, _ = _simulated(a, b, c, d, np.ones(times.shape), times, X0, False)
    return t, y


# --- in discrete time


def _discrete_system(system: Any, name: str) -> tuple[Matrices, Any, bool]:
    """The matrices, the time step, and whether the system is a state space."""
    if isinstance(system, (ss.lti, ss.dlti)):
        space = isinstance(system, ss.StateSpace)
        return _matrices(system, ss.dlti, name), system.dt, space
    return _matrices(system[:-1], ss.dlti, name), system[-1], len(system) == 5


def _dlsim(system: Any, u: Value, t: Any = None, x0: Value = None) -> Any:
    (a, b, c, d), dt, space = _discrete_system(system, "dlsim")
    u = np.atleast_1d(as_array(u)) * 1.0
    u = u[:, None] if u.ndim == 1 else u
    if t is None:
        count, stop = u.shape[0], (u.shape[0] - 1) * dt
        times = np.linspace(0.0, stop, count)
    else:
        given = np.asarray(t)
        stop = given[-1]
        count = int(np.floor(stop / dt)) + 1
        times = np.linspace(0.0, stop, count)
        u = np.stack([np.interp(times, given, u[:, i]) for i in range(u.shape[1])], axis=1)
    start = np.zeros(a.shape[1]) if x0 is None else np.reshape(as_array(x0) * 1.0, -1)
    forces = u[: count - 1] @ np.transpose(b)
    x = recurrence(a, np.concatenate([start[None], forces]))
    y = x @ np.transpose(c) + u[:count] @ np.transpose(d)
    return (times, y, x) if space else (times, y)


def _responses(system: Any, x0: Any, t: Any, n: Any, *, steps: bool, name: str) -> Any:
    (_, b, _, _), dt, _ = _discrete_system(system, name)
    count = 100 if n is None else n
    times = np.linspace(0, count * dt, count, endpoint=False) if t is None else np.asarray(t)
    made = []
    for i in range(b.shape[1]):
        u = np.zeros((times.shape[0], b.shape[1]))
        u[slice(None) if steps else 0, i] = 1.0
        made.append(_dlsim(system, u, times, x0))
    return made[0][0], tuple(one[1] for one in made)


def _dimpulse(system: Any, x0: Any = None, t: Any = None, n: Any = None) -> Any:
    return _responses(system, x0, t, n, steps=False, name="dimpulse")


def _dstep(system: Any, x0: Any = None, t: Any = None, n: Any = None) -> Any:
    return _responses(system, x0, t, n, steps=True, name="dstep")


# --- over frequencies


def _transfer(system: Any, kinds: Any, name: str) -> tuple[Value, Value]:
    """Numerator and denominator of a system with one input and one output."""
    if isinstance(system, (ss.lti, ss.dlti)):
        if not isinstance(system, kinds):
            raise TypeError(f"scipy.signal.{name}: expected a {kinds.__name__} system.")
        found = system.to_tf()
        return found.num, found.den
    if len(system) == 2:
        return conversions.normalize(*system)
    if len(system) == 3:
        return conversions.zpk2tf(*system)
    num, den = conversions.ss2tf(*system)
    if num.ndim > 1 and num.shape[0] > 1:
        raise ValueError(f"scipy.signal.{name}: expected a system of one input and one output.")
    return np.reshape(num, -1), den


def _freqresp(system: Any, w: Any = None, n: int = 10000) -> Any:
    num, den = _transfer(system, ss.lti, "freqresp")
    return responses.freqs(num, den, n if w is None else w)


def _bode(system: Any, w: Any = None, n: int = 100) -> Any:
    return _decibels(*_freqresp(system, w, n))


def _decibels(w: Value, h: Value) -> Any:
    squares = np.real(h) ** 2 + np.imag(h) ** 2
    return w, 10 * np.log10(squares), np.unwrap(np.angle(h)) * (180 / np.pi)


def _dfreqresp(system: Any, w: Any = None, n: int = 10000, whole: bool = False) -> Any:
    constant = isinstance(system, ss.dlti)
    num, den = _transfer(system if constant else system[:-1], ss.dlti, "dfreqresp")
    # Coefficients are of falling powers of z; as powers of 1/z they start with the longer one.
    missing = np.shape(den)[0] - np.shape(num)[0]
    num = padded(num, max(missing, 0), 0, 0)
    den = padded(den, max(-missing, 0), 0, 0)
    return responses.freqz(num, den, n if w is None else w, whole)


def _dbode(system: Any, w: Any = None, n: int = 100) -> Any:
    dt = system.dt if isinstance(system, ss.dlti) else system[-1]
    w, magnitude, phase = _decibels(*_dfreqresp(system, w, n))
    return w / dt, magnitude, phase


def _cont2discrete(system: Any, dt: Value, method: str = "zoh", alpha: Value = None) -> Any:
    if len(system) in (2, 3):
        space = _matrices(system, ss.lti, "cont2discrete")
        made = _cont2discrete(space, dt, method, alpha)
        back = conversions.ss2tf if len(system) == 2 else conversions.ss2zpk
        return (*back(*made[:4]), dt)
    a, b, c, d = (np.atleast_2d(as_array(m)) for m in system)
    if method == "zoh":
        over, start, _ = _discrete(a, b, dt, ramps=False)
        return over, start, c, d, dt
    if method == "foh":
        over, first, second = _discrete(a, b, dt, ramps=True)
        return over, first + over @ second, c, d + c @ second, dt
    if method == "impulse":
        if any_true(untraced(d)):
            raise ValueError("scipy.signal.cont2discrete: expected D = 0 for method='impulse'.")
        over = _expm(a * dt)
        return over, over @ b * dt, c, c @ b * dt, dt
    weights = {"bilinear": 0.5, "tustin": 0.5, "euler": 0.0, "forward_diff": 0.0}
    weights["backward_diff"] = 1.0
    alpha = weights.get(method, alpha)
    if method not in (*weights, "gbt") or alpha is None:
        raise ValueError(
            f"scipy.signal.cont2discrete: unknown method={method!r}, or 'gbt' without alpha."
        )
    unit = np.eye(a.shape[0])
    implicit = unit - alpha * dt * a
    over = np.linalg.solve(implicit, unit + (1 - alpha) * dt * a)
    driven = np.linalg.solve(implicit, dt * b)
    seen = np.transpose(np.linalg.solve(np.transpose(implicit), np.transpose(c)))
    return over, driven, seen, d + alpha * (c @ driven), dt


_DEFINED: dict[Any, Function] = {
    lsim: _lsim,
    impulse: _impulse,
    step: _step,
    dlsim: _dlsim,
    dimpulse: _dimpulse,
    dstep: _dstep,
    freqresp: _freqresp,
    bode: _bode,
    dfreqresp: _dfreqresp,
    dbode: _dbode,
    cont2discrete: _cont2discrete,
}
for _function, _definition in _DEFINED.items():
    composite(_function, _definition, batch="loop")
