"""Random tensors: generators, draws from distributions, in-place draws.

Knows NumPy's generators, which it loads at the first draw. Must not know operations.

The numbers are not PyTorch's for the same seed; the distributions are.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._rule import somewhere
from tapegrad._tape import Mapped, Traced
from tapegrad.torch import _dtypes
from tapegrad.torch._call import OPERATIONS, deliver, operation
from tapegrad.torch._creation import creation, shape_of, sized, template
from tapegrad.torch._dtypes import of_numpy, word_of
from tapegrad.torch._filling import registered, replaced
from tapegrad.torch._graph import is_on_graph
from tapegrad.torch._inplace import write
from tapegrad.torch._tensor import Tensor, of_value, plain_of

FIRST_SEED = 67280421310721  # of a new Generator, as in PyTorch


class _Drawn(threading.local):
    """How often a thread has drawn: vmap asks whether a function does."""

    times = 0


DRAWN = _Drawn()


class Generator:
    """A source of random numbers of its own: `manual_seed`, `seed`, `get_state`, `set_state`."""

    def __init__(self, device: Any = "cpu") -> None:
        self._device = _dtypes.device(device)
        self._seed = FIRST_SEED
        self._numpy: Any = None  # NumPy's generator, once it is needed

    @property
    def device(self) -> _dtypes.device:
        return self._device

    def manual_seed(self, seed: Any) -> Generator:
        """Start anew from a seed; returns the generator itself."""
        self._seed = _valid_seed(seed)
        self._numpy = None
        return self

    def seed(self) -> int:
        """Start anew from a seed of the operating system's; returns it."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that the generator started from."""
        return self._seed

    def get_state(self) -> Tensor:
        """The state as a tensor of bytes, for `set_state`."""
        state = self.numpy.bit_generator.state
        numbers = state["state"]
        parts = (
            numbers["state"].to_bytes(16, "little"),
            numbers["inc"].to_bytes(16, "little"),
            state["uinteger"].to_bytes(4, "little"),
            state["has_uint32"].to_bytes(1, "little"),
            self._seed.to_bytes(8, "little"),
        )
        return of_value(np.frombuffer(b"".join(parts), np.uint8).copy())

    def set_state(self, new_state: Any) -> Generator:
        """Go back to a state that `get_state` returned."""
        if not isinstance(new_state, Tensor) or new_state.value.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        held = plain_of(new_state).tobytes()
        if len(held) != 45:
            raise RuntimeError(
                f"RNG state is wrong size: expected the 45 bytes of get_state(), got {len(held)}"
            )
        self._seed = int.from_bytes(held[37:], "little")
        self.numpy.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {
                "state": int.from_bytes(held[:16], "little"),
                "inc": int.from_bytes(held[16:32], "little"),
            },
            "uinteger": int.from_bytes(held[32:36], "little"),
            "has_uint32": held[36],
        }
        return self

    def clone_state(self) -> Generator:
        """Another generator in the same state."""
        return Generator().set_state(self.get_state())

    @property
    def numpy(self) -> Any:
        """NumPy's generator, with the same state."""
        if self._numpy is None:
            self._numpy = np.random.Generator(np.random.PCG64(self._seed))
        return self._numpy


def _valid_seed(seed: Any) -> int:
    number = int(seed)
    if not -(2**63) <= number < 2**64:
        raise ValueError("Overflow when unpacking long long")
    return number % 2**64


default_generator = Generator()
default_generator.seed()


def source(generator: Generator | None = None) -> Any:
    """NumPy's generator for a draw, from PyTorch's `generator=`."""
    DRAWN.times += 1
    return (default_generator if generator is None else generator).numpy


# --- Draws of arrays ----------------------------------------------------------------------------


def _exact(given: np.dtype[Any]) -> Any:
    """The dtype in which NumPy draws what is then rounded to another one."""
    return np.float64 if given.itemsize == 8 else np.float32


def draw_uniform(shape: Any, given: np.dtype[Any], generator: Any = None) -> Any:
    """Uniform numbers from 0 to before 1, real and imaginary parts each."""
    if given.kind == "c":
        part = np.empty(0, given).real.dtype
        return draw_uniform(shape, part, generator) + 1j * draw_uniform(shape, part, generator)
    if given.kind != "f":
        raise NotImplementedError(f'"check_uniform_bounds" not implemented for {_quoted(given)}')
    made = source(generator).random(shape, _exact(given))
    if given.itemsize == 2:  # rounding must not reach 1
        return (np.floor(made * 2048) / 2048).astype(given)
    return np.asarray(made, given)


def draw_normal(shape: Any, given: np.dtype[Any], generator: Any = None) -> Any:
    """Normal numbers of mean 0 and variance 1; of complex ones each part has half of it."""
    if given.kind == "c":
        part = np.empty(0, given).real.dtype
        parts = [draw_normal(shape, part, generator) for _ in range(2)]
        return ((parts[0] + 1j * parts[1]) * np.sqrt(0.5)).astype(given)
    if given.kind != "f":
        raise NotImplementedError(f'"normal_kernel_cpu" not implemented for {_quoted(given)}')
    return np.asarray(source(generator).standard_normal(shape, _exact(given)), given)


def _quoted(given: np.dtype[Any]) -> str:
    return f"'{word_of(given)}'"


def draw_whole(low: Any, high: Any, shape: Any, given: np.dtype[Any], generator: Any) -> Any:
    """Whole numbers from low to before high."""
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    made = source(generator).integers(low, high, shape, np.uint64 if high > 2**63 else np.int64)
    return np.asarray(made).astype(given)


# --- New tensors --------------------------------------------------------------------------------


@creation
def rand(*sizes: Any, size: Any = None, generator: Any = None, dtype: Any) -> Any:
    """Uniform numbers from 0 to before 1: `rand(2, 3)` or `rand((2, 3))`."""
    shape = sized("rand", sizes, size)
    return draw_uniform(shape, np.dtype(dtype or _dtypes.default_float()), generator)


@creation
def randn(*sizes: Any, size: Any = None, generator: Any = None, dtype: Any) -> Any:
    """Normal numbers of mean 0 and variance 1: `randn(2, 3)` or `randn((2, 3))`."""
    shape = sized("randn", sizes, size)
    return draw_normal(shape, np.dtype(dtype or _dtypes.default_float()), generator)


def _bounds(call: str, given: tuple[Any, ...], low: Any, high: Any, count: int) -> Any:
    """`(high, ...)` or `(low, high, ...)` as low, high and what follows."""
    if low is not None and high is None and given:
        high, given = given[0], given[1:]
    elif high is None:
        split = count + 1
        if len(given) > split:
            low, high, given = given[0], given[1], given[2:]
        elif given:
            high, given = given[0], given[1:]
    low = 0 if low is None else low
    for bound in (low, high):
        if not hasattr(bound, "__index__"):
            raise TypeError(f"{call}(): expected whole numbers, got {type(bound).__name__}")
    return low.__index__(), high.__index__(), given


@creation
def randint(
    *args: Any,
    low: Any = None,
    high: Any = None,
    size: Any = None,
    generator: Any = None,
    dtype: Any,
) -> Any:
    """Whole numbers from low to before high: `randint(high, size)`, `randint(low, high, size)`."""
    low, high, rest = _bounds("randint", args, low, high, 1 if size is None else 0)
    size = rest[0] if rest else size
    if not _dtypes.is_sizes(size):
        raise TypeError(
            "randint(): argument 'size' (position 2) must be tuple of ints, not "
            f"{type(size).__name__}"
        )
    shape = shape_of("randint", (size,))
    return draw_whole(low, high, shape, np.dtype(dtype or np.int64), generator)


@creation
def randperm(n: int, *, generator: Any = None, dtype: Any) -> Any:
    """The whole numbers from 0 to before n, in a random order."""
    (count,) = shape_of("randperm", (n,))
    return source(generator).permutation(count).astype(dtype or np.int64)


@creation
def rand_like(input: Any, *, generator: Any = None, dtype: Any) -> Any:
    """Uniform numbers from 0 to before 1, in the shape and dtype of a tensor."""
    array = template("rand_like", input)
    return draw_uniform(array.shape, np.dtype(dtype or array.dtype), generator)


@creation
def randn_like(input: Any, *, generator: Any = None, dtype: Any) -> Any:
    """Normal numbers of mean 0 and variance 1, in the shape and dtype of a tensor."""
    array = template("randn_like", input)
    return draw_normal(array.shape, np.dtype(dtype or array.dtype), generator)


@creation
def randint_like(
    input: Any, *args: Any, low: Any = None, high: Any = None, generator: Any = None, dtype: Any
) -> Any:
    """Whole numbers from low to before high, in the shape and dtype of a tensor."""
    array = template("randint_like", input)
    low, high, _ = _bounds("randint_like", args, low, high, 0)
    return draw_whole(low, high, array.shape, np.dtype(dtype or array.dtype), generator)


# --- Distributions whose parameters are tensors -------------------------------------------------


def _label_of_normal(mean: Any, std: Any = 1.0, *_: Any, **__: Any) -> str:
    both = isinstance(mean, Tensor), isinstance(std, Tensor)
    return {(True, False): "NormalBackward1", (False, True): "NormalBackward2"}.get(
        both, "NormalBackward3"
    )


@operation(_label_of_normal, method=False, function=False)
def _normal_of_tensors(mean: Any, std: Any, generator: Any = None) -> Any:
    """PyTorch's derivative is 0: it does not follow the draw."""
    first = mean if hasattr(mean, "dtype") else std
    if somewhere(np.less(std, 0)):
        if hasattr(std, "dtype"):
            raise RuntimeError("normal expects all elements of std >= 0.0")
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    try:
        shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
    except ValueError as error:
        raise RuntimeError(f"normal(): {error}") from None
    given = np.dtype(first.dtype)
    noise = draw_normal(shape, given, generator)
    made = noise * _value(std) + _value(mean)
    return _constant(made.astype(given), mean, std)


def _value(array: Any) -> Any:
    """An array without tracing; the examples of a vmap stay what they are."""
    if isinstance(array, Traced):
        return _value(array.value)
    if isinstance(array, Mapped):
        return array.mapping.wrap(_value(array.value))
    return array


def _constant(made: Any, *parameters: Any) -> Any:
    """A draw as a result of its parameters, whose derivatives by them are zero."""
    for parameter in parameters:
        if is_on_graph(parameter):
            made = np.where(True, made, np.broadcast_to(parameter, made.shape).astype(made.dtype))
    return made


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Normal numbers of a mean and a standard deviation: numbers with a size, or tensors."""
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        made = _normal_of_tensors(mean, std, generator)
        return made if out is None else deliver(out, made)
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if size is None:
        raise TypeError("normal(): expected size= where mean and std are numbers, got None")
    noise = randn(size, generator=generator, dtype=dtype, device=device)
    value = noise.value
    value *= std
    value += mean
    if out is not None:
        return deliver(out, noise)
    return noise.requires_grad_(requires_grad)


OPERATIONS["normal"] = normal


def _require_floats(call: str, given: np.dtype[Any]) -> None:
    if given.kind != "f":
        raise NotImplementedError(f'"{call}" not implemented for {_quoted(given)}')


@operation("BernoulliBackward0")
def bernoulli(input: Any, p: Any = None, *, generator: Any = None) -> Any:
    """Ones with the probability that each element (or `p`) is, else zeros."""
    _require_floats("bernoulli_tensor_cpu_p_", input.dtype)
    chance = _value(input) if p is None else p
    if somewhere(np.less(chance, 0) | np.greater(chance, 1) | np.isnan(chance)):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    drawn = source(generator).random(input.shape)
    return _constant(np.less(drawn, chance).astype(input.dtype), input)


@operation("PoissonBackward0", method=False)
def poisson(input: Any, generator: Any = None) -> Any:
    """Poisson numbers whose rate each element is."""
    _require_floats("poisson_cpu", input.dtype)
    rate = _value(input)
    if somewhere(np.less(rate, 0)):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    drawn = np.asarray(source(generator).poisson(np.asarray(rate, np.float64)))
    return _constant(drawn.astype(input.dtype), input)


@registered
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Any = None,
    out: Any = None,
) -> Tensor:
    """Indices drawn with the probabilities in each row of `input`, which need not sum to 1."""
    weights = plain_of(input)
    if weights.dtype.kind != "f":
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            f"{word_of(weights.dtype)}"
        )
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    rows = weights.reshape(-1, weights.shape[-1]).astype(np.float64)
    if np.any(rows.sum(-1) <= 0):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    drawn = _choose(rows, num_samples, replacement, source(generator))
    made = of_value(drawn.reshape(*weights.shape[:-1], num_samples))
    return made if out is None else deliver(out, made)


def _choose(rows: Any, count: int, replacement: bool, draws: Any) -> Any:
    """`count` indices a row."""
    if replacement:
        sums = rows.cumsum(-1)
        marks = draws.random((len(rows), count)) * sums[:, -1:]
        found = [
            np.searchsorted(ends, row, side="right") for ends, row in zip(sums, marks, strict=True)
        ]
        last = [np.flatnonzero(row)[-1] for row in rows]  # where rounding passes the end
        return np.minimum(np.array(found, np.int64), np.array(last, np.int64)[:, None])
    # The first of exponential waiting times, whose rates are the weights, is a draw; so are the
    # following ones, of what is left.
    with np.errstate(divide="ignore"):
        waits = draws.standard_exponential(rows.shape) / rows
    return np.argsort(waits, -1, kind="stable")[:, :count].astype(np.int64)


# --- Into a tensor's memory ---------------------------------------------------------------------


def _into(self: Tensor, label: str, draw: Callable[[Any, np.dtype[Any]], Any]) -> Tensor:
    value = self.value
    new = np.asarray(draw(value.shape, value.dtype)).astype(value.dtype)
    return write(self, lambda old: replaced(old, new), label)


@registered
def uniform_(
    self: Any, from_: float = 0.0, to: float = 1.0, *, generator: Any = None, **words: Any
) -> Any:
    """Write uniform numbers from `from` to before `to`."""
    low = words.pop("from", from_)
    if words:
        raise TypeError(f"uniform_() got an unexpected keyword argument {next(iter(words))!r}")
    if low > to:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low} > to={to}"
        )
    return _into(
        self,
        "UniformBackward0",
        lambda shape, given: low + (to - low) * draw_uniform(shape, given, generator),
    )


def _require_scale(call: str, word: str, scale: float) -> None:
    if not scale > 0:
        raise RuntimeError(f"{call} expects {word} > 0.0, but found {word}={scale:g}")


@registered
def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Write normal numbers."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    return _into(
        self,
        "NormalBackward0",
        lambda shape, given: mean + std * draw_normal(shape, given, generator),
    )


@registered
def log_normal_(self: Any, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Any:
    """Write numbers whose logarithms are normal."""
    _require_scale("log_normal_", "std", std)
    return _into(
        self,
        "LogNormalBackward0",
        lambda shape, given: np.exp(mean + std * draw_normal(shape, given, generator)),
    )


def _require_continuous(self: Tensor, name: str) -> None:
    if self.value.dtype.kind != "f":
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {word_of(self.value.dtype)}"
        )


@registered
def exponential_(self: Any, lambd: float = 1.0, *, generator: Any = None) -> Any:
    """Write exponential numbers of rate `lambd`, which are never 0."""
    _require_continuous(self, "Exponential")
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")

    def draw(shape: Any, given: np.dtype[Any]) -> Any:
        drawn = source(generator).standard_exponential(shape, _exact(given))
        return np.maximum(drawn, np.finfo(given).tiny) / lambd

    return _into(self, "ExponentialBackward0", draw)


@registered
def cauchy_(self: Any, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Any:
    """Write Cauchy numbers."""
    _require_continuous(self, "Cauchy")
    _require_scale("cauchy_", "sigma", sigma)
    return _into(
        self,
        "CauchyBackward0",
        lambda shape, _: median + sigma * source(generator).standard_cauchy(shape),
    )


@registered
def geometric_(self: Any, p: float, *, generator: Any = None) -> Any:
    """Write how many tries with the chance `p` it takes to succeed."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return _into(
        self, "GeometricBackward0", lambda shape, _: source(generator).geometric(p, shape)
    )


@registered
def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Write ones with the probability `p`, a number or a tensor, else zeros."""
    of_tensor = isinstance(p, Tensor)
    chance = plain_of(p) if of_tensor else p
    if not np.all((chance >= 0) & (chance <= 1)):
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={chance}")
    return _into(
        self,
        "BernoulliBackward1" if of_tensor else "BernoulliBackward2",
        lambda shape, _: source(generator).random(shape) < chance,
    )


@registered
def random_(self: Any, *args: Any, generator: Any = None, to: Any = None, **words: Any) -> Any:
    """Write whole numbers: `random_(to)`, `random_(from, to)`, or all that the dtype holds."""
    low, high, _ = (
        _bounds("random_", args, words.pop("from", None), to, 0)
        if args or to is not None
        else (0, _end_of(self.value.dtype), ())
    )
    given = self.value.dtype
    return _into(
        self,
        f"RandomBackward{2 if not args else len(args) % 2}",
        lambda shape, _: draw_whole(low, high, shape, np.dtype(given), generator),
    )


def _end_of(given: np.dtype[Any]) -> int:
    """The first whole number that a dtype does not hold exactly."""
    if given.kind == "b":
        return 2
    if given.kind in "iu":
        return int(np.iinfo(given).max) + (0 if given.itemsize == 8 else 1)
    return 2 ** (int(np.finfo(given).nmant) + 1) + 1


__all__ = ["Generator", "default_generator", "of_numpy", "source"]
