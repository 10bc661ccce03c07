"""Decoding loops that other people published: in dygraph, as one program, saved, and by default.

``python -m corpus.generation`` runs them; ``loops`` has a module for each package of the zoo.
"""
