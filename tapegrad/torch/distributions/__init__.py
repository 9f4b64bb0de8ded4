"""`torch.distributions`: random numbers with densities, entropies and divergences.

`rsample` gives draws that are differentiable by the parameters. The numbers for a seed are not
PyTorch's; the distributions are.

>>> import tapegrad.torch as torch
>>> p = torch.distributions.Normal(torch.zeros(2), 1.0)
>>> p.log_prob(torch.zeros(2))
tensor([-0.9189, -0.9189])
"""

from __future__ import annotations

from tapegrad.torch.distributions import constraints, kl, transforms
from tapegrad.torch.distributions._discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    Multinomial,
    OneHotCategorical,
    Poisson,
)
from tapegrad.torch.distributions._gammas import Beta, Chi2, Dirichlet, Gamma, StudentT
from tapegrad.torch.distributions._location import (
    Cauchy,
    Exponential,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    Laplace,
    Normal,
    Uniform,
)
from tapegrad.torch.distributions._mixtures import MixtureSameFamily
from tapegrad.torch.distributions._vectors import MultivariateNormal
from tapegrad.torch.distributions._wrapped import (
    Independent,
    LogNormal,
    TransformedDistribution,
)
from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.kl import kl_divergence, register_kl
from tapegrad.torch.distributions.transforms import (
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
    Transform,
    identity_transform,
)

__all__ = [
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "Gamma",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "Laplace",
    "LogNormal",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "Normal",
    "OneHotCategorical",
    "Poisson",
    "PowerTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "constraints",
    "identity_transform",
    "kl",
    "kl_divergence",
    "register_kl",
    "transforms",
]


def __dir__() -> list[str]:
    return __all__
