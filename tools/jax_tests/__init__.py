"""Drawn cases of JAX's primitives: traced and computed by JAX, lowered and run here without it."""
