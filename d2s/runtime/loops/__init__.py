"""``while``, ``for`` and comprehensions: what a static loop carries, and how it is built."""
