"""Parts of lowerings that several front ends need, written once."""
