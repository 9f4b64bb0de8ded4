"""Records of a program under a transform: the tape's rows, times, bytes, lines, and NaNs.

Importing this package lets an error in a replay name the line of its forward call.
"""

from tapegrad._look import explanations

__all__ = ["explanations"]
