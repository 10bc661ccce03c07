"""Casts, shapes, item assignment, in-place methods, values that leave the tensor world."""
