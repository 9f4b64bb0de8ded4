"""`torch.distributions`: random numbers with densities, entropies and divergences.

`rsample` gives draws that are differentiable by the parameters. The numbers for a seed are not
PyTorch's; the distributions are.

>>> import tapegrad.torch as torch
>>> p = torch.distributions.Normal(torch.zeros(2), 1.0)
>>> p.log_prob(torch.zeros(2))
tensor([-0.9189, -0.9189])
"""

from __future__ import annotations

import importlib.util
from typing import Any

from tapegrad.torch._methods import contents as _contents
from tapegrad.torch.distributions import _kl_pairs as _kl_pairs
from tapegrad.torch.distributions import constraint_registry, constraints, kl, transforms
from tapegrad.torch.distributions._circle import ContinuousBernoulli, VonMises
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
from tapegrad.torch.distributions._low_rank import LowRankMultivariateNormal
from tapegrad.torch.distributions._matrices import LKJCholesky, Wishart
from tapegrad.torch.distributions._mixture import MixtureSameFamily, NegativeBinomial
from tapegrad.torch.distributions._powers import (
    FisherSnedecor,
    GeneralizedPareto,
    InverseGamma,
    Kumaraswamy,
    Pareto,
    Weibull,
)
from tapegrad.torch.distributions._relaxed import (
    LogisticNormal,
    OneHotCategoricalStraightThrough,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from tapegrad.torch.distributions._vectors import MultivariateNormal
from tapegrad.torch.distributions._wrapped import Independent, LogNormal, TransformedDistribution
from tapegrad.torch.distributions.constraint_registry import biject_to, transform_to
from tapegrad.torch.distributions.distribution import Distribution, ExponentialFamily
from tapegrad.torch.distributions.kl import kl_divergence, register_kl
from tapegrad.torch.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)

__all__ = list(_contents(globals(), "constraint_registry", "constraints", "kl", "transforms"))


def __getattr__(name: str) -> Any:
    """The module of PyTorch's file for one family: `torch.distributions.normal`."""
    known = name.isidentifier() and not name.startswith("_")
    if known and importlib.util.find_spec(f"{__name__}.{name}") is not None:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__dir__ = __all__.copy
