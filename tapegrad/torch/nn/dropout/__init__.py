"""`torch.nn`: dropouts."""
