"""`torch.quasirandom`: Sobol sequences, by SciPy. Must not know how tensors are differentiated."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tapegrad.torch import _dtypes
from tapegrad.torch._docstrings.sections import complete
from tapegrad.torch._ops.create.generator import source
from tapegrad.torch._tensor.tensor import Tensor, of_value


class SobolEngine:
    """A Sobol sequence, whose points fill the unit cube more evenly than random ones.

    Without scrambling the points are PyTorch's; scrambled ones are drawn by other random numbers.
    It needs SciPy.

    dimension: The dimension of the points, of up to 21201.
    scramble: Whether the points are scrambled at random, which leaves them as even.
    seed: The seed of scrambling; one that the generator of `torch` draws unless given.
    ValueError: For another dimension.
    ImportError: Without SciPy.

    >>> engine = torch.quasirandom.SobolEngine(dimension=3)
    >>> engine.draw(3)
    tensor([[0.0000, 0.0000, 0.0000],
            [0.5000, 0.5000, 0.5000],
            [0.7500, 0.2500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        try:
            from scipy.stats import qmc
        except ImportError:
            raise ImportError("SobolEngine needs SciPy: pip install tapegrad[scipy]") from None
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        rng = source(None) if seed is None and scramble else np.random.default_rng(seed)
        self._sequence = qmc.Sobol(dimension, scramble=scramble, bits=self.MAXBIT, rng=rng)

    @property
    def num_generated(self) -> int:
        """How many points have been drawn."""
        return int(self._sequence.num_generated)

    def draw(
        self, n: int = 1, out: Tensor | None = None, dtype: _dtypes.dtype | None = None
    ) -> Tensor:
        """The next points.

        n: How many.
        out: A tensor that is filled with them.
        dtype: Their dtype; the default one unless given.
        -> Tensor: The points, n x dimension.

        >>> torch.quasirandom.SobolEngine(2).draw(2)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000]])
        """
        given = _dtypes.default_float() if dtype is None else _dtypes.as_numpy(dtype)
        first = int(self.num_generated == 0 < n)  # apart: SciPy warns of odd counts at the start
        parts = [self._sequence.random(count) for count in (first, n - first) if count]
        drawn = np.concatenate([*parts, np.empty((0, self.dimension))])
        points = of_value(drawn.astype(given))
        if out is None:
            return points
        made: Any = out.resize_(points.shape)
        filled: Tensor = made.copy_(points)
        return filled

    def draw_base2(
        self, m: int, out: Tensor | None = None, dtype: _dtypes.dtype | None = None
    ) -> Tensor:
        """The next 2**m points, with which as many as a power of two have been drawn.

        m: The exponent.
        out: A tensor that is filled with them.
        dtype: Their dtype; the default one unless given.
        -> Tensor: The points, 2**m x dimension.
        ValueError: If it would be another count.

        >>> torch.quasirandom.SobolEngine(1).draw_base2(1)
        tensor([[0.0000],
                [0.5000]])
        """
        before, n = self.num_generated, 2**m
        if (before + n) & (before + n - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{before} points have been previously generated, then: n={before}+2**{m}="
                f"{before + n}. If you still want to do this, please use 'SobolEngine.draw()' "
                "instead."
            )
        return self.draw(n, out, dtype)

    def reset(self) -> Self:
        """Go back to the first point.

        -> SobolEngine: The engine itself.

        >>> engine = torch.quasirandom.SobolEngine(1)
        >>> engine.draw().item() == engine.reset().draw().item()
        True
        """
        self._sequence.reset()
        return self

    def fast_forward(self, n: int) -> Self:
        """Leave points out.

        n: How many.
        -> SobolEngine: The engine itself.

        >>> torch.quasirandom.SobolEngine(1).fast_forward(2).draw()
        tensor([[0.7500]])
        """
        self._sequence.fast_forward(n)
        return self

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        parts += ["scramble=True"] * bool(self.scramble)
        parts += [f"seed={self.seed}"] * (self.seed is not None)
        return f"{type(self).__name__}({', '.join(parts)})"


__all__ = ["SobolEngine"]

complete(late=__name__)
