"""`torch.nn`: activations."""
