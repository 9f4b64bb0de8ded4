"""What a program did under a transform: the tape's rows, times, bytes, lines, and NaNs."""
