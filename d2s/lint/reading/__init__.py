"""Reads the functions of a file as the capture would run them, and asks the rules meanwhile.

``follow`` reads statements, ``expressions`` and ``calls`` what is in them; all of them, and the
rules, speak of where the reading stands through ``reader``.
"""
