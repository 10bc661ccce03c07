"""What a value of a program may be, and how it is taken apart: trees, tensors, choices."""
