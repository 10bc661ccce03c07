"""One construct per file.

A pass is a pure function from tree to tree; passes share ``base`` and nothing else, and never
import each other or ``runtime``.
"""
