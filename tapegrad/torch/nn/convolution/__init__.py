"""`torch.nn`: convolutions, and the sliding blocks that they see."""
