"""Built-in functions and the module ``math`` on what the run decides."""
