"""What the units of a machine take for a tile."""
