"""Settings of the tests of machine code."""

from still_clock import no_time_passes  # noqa: F401, a fixture of all tests here
