"""Models of JAX and Flax, which are made where there is JAX."""
