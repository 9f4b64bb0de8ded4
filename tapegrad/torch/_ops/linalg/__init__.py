"""Products of vectors and matrices, and affine maps."""
