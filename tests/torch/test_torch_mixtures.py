"""`MixtureSameFamily`: densities, moments and draws of mixtures."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import agree, numbers

import tapegrad.torch as torch
from tapegrad.torch import distributions

WEIGHTS = numbers(2, 3, seed=1)
MEANS = numbers(2, 3, seed=2)
SCALES = np.exp(numbers(2, 3, seed=3))
X = numbers(4, 2, seed=4)


def normals(library, weights, means, scales):
    d = library.distributions
    return d.MixtureSameFamily(d.Categorical(logits=weights), d.Normal(means, scales))


def vectors(library, weights, means, scales):
    """Mixtures of three normal vectors of two coordinates; the batch is empty."""
    d = library.distributions
    parts = d.Independent(d.Normal(means.mT, scales.mT), 1)
    return d.MixtureSameFamily(d.Categorical(logits=weights[0]), parts)


@pytest.mark.parametrize("build", [normals, vectors])
@pytest.mark.parametrize(
    "of", ["log_prob", "mean", "variance", "stddev", "cdf", "batch_shape", "event_shape", "repr"]
)
def test_mixtures_agree_with_pytorch(build, of):
    if build is vectors and of == "cdf":
        return  # of vectors neither has it

    def call(library, *arrays):
        mixture = build(library, *arrays[:3])
        if of == "repr":
            return repr(mixture).replace("tapegrad.", ""), repr(mixture.support)
        if of in ("log_prob", "cdf"):
            return getattr(mixture, of)(arrays[3])
        found = getattr(mixture, of)
        return tuple(found) if of.endswith("shape") else found

    agree(call, WEIGHTS, MEANS, SCALES, X, order=2, name=False)


def test_densities_are_sums_of_those_of_the_parts():
    arrays = [torch.from_numpy(x) for x in (WEIGHTS, MEANS, SCALES, X)]
    parts = torch.distributions.Normal(*arrays[1:3]).log_prob(arrays[3].unsqueeze(-1)).exp()
    expected = (parts * arrays[0].softmax(-1)).sum(-1).log()
    torch.testing.assert_close(normals(torch, *arrays[:3]).log_prob(arrays[3]), expected)


@pytest.mark.parametrize("build", [normals, vectors])
def test_moments_are_those_of_draws(build):
    mixture = build(torch, *(torch.from_numpy(x) for x in (WEIGHTS, MEANS, SCALES)))
    drawn = mixture.sample((20_000,))
    assert drawn.shape == (20_000, 2)
    torch.testing.assert_close(drawn.mean(0), mixture.mean, rtol=0.1, atol=0.1)
    torch.testing.assert_close(drawn.var(0), mixture.variance, rtol=0.15, atol=0.1)
    assert mixture.expand((5, *mixture.batch_shape)).sample().shape == (5, 2)


def test_arguments_that_do_not_fit_are_refused():
    d = distributions
    three, two = torch.ones(3), torch.ones(2)
    with pytest.raises(ValueError, match="needs to be an  instance of"):
        d.MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(three, three))
    with pytest.raises(ValueError, match="Component distribution need"):
        d.MixtureSameFamily(d.Categorical(three), three)
    with pytest.raises(ValueError, match=r"component` \(3\) does not equal"):
        d.MixtureSameFamily(d.Categorical(three), d.Normal(two, two))
    with pytest.raises(ValueError, match="is not compatible"):
        d.MixtureSameFamily(d.Categorical(torch.ones(4, 3)), d.Normal(torch.ones(2, 3), 1.0))
    mixture = d.MixtureSameFamily(d.Categorical(three), d.Gamma(three, three))
    with pytest.raises(ValueError, match="within the support"):
        mixture.log_prob(torch.tensor(-1.0))
