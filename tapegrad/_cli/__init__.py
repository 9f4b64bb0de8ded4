"""The subcommands of `python -m tapegrad`, one module each, and what they share.

Uses the public API like any program would. Nothing outside the command line imports it.
"""
