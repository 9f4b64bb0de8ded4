"""`torch.nn`: embeddings."""
