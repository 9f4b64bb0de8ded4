"""Checks of derivatives, for programs and for rules: tapegrad's own, and those that users declare.

`check_grads` compares the derivatives of a function with central differences and with each other;
`check_rule` holds one primitive to every law that a rule has to keep. `arrays` and `shapes` are
Hypothesis strategies for their arguments; they need the extra `tapegrad[test]`.

>>> import numpy as np
>>> from tapegrad.testing import check_grads, check_rule
>>> check_grads(lambda x: np.sum(np.sin(x) ** 2), (np.array([0.5, 1.5]),))
>>> check_rule(np.multiply, np.array([1.0, 2.0]), np.array([[3.0], [4.0]]))
"""

from tapegrad.testing._grads import check_grads
from tapegrad.testing._rules import check_rule
from tapegrad.testing._strategies import arrays, shapes

__all__ = ["arrays", "check_grads", "check_rule", "shapes"]
