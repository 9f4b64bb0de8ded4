"""Programs that are drawn by a number: of arrays of any shape and dtype, and whole numbers.

Each program has steps, and each step takes two arrays that were made before and a whole number.
All arrays have the shape of the input; their dtypes may differ. A transform of the program is
called at points with zeros, infinities and NaNs among them.
"""

from __future__ import annotations

import operator
import warnings

import numpy as np

import tapegrad
from tapegrad._program.numpy_program import Runner

BOTH = ("numpy", "interpreter")
SHAPES = ((), (0,), (1,), (4,), (5,), (3, 4), (3, 3), (2, 1, 3))
DTYPES = ("float64", "float64", "float32", "complex128")

UNARY = (
    np.sin,
    np.exp,
    np.negative,
    np.square,
    np.tanh,
    np.conjugate,
    np.sqrt,
    np.positive,
    np.real,
    np.imag,
    np.abs,
    np.log,
    np.log1p,
    np.sign,
    np.floor,
    np.cbrt,
    np.expm1,
    np.arctan,
    np.reciprocal,
    np.sinh,
    np.arcsin,
    np.rint,
    np.exp2,
    np.nan_to_num,
)
BINARY = (
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    operator.mul,
    operator.sub,
    operator.truediv,
    np.maximum,
    np.minimum,
    np.hypot,
    np.copysign,
    np.logaddexp,
    np.arctan2,
    np.fmax,
    np.heaviside,
    np.remainder,
    np.float_power,
)
COMPLEX = 8, 7  # of these functions are of complex numbers, too
REDUCTIONS = (np.sum, np.mean, np.prod, np.var, np.std, np.max, np.min, np.median, np.ptp)


def one_of(functions, few, k, *values):
    complex_too = any(v.dtype.kind == "c" for v in values)
    return functions[k % (few if complex_too else len(functions))]


def unary(a, b, n, k):
    return one_of(UNARY, COMPLEX[0], k, a)(a)


def binary(a, b, n, k):
    return one_of(BINARY, COMPLEX[1], k, a, b)(a, b)


def broadcast(a, b, n, k):
    if not a.ndim or not a.size:
        return a * b
    part = b[:1] if k % 2 else b[..., :1]
    return one_of(BINARY, COMPLEX[1], k, a, b)(part, a)


def numbers(a, b, n, k):
    return (a * 0.25 + k) / 3 - 2.0 * b + n * np.float32(0.5) * a


def compared(a, b, n, k):
    if a.dtype.kind == "c" or b.dtype.kind == "c":
        return np.where(n > 1, a, 0.5 * b)
    return np.where((a > b) & (n != k % 3), a, 0.5 * b)


def reduced(a, b, n, k):
    function = one_of(REDUCTIONS, 5, k, a)
    if not a.size:
        return a + np.sum(b)
    axis = None if k % 3 == 0 or not a.ndim else k % a.ndim
    return function(a, axis=axis, keepdims=True) * b


def normed(a, b, n, k):
    return a * np.linalg.norm(b) + np.sqrt(np.sum(np.abs(a * b)))


def moved(a, b, n, k):
    if not a.ndim:
        return a - b
    axis = k % a.ndim
    return np.roll(a, k, axis) + np.flip(b, axis) - np.moveaxis(a.T.T, 0, 0)


def joined(a, b, n, k):
    if not a.ndim:
        return np.stack([a, b]).sum(0)
    cut = k % (a.shape[0] + 1)
    return np.concatenate([a[cut:] * np.sum(b[:cut]), b[:cut]])


def padded(a, b, n, k):
    if not a.ndim or not a.size:
        return a * 2
    return np.pad(a, 1, mode=("constant", "edge", "wrap")[k % 3])[(slice(1, -1),) * a.ndim] * b


def accumulated(a, b, n, k):
    if not a.ndim:
        return a + b
    return np.cumsum(a, axis=k % a.ndim) - np.sum(b, axis=0)


def ordered(a, b, n, k):
    if not a.ndim:
        return a * b
    return np.sort(a, axis=-1) + np.take_along_axis(b, np.argsort(b, -1), -1)


def multiplied(a, b, n, k):
    if a.ndim == 2:
        return (a @ b.T) @ b / 10 if k % 2 else np.einsum("ij,kj,kl->il", a, b, a)
    if a.ndim == 1:
        return np.outer(a, b)[k % len(a)] / 3 + np.dot(a, b) if len(a) else a
    return np.tensordot(a, b, a.ndim) * a


def solved(a, b, n, k):
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        return a / 2
    square = a @ np.conj(a.T) + 4 * np.eye(len(a), dtype=a.dtype)
    return np.linalg.solve(square, b) if k % 2 else np.linalg.inv(square) * b


def gathered(a, b, n, k):
    if not a.ndim or not a.size:
        return a[()] + b
    rows = n.reshape(len(a), -1)[:, 0] % len(a)
    return a[rows] + b[np.arange(len(a))[::-1]] * a[k % len(a)]


def selected(a, b, n, k):
    if not a.ndim:
        return a
    chosen = b.real > 0 if k % 2 else n > 1
    return np.sum(a[chosen]) * b


def written(a, b, n, k):
    made = a.copy()
    if not made.size:
        return made
    if not made.ndim:
        made[...] = b
        return made
    made[k % len(made)] = np.sum(b)
    made[n == 1] = 0.5
    return made


def filled(a, b, n, k):
    made = np.zeros_like(a)
    if not made.ndim or not made.size:
        return made + b
    made[1:] += b[:-1].astype(a.dtype)
    made *= a
    for i in range(len(made)):
        made[i] -= a[i] * (i + 1)
    return made


def through_a_view(a, b, n, k):
    made = a.copy()
    if not made.size:
        return made
    view = made.reshape(-1)[:: 1 + k % 2]
    view += view * 0.5
    view[:1] = np.max(np.abs(b)) if k % 3 else 2
    return made + made.T.T


def out_of(a, b, n, k):
    if not a.ndim:
        return np.multiply(a, b)
    made = np.empty_like(a)
    np.multiply(a, 2, out=made)
    np.add(made, a, out=made, where=n > 1)
    return made * b


def added_at(a, b, n, k):
    if not a.ndim or not a.size:
        return a
    made = a * 1
    np.add.at(made, n.reshape(len(a), -1)[:, 0] % len(a), a)
    return made + b


def branch(a, b, n, k):
    return a + 1 if np.sum(b).real > k / 25 - 1 else a * b


def loop(a, b, n, k):
    for _ in range(4):
        if not np.sum(np.abs(a)) > 1:
            break
        a = a / 2
    return a + b


def indexed_by_value(a, b, n, k):
    if not a.ndim or not a.size:
        return a
    return a * b[int(np.argmax(np.abs(a))) % len(b)]


def cast(a, b, n, k):
    if a.dtype.kind == "c":
        return a.astype("complex64").astype(a.dtype) + b
    return a.astype(("float32", "float64")[k % 2]) * b


def inner_gradient(a, b, n, k):
    constant = np.real(b)
    if a.dtype.kind == "c":
        return a * constant
    return tapegrad.grad(lambda z: np.sum(np.sin(z) * constant + z**2))(a)


def inner_vmap(a, b, n, k):
    if not a.ndim or not len(a):
        return a
    return tapegrad.vmap(lambda row, other: row * np.sum(other) + other)(a, b)


def stopped(a, b, n, k):
    return tapegrad.stop_gradient(a) * b + tapegrad.checkpoint(lambda z: np.sin(z) * z)(a)


def powers(a, b, n, k):
    return a ** (n % 3) + b**2 - a**0.5


STEPS = (
    unary,
    unary,
    binary,
    binary,
    broadcast,
    numbers,
    compared,
    reduced,
    reduced,
    normed,
    moved,
    joined,
    padded,
    accumulated,
    ordered,
    multiplied,
    solved,
    gathered,
    selected,
    written,
    filled,
    through_a_view,
    out_of,
    added_at,
    branch,
    loop,
    indexed_by_value,
    cast,
    inner_gradient,
    inner_vmap,
    stopped,
    powers,
)


def of_x(transform):
    """A transform of a function of x alone, as one of x and whole numbers."""
    return lambda f: lambda x, n: transform(lambda y: f(y, n), x)


def _vmapped(f, x):
    batch = np.stack([x, x * 0.5, -x])
    return tapegrad.vmap(tapegrad.grad(f))(batch)


TRANSFORMS = {
    "itself": lambda f: f,
    "grad": tapegrad.grad,
    "value_and_grad": tapegrad.value_and_grad,
    "jvp": of_x(lambda f, x: tapegrad.jvp(f, (x,), (np.cos(x),))),
    "vjp": of_x(lambda f, x: tapegrad.vjp(f, x)[1](x.dtype.type(2).real)),
    "hessian": of_x(lambda f, x: tapegrad.hessian(f)(x)),
    "hvp": of_x(lambda f, x: tapegrad.hvp(f, (x,), (np.ones_like(x),))),
    "jacfwd": of_x(lambda f, x: tapegrad.jacfwd(f)(x)),
    "linearize": of_x(lambda f, x: tapegrad.linearize(f, x)[1](np.ones_like(x))),
    "checkpoint": lambda f: tapegrad.grad(tapegrad.checkpoint(f)),
    "vmap": of_x(_vmapped),
    "jvp of grad": of_x(lambda f, x: tapegrad.jvp(tapegrad.grad(f), (x,), (np.ones_like(x),))),
}


class Drawn:
    """A drawn program, its transform, and the points at which it is called."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.seed = seed
        self.shape = SHAPES[rng.integers(len(SHAPES))]
        self.dtype = np.dtype(DTYPES[rng.integers(len(DTYPES))])
        self.transform = list(TRANSFORMS)[rng.integers(len(TRANSFORMS))]
        draws = rng.integers(0, 50, (1 + rng.integers(8), 4))
        kinds = rng.integers(0, len(STEPS), len(draws))
        self.steps = [(int(s), *map(int, d[1:])) for s, d in zip(kinds, draws, strict=True)]
        self.points = [self._point(rng, n) for n in range(8)]
        self.__name__ = f"drawn_{seed}"

    def __repr__(self):
        steps = [(STEPS[kind].__name__, *rest) for kind, *rest in self.steps]
        return f"Drawn({self.seed}): {self.transform} of {self.shape} {self.dtype}: {steps}"

    def _point(self, rng, n):
        x = rng.standard_normal(self.shape)
        if self.dtype.kind == "c":
            x = x + 1j * rng.standard_normal(self.shape)
        x = np.asarray(x).astype(self.dtype)
        if n >= 5 and x.size:  # the first calls make a program
            x.flat[rng.integers(x.size)] = (0, np.inf, np.nan)[n - 5]
        return x, rng.integers(0, 4, self.shape) * np.ones(self.shape, int)

    def __call__(self, x, n):
        pool = [x, x * 0.5]
        for kind, i, j, k in self.steps:
            pool.append(STEPS[kind](pool[i % len(pool)], pool[j % len(pool)], n, k))
        return np.sum(np.real(pool[-1])) + np.sum(np.real(pool[len(pool) // 2]))

    def differences(self, backend, same):
        """What is not the same: a text, or None. `backend`: a name, or BOTH."""
        f = TRANSFORMS[self.transform](self)
        fast = tapegrad.compile(f, backend="numpy" if backend == BOTH else backend)
        others = []
        if backend == BOTH:
            fast.call._runner = lambda root, inputs: _Both(root, others.append)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            _result(f, *self.points[0])  # what an engine learns in a first call may round anew
        for call in (0, 1, 2, 3, 4, 5, 0, 6, 7, 1, 5):
            x, n = self.points[call]
            others.clear()
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                expected = _result(f, x.copy(), n.copy())
                found = _result(fast, x.copy(), n.copy())
            for result in (found, *others):
                if isinstance(expected, type) or isinstance(result, type):
                    if result is not expected:
                        return f"{self}: point {call}: {result}, not {expected}"
                elif not all(map(same, *map(_leaves, (result, expected)))):
                    return f"{self}: point {call}: {result}, not {expected}"
        return None


class _Both:
    """Runs a program by NumPy's calls, and by the interpreter: the call is recorded but once.

    What NumPy's calls give is the result; what the interpreter gives is seen, unless both raise,
    which makes the call the function's own (as an assertion here would).
    """

    def __init__(self, root, see):
        self.runners = [Runner(root, backend) for backend in BOTH]
        self.see = see

    def run(self, inputs):
        by_numpy, by_interpreter = (_result(runner.run, inputs) for runner in self.runners)
        if not (isinstance(by_numpy, type) and isinstance(by_interpreter, type)):
            self.see(by_interpreter)
        if isinstance(by_numpy, type):
            raise by_numpy
        return by_numpy


def _leaves(tree):
    return tapegrad._tree.flatten(tree)[0]


def _result(f, *args):
    """What a call returns, or the class of what it raises."""
    try:
        return f(*args)
    except Exception as error:  # noqa: BLE001 - of any function
        return type(error)
