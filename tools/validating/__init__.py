"""Validation of the simulator against published figures; `tools/validate.py` is the command."""
