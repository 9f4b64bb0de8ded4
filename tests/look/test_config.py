"""`tapegrad.config`: attributes, blocks, the environment, and what is refused."""

from __future__ import annotations

import asyncio
import threading

import pytest

import tapegrad
from tapegrad import config
from tapegrad._config import SETTINGS, Config


@pytest.fixture(autouse=True)
def as_before():
    before = {name: getattr(config, name) for name in SETTINGS}
    yield
    for name, value in before.items():
        setattr(config, name, value)


def test_the_first_of_the_known_values_is_the_default():
    assert config.tracebacks == "folded"
    assert (
        repr(config)
        == "tapegrad.config("
        + ", ".join(f"{name}={known[0]!r}" for name, known in SETTINGS.items())
        + ")"
    )
    assert set(SETTINGS) <= set(dir(config))


def test_an_assignment_holds_in_all_threads():
    config.tracebacks = "full"
    seen = []
    thread = threading.Thread(target=lambda: seen.append(config.tracebacks))
    thread.start()
    thread.join()
    assert seen == ["full"]


def test_a_block_holds_for_its_thread_and_ends():
    seen = []
    with config(tracebacks="full") as inner:
        assert inner is config
        assert config.tracebacks == "full"
        thread = threading.Thread(target=lambda: seen.append(config.tracebacks))
        thread.start()
        thread.join()
        with config(tracebacks="folded"):
            assert config.tracebacks == "folded"
        with config():
            assert config.tracebacks == "full"
    assert config.tracebacks == "folded"
    assert seen == ["folded"]


def test_an_assignment_in_a_block_ends_with_it():
    def block():
        with config(tracebacks="full"):
            config.tracebacks = "folded"
            assert config.tracebacks == "folded"
            config.tracebacks = "full"
            raise KeyError

    with pytest.raises(KeyError):
        block()
    assert config.tracebacks == "folded"


def test_tasks_have_blocks_of_their_own():
    async def one(value, wait):
        with config(tracebacks=value):
            await asyncio.sleep(wait)
            return config.tracebacks

    async def both():
        return await asyncio.gather(one("full", 0.01), one("folded", 0))

    assert asyncio.run(both()) == ["full", "folded"]


def test_what_is_refused_names_what_is_known():
    for call in (
        lambda: config.nonsense,
        lambda: setattr(config, "nonsense", 1),
        lambda: config(nonsense="full"),
    ):
        with pytest.raises(tapegrad.InputError, match="among tracebacks, progress") as caught:
            call()
        assert isinstance(caught.value, AttributeError)
    for call in (
        lambda: setattr(config, "tracebacks", "long"),
        lambda: config(tracebacks=True),
    ):
        with pytest.raises(tapegrad.InputError, match="'folded' or 'full', got"):
            call()
    assert not hasattr(config, "nonsense")
    assert config.tracebacks == "folded"


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("tracebacks", "full", "full"),
        ("tracebacks", "", "folded"),
        ("progress", " Off", "off"),
        ("progress", "1", "on"),
        ("progress", "auto", "auto"),
    ],
)
def test_the_environment_says_where_a_setting_starts(monkeypatch, name, value, found):
    monkeypatch.setenv(f"TAPEGRAD_{name.upper()}", value)
    assert getattr(Config(), name) == found


@pytest.mark.parametrize("value", ["ful", "1"])
def test_what_the_environment_cannot_say(monkeypatch, value):
    monkeypatch.setenv("TAPEGRAD_TRACEBACKS", value)
    wanted = f"TAPEGRAD_TRACEBACKS: expected tracebacks to be 'folded' or 'full', got '{value}'"
    with pytest.raises(tapegrad.InputError, match=wanted):
        Config()
