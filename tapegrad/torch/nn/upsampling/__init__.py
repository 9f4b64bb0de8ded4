"""`torch.nn`: changes of resolution."""
