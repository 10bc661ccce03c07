"""One file for each package; each has a ``PACKAGE``."""
