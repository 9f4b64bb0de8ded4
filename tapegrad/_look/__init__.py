"""Records of a program under a transform: the tape's rows, times, bytes, lines, and NaNs."""
