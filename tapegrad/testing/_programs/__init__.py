"""Random programs, as text: see README.md."""
