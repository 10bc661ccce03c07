"""Functions of ``paddle.distributed`` in which processes meet.

In a program they are host operators that call Paddle's own: in the order of the program, and a
process that runs a program meets one that runs in dygraph.  What they write into a tensor is
written behind the back of gradients, as in dygraph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import paddle
import paddle.distributed as dist

from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing import inplace
from d2s.runtime.calls.applying import applied
from d2s.runtime.calls.host_functions import HostFunction
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.tensors import as_value

Operator = Callable[..., Any]

_WRITE: Final = ("all_reduce", "broadcast", "recv", "reduce", "scatter")
"""They write into their first argument."""

_SEND: Final = ("barrier", "send")
"""They write into none."""

_REFUSED: Final = (
    *("all_gather_object", "alltoall", "alltoall_single", "batch_isend_irecv"),
    *("broadcast_object_list", "gather", "irecv", "isend", "new_group", "recv_object_list"),
    *("reduce_scatter", "scatter_object_list", "send_object_list", "wait"),
    *("dtensor_from_fn", "reshard", "shard_layer", "shard_tensor", "unshard_dtensor"),
)


class Done:
    """The task that such a call gives: it has come to its end when the next line runs."""

    def wait(self, timeout: object = None) -> bool:
        """Nothing is to be waited for."""
        return True

    def is_completed(self) -> bool:
        """It has ended."""
        return True


def _write(original: Operator, /, *arguments: object, **options: object) -> Any:
    if current() is None:
        return original(*arguments, **options)

    @functools.wraps(original)
    def run(tensor: object, *others: object, **named: object) -> Any:
        original(tensor, *others, **named)
        return tensor

    def written(tensor: object, *others: object, **named: object) -> Done:
        given = as_value(tensor).detach()
        described = paddle.static.InputSpec(list(given.shape), given.dtype)
        (fresh,) = HostFunction(run, described).called((given, *others), named)
        inplace.method(tensor, "copy_")(fresh)
        return Done()

    return applied(written, list(arguments), options)


def _send(original: Operator, /, *arguments: object, **options: object) -> Any:
    if current() is None:
        return original(*arguments, **options)

    @functools.wraps(original)
    def run(*given: object, **named: object) -> None:
        original(*given, **named)

    def sent(*given: object, **named: object) -> Done:
        HostFunction(run).called(given, named)
        return Done()

    return applied(sent, list(arguments), options)


def _all_gather(
    call: Callable[[Any], Any],
    original: Operator,
    tensors: object,
    tensor: object,
    group: Any = None,
    *others: object,
    **options: object,
) -> Any:
    if current() is None:
        return original(tensors, tensor, group, *others, **options)
    if type(tensors) is not list or tensors:
        raise _refusal("all_gather() fills tensors that there are", "give it an empty list")

    @functools.wraps(original)
    def run(given: object) -> list[Any]:
        found: list[Any] = []
        original(found, given, group, *others, **options)
        return found

    given = as_value(tensor).detach()
    described = paddle.static.InputSpec(list(given.shape), given.dtype)
    count = dist.get_world_size(group)
    call(tensors.extend)(HostFunction(run, [described] * count).called((given,), {}))
    return Done()


def _refused(original: Operator, /, *arguments: object, **options: object) -> Any:
    if current() is None:
        return original(*arguments, **options)
    raise _refusal(
        f"paddle.distributed.{original.__name__}() is called while the program is captured",
        "call it outside of the converted function",
    )


def _refusal(cause: str, cure: str) -> Exception:
    return error_here(UnsupportedInGraphError, cause, cure)


def operators(call: Callable[[Any], Any]) -> dict[Any, Operator]:
    """What stands for these functions.

    Args:
        call: gives what to call in place of a method of the user's list.
    """
    made: dict[Any, Operator] = {}
    kinds = ((_WRITE, _write), (_SEND, _send), (_REFUSED, _refused))
    for module in (dist, dist.stream):
        for names, operator in kinds:
            found = (getattr(module, name) for name in names if hasattr(module, name))
            made |= {each: partial(operator, each) for each in found}
        made[module.all_gather] = partial(_all_gather, call, module.all_gather)
    return made
