"""Iterators of Python's in the state: the items that each run takes."""
