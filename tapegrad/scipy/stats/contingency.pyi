"""`scipy.stats.contingency` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from typing import Any

def association(
    observed: Any,
    method: Any = 'cramer',
    correction: bool = False,
    lambda_: Any = None,
) -> Any: ...
def chi2_contingency(
    observed: Any,
    correction: bool = True,
    lambda_: Any = None,
    *,
    method: Any = None,
) -> Any: ...
def crosstab(*args: Any, levels: Any = None, sparse: bool = False) -> Any: ...
def expected_freq(observed: Any) -> Any: ...
def margins(a: Any) -> Any: ...
def odds_ratio(table: Any, *, kind: Any = 'conditional') -> Any: ...
def relative_risk(
    exposed_cases: Any,
    exposed_total: Any,
    control_cases: Any,
    control_total: Any,
) -> Any: ...
