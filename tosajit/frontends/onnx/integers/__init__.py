"""Operators of quantised ONNX models on integers, where these are known: `forms.py` has one for each."""

from tosajit.frontends.onnx.integers.forms import on_integers

__all__ = ["on_integers"]
