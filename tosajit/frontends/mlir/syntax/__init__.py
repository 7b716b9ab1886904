"""From a text to frozen records; begin with `parser.py`. It knows no TOSA, and imports errors alone."""
