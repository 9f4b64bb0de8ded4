"""Which rules, and which lines and branches of them, a session has exercised."""
