"""Elementwise functions, comparisons, choices, activations: as PyTorch's, call by call."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import agree, numbers

import tapegrad.torch as torch
from tapegrad.torch.nn import functional

X, Y, Z = numbers(3, 4), numbers(3, 4, seed=1), numbers(4, seed=2)
POSITIVE = np.abs(X) + 0.1
SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 2.5, -2.5, 0.5, 1.5, -3.0, 3.0])
WHOLE = numbers(6, dtype=np.int64)
COMPLEX = numbers(5, dtype=np.complex128)

SINGLE = (
    "floor ceil round trunc fix frac reciprocal rsqrt square sigmoid logit erf erfc erfinv lgamma "
    "digamma deg2rad rad2deg sinc sign sgn nan_to_num positive angle abs relu selu celu "
    "isnan isinf isfinite isposinf isneginf isreal signbit logical_not exp tanh neg hardshrink"
).split()
PAIR = (
    "eq ne lt le gt ge logical_and logical_or logical_xor maximum minimum fmax fmin fmod "
    "remainder floor_divide atan2 hypot logaddexp logaddexp2 xlogy copysign nextafter ldexp "
    "float_power"
).split()
NO_KINK = {"digamma", "lgamma", "rsqrt", "reciprocal", "erfinv", "logit", "sinc", "hypot"}


@pytest.mark.parametrize("word", SINGLE)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool", "complex128"])
def test_functions_of_one_tensor(word, dtype):
    if dtype == "complex128" and word in ("frac", "nan_to_num", "hardshrink", "sgn"):
        pytest.skip("PyTorch knows it for real numbers alone")
    if dtype == "bool" and word in ("round", "floor", "ceil", "trunc", "fix", "neg", "abs"):
        pytest.skip("PyTorch refuses it, or not")
    x = numbers(4, 3, dtype=dtype)
    if dtype.startswith("float"):
        x = x / 4 if word == "erfinv" else np.abs(x) % 1 if word == "logit" else x
    relu = word in ("relu", "selu", "celu", "hardshrink")
    if relu and dtype not in ("float64", "float32"):
        return
    if dtype != "int64" or word not in ("digamma", "lgamma", "erfinv", "logit", "rsqrt"):
        order = 2 if word != "sinc" and dtype == "float64" else 1
        near = {"tolerance": 1e-6} if word in ("celu", "lgamma", "digamma") else {}
        agree(lambda t, x: getattr(t, word)(x), x, order=order, **near)
        if word not in ("selu", "celu"):
            agree(lambda t, x: getattr(x * 1, word)(), x, **near)


@pytest.mark.parametrize("word", SINGLE)
def test_special_numbers(word):
    if word in ("digamma", "abs", "hardshrink"):
        pytest.skip("PyTorch has huge numbers for poles; 0 at NaN, or not")
    agree(lambda t, x: getattr(t, word)(x), SPECIAL, nan_gradients=False, name=False)


@pytest.mark.parametrize("word", PAIR)
def test_functions_of_two_tensors(word):
    def call(t, x, y):
        return getattr(t, word)(x, y)

    if word in ("xlogy", "float_power"):
        agree(call, POSITIVE, np.abs(Y), order=2, name=word == "xlogy")
    elif word == "ldexp":
        agree(lambda t, x, y: call(t, x, y.detach()), X, np.round(Y))
        return
    elif word in ("nextafter", "floor_divide"):
        agree(lambda t, x, y: call(t, x.detach(), y.detach()), X, Y)
        return
    else:
        agree(call, X, Y, order=2)
        agree(call, X, Z)
        agree(call, X, Z.astype(np.float32), tolerance=1e-6)
    if word not in ("float_power", "ldexp"):
        agree(lambda t, x: call(t, x, t.tensor(2.0)), numbers(3, dtype=np.float32) ** 2)
    if word in ("logaddexp", "logaddexp2", "nextafter", "hypot", "copysign", "ldexp"):
        return
    agree(lambda t, x: call(t, x, t.tensor(2)), WHOLE)
    agree(lambda t, x: call(t, x, t.tensor(2.5)), WHOLE)


@pytest.mark.parametrize(
    "word", sorted(set(PAIR) - {"nextafter", "ldexp", "floor_divide", "float_power"})
)
def test_pairs_of_special_numbers(word):
    x, y = (part.ravel() for part in np.meshgrid(SPECIAL, SPECIAL))
    if word not in (
        "maximum",
        "minimum",
        "atan2",
        "float_power",
        "remainder",
        "fmod",
        "logaddexp2",
    ):
        agree(lambda t, x, y: getattr(t, word)(x.detach(), y.detach()), x, y)
    finite = (
        np.isfinite(x) & np.isfinite(y) & (y != 0)
        if word != "xlogy"
        else (y > 0) & np.isfinite(x) & np.isfinite(y)
    )
    agree(lambda t, x, y: getattr(t, word)(x, y), x[finite], y[finite], nan_gradients=False)


CALLS = {
    "==": (lambda t, x, y: (x == y, x != y, x < y, x <= y, x > y, x >= y), X, np.round(Y)),
    "== number": (lambda t, x: (x == 1, x != 2.5, x < 1, x >= 0.5), np.round(X)),
    "== integers": (lambda t, x: (x == 1.5, x > 0.5, x < True), WHOLE),
    "== None": (lambda t, x: (x == None, x != None, x == "a"), X),  # noqa: E711
    "< None": (lambda t, x: x < None, X),
    "shapes": (lambda t, x, y: x == y, X, np.ones(5)),
    "complex": (lambda t, x: (x == x, x != 1), COMPLEX),
    "complex <": (lambda t, x: x < 1, COMPLEX),
    "equal": (lambda t, x, y: (t.equal(x, x), x.equal(y), t.equal(x, y[0])), X, Y),
    "isclose": (lambda t, x: t.isclose(x, x + 1e-9), X),
    "isclose nan": (lambda t, x: t.isclose(x, x.clone(), equal_nan=True), SPECIAL),
    "allclose": (
        lambda t, x: (x.allclose(x + 1e-9), t.allclose(x, x + 1), t.allclose(x, x, 0, 0)),
        X,
    ),
    "isclose integers": (lambda t, x: t.isclose(x, x + 1, 0.5, 0.1), WHOLE),
    "isclose dtypes": (lambda t, x: t.isclose(x, x.float()), X),
    "&": (lambda t, x: (x & 3, x | 1, x ^ x, ~x, x << 1, x >> 1, 6 & x, 1 | x), WHOLE),
    "& bools": (lambda t, x: (x & ~x, x | x, x ^ True, t.logical_not(x)), WHOLE > 0),
    "& floats": (lambda t, x: x & 1, X),
    "~ floats": (lambda t, x: ~x, X),
    "2 << x": (lambda t, x: (2 << x, 64 >> x), np.arange(4)),
    "bitwise": (lambda t, x: (t.bitwise_and(x, 3), t.bitwise_not(x), x.bitwise_xor(x)), WHOLE),
    "where": (lambda t, x, y: t.where(x > y, x, y), X, Z),
    "where number": (lambda t, x: t.where(x > 0, x, 0.0), X),
    "where numbers": (lambda t, x: t.where(x > 0, 1, 0), X),
    "where floats": (lambda t, x: t.where(x > 0, 1.0, 0), X),
    "where promotes": (lambda t, x, y: t.where(x > 0, x.float(), y), X, WHOLE[:4]),
    "where method": (lambda t, x, y: x.where(y > 0, y), X, Y),
    "where method number": (lambda t, x: x.where(x > 0, -1), X),
    "where of condition": (lambda t, x: t.where(x > 0), X),
    "where of numbers": (lambda t, x: t.where(x, x, x), X),
    "nonzero": (lambda t, x: x.nonzero(), np.round(X)),
    "nonzero tuple": (lambda t, x: t.nonzero(x, as_tuple=True), np.round(X)),
    "nonzero number": (lambda t, x: (x.nonzero(), (x * 0).nonzero()), np.array(2.0)),
    "nonzero number tuple": (lambda t, x: x.nonzero(as_tuple=True), np.array(2.0)),
    "argwhere": (lambda t, x: t.argwhere(x), np.round(X)),
    "isin": (lambda t, x: t.isin(x, t.tensor([1, 2])), WHOLE),
    "isin number": (lambda t, x: (t.isin(x, 2), t.isin(2, x)), WHOLE),
    "isin inverted": (lambda t, x: t.isin(x, t.tensor([1, 2]), invert=True), WHOLE),
    "maximum ties": (lambda t, x, y: t.maximum(x, y), np.round(X), np.round(Y)),
    "fmax ties": (lambda t, x, y: (t.fmax(x, y), t.fmin(x, y)), np.round(X), np.round(Y)),
    "maximum integers": (lambda t, x: t.maximum(x, t.tensor(0)), WHOLE),
    "maximum complex": (lambda t, x: t.maximum(x, x), COMPLEX),
    "round": (lambda t, x: x.round(decimals=2), X),
    "round tens": (lambda t, x: t.round(x * 100, decimals=-1), X),
    "fmod number": (lambda t, x: t.fmod(x, 0.7), X),
    "%": (lambda t, x: (x % 0.7, x % -0.7), X),
    "% left": (lambda t, x: 2 % x.detach(), X),
    "% integers": (lambda t, x: (x % 3, x % -3, x // 2, x // -2, 7 // x.abs().clamp(1)), WHOLE),
    "% zero": (lambda t, x: x % 0, WHOLE),
    "fmod integers": (lambda t, x: (t.fmod(x, 3), t.fmod(x, -3)), WHOLE),
    "//": (lambda t, x: x.detach() // 0.7, X),
    "clamp": (lambda t, x: x.clamp(-0.5, 0.5), X),
    "clamp on bounds": (lambda t, x: x.clamp(-1, 1), SPECIAL),
    "clamp min": (lambda t, x: (x.clamp(min=1), x.clamp_min(1)), SPECIAL),
    "clamp max": (lambda t, x: (x.clamp(max=1), x.clamp_max(1)), SPECIAL),
    "clamp tensors": (lambda t, x, a, b: t.clamp(x, a, b), X, Y, Z),
    "clamp tensor": (lambda t, x, a: (t.clamp(x, a), t.clamp(x, max=a), x.clip(a)), X, Y),
    "clamp crossed": (lambda t, x: t.clamp(x, 1, -1), X),
    "clamp crossed tensors": (lambda t, x, a, b: t.clamp(x, a, b), X, Y + 2, Y),
    "clamp ties": (lambda t, x, a: (t.clamp(x, a), t.clamp(x, max=a)), np.round(X), np.round(Y)),
    "clamp integers": (lambda t, x: (x.clamp(0, 2), x.clamp(0.5), x.clamp(max=1)), WHOLE),
    "clamp nothing": (lambda t, x: x.clamp(), X),
    "clamp min tensor": (lambda t, x, a: (x.clamp_min(a), x.clamp_max(a)), X, Y),
    "logit eps": (lambda t, x: t.logit(x, eps=0.1), np.linspace(0, 1, 7)),
    "polygamma": (lambda t, x: (t.polygamma(2, x), x.polygamma(3)), POSITIVE),
    "nan_to_num": (lambda t, x: t.nan_to_num(x, 1.0, 2.0, -3.0), SPECIAL),
    "real": (lambda t, x: (x.real, x.imag, t.real(x), t.imag(x)), COMPLEX),
    "real of real": (lambda t, x: (t.real(x) * 2, x.real + 1), X),
    "imag of real": (lambda t, x: t.imag(x), X),
    "conj": (lambda t, x: x.conj() * x, COMPLEX),
    "negative": (lambda t, x: (x.negative(), t.multiply(x, x).subtract(1), x.absolute()), X),
    "special": (
        lambda t, x: (t.special.expit(x), t.special.erfc(x), t.special.xlogy(x, x)),
        POSITIVE,
    ),
    "conj physical": (lambda t, x: t.conj_physical(x) * 1j, COMPLEX),
    "angle": (lambda t, x: x.angle(), COMPLEX),
    "abs": (lambda t, x: (x.abs(), t.sgn(x)), COMPLEX),
    "float_power": (
        lambda t, x: (x.float_power(2), t.float_power(2, x)),
        POSITIVE.astype(np.float32),
    ),
    "float_power integers": (lambda t, x: x.float_power(2), WHOLE),
    "gcd": (lambda t, x: (t.gcd(x, t.tensor(4)), t.lcm(x, t.tensor(4))), WHOLE),
    "gcd floats": (lambda t, x: t.gcd(x, x), X),
    "heaviside": (lambda t, x, y: t.heaviside(x.detach(), y.detach()), np.round(X), Y),
    "lerp": (lambda t, x, y: t.lerp(x, y, 0.3), X, Y),
    "lerp beyond": (lambda t, x, y: x.lerp(y, 1.3), X, Y),
    "lerp tensor": (lambda t, x, y, w: t.lerp(x, y, w), X, Y, Z),
    "lerp dtypes": (lambda t, x, y: t.lerp(x, y.float(), 0.3), X, Y),
    "addcmul": (lambda t, x, y, z: t.addcmul(x, y, z, value=0.3), X, Y, Z),
    "addcdiv": (lambda t, x, y, z: x.addcdiv(y, z, value=0.3), X, Y, Z),
    "addcdiv integers": (lambda t, x: x.addcdiv(x, x), WHOLE),
    "xlogy number": (lambda t, x: (t.xlogy(2.0, x), t.xlogy(x, 2.0)), POSITIVE),
    "out": (lambda t, x: t.clamp(x.detach(), 0, 1, out=t.zeros(3, 4, dtype=t.float64)), X),
    "positive": (lambda t, x: +x * 2, X),
}
COMPOSED = (
    "special",
    "negative",
    "where of",
    "== ",
    "clamp tensor",
    "real",
    "gcd",
    "float_power",
    "conj",
    "abs",
    "addc",
    "xlogy number",
    "positive",
    "%",
    "clamp",
    "ldexp",
)


@pytest.mark.parametrize("word", CALLS)
def test_calls(word):
    call, *inputs = CALLS[word]
    agree(call, *inputs, order=2, nan_gradients=False, name=not word.startswith(COMPOSED))


def test_positive_is_the_tensor_itself():
    x = torch.tensor([1.0, 2.0])
    assert torch.positive(x) is x.positive() is +x is x
    for call in (torch.positive, lambda x: +x):
        with pytest.raises(RuntimeError, match="on a bool tensor is not supported"):
            call(x > 1)


INPLACE = {
    "eq_": lambda t, x, y: x.eq_(y),
    "lt_": lambda t, x, y: x.lt_(0),
    "clamp_": lambda t, x, y: x.clamp_(-0.5, 0.5),
    "clamp_min_": lambda t, x, y: x.clamp_min_(0),
    "floor_": lambda t, x, y: x.floor_(),
    "round_": lambda t, x, y: x.round_(),
    "frac_": lambda t, x, y: x.frac_(),
    "fmod_": lambda t, x, y: x.fmod_(y),
    "remainder_": lambda t, x, y: x.remainder_(0.5),
    "sigmoid_": lambda t, x, y: x.sigmoid_(),
    "square_": lambda t, x, y: x.square_(),
    "reciprocal_": lambda t, x, y: x.reciprocal_(),
    "erf_": lambda t, x, y: x.erf_(),
    "lerp_": lambda t, x, y: x.lerp_(y, 0.3),
    "addcmul_": lambda t, x, y: x.addcmul_(y, y, value=2),
    "addcdiv_": lambda t, x, y: x.addcdiv_(y, y + 9),
    "relu_": lambda t, x, y: x.relu_(),
    "torch.relu_": lambda t, x, y: t.relu_(x),
    "atan2_": lambda t, x, y: x.atan2_(y),
    "cumsum_": lambda t, x, y: x.cumsum_(0),
    "hypot_": lambda t, x, y: x.hypot_(y),
    "asin": lambda t, x, y: x.clamp_(-0.3, 0.3).arcsin_().negative_().multiply_(2).absolute_(),
    "F.elu_": lambda t, x, y: (functional if t is torch else t.nn.functional).elu_(x),
    "F.elu": lambda t, x, y: (functional if t is torch else t.nn.functional).elu(x, inplace=True),
}


@pytest.mark.parametrize("word", INPLACE)
def test_writes(word):
    def call(t, x, y):
        z = x * 2
        result = INPLACE[word](t, z, y)
        assert result is z
        return z * 3

    agree(call, X, Y, name=False)
    leaf = torch.from_numpy(X.copy()).requires_grad_()
    with pytest.raises(RuntimeError, match="leaf Variable"):
        INPLACE[word](torch, leaf, torch.from_numpy(Y))


def test_operators_in_place():
    def call(t, x):
        x &= 6
        x |= 1
        x ^= 3
        x <<= 2
        x >>= 1
        x //= 2
        x %= 5
        return x

    agree(call, WHOLE)


def test_equality_is_by_element_and_tensors_stay_hashable():
    x = torch.tensor([1.0, 2.0])
    assert (x == x).all()
    assert {x: 1}[x] == 1
    assert (x == [1.0, 2.0]) is False


def test_bits_need_integers():
    with pytest.raises(NotImplementedError, match="not implemented for 'Float'"):
        torch.tensor([1.0]) & 1


FLAT = {
    "clamp": lambda x: x.clamp(0, 3),
    "clamp min": lambda x: x.clamp(min=0),
    "clamp max": lambda x: (-x).clamp(max=0),
    "clamp tensors": lambda x: x.clamp(torch.zeros(2), torch.full((2,), 3.0)),
    "in place": lambda x: (x * 1).clamp_(0, 3),
    **{word: lambda x, word=word: getattr(torch, word)(x) for word in
       ("floor", "ceil", "trunc", "round", "sign", "sgn")},
}  # fmt: skip


@pytest.mark.parametrize("name", FLAT)
def test_what_does_not_depend_on_its_argument_stops_infinite_gradients(name):
    """As in PyTorch: the root of what was clamped to zero has no NaN in the gradient."""
    x = torch.tensor([-1.25, -7.75], requires_grad=True)
    y = FLAT[name](x)
    (bar,) = torch.autograd.grad(y, x, torch.tensor([torch.inf, torch.nan]))
    assert bar.tolist() == [0, 0]
    assert torch.func.vmap(torch.func.grad(lambda x: FLAT[name](x).sum()))(x[None]).sum() == 0


@pytest.mark.parametrize(("name", "ufunc"), [("fmod", np.fmod), ("remainder", np.remainder)])
def test_remainders_of_many_singles_have_numpys_bits(name, ufunc):
    """They go by double precision, but for quotients of more than 24 bits."""
    rng = np.random.default_rng(0)
    count = 1 << 13
    special = [0.0, -0.0, 1, -3, np.inf, -np.inf, np.nan, 1e-45, -3e38, 0.1, 2**24 + 2]
    special = np.array(special, np.float32)
    normal = rng.normal(size=(2, count)).astype(np.float32)
    bits = rng.integers(0, 2**32, (2, count), np.uint32).view(np.float32)
    pairs = [
        np.where(np.isnan(bits), 1, bits),
        [np.resize(np.repeat(special, special.size), count), np.resize(special, count)],
        [normal[0] * 1000, normal[1]],
        [np.float32(0.1) * rng.integers(-50, 50, count).astype(np.float32), np.float32(0.1)],
        [normal[0], -3],
        [normal[0], 0.0],
    ]
    for x, y in pairs:
        with np.errstate(all="ignore"):
            expected = ufunc(x, y)
            if name == "remainder":  # PyTorch's zeros have the sign of the dividend
                expected = np.where(expected == 0, np.copysign(expected, x), expected)
        divisor = torch.tensor(y) if isinstance(y, np.ndarray) else float(y)
        for _ in range(3):  # the call itself, and as it is planned
            dividend = torch.tensor(x, requires_grad=True)
            got = getattr(torch, name)(dividend, divisor).detach().numpy()
            np.testing.assert_array_equal(got, expected)
            signs = np.signbit(got) == np.signbit(expected)
            assert np.all(signs | np.isnan(expected))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_zero_remainder_has_the_sign_of_the_dividend(dtype):
    x = torch.tensor([-4.0, 4.0, 0.0, -0.0, -3.0, 3.0], dtype=dtype)
    for y in (2.0, -2.0, 2, torch.tensor(-2.0, dtype=dtype), torch.full((6,), 2.0, dtype=dtype)):
        for _ in range(3):
            tracked = x.clone().requires_grad_() % y
            tracked.sum().backward()
            in_place = x.clone()
            in_place %= y
            for found in (x % y, torch.fmod(x, y), tracked, in_place, x.remainder(y)):
                zeros = found == 0
                assert zeros.tolist() == [True, True, True, True, False, False]
                assert torch.equal(found.signbit()[zeros], x.signbit()[zeros])
            assert torch.equal(torch.func.vmap(lambda a: a % 2)(x).signbit(), (x % 2).signbit())
