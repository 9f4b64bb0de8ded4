"""Tensor as a Python object: conversions, printing, memory, protocols."""
