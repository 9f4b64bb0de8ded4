"""What a backward pass does: passes, nodes that run, saved values, custom functions."""
