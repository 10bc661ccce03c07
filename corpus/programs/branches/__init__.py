"""Decisions: if, ternary, and/or/not, comparisons, match."""
