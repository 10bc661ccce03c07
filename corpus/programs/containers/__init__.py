"""Lists, dicts, tuples and objects in branches and loops; comprehensions."""
