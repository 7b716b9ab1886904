"""Machines: what they are made of, from and to files, and those that are known by name."""
