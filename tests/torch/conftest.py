"""The answers of PyTorch that tests of the object layer look up, or record."""

from __future__ import annotations

import pytest
import pytorch_answers


def pytest_configure(config):
    if config.getoption("--record-answers"):
        if not pytorch_answers.IS_INSTALLED or config.getoption("numprocesses", None):
            raise pytest.UsageError("answers are recorded with PyTorch, by one process")
        pytorch_answers.Place.recorded = {}
        config.option.markexpr = ""  # of slow tests, too


def pytest_runtest_setup(item):
    pytorch_answers.begin(item)


def pytest_sessionfinish(session):
    options = session.config.option
    if pytorch_answers.Place.recorded is not None:
        some = options.keyword or any("::" in argument for argument in session.config.args)
        pytorch_answers.write(whole=not some)
