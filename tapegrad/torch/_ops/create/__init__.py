"""Operations that make tensors: from data, filled, in ranges, at random."""
