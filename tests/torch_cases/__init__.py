"""Programs of PyTorch: records that are written by hand, and modules that `torch` judges."""
