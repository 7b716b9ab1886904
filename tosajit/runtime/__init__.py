"""Running graphs: segments of compiled programs, control flow between them, variables, executables."""
