"""Writes the table of covered functions: `python docs/coverage.py > docs/coverage.md`.

A tick is the outcome of a check, run while this program does: the function's line in
tests/shared/samples draws arguments, at which derivatives are compared with differences.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "shared"))

from samples import SAMPLES
from sampling import Sample

from tapegrad._arrays.creation import CREATION
from tapegrad._core.forms import UNSUPPORTED_MODULES, Composite, Constant, Unsupported
from tapegrad._core.rule import REGISTRY, Rule
from tapegrad.testing._grads import MODES, derivatives
from tapegrad.testing._laws.first_order import Exactness, check_first_order
from tapegrad.testing._rules import Call

DOCS = Path(__file__).parent
SPACES = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft, "np.emath": np.emath}
DRAWS = settings(
    max_examples=6,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
WIDE = Exactness(wide=True)

# Arguments of creation functions, made of a traced vector.
CONTENTS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "array": lambda x: ([x, [1.0, 2.0]],),
    "asarray": lambda x: ([x[0], 1.0],),
    "asanyarray": lambda x: ((x, x),),
    "ascontiguousarray": lambda x: ([x[0], 1.0],),
    "asfortranarray": lambda x: ([x, x],),
    "full": lambda x: ((3, 2), x),
    "fromiter": lambda x: ([x[1], x[0]], float),
    "fromfunction": lambda x: (lambda i: i * x, (2,)),
    "require": lambda x: ([x, x],),
}

INTRODUCTION = """\
# Coverage

<!-- Written by docs/coverage.py: change that, not this. -->

Every function that NumPy lets a library override. What the forms mean, and the words under
"batch", says [Writing a rule](writing-a-rule.md). A *composite* is called as other functions of
this table, and batches as they do; where a second rule does its work, that one's form stands
beside it. A *constant* has the derivative zero and returns plain arrays.

- ✓: derivatives were compared with differences when this page was written, at arguments drawn from
  the function's line in `tests/shared/samples/`.
- 0: the derivative is zero, which was compared too.
- ✗: the check failed.
- –: there is no derivative; calling the function on traced values raises `NotDifferentiableError`
  with the reason given.
- *untested*: no sample draws this function.
- *kinks*: has a line in [Kinks and ties](kinks.md).

Indexing and `x.astype` need no rule of NumPy's, and work likewise.
"""


class Ticks(NamedTuple):
    """Entries under vjp, jvp, second order."""

    vjp: str
    jvp: str
    second: str


ZERO, NONE, UNTESTED = Ticks("0", "0", "0"), Ticks("–", "–", "–"), Ticks("*untested*", "", "")


# --- Checks -------------------------------------------------------------------------------------


def ticks_of(function: Any, samples: dict[Any, Sample] = SAMPLES) -> Ticks:
    """Findings of a check of a function's derivatives, at a few arguments."""
    rule = REGISTRY.get(function)
    if isinstance(rule, Unsupported):
        return NONE
    if function not in samples:
        return ZERO if isinstance(rule, Constant) else UNTESTED
    calls = drawn_calls(samples[function])
    if not calls:
        return ZERO if isinstance(rule, Constant) else UNTESTED
    found = Ticks(*(tick(check, calls) for check in (reverse, forward, second)))
    return ZERO if isinstance(rule, Constant) and set(found) == {"✓"} else found


def ticks_of_creation(function: Any) -> Ticks:
    """Those that take values carry derivatives; the others make constants to write into."""
    content = CONTENTS.get(function.__name__)
    if content is None:
        return ZERO
    calls = [Call(lambda x: function(*content(x), like=x), (np.array([0.7, -0.4]),), {})]
    return Ticks(*(tick(check, calls) for check in (reverse, forward, second)))


def drawn_calls(sample: Sample) -> list[Call]:
    """A few calls of a sample that have elements to differentiate."""
    calls: list[Call] = []

    @DRAWS
    @given(data=st.data())
    def draw(data: Any) -> None:
        args, params = sample.draw(data)
        call = Call(sample.call, args, params)
        if any(call.everything[i].size for i in call.positions):
            calls.append(call)

    draw()
    return calls


def tick(check: Callable[[Call], None], calls: list[Call]) -> str:
    try:
        for call in calls:
            check(call)
    except Exception:  # whatever it is, the tests say it in full
        return "✗"
    return "✓"


def reverse(call: Call) -> None:
    check_first_order(call.subject("vjp"), ("rev",), WIDE, np.random.default_rng(0))


def forward(call: Call) -> None:
    check_first_order(call.subject("jvp"), ("fwd",), WIDE, np.random.default_rng(0))


def second(call: Call) -> None:
    """Both modes over both modes, of the squared results: a linear function has a second too."""
    subject = call.subject("second order")
    squared = subject._replace(function=lambda *xs: tuple(y * y for y in subject.function(*xs)))
    for derived in derivatives(squared, MODES, np.random.default_rng(0)):
        check_first_order(derived, MODES, WIDE, np.random.default_rng(0))


# --- The page -----------------------------------------------------------------------------------


def functions_in(prefix: str) -> Iterator[tuple[str, Any]]:
    """The functions of one namespace by the names under which people call them."""
    space = SPACES[prefix]
    for name in sorted(dir(space)):
        function = getattr(space, name)
        if callable(function) and not isinstance(function, type) and not name.startswith("_"):
            yield f"{prefix}.{name}", function


def inner_rule(name: str, rule: Rule) -> Rule | None:
    """The rule under the same name that a composite ends in, if it has one."""
    same = [other for other in REGISTRY.values() if other.name == name and other is not rule]
    return same[0] if same and isinstance(rule, Composite) else None


def batch_of(rule: Rule) -> str:
    if isinstance(rule, (Composite, Constant, Unsupported)):
        return ""
    return f"`{rule.batch}`" if isinstance(rule.batch, str) else "its own"


def names_with_kinks() -> set[str]:
    """The functions that the table of kinks names, without their modules."""
    rows = (DOCS / "kinks.md").read_text(encoding="utf-8").splitlines()
    named = " ".join(row.split("|")[1] for row in rows if row.startswith("| `"))
    return {last_part(name) for name in re.findall(r"`([a-z_0-9.]+)", named)}


def last_part(name: str) -> str:
    return name.rpartition(".")[2]


def notes_on(name: str, rule: Rule, kinks: set[str]) -> str:
    notes = [rule.reason] if isinstance(rule, Unsupported) else []
    if {last_part(name), last_part(rule.name)} & kinks:
        notes.append("*kinks*")
    return "; ".join(notes)


def rows_of(prefix: str, known: dict[Any, Ticks], kinks: set[str]) -> Iterator[str]:
    for name, function in functions_in(prefix):
        if function in CREATION:
            ticks = " | ".join(ticks_of_creation(function))
            yield f"| `{name}` | creation | {ticks} |  | `like=x`, or `tapegrad.numpy` |"
        elif function in REGISTRY:
            rule = REGISTRY[function]
            inner = inner_rule(rule.name, rule)
            form = rule.form if inner is None else f"{rule.form}, {inner.form}"
            if function not in known:
                known[function] = ticks_of(function)
            ticks = " | ".join(known[function])
            batch = batch_of(inner or rule)
            yield f"| `{name}` | {form} | {ticks} | {batch} | {notes_on(name, rule, kinks)} |"


def page() -> str:
    known: dict[Any, Ticks] = {}
    kinks = names_with_kinks()
    parts = [INTRODUCTION]
    for prefix in SPACES:
        rows = list(rows_of(prefix, known, kinks))
        if rows:
            head = "| function | form | vjp | jvp | second order | batch | notes |"
            parts += [f"## {prefix}\n", head, "|---|---|---|---|---|---|---|", *rows, ""]
    parts.append("## Other modules\n")
    parts += [f"- `{name}`: {reason}." for name, reason in sorted(UNSUPPORTED_MODULES.items())]
    return "\n".join(parts)


def main() -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        print(page())


if __name__ == "__main__":
    main()
