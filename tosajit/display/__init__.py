"""What graphs and executables look like: summaries, tables for terminals and notebooks."""
