"""How many operations run, inside of programs and outside, as Paddle itself counts them."""

from __future__ import annotations

from typing import Final

import paddle

from d2s.paddle_bridge.names import core

_FLAG: Final = "FLAGS_low_precision_op_list"
_OF_PROGRAMS: Final = "pd_op."


class Counting:
    """Counts the operations that run in this process, each as often as it does.

    Attributes:
        inside, outside: those of programs, and those of dygraph; known when it is left.
    """

    def __init__(self) -> None:
        self.inside = self.outside = 0
        self._before: object = None

    def __enter__(self) -> Counting:
        self._before = paddle.get_flags([_FLAG])[_FLAG]
        core.clear_low_precision_op_list()
        paddle.set_flags({_FLAG: 2})
        return self

    def __exit__(self, *error: object) -> None:
        paddle.set_flags({_FLAG: self._before})
        for name, kinds in core.get_low_precision_op_list().items():
            times = sum(int(number) for number in kinds.split(",")[:4])
            if name.startswith(_OF_PROGRAMS):
                self.inside += times
            else:
                self.outside += times
        core.clear_low_precision_op_list()
