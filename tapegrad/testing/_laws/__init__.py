"""Laws that a function and its derivatives keep, and how derivatives are measured."""
