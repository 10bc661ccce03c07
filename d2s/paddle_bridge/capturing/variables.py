"""The names by which a program knows its inputs and the tensors that it reads.

A running program finds its variables by name, and Paddle calls what it reads as the tensor is
called: two results of other programs are both ``output_0``, like a result of this one.  So every
name is made one of its own::

    data("output_1"), parameter("output_0"), parameter("output_0")
    ->    data("output_1_0"), parameter("d2s_state"), parameter("d2s_state_1")

Names of parameters stay, as long as they are clear: optimizers and saved files go by them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import paddle

from d2s.paddle_bridge.names import framework

_PADDLES: Final = re.compile(r"(output|grad_input|grad_output)_\d+")
"""What Paddle calls the results of a program, and their gradients."""

_COUNTED: Final = re.compile(r"(generated_tensor|eager_tmp)_\d+")
"""What Paddle calls tensors in dygraph: the numbers begin again whenever a capture is left."""


def tell_apart(program: Any, tensors: list[Any], values: list[Any], *, export: bool) -> None:
    """Give every input of a captured program, and all that it reads, a name of its own.

    Args:
        program: the program.
        tensors: what it reads of dygraph.
        values: what stands for each of them.
        export: it is saved, and the tensors with it, under their names: a tensor whose name is
            taken gets another one itself.
    """
    taken: set[str] = set()
    for operation in program.global_block().ops:
        if operation.name() == "pd_op.data":
            operation.set_str_attr("name", untaken(operation.attrs()["name"], taken))
    known = [isinstance(tensor, framework.EagerParamBase) for tensor in tensors]
    parts = sorted(zip(tensors, values, known, strict=True), key=lambda part: not part[2])
    for tensor, value, is_parameter in parts:
        own = untaken(value.name if is_parameter or export else "d2s_state", taken)
        if export and not is_parameter and (own != tensor.name or _COUNTED.fullmatch(own)):
            tensor.name = own = untaken(paddle.utils.unique_name.generate("d2s_state"), taken)
        value.get_defining_op().set_str_attr("parameter_name", own)


def named_for_saving(
    inputs: list[Any], tensors: list[Any], values: list[Any], listed: list[Any]
) -> list[Any]:
    """The tensors that a saved program reads, under names that no two of them share.

    Paddle finds what it writes by its name, and two parameters have one where each was made under
    a ``unique_name.guard`` of its own.  The user's tensors keep theirs, by which optimizers know
    them.

    Args:
        inputs: what the program is given.
        tensors: what it reads of dygraph.
        values: what stands for each of them, which gets the name.
        listed: the state of the layer: its programs, one for each method, agree on the names.
    """
    taken, names = {value.name for value in inputs}, dict[int, str]()
    for tensor in [*listed, *tensors]:
        if id(tensor) not in names:
            names[id(tensor)] = untaken(tensor.name, taken)
    found = []
    for tensor, value in zip(tensors, values, strict=True):
        own = names[id(tensor)]
        value.get_defining_op().set_str_attr("parameter_name", own)
        found.append(tensor if tensor.name == own else _Named(own, tensor.value))
    return found


class _Named(NamedTuple):
    """A tensor under another name, with all that Paddle asks for when it writes it."""

    name: str
    value: Callable[[], Any]


def rename_result(tensor: Any) -> None:
    """Give a tensor that Paddle has named as a result of some program a name of its own."""
    if isinstance(tensor, paddle.Tensor) and _PADDLES.fullmatch(tensor.name):
        # Paddle's own numbers begin again where ``names_kept`` ends, so that two would have one.
        tensor.name = f"d2s_result_{next(_renamed)}"


_renamed: Final = itertools.count()


def untaken(name: str, taken: set[str]) -> str:
    """``name``, or one like it that is not taken."""
    found, number = name, 0
    while found in taken or _PADDLES.fullmatch(found):
        found, number = f"{name}_{number}", number + 1
    taken.add(found)
    return found
