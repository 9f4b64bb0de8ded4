"""`torch.nn`: attention and transformers."""
