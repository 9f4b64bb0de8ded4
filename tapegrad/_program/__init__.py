"""Programs: what a recorded function does, and how NumPy runs it."""
