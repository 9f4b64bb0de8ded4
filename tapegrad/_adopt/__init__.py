"""Packages, functions and scripts in which `numpy`, `math` and `scipy` mean tapegrad's."""
