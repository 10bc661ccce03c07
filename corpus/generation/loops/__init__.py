"""A module for each package of the zoo, with a function ``loops()``."""
