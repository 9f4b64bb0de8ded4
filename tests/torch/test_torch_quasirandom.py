"""Sobol sequences and facts about the installation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch.quasirandom import SobolEngine
from tapegrad.torch.utils import collect_env

pytest.importorskip("scipy", reason="the sequences are SciPy's")


@pytest.mark.parametrize("dimension", [1, 5, 300])
def test_points_are_those_of_pytorch(dimension: int) -> None:
    def seen(t: Any) -> Any:
        engine = t.quasirandom.SobolEngine(dimension)
        parts = [engine.draw(3), engine.draw(), engine.draw_base2(2)]
        parts += [engine.fast_forward(5).draw(2, dtype=t.float64), engine.reset().draw(2)]
        out = t.zeros(0)
        engine.draw(4, out=out)
        return repr(engine), engine.num_generated, [x.numpy() for x in [*parts, out]]

    mine, theirs = seen(torch), of_pytorch(seen, sums=False, asked=str(dimension))
    assert mine[:2] == theirs[:2]
    for x, y in zip(mine[2], theirs[2], strict=True):
        np.testing.assert_array_equal(x, y)
        assert x.dtype == y.dtype


def test_scrambled_points_are_even_and_follow_the_seed() -> None:
    engine = SobolEngine(3, scramble=True, seed=2)
    points = engine.draw(64)
    assert torch.equal(points, SobolEngine(3, scramble=True, seed=2).draw(64))
    assert repr(engine) == "SobolEngine(dimension=3, scramble=True, seed=2)"
    for column in (points * 64).int().T:
        assert sorted(column.tolist()) == list(range(64))  # one in each part of the interval
    torch.manual_seed(0)
    first = SobolEngine(2, scramble=True).draw()
    torch.manual_seed(0)
    assert torch.equal(first, SobolEngine(2, scramble=True).draw())
    assert not torch.equal(first, SobolEngine(2, scramble=True).draw())


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\[1, 21201\]"):
        SobolEngine(0)
    engine = SobolEngine(1)
    engine.draw(3)
    with pytest.raises(ValueError, match="power of 2"):
        engine.draw_base2(1)


def test_facts_about_the_installation(capsys: Any) -> None:
    collect_env.main()
    text = capsys.readouterr().out
    assert f"PyTorch version: {torch.__version__}" in text
    assert f"numpy=={np.__version__}" in text
