"""How arguments of functions are drawn: see README.md. `testing.strategies` has the names."""
