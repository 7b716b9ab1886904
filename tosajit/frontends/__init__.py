"""Models of every kind: TOSA's own files, and those of other formats, which become TOSA as they are read."""

from tosajit.frontends.formats import load, load_bytes

__all__ = ["load", "load_bytes"]
