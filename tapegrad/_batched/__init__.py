"""Stand-ins for ndarrays inside a vmap, and how each function batches."""
