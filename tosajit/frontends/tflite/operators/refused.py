"""What has no form in TOSA, with the reason and what could be done instead."""

from __future__ import annotations

from tosajit.frontends.tflite.operators import refuse

refuse(
    "HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE",
    "a TOSA graph has tensors, and no tables that are searched by keys",
    "look keys up before the model is run, and give it the numbers",
)
refuse(
    "LSH_PROJECTION SKIP_GRAM",
    "it works on strings and hashes, which TOSA has no types for",
    "compute features of text before the model is run",
)
refuse(
    "RANDOM_UNIFORM RANDOM_STANDARD_NORMAL MULTINOMIAL STABLEHLO_RNG_BIT_GENERATOR",
    "its numbers are random, and a TOSA graph gives the same for the same inputs",
    "make the random numbers an input of the model",
)
refuse(
    "DELEGATE",
    "it stands for what a runtime has handed to another one, and belongs in no file",
    "take the file that the converter has written",
)
refuse("CONCAT_EMBEDDINGS", "no revision of TFLite has ever defined it")
refuse(
    "STABLEHLO_CUSTOM_CALL",
    "it runs a function that only the program knows that wrote the file",
    "convert the model without that function",
)

_CONVERT = "convert the model with a newer TensorFlow or ai-edge-torch, which write TFLite's own operators"

refuse(
    """
    STABLEHLO_LOGISTIC STABLEHLO_DIVIDE STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE
    STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE STABLEHLO_REDUCE STABLEHLO_ABS
    STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_NEGATE
    STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT
    STABLEHLO_TANH STABLEHLO_COMPARE STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE
    STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_IOTA STABLEHLO_DOT_GENERAL STABLEHLO_SORT
    STABLEHLO_TRANSPOSE STABLEHLO_CBRT
    """,
    "LiteRT has no kernel for it: files have it only between two steps of a converter",
    _CONVERT,
)
