"""Models of every kind: TOSA's own files, and those of other formats, which become TOSA as they are read.

`formats.py` is the place to begin: it tells by the content what a file is. `frame` is what all front ends
are made of, `common` what several need, and each format has a folder. They write TOSA through `ops` and may
import that and all below it.
"""

from tosajit.frontends.formats import load, load_bytes, save
from tosajit.frontends.tensorflow.loading import from_tensorflow

__all__ = ["from_tensorflow", "load", "load_bytes", "save"]
