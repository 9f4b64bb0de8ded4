"""One function under several libraries: values, gradients, errors, times."""
