"""Operators of quantised programs on integers, where these are known: `forms.py` has one for each."""

from tosajit.frontends.torch.integers.forms import on_integers

__all__ = ["on_integers"]
