"""What a program reads of dygraph: its parameters, one for each tensor.

Paddle makes an initializer in a startup program for each of them, with three stacks of frames.  A
capture never runs that program; it only says of which form a parameter is.  Here tensors of one
form share one operation there::

    w1, w2 of float32 [4, 8]
    ->    startup:    full([4, 8]), set_parameter("w1"), set_parameter("w2")
          program:    parameter("w1"), parameter("w2")
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import paddle

from d2s.paddle_bridge.capturing.stacks import unnoted
from d2s.paddle_bridge.capturing.variables import rename_result, untaken
from d2s.paddle_bridge.names import (
    EagerParamBase,
    EagerTensor,
    _global_inplace_map,
    _global_parameter_recorder,
    _program_hash,
    new_parameter,
    register_parameter,
)


@contextlib.contextmanager
def recorded(program: Any, check: Callable[[Any], None]) -> Iterator[None]:
    """Let Paddle's recorder make the parameters of ``program`` in this way.

    Results of two programs, both ``output_0``, become parameters by two names.

    Args:
        program: the program that is captured.
        check: is given each tensor before, and may raise.
    """
    own = vars(_global_parameter_recorder)
    before, found = own.get("get"), _global_parameter_recorder.get
    parameters = _Parameters(program)

    def get(asking: Any, tensor: Any) -> Any:
        check(tensor)
        rename_result(tensor)
        key = _program_hash(asking)
        known = _global_parameter_recorder.tensor2value.get(key)
        if known is None or asking is not program or not _is_plain(tensor):
            return found(asking, tensor)  # the tables of the program are Paddle's to make
        if id(tensor) not in known:
            known[id(tensor)] = parameters.made(tensor)
            _global_parameter_recorder.params_dict[key].add(tensor)
        return known[id(tensor)]

    own["get"] = get
    try:
        yield
    finally:
        if before is None:
            del own["get"]
        else:  # that of ``versions``, around this one
            own["get"] = before


class _Parameters:
    """Those of one program, as they come up."""

    def __init__(self, program: Any) -> None:
        self._program = program
        self._first = paddle.static.Program()
        self._forms: dict[tuple[Any, ...], Any] = {}
        self._taken: set[str] = set()

    def made(self, tensor: Any) -> Any:
        """A parameter for a tensor that the program has not met."""
        before = paddle.pir.get_current_insertion_point()
        # Two have one name where each was made under a ``unique_name.guard`` of its own.
        name = untaken(tensor.name, self._taken)
        with unnoted():
            with paddle.static.program_guard(self._first):
                register_parameter(self._form_of(tensor), name)
            self._program.set_parameters_from(self._first)
            # The start is that of the block of now, which may be a branch or loop.
            paddle.pir.set_insertion_point_to_block_end(self._program.global_block())
            paddle.pir.reset_insertion_point_to_start()
            value = new_parameter(name)
        paddle.pir.set_insertion_point(before)
        value.persistable = True
        value.stop_gradient = tensor.stop_gradient
        value.trainable = not tensor.stop_gradient
        value.is_parameter, value.is_distributed = True, False
        value.optimize_attr = {"learning_rate": 1.0}
        value.need_clip, value.regularizer, value.do_model_average = True, None, None
        return value

    def _form_of(self, tensor: Any) -> Any:
        form = (tensor.dtype, *tensor.shape)
        if form not in self._forms:
            self._forms[form] = paddle._C_ops.full(
                tensor.shape, 0.0, tensor.dtype, paddle.CPUPlace()
            )
            self._forms[form].persistable = True
        return self._forms[form]


def _is_plain(tensor: Any) -> bool:
    """Whether a tensor is dense and whole on this machine, of a class of Paddle's."""
    if type(tensor) not in (EagerTensor, EagerParamBase) or not tensor.is_dense():
        return False
    return not tensor.is_dist()


def forget(program: Any) -> None:
    """Let Paddle's recorders know nothing of ``program``.

    They keep the parameters of a capture under the id of its program and forget them only when all
    went well; the next program with this id would get dangling values.
    """
    _global_parameter_recorder.pop(program)
    _global_inplace_map.pop(program)


@contextlib.contextmanager
def keeping_no_parameters(program: Any) -> Iterator[None]:
    """Keep nothing of the dygraph tensors that are met while ``program`` is only completed.

    A capture that goes on around this one keeps those that it knows.
    """
    known = _program_hash(program) in _global_parameter_recorder.params_dict
    try:
        yield
    finally:
        if not known:
            forget(program)
