"""What stands for an ndarray inside a vmap, and how each function batches."""
