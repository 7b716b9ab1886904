"""GraphDefs that tests write, without TensorFlow, and what their operators compute, with NumPy."""
