"""Writes the table of covered functions: `python docs/coverage.py > docs/coverage.md`."""

from __future__ import annotations

import numpy as np
from numpy.testing.overrides import (
    get_overridable_numpy_array_functions,
    get_overridable_numpy_ufuncs,
)

from tapegrad._array import _CREATION
from tapegrad._rule import REGISTRY, Composite, Constant, Rule

SPACES = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft}
OVERRIDABLE = get_overridable_numpy_array_functions() | get_overridable_numpy_ufuncs()
UNDECLARED = OVERRIDABLE - REGISTRY.keys() - _CREATION

INTRODUCTION = """\
# Coverage

<!-- Written by docs/coverage.py: change that, not this. -->

Every function of NumPy that has a rule, with the form in which the rule is declared; for what the
forms mean, and the words under "batch", see [Writing a rule](writing-a-rule.md). A *composite* is
called as other functions of this table. Where a second rule does its work, that one's form stands
beside it. A *constant* has the derivative zero and returns plain arrays.

Indexing, `x.astype`, and the creation functions that take `like=x` need no rule of their own:
`np.zeros(3, like=x)`, `np.array([x, 1.0], like=x)`.
"""

MISSING = """\
## No rule yet

Calling one of these on a traced value raises `NotDifferentiableError`, with its name.
"""


def names_in(prefix: str) -> dict[str, object]:
    """The functions of one namespace by the names under which people call them."""
    found = {name: getattr(SPACES[prefix], name) for name in sorted(dir(SPACES[prefix]))}
    return {
        f"{prefix}.{name}": function
        for name, function in found.items()
        if callable(function) and not isinstance(function, type) and not name.startswith("_")
    }


def inner_rule(name: str, rule: Rule) -> Rule | None:
    """The rule under the same name that a composite ends in, if it has one."""
    same = [other for other in REGISTRY.values() if other.name == name and other is not rule]
    return same[0] if same and isinstance(rule, Composite) else None


def row(name: str, rule: Rule) -> str:
    inner = inner_rule(name, rule)
    form = rule.form if inner is None else f"{rule.form}, {inner.form}"
    batch = "" if isinstance(rule, (Composite, Constant)) else f"`{rule.batch}`"
    return f"| `{name}` | {form} | {batch if inner is None else f'`{inner.batch}`'} |"


def main() -> None:
    functions = {name: f for prefix in SPACES for name, f in names_in(prefix).items()}
    missing = [name for name, f in functions.items() if f in UNDECLARED]
    print(INTRODUCTION)
    for prefix in SPACES:
        rules = [
            row(name, REGISTRY[function])
            for name, function in names_in(prefix).items()
            if function in REGISTRY
        ]
        if rules:
            print(f"## {prefix}\n\n| function | form | batch |\n|---|---|---|")
            print("\n".join(rules), end="\n\n")
    if missing:
        print(MISSING)
        print(", ".join(f"`{name}`" for name in missing))


if __name__ == "__main__":
    main()
