"""Primitives of JAX that have no form in TOSA, each with its reason."""

from __future__ import annotations

from tosajit.frontends.jax.operators import refuse

refuse(
    "random_bits random_clone random_fold_in random_gamma random_seed random_split random_unwrap random_wrap "
    "threefry2x32 rng_bit_generator rng_uniform iota_2x32_shape",
    "it draws random numbers, which TOSA has not",
    "take them as an argument, or let the function be one for inference (deterministic=True)",
)
refuse(
    "pure_callback io_callback debug_callback debug_print ffi_call call_exported",
    "it calls what is no jaxpr",
    "leave it out, or do that outside of the function",
)
refuse("fft", "it has complex numbers, which TOSA has not", "take the transform outside of the function")
refuse(
    "complex real imag conj", "it has complex numbers, which TOSA has not", "take both parts as real numbers"
)
refuse(
    "cholesky cholesky_update eig eigh lu lu_pivots_to_permutation qr geqrf geqp3 householder_product svd "
    "schur hessenberg tridiagonal tridiagonal_solve triangular_solve custom_linear_solve symmetric_product "
    "ormqr",
    "it decomposes matrices, which TOSA has not",
    "compute it outside of the function",
)
refuse(
    "psum pmax pmin all_gather all_to_all ppermute reduce_scatter axis_index psum_invariant shard_map",
    "it speaks with other devices, and a graph has one",
    "trace the function of one device",
)
refuse(
    "get swap addupdate ref_get new_ref empty_ref free_ref freeze run_state",
    "it reads and writes memory of its own",
    "write it without references (jax.new_ref)",
)
refuse(
    "custom_call pallas_call", "it is a kernel of its own, whose meaning is not known", "use operators of JAX"
)
refuse(
    "igamma igammac igamma_grad_a polygamma zeta regularized_incomplete_beta random_gamma_grad",
    "it is a series whose length depends on its elements",
    "compute it outside of the function",
)
refuse("nextafter", "TOSA cannot count the bits of numbers up or down")
