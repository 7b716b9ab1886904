"""Models of ONNX, written by hand."""
