"""The line that raised, also where Python 3.11 names the line before it (rule F1)."""

from __future__ import annotations

import types

import pytest

from d2s.selfcheck.raising import raising_line
from tests.helpers import function_of

WARM = """
def f(a, n):
    for v in range(n):
        y = v
        if a > 0:
            y = y + 1
        if v == 40:
            del a
    return y
"""


def test_a_variable_that_is_unbound_in_a_warm_function() -> None:
    """F1: the line that reads the variable, whatever two instructions were run as one."""
    function = function_of(WARM)
    with pytest.raises(UnboundLocalError) as caught:
        function(3, 50)
    trace = caught.value.__traceback__
    while trace is not None and trace.tb_frame.f_code is not function.__code__:
        trace = trace.tb_next
    assert isinstance(trace, types.TracebackType)
    first = function.__code__.co_firstlineno
    assert raising_line(trace, caught.value) - first == 3
