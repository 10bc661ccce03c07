"""Sizes: tensors of which the run decides whether they have elements, and how many dimensions."""
