"""What functions that are not one program cost, and whether they are right: measured.

``suites`` has the programs of every suite with the comparison of each; ``measure`` watches the
converted functions of a program while it runs; ``record`` keeps what was found, and writes the
table of ``docs/guide/islands.md``.  ``python -m corpus.islands`` does all of it.
"""
