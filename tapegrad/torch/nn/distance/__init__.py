"""`torch.nn`: distances."""
