"""Docstrings of the object layer: what signatures and tables tell is not written twice."""
