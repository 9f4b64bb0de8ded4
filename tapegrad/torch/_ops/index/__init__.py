"""Reading and writing by index, positions and masks."""
