"""Reports of tests from a worker of pytest-xdist: those that tell something, and no others.

A test is three reports, of its setup, of itself and of its teardown, and a worker sends each at
once. Nearly all setups and teardowns pass, in no time and without output. Of thirty thousand tests
that were twelve seconds of the processors.
"""

from __future__ import annotations

from _pytest.runner import runtestprotocol

BRIEF = 0.005  # seconds, below which `--durations` shows none


def pytest_runtest_protocol(item, nextitem):
    """As pytest's, but for what is reported, and when: after the teardown."""
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        is_brief = report.passed and report.duration < BRIEF and not report.sections
        if report.when == "call" or not is_brief:
            hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
