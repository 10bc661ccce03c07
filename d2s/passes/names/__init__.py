"""Passes about names: annotations, declarations, private names, unbound variables, probes."""
