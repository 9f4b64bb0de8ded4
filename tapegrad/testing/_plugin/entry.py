"""The hooks of the pytest plugin that are always there: options, the marker, the fixtures.

PYTEST_DONT_REWRITE (pytest's word: the module has no assertions). Every run of pytest in an
environment that has tapegrad imports this file, as `_tapegrad_pytest`: it must import nothing but
pytest. What an option, a marker or a fixture does is in `tapegrad.testing._plugin`, which is
imported when one of them is used.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest

MARKER = (
    "tapegrad(compiled=False, vmap=False, debug_nans=False): run the test again with its "
    "derivatives computed by compiled programs, or within a vmap of one example; raise at the "
    "operation that makes a NaN or an infinity."
)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    _leave_assertions(pluginmanager)
    group = parser.getgroup("tapegrad", "derivatives (tapegrad)")
    group.addoption(
        "--tapegrad-laws",
        metavar="NAME,...",
        help="the laws that the fixture check_laws holds functions to, and check_grads as well: "
        "names of tapegrad.testing.laws, or all",
    )
    group.addoption(
        "--tapegrad-seed",
        metavar="N",
        default="0",
        help="the seed of the directions of check_laws: a number (default 0), or random",
    )
    group.addoption(
        "--tapegrad-debug-nans",
        action="store_true",
        help="run each test within tapegrad.debug_nans()",
    )
    group.addoption(
        "--tapegrad-rule-coverage",
        metavar="FILE",
        nargs="?",
        const="-",
        help="report which rules of derivatives, and which lines and branches of them, the tests "
        "have run: in the terminal, or in FILE (.json, .html or text)",
    )
    group.addoption(
        "--tapegrad-rule-coverage-of",
        metavar="MODULE,...",
        help="the modules whose rules are reported (default: all)",
    )


def _leave_assertions(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let tapegrad be imported as it is.

    pytest rewrites the assertions of every package of a distribution that has a plugin. Ours are
    no test's: rewritten they are slower, and so is the first import. pytest has no public way to
    take a name back; what an author registers (`pytest.register_assert_rewrite`) stays.
    """
    hook = getattr(pluginmanager, "rewrite_hook", None)
    names, known = (
        getattr(hook, name, None) for name in ("_must_rewrite", "_marked_for_rewrite_cache")
    )
    if isinstance(names, set) and isinstance(known, dict):
        names.discard("tapegrad")
        known.clear()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    option = config.option
    if (
        option.tapegrad_laws is not None
        or option.tapegrad_seed != "0"
        or option.tapegrad_debug_nans
    ):
        _session(config)
    if option.tapegrad_rule_coverage is not None:
        from tapegrad.testing._plugin.coverage import begin

        begin(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.definition.get_closest_marker("tapegrad") is not None:
        _session(metafunc.config).generate(metafunc)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("tapegrad") is not None:
        _session(item.config).set_up(item)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.excinfo is not None and "tapegrad.testing" in sys.modules:
        _session(item.config).fold(call.excinfo)


def _session(config: pytest.Config) -> Any:
    """Session of the options, which carries them out; made when it is first asked for."""
    from tapegrad.testing._plugin.session import session_of

    return session_of(config)


@pytest.fixture
def check_grads(request: pytest.FixtureRequest) -> Any:
    """`tapegrad.testing.check_grads`; with --tapegrad-laws=... those laws are checked as well."""
    return _session(request.config).check_grads(request.node)


@pytest.fixture
def check_laws(request: pytest.FixtureRequest) -> Any:
    """`tapegrad.testing.check`, of the laws and the seed that the options say (all, and 0)."""
    return _session(request.config).check_laws(request.node)
