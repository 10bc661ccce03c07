"""Every name of Paddle that is not public, looked up once; ``versions`` says of which Paddle.

A version where a name is gone fails at ``import d2s`` with one clear message (D2S104).  What the
names are for:

==============================  ==========================================================
``pir.build_if_op``             an ``if`` whose two sides can be unified after both are captured
``pir.build_while_op``          a ``while`` whose loop variables are known only after its body
``pir.cf_yield``                the values that a block hands out
``pir.create_shaped_type``      a loop variable whose dimension is relaxed to -1
``graph_tracing_guard``         tensors of dygraph become parameters of the program
``to_static_mode_guard``        operations of dygraph in the middle of a capture
``_convert_into_value``         one tensor of dygraph as a parameter of the program
``creation._to_tensor_static``  what ``to_tensor`` makes of Python's numbers in a program
``creation.convert_dtype``      the name of a dtype, or what is wrong with it
``_pir_ops.parameter``          a constant that a program finds in the scope around its own
``_get_program_all_values``     the values of a program, references among them: replaced
``PartialProgramLayer``         forward/backward split and run of a captured program
``FAKE_VALUE_NAME``             the name of a gradient that there is not
``ConcreteProgram``             what ``paddle.jit.save`` and friends read
``ASTStaticFunction``           the base of our ``StaticFunction`` (G3)
``StaticPyLayerContext``        what a ``PyLayer`` saves for its backward, in a program
``layers.in_dygraph_mode``      the way that ``set_state_dict`` takes
``_convert_into_variable``      what a layer gives for a parameter or buffer in a program
``ir_backward``                 gradients inside one program, repaired
``core.eager.run_backward``     a coded error that a backward raises reaches the user as it is
``apply_general_passes``        Paddle's passes over a program that is about to run, repaired
``_register_grad_hook``         a hook that stays, without the handle to take it back
``core.globals``                flags of the interpreter, set and restored around a run
``core._get_amp_attrs``         what ``auto_cast`` has set in this thread
``core._has_grad``              what ``no_grad`` has set in it, and
``LayerHelperBase``             ``set_default_dtype``, each with a call less than the public name
``_C_ops.run_program``          runs a program; Paddle's first use of it is noted (``prepared``)
``libcommon.so``                one flag where it lies in memory, else ``core.globals`` (``flags``)
``core.clear_executor_cache``   threads and memory of what was prepared for programs that are gone
``core.get_low_precision_op_list``  how often each operation has run (``counts``)
``core.Scope``                  where the values of a run are, one for each run that goes on
``variable_index``              how items are written into axes that lists choose from
``_current_expected_place_``    where tensors are made, without making one
``framework.EagerParamBase``    a parameter, which keeps its name in a program
``framework.global_var``        the mode of each thread, which a capture must not give to others
==============================  ==========================================================
"""

from __future__ import annotations

import paddle

from d2s.paddle_bridge.versions import (
    builtin_modules,
    check_version,
    parameter_recorder,
    refusal,
    tracing_guard,
)

check_version(str(getattr(paddle, "__version__", "unknown")))

try:
    from paddle import _pir_ops
    from paddle.autograd import ir_backward
    from paddle.base import core, framework, unique_name, variable_index
    from paddle.base.core import _switch_tracer as switch_tracer  # type: ignore[attr-defined]
    from paddle.base.dygraph.base import (
        in_to_static_mode,
        switch_to_static_graph,
        to_static_mode_guard,
    )
    from paddle.base.framework import _current_expected_place_, dygraph_guard_if_declarative
    from paddle.base.layer_helper_base import LayerHelperBase
    from paddle.base.libpaddle import pir
    from paddle.jit.dy2static import pir_partial_program
    from paddle.jit.dy2static.logging_utils import _TRANSLATOR_LOGGER as translator_log
    from paddle.jit.dy2static.pir_partial_program import FAKE_VALUE_NAME, PartialProgramLayer
    from paddle.jit.dy2static.program_translator import (
        ASTStaticFunction,
        ConcreteProgram,
        _program_hash,
    )
    from paddle.jit.dy2static.program_translator import StaticFunction as PaddlesFunction
    from paddle.jit.dy2static.py_layer import StaticPyLayerContext
    from paddle.jit.dy2static.utils import Backend, input_specs_compatible
    from paddle.jit.pir_translated_layer import PirTranslatedLayer
    from paddle.nn.layer import layers
    from paddle.pir.core import _convert_into_value
    from paddle.tensor import creation
    from paddle.tensor.manipulation import tensor_array_to_tensor

    _recorder = parameter_recorder()
    _global_inplace_map = _recorder._global_inplace_map
    _global_parameter_recorder = _recorder._global_parameter_recorder
    graph_tracing_guard = tracing_guard()
    builtin_modules()  # imports modules: now, not while somebody steps through a call
    NO_COMPILER = Backend.PHI
    Value = paddle.pir.Value
    EagerParamBase = framework.EagerParamBase
    EagerTensor = core.eager.Tensor
    hook_gradient = EagerTensor._register_grad_hook
    build_if_op, build_while_op, cf_yield = pir.build_if_op, pir.build_while_op, pir.cf_yield
    create_shaped_type = pir.create_shaped_type
    to_tensor_static, convert_dtype = creation._to_tensor_static, creation.convert_dtype
    new_parameter, register_parameter = _pir_ops.parameter, _pir_ops.set_parameter
    general_passes = pir_partial_program.apply_general_passes
    RunnableProgram = pir_partial_program.RunnableProgram
    all_values_of = RunnableProgram._get_program_all_values
    has_grad = core._has_grad  # type: ignore[attr-defined]
    default_dtype = LayerHelperBase.get_default_dtype
    amp_attributes = core._get_amp_attrs  # type: ignore[attr-defined]
    clear_executor_cache = core.clear_executor_cache
except (ImportError, AttributeError) as error:  # pragma: no cover - another Paddle
    raise refusal(error) from error
__all__ = [
    "FAKE_VALUE_NAME",
    "NO_COMPILER",
    "ASTStaticFunction",
    "ConcreteProgram",
    "EagerParamBase",
    "EagerTensor",
    "LayerHelperBase",
    "PaddlesFunction",
    "PartialProgramLayer",
    "PirTranslatedLayer",
    "RunnableProgram",
    "StaticPyLayerContext",
    "Value",
    "_convert_into_value",
    "_current_expected_place_",
    "_global_inplace_map",
    "_global_parameter_recorder",
    "_program_hash",
    "all_values_of",
    "amp_attributes",
    "build_if_op",
    "build_while_op",
    "cf_yield",
    "clear_executor_cache",
    "convert_dtype",
    "core",
    "create_shaped_type",
    "creation",
    "default_dtype",
    "dygraph_guard_if_declarative",
    "framework",
    "general_passes",
    "graph_tracing_guard",
    "has_grad",
    "hook_gradient",
    "in_to_static_mode",
    "input_specs_compatible",
    "ir_backward",
    "layers",
    "new_parameter",
    "pir",
    "pir_partial_program",
    "register_parameter",
    "switch_to_static_graph",
    "switch_tracer",
    "tensor_array_to_tensor",
    "to_static_mode_guard",
    "to_tensor_static",
    "translator_log",
    "unique_name",
    "variable_index",
]
