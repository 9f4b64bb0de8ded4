"""Operations along dimensions: sums, extrema, statistics, norms, sorting."""
