"""Programs recorded from calls, and run in their place: see README.md."""
