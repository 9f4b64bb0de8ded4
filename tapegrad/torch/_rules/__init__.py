"""Functions of arrays, with derivatives, that PyTorch has and NumPy has not. No tensor."""
