"""Programs that fail, and what each converter then tells the user.

A program is one file, ``corpus/failures/programs/<group>/<name>.py``. Its docstring says in one
sentence what goes wrong, and ``main(to_static)`` does what a user's script does: it converts a
function or layer and calls it, as often as it takes. One line ends with ``# <- fails``: that is
the line that an error has to name.

Run in dygraph (``to_static`` then gives back what it is given) a program fails at that line. What
dygraph shows is the measure: the same type, the same message, the same user frames. A program that
dygraph runs through, and that no static program can do, says ``CODE = "D2S..."``: the code of the
error that d2s has to raise, about the marked line.

``python -m corpus.failures`` runs all of them in dygraph, with Paddle's own converter and with
d2s, notes what was shown under ``corpus/results/failures``, and writes ``docs/guide/failures.md``.
``tests/diagnostics`` holds d2s against dygraph, and its whole text against a golden file.
"""
