"""What stands for an ndarray in a trace, and how NumPy's protocols reach it."""
