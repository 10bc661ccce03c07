"""The line that raised an exception in dygraph, where Python itself names another.

Python 3.11 runs two instructions that follow each other as one once a function is warm.  When the
second finds its variable unbound, the traceback names the line of the first::

    y = v * 2          # the traceback ends here
    if a.sum() > 0:    # UnboundLocalError: cannot access local variable 'a' ...
"""

from __future__ import annotations

import dis
import sys
import types
from typing import Final

_MERGES: Final = sys.version_info[:2] == (3, 11)


def raising_line(trace: types.TracebackType, error: BaseException) -> int:
    """The line at which the frame of ``trace`` was left by ``error``.

    >>> def f(x):
    ...     return x / 0
    >>> try:
    ...     f(1)
    ... except ZeroDivisionError as error:
    ...     raising_line(error.__traceback__.tb_next, error)
    2
    """
    if _MERGES and isinstance(error, UnboundLocalError) and trace.tb_next is None:
        code = trace.tb_frame.f_code
        steps = [step for step in dis.get_instructions(code) if step.offset >= trace.tb_lasti][:2]
        for step in steps:
            if step.opname == "LOAD_FAST" and f"'{step.argval}'" in str(error):
                found = step.positions.lineno if step.positions is not None else None
                return found or trace.tb_lineno
    return trace.tb_lineno
