"""TensorFlow's graphs: frozen GraphDefs, which are read here, and what TensorFlow turns into such."""
