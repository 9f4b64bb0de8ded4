"""`torch.nn`: normalizations."""
