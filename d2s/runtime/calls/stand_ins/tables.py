"""Which operator stands for which function of Python and Paddle (rule E1)."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import copy
import dataclasses
import functools
import io
import itertools
import types
import warnings
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import paddle
import paddle.distributed.fleet.utils
from paddle.distributed.fleet.recompute import recompute as _recompute

from d2s.runtime.builtins import (
    dispatch,
    grouped,
    growing,
    handed,
    iterators,
    ranked,
    stepping,
)
from d2s.runtime.calls.applying import plain
from d2s.runtime.calls.spellings import in_pythons_words, spelt
from d2s.runtime.calls.stand_ins import (
    between_processes,
    calling_back,
    coroutines,
    joining,
    numbers,
    putting,
    py_func,
    shapes,
    state,
)
from d2s.runtime.host import messages, streams
from d2s.runtime.lists import iteration
from d2s.runtime.lists.positions import SEQUENCES
from d2s.runtime.loops import comprehensions
from d2s.runtime.loops.comprehensions import over_one_list
from d2s.runtime.python import casts, kinds, making
from d2s.runtime.python.arrays.array import array, asarray, memoryview_
from d2s.runtime.trace import current
from d2s.runtime.training import clip_functions
from d2s.runtime.training import functions as training
from d2s.runtime.values.choice import Choice, each, possible
from d2s.runtime.values.fields import steps
from d2s.runtime.values.objects import is_user_class
from d2s.runtime.values.tensors import is_tensor

Table = dict[Any, Callable[..., Any]]
"""From functions, classes and objects of Paddle that are called to their operators."""


_MAKING: Final[Table] = {
    function: numbers.making_(operator) for function, operator in making.OPERATORS.items()
}


_OVER_ONE_LIST: Final = {
    *(builtins.map, builtins.reversed, builtins.zip),
    *(itertools.accumulate, itertools.starmap, *iterators.OPERATORS),
}
"""What iterates what it is called with, which may be one of several lists."""


def _in_pythons_words(operators: Table) -> Table:
    made = {
        function: in_pythons_words(function, operator) for function, operator in operators.items()
    }
    return made | {each: over_one_list(made[each]) for each in _OVER_ONE_LIST & made.keys()}


_RECOMPUTE: Final = {paddle.distributed.fleet.utils.recompute, _recompute}
"""Paddle has two of them, one of which calls the other."""

_ITERATORS: Final[tuple[Any, ...]] = (
    itertools.compress,
    itertools.zip_longest,
)
"""Classes that iterate what they are called with; others are in ``builtins.iterators``."""


def _with_whole(method: Callable[..., Any], owner: object) -> Callable[..., Any]:
    """A method that takes all items of the generator expressions that it is given."""

    def run(*given: object, **options: object) -> Any:
        return method(*(comprehensions.whole_of(each, owner) for each in given), **options)

    return run


class StandIns:
    """The operators, by what they stand for.

    Args:
        call: gives what to call in place of a function of the user's, such as a callback.

    Attributes:
        functions: those of functions that are written in Python.
        calling_back: those of functions that see who calls them, or call back, also when no
            program is being captured.
        builtins: those of classes and of functions that are written in C, in a capture.
    """

    def __init__(self, call: Callable[[Any], Any]) -> None:
        self._call = call
        self.functions: Table = {
            function: spelt(function, operator) for function, operator in self._of_python().items()
        }
        self.calling_back: Table = _in_pythons_words(
            {
                warnings.warn: messages.warn_,
                builtins.filter: partial(calling_back.filter_, call),
                builtins.map: partial(calling_back.map_, call),
                builtins.sorted: self._keyed(dispatch.KEYED[builtins.sorted]),
                functools.reduce: partial(calling_back.reduce, call),
                itertools.accumulate: partial(calling_back.accumulate, call),
                itertools.dropwhile: partial(grouped.dropwhile, call),
                itertools.groupby: partial(grouped.groupby, call),
                itertools.starmap: partial(calling_back.starmap, call),
                itertools.takewhile: partial(grouped.takewhile, call),
            }
        )
        self.builtins: Table = {
            **_in_pythons_words(
                {
                    builtins.list: comprehensions.list_of,
                    builtins.next: self._next,
                    builtins.tuple: comprehensions.tuple_of,
                }
            ),
            **{kind: partial(streams.buffer, kind) for kind in (io.StringIO, io.BytesIO)},
            **{
                kind: partial(streams.redirection, kind)
                for kind in (contextlib.redirect_stdout, contextlib.redirect_stderr)
            },
            builtins.iter: over_one_list(self._iter),
            builtins.setattr: partial(self._by_name, builtins.setattr),
            builtins.delattr: partial(self._by_name, builtins.delattr),
            paddle.DataParallel: state.data_parallel,
            builtins.memoryview: memoryview_,
            np.asarray: asarray,
            np.array: array,
            # From Paddle 3.2 on an object that stands for a module, too.
            **{made: _MAKING[made] for made in (paddle.tensor,) if made in _MAKING},
            **{each: partial(iteration.iterator, each) for each in _ITERATORS},
            **_in_pythons_words(dispatch.OPERATORS),
            defaultdict: partial(calling_back.defaultdict_, call, dispatch.OPERATORS[defaultdict]),
            **_in_pythons_words(
                {function: self._keyed(operator) for function, operator in dispatch.KEYED.items()}
            ),
            **self.calling_back,
        }
        self.builtins |= handed.in_steps(call, self.builtins)

    def _of_python(self) -> Table:
        of_numbers, joining_ = numbers.taking_numbers, joining.joining
        return {
            **{each: partial(calling_back.recompute, self._call, each) for each in _RECOMPUTE},
            paddle.static.py_func: py_func.py_func,
            paddle.is_tensor: kinds.is_tensor,
            paddle.lerp: of_numbers(paddle.lerp, ("weight",), numbers.as_dtype_of),
            paddle.masked_fill: of_numbers(paddle.masked_fill, ("value",), numbers.as_dtype_of),
            paddle.put_along_axis: of_numbers(
                paddle.put_along_axis, ("values",), numbers.as_dtype_of
            ),
            paddle.repeat_interleave: shapes.repeat_interleave,
            paddle.where: of_numbers(paddle.where, ("x", "y"), numbers.as_default),
            **{
                function: calling_back.ranking(self._call, operator)
                for function, operator in ranked.OF_PYTHON.items()
            },
            paddle.nn.functional.pad: shapes.pad,
            paddle.reshape: shapes.reshape,
            paddle.squeeze: shapes.squeeze,
            paddle.stack: joining.stack,
            paddle.concat: joining.concat,
            paddle.add_n: joining.add_n,
            **{  # not in Paddle 3.1
                function: shapes.repeat
                for function in (getattr(paddle.Tensor, "repeat", None),)
                if function is not None
            },
            **{
                function: joining_(function)
                for function in (getattr(paddle, name, None) for name in joining.JOINING)
                if function is not None
            },
            paddle.amp.auto_cast: state.auto_cast,
            paddle.grad: training.grad_,
            paddle.tile: shapes.tile,
            **numbers.OPERATORS,
            paddle.tensor.array_length: casts.len_,
            paddle.view: shapes.view,
            paddle.view_as: shapes.view_as,
            paddle.tolist: numbers.tolist_,
            paddle.assign: state.assign,
            **_MAKING,
            paddle.autograd.backward: training.backward_of,
            paddle.nn.utils.clip_grad_norm_: clip_functions.clip_grad_norm_,
            paddle.nn.utils.clip_grad_value_: clip_functions.clip_grad_value_,
            **{
                function: partial(self._late, function, operator)
                for function, operator in growing.OF_COUNTERS.items()
            },
            **between_processes.operators(self._call),
            asyncio.gather: coroutines.gather,
            copy.copy: state.copied,
            dataclasses.replace: partial(state.replaced, self._call),
            copy.deepcopy: state.deep_copied,
            paddle.nn.Layer.set_state_dict: state.set_state_dict,
            paddle.nn.Layer.register_buffer: state.register_buffer,
        }

    def _late(
        self,
        function: Callable[..., Any],
        operator: Callable[..., Any],
        /,
        *given: object,
        **options: object,
    ) -> Any:
        """A function of Python, or ``operator`` where the run decides a length."""
        given = tuple(comprehensions.whole_of(each, given[0]) for each in given)
        late = current() is not None and any(map(growing.is_of_run, given[1:]))
        return (operator if late else plain(function, self._call))(*given, **options)

    def _iter(self, *given: object) -> Any:
        """``iter``."""
        if len(given) == 1 and self._wants_steps(given[0]):
            return self._call(stepping.SequenceIterator)(given[0])
        of_run = len(given) == 1 and growing.is_of_run(given[0])
        return iteration.iter_(given[0]) if of_run else plain(builtins.iter, self._call)(*given)

    def _by_name(self, function: Callable[..., Any], thing: object, *given: object) -> Any:
        """``setattr`` or ``delattr``, also of an attribute whose name a tensor has chosen."""
        name = possible(given[0]) if given else None
        if isinstance(name, Choice):
            use = partial(self._by_name, function, thing)
            return each(lambda found: use(found, *given[1:]), name, changes=True)
        kinds.check_name(name)
        return plain(function, self._call)(thing, *given)

    @staticmethod
    def _wants_steps(things: object) -> bool:
        """Whether the iterator of a sequence has to be one in Python."""
        capture = current()
        if capture is None or not capture.stepping:
            return False
        return type(things) in SEQUENCES or (
            is_tensor(things) and things.shape[:1] not in ([], [-1])
        )

    def _next(self, iterator: object, /, *default: object) -> Any:
        """``next``."""
        leaves = iterator.leaves() if isinstance(iterator, Choice) else [iterator]
        if all(map(steps, leaves)):
            return self._call(stepping.next_of)(iterator, *default)
        return handed.next_(iterator, *default)

    def _keyed(self, operator: Callable[..., Any]) -> Callable[..., Any]:
        return calling_back.keyed(self._call, operator)

    def of(self, callee: object) -> Any:
        """The operator of a class, or of a function written in C, at this point; or ``None``."""
        capturing = current() is not None
        if type(callee) is types.BuiltinMethodType and capturing:
            found = self._of_method(callee)
            if found is not None:
                return found
        if is_user_class(type(callee)):  # whose ``__hash__`` may ask for what no capture knows
            return None
        try:
            return (self.builtins if capturing else self.calling_back).get(callee)
        except Exception:  # not hashable: no built-in
            return None

    def of_run(self, method: types.MethodType) -> Any:
        """What is called for a method of a list whose length the run decides."""
        operator = dispatch.KEYED_METHODS.get((list, method.__func__.__name__))
        if operator is None:
            takes_all = method.__func__.__name__ in growing.TAKING_ALL
            return _with_whole(method, method.__self__) if takes_all else method
        return partial(self._keyed(operator), method.__self__)

    def of_view(self, method: types.MethodType) -> Any:
        """What is called for a method of a list or dict that was read out of a list of the run."""
        owner: Any = method.__self__
        late = dispatch.LATE_METHODS.get((owner.d2s_plain, method.__func__.__name__))
        usual = plain(method, self._call)
        return usual if late is None else _where_late(*late, owner, usual)

    def _of_method(self, method: types.BuiltinMethodType) -> Any:
        """The operator of a method of a built-in type, such as ``list.sort``."""
        owner = method.__self__
        key = (getattr(type(owner), "d2s_plain", type(owner)), method.__name__)
        if key in dispatch.METHODS:
            return in_pythons_words(method, partial(dispatch.METHODS[key], owner))
        if key in dispatch.LATE_METHODS:
            return _where_late(*dispatch.LATE_METHODS[key], owner, plain(method, self._call))
        if key in dispatch.KEYED_METHODS:
            operator = self._keyed(dispatch.KEYED_METHODS[key])
            return in_pythons_words(method, partial(operator, owner))
        return putting.operator_of(method)


def _where_late(
    is_late: Callable[..., bool],
    operator: Callable[..., Any],
    owner: object,
    usual: Callable[..., Any],
) -> Any:
    """``operator`` where only the run can do what a method of ``owner`` does, else ``usual``."""
    late = partial(operator, owner)

    def run(*given: object, **options: object) -> Any:
        return (late if is_late(owner, *given) else usual)(*given, **options)

    return _with_whole(run, owner)
