"""The programs, one case a file; ``corpus/__init__.py`` describes the format."""
