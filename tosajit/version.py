"""The version of the package, which pyproject.toml has too."""

VERSION = "0.1.0"
