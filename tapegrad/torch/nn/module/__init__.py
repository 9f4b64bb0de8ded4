"""`torch.nn`: `Module`: its attributes, hooks, calls, state."""
