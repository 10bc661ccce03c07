"""What a program computes of its parameters and constants alone, computed while it is captured.

A file that is saved has its state for good, so all of this is known: no run need ask Python for it,
nor decide.  Paddle Inference fails, too, when it folds an ``if`` whose condition is a constant
(Paddle 3.3.1: "The size 0 of regions must be equal to 2").
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import paddle

from d2s.paddle_bridge.capturing.stacks import unnoted
from d2s.paddle_bridge.names import pir
from d2s.paddle_bridge.values import tensor_of

_RANDOM: Final = (
    "gaussian", "uniform", "rand", "multinomial", "bernoulli", "dropout", "poisson", "exponential",
    "gamma", "binomial", "dirichlet", "seed", "top_p", "nucleus",
)  # fmt: skip
"""Parts of the names of operations that draw random numbers."""

LARGEST: Final = 1 << 16
"""Elements of a parameter that is computed with, where the result is kept."""


def computed(values: list[Any], largest: float = LARGEST) -> list[np.ndarray] | None:
    """What ``values`` are on every run; ``None`` if a run decides one of them.

    Args:
        values: of the program that is being captured.
        largest: elements of a parameter; what has more counts as unknown.
    """
    steps: dict[int, Any] = {}
    leaves: dict[int, tuple[Any, Any]] = {}
    if not all(_known(value, steps, leaves, largest) for value in values):
        return None
    before = pir.get_current_insertion_point()
    copy, mapping = paddle.static.Program(), pir.IrMapping()
    feed: dict[str, Any] = {}
    try:
        with unnoted(), paddle.static.program_guard(copy):
            for number, (value, tensor) in enumerate(leaves.values()):
                name = f"d2s_known_{number}"
                mapping.add(value, paddle.static.data(name, list(tensor.shape), tensor.dtype))
                feed[name] = tensor.get_tensor()
            for operation in steps.values():
                operation.clone(mapping, pir.CloneOptions(False, True, True))
            wanted = [mapping.look_up(value) for value in values]
        found = paddle.static.Executor(paddle.CPUPlace()).run(copy, feed=feed, fetch_list=wanted)
    finally:
        pir.set_insertion_point(before)
    return [np.asarray(each) for each in found]


def _known(
    value: Any, steps: dict[int, Any], leaves: dict[int, tuple[Any, Any]], largest: float
) -> bool:
    """Whether every run has one content of ``value``; adds what computes it, in order."""
    pending = [(value, False)]
    while pending:
        value, ready = pending.pop()
        operation = value.get_defining_op()
        if operation is None:
            return False
        number = operation.id()
        if number in steps or value.id in leaves:
            continue
        if ready:
            steps[number] = operation
            continue
        name = operation.name()
        if name == "builtin.parameter":
            tensor = tensor_of(value)
            writes = any(user.name().endswith("_") for user in value.all_used_ops())
            if tensor is None or writes or tensor.size > largest:
                return False
            leaves[value.id] = value, tensor
        elif _is_alike(operation, name):
            pending.append((value, True))
            pending.extend((each, False) for each in operation.operands_source())
        else:
            return False
    return True


def _is_alike(operation: Any, name: str) -> bool:
    """Whether an operation makes the same of the same, and does nothing else."""
    if operation.num_regions() or name == "pd_op.data":
        return False
    if not name.startswith(("pd_op.", "builtin.")):
        return False
    if name == "pd_op.assign_value_":  # into a buffer that Paddle has just made for it
        return True
    if name.endswith("_") or "print" in name or "py_func" in name or "d2s" in name:
        return False
    return not any(part in name for part in _RANDOM)
