"""Operations that move, cut and join elements."""
