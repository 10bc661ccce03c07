"""How fast converted functions run, beside dygraph, Paddle's own converters and programs by hand.

    python -m benchmarks --json FILE             everything, into tables and one file
    python -m benchmarks --only two-ops --quick  one row, a look
    python -m benchmarks compare OLD NEW         what changed between two files
    python -m benchmarks docs FILE               the tables and plots of docs/performance.md

The protocol is that of ``d2s.bench``, and the peers are its four and two more: ``by-hand`` is a
program of the same meaning that was written with ``paddle.static`` and runs by an Executor, fed
with NumPy arrays; ``floor`` is the same program, run by nothing but ``_C_ops.run_program`` in the
interpreter mode that is fastest for it: what is left of a call when Python does nothing.

``scenarios`` has one file for each family, ``goals`` what is asked of d2s there, ``by_hand`` the
two peers, ``growth`` and ``memory`` what does not fit a table row, ``tables``, ``plots`` and
``page`` how it is shown.  Nothing here asserts a figure.
"""
