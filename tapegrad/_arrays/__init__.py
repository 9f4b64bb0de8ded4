"""Stand-ins for ndarrays in a trace, and how NumPy's protocols reach it."""
