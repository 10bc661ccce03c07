"""Attributes, buffers, guards on what a program reads, hooks, training."""
