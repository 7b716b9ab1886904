"""What the quantiser is compared with."""
