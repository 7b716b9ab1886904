"""Arm's tests of frameworks' operators: TensorFlow and TFLite, each with what its own runtime computes."""
