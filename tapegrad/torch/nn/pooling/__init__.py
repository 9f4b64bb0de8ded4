"""`torch.nn`: poolings over windows."""
