"""Programs as machine code."""
