"""What Tensor offers as a Python object: conversions, printing, memory, protocols."""
