"""Iterators of Python's: what they will give."""
