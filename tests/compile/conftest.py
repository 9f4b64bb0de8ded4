"""Settings of the tests of compiled functions."""

from still_clock import no_time_passes  # noqa: F401, a fixture of all tests here
