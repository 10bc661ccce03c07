"""Passes that rewrite expressions, one construct per file."""
