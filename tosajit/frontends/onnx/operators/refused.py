"""Operators of ONNX that have no form in TOSA, each with its reason."""

from __future__ import annotations

from tosajit.frontends.onnx.operators import refuse

refuse(
    "RandomNormal RandomNormalLike RandomUniform RandomUniformLike Multinomial Bernoulli",
    "it draws random numbers, which TOSA has not",
    "give them as an input of the model",
)
refuse(
    "StringConcat StringSplit StringNormalizer RegexFullMatch TfIdfVectorizer",
    "it works on texts, and TOSA has tensors of numbers alone",
    "do that before the model",
)
refuse(
    "SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap "
    "SplitToSequence ConcatFromSequence",
    "it works on sequences of tensors, whose number and shapes TOSA could not know",
    "use one tensor",
)
refuse(
    "Optional OptionalGetElement OptionalHasElement",
    "it works on values that may not be there, which TOSA has not",
)
refuse("ImageDecoder", "it reads compressed images", "decode them before the model")
refuse("Gradient Momentum Adagrad Adam", "it is for training", "export the model for inference")
refuse("BitCast", "TOSA cannot read the bits of numbers as those of others", "cast the numbers")
