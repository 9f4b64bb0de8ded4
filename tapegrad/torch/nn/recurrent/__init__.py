"""`torch.nn`: recurrent networks, and sequences of several lengths."""
