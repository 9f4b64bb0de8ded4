"""The engine: values, entries, the tape, the replays, rules and their forms, limits."""
