"""The simulator that follows every command of a program."""

from sim.events.simulate import Simulator, simulate, simulate_all

__all__ = ["Simulator", "simulate", "simulate_all"]
