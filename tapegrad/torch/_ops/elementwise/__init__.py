"""Operations of each element: arithmetic, functions, comparisons, activations."""
