"""Backward passes: the pass, the run of a node, saved values, custom functions."""
