"""The fast half: it repeats the definition quickly on NumPy's own arrays, and defines nothing."""

from tapegrad._core.fast import backward, elementwise, forward, forward_tape, tape
from tapegrad._core.fast.paths import PATHS, off

__all__ = ["PATHS", "backward", "elementwise", "forward", "forward_tape", "off", "tape"]
