"""`torch.nn`: linear layers and changes of shape."""
