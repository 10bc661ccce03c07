"""Operations of a program that call Python.

``paddle.static.register_op`` puts a guard around each call, for runs that are not in dygraph mode.
It takes ten times as long as the call itself, and programs of d2s run in dygraph mode, so here an
operation is made without it::

    register_op(host, ...)      guard: a tracer, a place, modes; host(tensors)        90 us
    host_operation(host, ...)   host(tensors)                                         10 us
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle


def host_operation(
    host: Callable[..., Any],
    infer: Callable[..., Any],
    name: str,
    *,
    inputs: int,
    results: int,
) -> Callable[..., Any]:
    """A function that puts an operation into the present program.

    Paddle keeps no reference to ``host`` and ``infer``: the function has to live as long as
    programs with its operations.

    Args:
        host: called with the tensors of a run; gives one, or a tuple of them.
        infer: called with the types of the inputs; gives a ``MetaTensor`` for each result.
        name: of the operation; other functions have others.
        inputs, results: how many there are.
    """
    options = {
        "name": name,
        "input_names": [f"a{index}" for index in range(inputs)],
        "output_names": [f"r{index}" for index in range(results)],
        "attrs": {"infer_meta_fn_ptr": infer, "fn_ptr": host},
        "inplace_map": {},
    }

    def put(*values: Any) -> Any:
        made = paddle._C_ops._run_python_op(*values, **options)
        return made[0] if results == 1 else made

    return put
