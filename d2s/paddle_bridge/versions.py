"""Which Paddle this is, and what it lacks that d2s uses: found by looking, not by its number.

=====================================  ==============================================  ============
what is looked for                     where it is absent                              absent from
=====================================  ==============================================  ============
``dy2static.parameter_recorder``       ``pir_dy2static.parameter_recorder``            3.1, 3.2
``graph_tracing_guard``                made here of the two guards that it enters      3.1, 3.2
parameters asked for inside of blocks  moved here to the end of the outermost block    3.1, 3.2
``_C_ops._run_python_op``              Python's code in a program is refused (D2S205)  3.1, 3.2
``_C_ops.linear_v2``                   not looked at: ``linear`` is two operations     3.1 - 3.3.0
=====================================  ==============================================  ============

A Paddle that is newer than those that were tried is told of once, and tried.  One that is older is
refused: dygraph itself writes items to wrong places there (``y[:, mask] = v``), with gradients
of memory that nobody has written.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import paddle

from d2s.errors import PaddleVersionError

TRIED: Final = ("3.1.1", "3.2.0", "3.2.1", "3.2.2", "3.3.0", "3.3.1")
"""Versions of Paddle on which the private names were tried; ``docs/guide/versions.md`` has more."""

CALLS_PYTHON: Final = hasattr(getattr(paddle, "_C_ops", None), "_run_python_op")
"""Whether a program may have operations that run Python's code."""

PROGRAM_NODES: Final = ("Dy2StGradNode", "GradNodeBase")
"""What messages call the gradient of a program: since Paddle 3.3, and before."""

_DRAFT: Final = "0.0.0"
"""What a build from source calls itself."""


def refusal(reason: object, version: str = "") -> PaddleVersionError:
    """What is raised of a Paddle that d2s cannot work with."""
    version = version or str(getattr(paddle, "__version__", "unknown"))
    return PaddleVersionError(
        f"Paddle {version} is not one that d2s works with ({reason})",
        cure=f"install Paddle {TRIED[-1]}: pip install 'paddlepaddle=={TRIED[-1]}'",
    )


def check_version(version: str) -> None:
    """Refuse a Paddle that is too old, or not 3.x; tell of a newer one than those that were tried.

    Raises:
        PaddleVersionError: (D2S104) it is another one.
    """
    numbers = _numbers(version)[:3]
    if (numbers < _numbers(TRIED[0]) or numbers[0] > 3) and version != _DRAFT:
        raise refusal(f"d2s needs {TRIED[0]} or newer, below 4", version)
    if numbers > _numbers(TRIED[-1]):
        warnings.warn(
            f"d2s was not tried with Paddle {version}; the newest that was is {TRIED[-1]}",
            stacklevel=2,
        )


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, for comparing."""
    found: list[int] = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        found.append(int(digits))
    return tuple(found)


def run_operations() -> list[tuple[Any, str]]:
    """Where the operations are that run programs; the first one runs those of PIR."""
    places = [(paddle._C_ops, "run_program"), (paddle._legacy_C_ops, "run_program")]
    return [(module, name) for module, name in places if hasattr(module, name)]


@functools.cache
def _calls() -> Any:
    """Paddle's module about what its converter calls."""
    return importlib.import_module("paddle.jit.dy2static.convert_call_func")


def runs_as_it_is(function: Any) -> bool:
    """Whether ``paddle.jit.not_to_static`` has been called with a function."""
    options = getattr(function, "___jit_transform_options___", None)
    return options is not None and not options.need_transform(type(options).ToStaticMode.AST)


def ignored_modules(known: int) -> list[Any]:
    """The modules that ``paddle.jit.ignore_module`` was given after the first ``known`` ones."""
    return list(_calls().BUILTIN_LIKELY_MODULES[known + builtin_modules() :])


@functools.cache
def builtin_modules() -> int:
    """How many modules Paddle's converter ignores by itself; it imports some to find out."""
    return len(_calls().builtin_modules())


def parameter_recorder() -> Any:
    """The module that knows the parameters of a program under capture."""
    try:
        return importlib.import_module("paddle.jit.dy2static.parameter_recorder")
    except ModuleNotFoundError:
        return importlib.import_module("paddle.jit.pir_dy2static.parameter_recorder")


def tracing_guard() -> Callable[[Any], Any]:
    """What makes, of a program, the guard in which dygraph tensors become its parameters."""
    from paddle.jit.dy2static import utils

    found = getattr(utils, "graph_tracing_guard", None)
    return _tracing_guard if found is None else found


class _Context:
    """The part of Paddle's ``GraphTracingContext`` that is read."""

    def __init__(self) -> None:
        self._parameters: Any = None

    def get_params_with_values(self) -> Any:
        """The parameters of the capture that has ended, and their values."""
        return self._parameters

    def take(self, recorder: Any, program: Any) -> None:
        """The capture has ended."""
        self._parameters = recorder.pop(program)


@contextlib.contextmanager
def _tracing_guard(program: Any) -> Iterator[_Context]:
    from paddle.base.dygraph.base import to_static_mode_guard
    from paddle.pir.core import _convert_into_value, static_op_arg_cast_guard

    module = parameter_recorder()
    recorder = module._global_parameter_recorder
    context = _Context()
    with (
        to_static_mode_guard(is_to_static=True),
        static_op_arg_cast_guard(_convert_into_value),
        _made_outermost(recorder),
    ):
        yield context
        context.take(recorder, program)
        module._global_inplace_map.pop(program)


@contextlib.contextmanager
def _made_outermost(recorder: Any) -> Iterator[None]:
    """Let the parameters of a program come into its outermost block, whichever asks for them."""
    original = recorder.get

    def get(program: Any, tensor: Any) -> Any:
        pir = paddle.pir
        before = pir.get_current_insertion_point()
        outermost = paddle.static.default_main_program().global_block()
        pir.set_insertion_point_to_block_end(outermost)
        try:
            return original(program, tensor)
        finally:
            pir.set_insertion_point(before)

    recorder.get = get
    try:
        yield
    finally:
        del recorder.get
