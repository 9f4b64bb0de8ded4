"""The operations of torch and the methods of Tensor, by family."""
