"""The host as a target: which groups its contraction kernels take, and what they are called with."""
