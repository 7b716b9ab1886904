"""TFLite models: a reader of our own for its flatbuffers, and a lowering for each operator."""
