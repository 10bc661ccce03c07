"""The constants of a program that is only run: made once, not on each run.

Capture makes an operation of each number in the user's code, also of those that another operation
takes like an argument.  It costs as much as a small operation::

    c = full(2.0)                                c = parameter("d2s/constant/0")
    y = scale(x, c)                      ->      y = scale(x, c)

The parameter is in a scope around each one that the program runs in.  Where something might write
into a constant, view it or hand it out, it stays; so do large ones, and all where there is a GPU,
whose operations take some arguments from the memory of the CPU.
"""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np
import paddle

from d2s.paddle_bridge.capturing.stacks import unnoted
from d2s.paddle_bridge.names import core, new_parameter, register_parameter
from d2s.paddle_bridge.preparing.inference_passes import EXACT, only_looks
from d2s.paddle_bridge.walks import CONSTANTS

LARGEST: Final = 1 << 12
"""Elements of a constant that is kept."""

_DTYPES: Final = {
    getattr(paddle, name): name for name in ("float32", "float64", "int32", "int64", "bool")
}


class Constants:
    """Those of one program."""

    def __init__(self) -> None:
        self._arrays: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._arrays)

    def take(self, program: Any) -> None:
        """Take them out of a program that is about to be built; changes it."""
        if paddle.device.get_device() != "cpu":
            return
        found: dict[str, list[Any]] = {}
        names: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        for operation in program.global_block().ops:
            array = _array(operation)
            if array is not None:
                key = (array.dtype.str, array.shape, array.tobytes())
                name = names.setdefault(key, f"d2s/constant/{len(names)}")
                self._arrays.setdefault(name, array)
                found.setdefault(name, []).append(operation)
        if not found:
            return
        first = paddle.static.Program()
        with unnoted(), paddle.static.program_guard(first):
            for name, (operation, *_) in found.items():
                value, place = operation.result(0), paddle.CPUPlace()
                zeros = paddle._C_ops.full(value.shape, 0.0, value.dtype, place)
                register_parameter(zeros, name)
        program.set_parameters_from(first)
        with unnoted(), paddle.static.program_guard(program):
            for name, equal in found.items():
                paddle.pir.set_insertion_point(equal[0])
                kept = new_parameter(name)
                kept.persistable = True  # so that no pass lets an operation write into it
                kept.stop_gradient = True
                for operation in equal:
                    operation.result(0).replace_all_uses_with(kept)
                    program.global_block().remove_op(operation)

    def scopes(self) -> tuple[Any, Any]:
        """A scope that has them, to be kept, and one in it that a run may fill."""
        around = core.Scope()
        for name, array in self._arrays.items():
            around.var(name).get_tensor().set(array, paddle.CPUPlace())
        return around, around.new_scope()


def _array(operation: Any) -> Any:
    """The value of a constant that can be kept; ``None`` of anything else."""
    if operation.name() not in CONSTANTS:
        return None
    result = operation.result(0)
    shape = result.shape
    if result.dtype not in _DTYPES or not 0 < prod(shape) <= LARGEST:
        return None
    value = operation.attrs()["value"]
    if "int" in _DTYPES[result.dtype] and np.max(np.abs(value)) >= EXACT:
        return None
    if not all(only_looks(operation, user) for user in result.all_used_ops()):
        return None
    made = np.empty(shape, _DTYPES[result.dtype])
    made[...] = value
    return made
