"""Exploration of designs: a space of machines, a strategy, objectives, and what came of them."""
