"""JAX: functions by their jaxprs. JAX itself is imported by `reader.py` and `loading.py` alone, when used."""
