"""Passes that rewrite statements, one construct per file."""
