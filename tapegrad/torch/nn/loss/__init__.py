"""`torch.nn`: losses."""
