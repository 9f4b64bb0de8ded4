"""Samples of tapegrad.scipy.special._combinatorics, ._exponentials and ._spherical."""

from __future__ import annotations

import numpy as np
from makers import array, axis_or_none, like
from sampling import FLAGS, N1, X1, X
from scipy_sampling import each, sample

from tapegrad.scipy import special

PAIR = array(2)
SCALAR = array(dims=(0, 0))
POSITIVE = (0.4, 3)
WHOLE = np.array([0, 3])

sample(special.logsumexp, N1, axis_or_none, keepdims=FLAGS, dtypes="dfD")
each([special.softmax, special.log_softmax], N1, axis_or_none, dtypes="df")
sample(special.softplus, X, dtypes="df")

sample(special.comb, PAIR, like, on=[(3, 5), (0.5, 2)])
sample(special.perm, PAIR, like, on=[(3, 4), (0.5, 2)])
sample(special.factorial, N1, on=POSITIVE)
sample(special.factorial2, N1, extend="complex", on=POSITIVE)
sample(special.factorialk, N1, 3, extend="complex", on=POSITIVE)
sample(special.multigammaln, X, 3, on=(2, 5))
sample(special.polygamma, WHOLE, PAIR, on=POSITIVE)
sample(special.diric, PAIR, np.array([1, 4]))

each([special.spherical_jn, special.spherical_yn], WHOLE, PAIR, derivative=FLAGS, on=POSITIVE)
each([special.spherical_in, special.spherical_kn], WHOLE, PAIR, derivative=FLAGS, on=POSITIVE)
each([special.jvp, special.yvp, special.ivp, special.kvp], [0.3, 1.2], PAIR, 2, on=POSITIVE)
each([special.h1vp, special.h2vp], [0.3, 1.2], PAIR, 2, on=POSITIVE, dtypes="D")
sample(special.lqn, 3, X1, on=(-0.7, 0.7))
sample(special.lqmn, 1, 2, X1, on=(-0.7, 0.7))
each([special.riccati_jn, special.riccati_yn], 3, SCALAR, on=(0.8, 2))
sample(special.lmbda, 2.5, SCALAR, on=(0.8, 2))
each([special.pbdv_seq, special.pbvv_seq], 1.5, SCALAR, on=(0.5, 1))
sample(special.pbdn_seq, 2, SCALAR, on=(0.8, 2))
