"""Which Paddle this is, and what it lacks that d2s uses: found by looking, not by its number.

=====================================  ==============================================  ============
what is looked for                     where it is absent                              absent from
=====================================  ==============================================  ============
``_C_ops.run_program``                 ``_legacy_C_ops.pir_run_program``               3.0
``dy2static.utils.Backend``            its names are texts                             3.0
``_append_backward``                   ``_append_backward_desc``                       3.0
``dy2static.parameter_recorder``       ``pir_dy2static.parameter_recorder``            3.0 - 3.2
``graph_tracing_guard``                made here of the two guards that it enters      3.0 - 3.2
parameters asked for inside of blocks  moved here to the end of the outermost block    3.0 - 3.2
``TransformOptions``                   ``CONVERSION_OPTIONS``                          3.0
``static.register_op``                 Python's code in a program is refused (D2S205)  3.0 - 3.2
``_C_ops.linear_v2``                   not looked at: ``linear`` is two operations     3.0 - 3.3.0
=====================================  ==============================================  ============

A Paddle that is newer than those that were tried is told of once, and tried.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import paddle

from d2s.errors import PaddleVersionError

TRIED: Final = ("3.0.0", "3.1.1", "3.2.2", "3.3.0", "3.3.1")
"""Versions of Paddle on which the private names were tried; ``docs/guide/versions.md`` has more."""

CALLS_PYTHON: Final = hasattr(getattr(paddle, "static", None), "register_op")
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
    """Refuse a Paddle that is not 3.x; tell of a newer one than those that were tried.

    Raises:
        PaddleVersionError: (D2S104) it is another one.
    """
    if version.split(".")[0] != "3" and version != _DRAFT:
        raise refusal(f"d2s needs 3.x, tried on {', '.join(TRIED)}", version)
    if _numbers(version)[:3] > _numbers(TRIED[-1]):
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
    places = [(paddle._C_ops, "run_program"), (paddle._legacy_C_ops, "pir_run_program")]
    places.append((paddle._legacy_C_ops, "run_program"))
    return [(module, name) for module, name in places if hasattr(module, name)]


def program_runner() -> Callable[..., Any]:
    """What runs a program, given the inputs, the parameters, a scope and :func:`run_attributes`."""
    (module, name), *_ = run_operations()
    found: Callable[..., Any] = getattr(module, name)
    if name == "run_program":
        return found
    make_results = paddle.base.core.create_empty_tensors_with_values

    def run(inputs: Any, parameters: Any, scope: Any, attributes: Any, values: Any) -> Any:
        results = make_results(values)
        found(inputs, parameters, results or None, scope, None, *attributes)
        return results

    return run


def run_attributes(layer: Any, attributes: Any) -> tuple[Any, Any]:
    """What :func:`program_runner` needs besides tensors: of Paddle's ``_prepare_attributes``."""
    if isinstance(attributes, tuple):
        return attributes
    return attributes, layer._outputs.var_list


def backward_appender(layer: type) -> str:
    """How the method is called with which Paddle's ``PartialProgramLayer`` appends gradients."""
    return "_append_backward" if hasattr(layer, "_append_backward") else "_append_backward_desc"


def no_compiler() -> Any:
    """The ``backend`` of Paddle's ``StaticFunction`` that is no compiler."""
    from paddle.jit.dy2static import utils

    return utils.Backend.PHI if hasattr(utils, "Backend") else None


@functools.cache
def _calls() -> Any:
    """Paddle's module about what its converter calls; older versions than 3.0 have none."""
    return importlib.import_module("paddle.jit.dy2static.convert_call_func")


def runs_as_it_is(function: Any) -> bool:
    """Whether ``paddle.jit.not_to_static`` has been called with a function."""
    mark = getattr(_calls(), "CONVERSION_OPTIONS", "___jit_transform_options___")
    options = getattr(function, mark, None)
    if options is None:
        return False
    if hasattr(options, "not_convert"):
        return bool(options.not_convert)
    return not options.need_transform(type(options).ToStaticMode.AST)


def ignored_modules(known: int) -> list[Any]:
    """The modules that ``paddle.jit.ignore_module`` was given after the first ``known`` ones."""
    return list(_calls().BUILTIN_LIKELY_MODULES[known + builtin_modules() :])


@functools.cache
def builtin_modules() -> int:
    """How many modules Paddle's converter ignores by itself; it imports some to find out."""
    return len(_calls().builtin_modules())


@functools.cache
def leaves_out_empty_tensors() -> bool:
    """Whether ``paddle.concat`` leaves out what has no elements, as that of 3.0 does."""
    return ".count(0)" in inspect.getsource(inspect.unwrap(paddle.concat))


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
