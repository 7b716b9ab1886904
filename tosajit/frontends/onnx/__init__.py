"""ONNX models: `lowering.py` walks the nodes, `operators/` has the declarations, `reader.py` reads files."""
