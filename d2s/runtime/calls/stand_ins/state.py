"""Functions of Paddle that change state: ``assign``, ``set_state_dict``, ``register_buffer``."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing import inplace
from d2s.runtime.calls.applying import applied
from d2s.runtime.lists.items.pools import copied_view, pooled
from d2s.runtime.lists.items.views import is_view, kind_of_view
from d2s.runtime.python.making import of_array
from d2s.runtime.trace import current, error_here
from d2s.runtime.training import functions as training
from d2s.runtime.values.choice import Choice, each
from d2s.runtime.values.fields import is_object
from d2s.runtime.values.tensors import as_value, is_array, is_tensor, number_kind
from d2s.runtime.values.tree import any_leaf


def assign(x: object, output: object = None) -> Any:
    """``paddle.assign``; into another tensor, it changes that one in place."""
    if training.writes(output):
        return training.write(x, output)
    if is_array(x) and output is None:
        return of_array(x, paddle.assign)
    if bridge.is_value(x) and number_kind(x) is not None:
        x = as_value(x).reshape([1])  # as dygraph makes a tensor of a Python number
    if current() is not None and is_tensor(output):
        return applied(inplace.assigned, [output, x], {})
    return applied(paddle.assign, [x] if output is None else [x, output], {})


def set_state_dict(
    layer: paddle.nn.Layer, state_dict: Mapping[str, Any], use_structured_name: bool = True
) -> tuple[list[str], list[str]]:
    """``Layer.set_state_dict``: each run writes into the parameters."""
    if current() is None:
        known: tuple[list[str], list[str]] = paddle.nn.Layer.set_state_dict(
            layer, state_dict, use_structured_name
        )
        return known
    missing, matched = [], set()
    for key, kept in layer.state_dict(use_hook=False).items():
        name = key if use_structured_name else kept.name
        found = state_dict.get(name)
        problem = f"{name} is not found in the provided dict."
        if found is not None and list(found.shape) != list(kept.shape):
            problem = (
                f"{name} receives a shape {list(found.shape)}, but the expected shape is "
                f"{list(kept.shape)}."
            )
            found = None
        if found is None:
            missing.append(name)
            warnings.warn(f"Skip loading for {key}. {problem}", stacklevel=2)
            continue
        matched.add(name)
        if training.writes(kept):
            training.write(found, kept)
        else:
            inplace.method(kept, "set_value")(found)
    return missing, [key for key in state_dict if key not in matched]


def register_buffer(
    layer: paddle.nn.Layer, name: str, tensor: object, persistable: bool = True
) -> None:
    """``Layer.register_buffer``: each run sets the buffer, as it sets attributes."""
    capture = current()
    if capture is None or not bridge.is_value(tensor):
        paddle.nn.Layer.register_buffer(layer, name, tensor, persistable)
        return
    if id(layer) in capture.born:
        capture.makes()
    paddle.nn.Layer.register_buffer(layer, name, None, persistable)
    layer._buffers[name] = tensor


def copied(thing: Any) -> Any:
    """``copy.copy``: an object that it makes belongs to the call.

    Raises:
        UnsupportedInGraphError: (D2S205) it is a tensor.
    """
    if current() is not None and is_tensor(thing):
        raise error_here(
            UnsupportedInGraphError,
            "copy.copy() of a tensor gives another one of the same memory, of which a program "
            "knows nothing",
            "use .clone(), or .detach() if a change of one is to be seen in the other",
        )
    if is_view(thing):
        return copied_view(thing)
    made = applied(copy.copy, [thing], {})
    if made is not thing:
        _note_born(made)
    return pooled(made)


def deep_copied(thing: Any, memo: dict[int, Any] | None = None) -> Any:
    """``copy.deepcopy``: the objects that it makes belong to the call.

    Raises:
        UnsupportedInGraphError: (D2S205) it would make parameters on each call.
    """
    if current() is not None and any_leaf(lambda part: isinstance(part, paddle.nn.Layer), thing):
        raise error_here(
            UnsupportedInGraphError,
            "copy.deepcopy() of a layer makes new parameters on each call",
            "copy the layer once, outside of the function",
        )
    if any_leaf(is_view, thing):
        return copied_view(thing, deep=True)
    memo = {} if memo is None else memo
    before = memo.copy()
    made = applied(copy.deepcopy, [thing, memo], {})
    for number, part in memo.items():
        if number not in before:  # what was there, with its copy; and a list of what was there
            _note_born(part)
    return pooled(made)


def replaced(call: Callable[[Any], Any], thing: Any, /, **changes: object) -> Any:
    """``dataclasses.replace``: what it makes belongs to the call."""
    if isinstance(thing, Choice):
        return each(lambda found: replaced(call, found, **changes), thing)
    if not is_view(thing):
        made = dataclasses.replace(thing, **changes)
        _note_born(made)
        return pooled(made)
    kind: Any = kind_of_view(thing)
    for field in dataclasses.fields(kind):
        if field.init and field.name not in changes:
            changes[field.name] = getattr(thing, field.name)
    return call(kind)(**changes)


def _note_born(made: object) -> None:
    capture = current()
    if capture is not None and is_object(made):
        capture.born[id(made)] = made


def data_parallel(*arguments: object, **options: object) -> Any:
    """``paddle.DataParallel`` of a layer, which a function may make for one process.

    Raises:
        UnsupportedInGraphError: (D2S205) there are several, which exchange gradients.
    """
    if current() is not None and paddle.distributed.get_world_size() > 1:
        raise error_here(
            UnsupportedInGraphError,
            "paddle.DataParallel is made for several processes while the program is captured",
            "make it once, outside of the function",
        )
    with bridge.outside_of_capture():
        return paddle.DataParallel(*arguments, **options)


def auto_cast(enable: object = True, *others: object, **options: object) -> Any:
    """``paddle.amp.auto_cast``: as in dygraph it has no effect on a CPU, where a program casts."""
    if current() is not None and paddle.get_device() == "cpu":
        enable = False
    return paddle.amp.auto_cast(enable, *others, **options)
