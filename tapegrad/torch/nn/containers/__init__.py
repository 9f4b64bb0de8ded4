"""`torch.nn`: modules and parameters that hold others."""
