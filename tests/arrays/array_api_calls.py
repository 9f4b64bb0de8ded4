"""Calls of everything in the Array API standard, written once for any namespace `xp`.

`x`, `y` are general arrays of shape (2, 3), `u` has values within (-1, 1), `p` within (1, 3).
`s` is a regular matrix, `h` a positive definite one, `m` a stack of matrices; `v`, `w` are
vectors, `z` is complex. These are traced. `b` is a mask, `i` are indices: neither is.
"""

from __future__ import annotations

import numpy as np

REAL = "real"  # not of complex numbers
ANY = "any"

# name -> expressions
FUNCTIONS = {
    ANY: {
        # creation
        "asarray": ["asarray(x)", "asarray(x, copy=True)"],
        "arange": ["arange(4)", "arange(0.0, 3.0) * x"],
        "empty": ["empty((2, 3)) * 0 + x"],
        "empty_like": ["empty_like(x) * 0"],
        "eye": ["eye(3) * v", "eye(2, 3, k=1) + x"],
        "full": ["full((2, 3), 2.5) * x"],
        "full_like": ["full_like(x, 1.5)"],
        "linspace": ["linspace(0.0, 1.0, 3) * x"],
        "meshgrid": ["meshgrid(v, w)", "meshgrid(v, w, indexing='ij')"],
        "ones": ["ones((2, 3)) * x"],
        "ones_like": ["ones_like(x)", "ones_like(x, dtype=xp.float32)"],
        "tril": ["tril(s)", "tril(m, k=-1)"],
        "triu": ["triu(s)", "triu(m, k=1)"],
        "zeros": ["zeros((2, 3)) + x"],
        "zeros_like": ["zeros_like(x)"],
        # data types
        "astype": ["astype(x, x.dtype)", "astype(x, xp.complex128)", "astype(b, xp.float64)"],
        "broadcast_arrays": ["broadcast_arrays(x, v)"],
        "broadcast_to": ["broadcast_to(v, (2, 3))"],
        "broadcast_shapes": ["broadcast_shapes((2, 1), (3,))"],
        "can_cast": ["can_cast(x, xp.complex128)", "can_cast(x.dtype, xp.int64)"],
        "finfo": ["finfo(x.dtype).bits", "finfo(x).bits"],
        "iinfo": ["iinfo(xp.int32).max"],
        "isdtype": ["isdtype(x.dtype, 'real floating')", "isdtype(x.dtype, ('numeric', 'bool'))"],
        "result_type": ["result_type(x, xp.float32)", "result_type(x, 1.0)"],
        # elementwise
        "abs": ["abs(x)"],
        "acos": ["acos(u)"],
        "acosh": ["acosh(p)"],
        "add": ["add(x, y)", "add(x, 2.0)"],
        "asin": ["asin(u)"],
        "asinh": ["asinh(x)"],
        "atan": ["atan(x)"],
        "atanh": ["atanh(u)"],
        "conj": ["conj(x)"],
        "cos": ["cos(x)"],
        "cosh": ["cosh(x)"],
        "divide": ["divide(x, p)"],
        "equal": ["equal(x, y)", "equal(x, x)"],
        "exp": ["exp(x)"],
        "expm1": ["expm1(x)"],
        "isfinite": ["isfinite(x)"],
        "isinf": ["isinf(x)"],
        "isnan": ["isnan(x)"],
        "log": ["log(p)"],
        "log10": ["log10(p)"],
        "log1p": ["log1p(p)"],
        "log2": ["log2(p)"],
        "multiply": ["multiply(x, y)"],
        "negative": ["negative(x)"],
        "not_equal": ["not_equal(x, y)"],
        "positive": ["positive(x)"],
        "pow": ["pow(p, y)", "pow(p, 2.0)"],
        "real": ["real(x)"],
        "reciprocal": ["reciprocal(p)"],
        "round": ["round(x)"],
        "sign": ["sign(x)"],
        "sin": ["sin(x)"],
        "sinh": ["sinh(x)"],
        "sqrt": ["sqrt(p)"],
        "square": ["square(x)"],
        "subtract": ["subtract(x, y)"],
        "tan": ["tan(u)"],
        "tanh": ["tanh(x)"],
        # indexing
        "take": ["take(x, i, axis=1)", "take(v, i)"],
        "take_along_axis": ["take_along_axis(x, xp.argsort(xp.real(x), axis=1), axis=1)"],
        # linear algebra
        "matmul": ["matmul(x, s)"],
        "matrix_transpose": ["matrix_transpose(m)"],
        "tensordot": ["tensordot(x, s, axes=1)", "tensordot(x, y, axes=((0, 1), (0, 1)))"],
        "vecdot": ["vecdot(x, y)", "vecdot(x, v, axis=-1)"],
        # manipulation
        "concat": ["concat([x, y])", "concat([x, y], axis=None)"],
        "expand_dims": ["expand_dims(x, axis=1)"],
        "flip": ["flip(x)", "flip(x, axis=(0, 1))"],
        "moveaxis": ["moveaxis(m, 0, -1)"],
        "permute_dims": ["permute_dims(m, (2, 0, 1))"],
        "repeat": ["repeat(x, 2)", "repeat(x, xp.asarray([1, 0, 2]), axis=1)"],
        "reshape": ["reshape(x, (3, 2))", "reshape(x, (-1,), copy=True)"],
        "roll": ["roll(x, 1)", "roll(x, (1, -1), axis=(0, 1))"],
        "squeeze": ["squeeze(x[:1, ...], axis=0)"],
        "stack": ["stack([x, y], axis=-1)"],
        "tile": ["tile(x, (2, 1, 1))"],
        "unstack": ["unstack(x, axis=1)"],
        # searching, sets, utilities
        "nonzero": ["nonzero(x)"],
        "count_nonzero": ["count_nonzero(x, axis=0)"],
        "where": ["where(b, x, y)", "where(b, x, 0.0)"],
        "all": ["all(x)", "all(x, axis=0, keepdims=True)"],
        "any": ["any(x, axis=1)"],
        "diff": ["diff(x)", "diff(x, axis=0, prepend=y[:1, ...], n=1)"],
        "isin": ["isin(i, xp.asarray([0, 2]))"],
        # statistics
        "cumulative_sum": ["cumulative_sum(v)", "cumulative_sum(x, axis=1, include_initial=True)"],
        "cumulative_prod": ["cumulative_prod(v)", "cumulative_prod(x, axis=0)"],
        "mean": ["mean(x)", "mean(x, axis=(0, 1), keepdims=True)"],
        "prod": ["prod(x)", "prod(x, axis=1)"],
        "sum": ["sum(x)", "sum(x, axis=(0, -1))"],
        # linalg
        "linalg.cholesky": ["linalg.cholesky(h)", "linalg.cholesky(h, upper=True)"],
        "linalg.cross": ["linalg.cross(x, y)", "linalg.cross(m, m * 2 + 1, axis=-1)"],
        "linalg.det": ["linalg.det(s)", "linalg.det(m)"],
        "linalg.diagonal": ["linalg.diagonal(m, offset=1)"],
        "linalg.eig": ["xp.abs(linalg.eig(s).eigenvalues)"],
        "linalg.eigh": ["linalg.eigh(h).eigenvalues"],
        "linalg.eigvals": ["xp.abs(linalg.eigvals(s))"],
        "linalg.eigvalsh": ["linalg.eigvalsh(h)"],
        "linalg.inv": ["linalg.inv(s)", "linalg.inv(m)"],
        "linalg.matmul": ["linalg.matmul(x, s)"],
        "linalg.matrix_norm": ["linalg.matrix_norm(m)", "linalg.matrix_norm(m, ord=1)"],
        "linalg.matrix_power": ["linalg.matrix_power(s, 3)", "linalg.matrix_power(m, -1)"],
        "linalg.matrix_rank": ["linalg.matrix_rank(s)"],
        "linalg.matrix_transpose": ["linalg.matrix_transpose(m)"],
        "linalg.outer": ["linalg.outer(v, w)"],
        "linalg.pinv": ["linalg.pinv(x)"],
        "linalg.qr": ["linalg.qr(s)", "linalg.qr(s, mode='complete').R"],
        "linalg.slogdet": ["linalg.slogdet(s)"],
        "linalg.solve": ["linalg.solve(s, v)", "linalg.solve(m, m)"],
        "linalg.svd": ["linalg.svd(x, full_matrices=False).S"],
        "linalg.svdvals": ["linalg.svdvals(x)"],
        "linalg.tensordot": ["linalg.tensordot(x, s, axes=1)"],
        "linalg.trace": ["linalg.trace(m)", "linalg.trace(m, offset=1)"],
        "linalg.vecdot": ["linalg.vecdot(x, y)"],
        "linalg.vector_norm": [
            "linalg.vector_norm(x)",
            "linalg.vector_norm(x, axis=1, ord=3)",
            "linalg.vector_norm(x, axis=(0, 1), keepdims=True)",
        ],
        # fft
        "fft.fft": ["fft.fft(z)", "fft.fft(z, n=2, axis=0, norm='ortho')"],
        "fft.ifft": ["fft.ifft(z)"],
        "fft.fftn": ["fft.fftn(z)", "fft.fftn(z, s=(2, 2), axes=(0, 1))"],
        "fft.ifftn": ["fft.ifftn(z)"],
        "fft.irfft": ["fft.irfft(z)", "fft.irfft(z, n=5)"],
        "fft.irfftn": ["fft.irfftn(z)"],
        "fft.hfft": ["fft.hfft(z)", "fft.hfft(z, n=5)"],
        "fft.fftfreq": ["fft.fftfreq(5, d=0.5)"],
        "fft.rfftfreq": ["fft.rfftfreq(5)"],
        "fft.fftshift": ["fft.fftshift(x)", "fft.fftshift(x, axes=0)"],
        "fft.ifftshift": ["fft.ifftshift(x)"],
    },
    REAL: {
        "atan2": ["atan2(x, y)"],
        "bitwise_and": ["bitwise_and(i, 1)"],
        "bitwise_left_shift": ["bitwise_left_shift(i, 1)"],
        "bitwise_invert": ["bitwise_invert(i)"],
        "bitwise_or": ["bitwise_or(i, 1)"],
        "bitwise_right_shift": ["bitwise_right_shift(i, 1)"],
        "bitwise_xor": ["bitwise_xor(b, b)"],
        "ceil": ["ceil(x)"],
        "clip": ["clip(x, -0.5, 0.5)", "clip(x, max=y)"],
        "copysign": ["copysign(x, y)"],
        "floor": ["floor(x)"],
        "floor_divide": ["floor_divide(x, p)"],
        "greater": ["greater(x, y)"],
        "greater_equal": ["greater_equal(x, y)"],
        "hypot": ["hypot(x, y)"],
        "imag": ["imag(xp.astype(x, xp.complex128))"],
        "less": ["less(x, y)"],
        "less_equal": ["less_equal(x, y)"],
        "logaddexp": ["logaddexp(x, y)"],
        "logical_and": ["logical_and(b, b)"],
        "logical_not": ["logical_not(b)"],
        "logical_or": ["logical_or(b, b)"],
        "logical_xor": ["logical_xor(b, b)"],
        "maximum": ["maximum(x, y)"],
        "minimum": ["minimum(x, 0.5)"],
        "nextafter": ["nextafter(x, y)"],
        "remainder": ["remainder(x, p)"],
        "signbit": ["signbit(x)"],
        "trunc": ["trunc(x)"],
        "argmax": ["argmax(x)", "argmax(x, axis=1, keepdims=True)"],
        "argmin": ["argmin(x, axis=0)"],
        "searchsorted": [
            "searchsorted(xp.sort(v), w)",
            "searchsorted(xp.sort(v), w, side='right')",
        ],
        "unique_all": ["unique_all(x)"],
        "unique_counts": ["unique_counts(x)"],
        "unique_inverse": ["unique_inverse(x)"],
        "unique_values": ["unique_values(x)"],
        "argsort": ["argsort(x)", "argsort(x, axis=0, stable=True)"],
        "sort": ["sort(x)", "sort(x, axis=0, stable=True)"],
        "max": ["max(x)", "max(x, axis=1, keepdims=True)"],
        "min": ["min(x, axis=(0, 1))"],
        "std": ["std(x)", "std(x, axis=0, correction=1.0)"],
        "var": ["var(x, axis=1, correction=1)"],
        "fft.rfft": ["fft.rfft(x)", "fft.rfft(x, n=4, axis=0)"],
        "fft.rfftn": ["fft.rfftn(x)"],
        "fft.ihfft": ["fft.ihfft(x)"],
        "from_dlpack": ["from_dlpack(b)"],
    },
}

# Attributes, methods and operators of arrays.
OBJECTS = {
    ANY: [
        *("x.dtype x.mT x.ndim x.shape x.size s.T".split()),
        *("+x;-x;x + y;x - y;x * y;x / p;p ** y;x @ s;x == y;x != y".split(";")),
        *("2.0 + x;2.0 - x;2.0 * x;2.0 / p;2.0 ** x;abs(x)".split(";")),
        *("x[0, :];x[0, 1];x[:, ::-1];x[..., None];x[None, 1:, ...];x[b]".split(";")),
        "x.to_device(x.device)",
        "bool(x[0, 0])",
    ],
    REAL: [
        *("x // p;x % p;x < y;x <= y;x > y;x >= y".split(";")),
        *("2.0 // p;2.0 % p;int(x[0, 0] * 10)".split(";")),
    ],
}

WRITES = [
    "x[0, :] = v",
    "x[...] = 2.0",
    "x[:, 1] = w[:2]",
    "x[b] = 0.0",
    "x += y",
    "x -= y",
    "x *= y",
    "x /= p",
    "x **= 2.0",
    "s @= s",
]


def arguments(dtype):
    """The arrays of all calls by name, those that are traced and those that are not."""
    random = np.random.default_rng(7)

    def draw(shape, low, high):
        made = random.uniform(low, high, shape)
        if np.dtype(dtype).kind == "c":
            made = made + 0.3j * random.uniform(-1, 1, shape)
        return made.astype(dtype)

    s = draw((3, 3), -0.5, 0.5) + 3 * np.diag([1, 2, 3]).astype(dtype)
    traced = {
        "x": draw((2, 3), -2, 2),
        "y": draw((2, 3), -2, 2),
        "u": draw((2, 3), -0.6, 0.6),
        "p": draw((2, 3), 1, 3),
        "s": s,
        "h": s @ np.conj(s.T),
        "m": draw((2, 3, 3), -0.5, 0.5) + 2 * np.eye(3).astype(dtype),
        "v": draw(3, -2, 2),
        "w": draw(3, -2, 2),
        "z": draw((2, 3), -1, 1) + draw((2, 3), -1, 1) * np.asarray(1j, np.result_type(dtype, 1j)),
    }
    traced["z"] = traced["z"].astype(np.result_type(dtype, np.complex64))
    return traced, {"b": traced["x"].real > 0, "i": np.array([2, 0, 1])}
