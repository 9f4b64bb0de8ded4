"""Tensor: its value and node, its views, and writes into it."""
