"""Views: which tensors of a program share their storage in dygraph."""
