"""`torch.nn`: padding."""
