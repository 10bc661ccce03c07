"""Whole models and algorithms, as people write them; each uses several constructs."""
