"""Contractions: convolutions and matrix products, in register tiles."""
