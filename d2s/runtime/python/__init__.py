"""Python's protocols on tensors: casts, comparison, items, types, text, arrays of NumPy."""
