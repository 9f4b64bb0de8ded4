"""Which operation of a program has a wrong derivative: see the README of this package."""

from tapegrad.testing._blame.culprit import Blame
from tapegrad.testing._blame.search import blame

__all__ = ["Blame", "blame"]
