"""Errors and places in the user's terms: locations, tracebacks, source map, catalogue."""
