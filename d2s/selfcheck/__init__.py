"""The self-check: one call in dygraph and as a program, compared in all that can be seen."""
