"""The only room that touches names of Paddle that are not public.

=============  ===================================================================================
``versions``   which Paddle this is, and what it lacks
``names``      every private name, looked up once, with what it is for
``gate``       which threads may do what at one time
``values``     values of a program, tensors of dygraph
``filled``     whether values have elements on every run
``capture``    a program under capture
``blocks``     ``if`` and ``while`` of a program
``walks``      the operations of a program
``saved``      what gradients read of the forward
``reads``      which values gradients to come read
``dependence`` which inputs a gradient of an output reaches
``current``    what gradients read of tensors that were written since
``paths``      what a gradient in a branch or loop goes through
``parameters`` what a program reads of dygraph
``leaves``     values that no gradient goes through
``repairs``    Paddle's builder of gradients, corrected
``codes``      the codes of what Paddle cannot differentiate
``passes``     a program made ready for its gradients and its run
``items``      items of tensors whose index the run decides, checked
``equals``     whether Paddle's pass for equal operations comes to an end
``steps``      training inside of a program
``flags``      how programs are prepared and run
``backward``   backwards that come to them
``prepared``   scopes that programs run in, and what Paddle has prepared for them
``runs``       programs that run
``errors``     what Paddle says of a failed run, and which operation it was
``counts``     how many operations have run
=============  ===================================================================================
"""

from d2s.paddle_bridge.capturing.blocks import (
    IfOp,
    WhileOp,
    keeping_what_goes,
    pass_into_blocks,
    static_py_layer,
)
from d2s.paddle_bridge.capturing.capture import (
    Answer,
    checked_operations,
    names_kept,
    no_collection,
    parameters_made,
    tensors_as_values,
    tracing,
)
from d2s.paddle_bridge.capturing.dtypes import true_dtypes
from d2s.paddle_bridge.capturing.exact import as_float32, exact_numbers
from d2s.paddle_bridge.capturing.known import computed
from d2s.paddle_bridge.capturing.leaves import (
    comes_of,
    continues,
    cut,
    derivatives_as_in_dygraph,
    is_cut,
    is_made_here,
    let_gradients_end,
)
from d2s.paddle_bridge.capturing.stacks import remembered_frames
from d2s.paddle_bridge.capturing.variables import named_for_saving, tell_apart
from d2s.paddle_bridge.filled import has_elements
from d2s.paddle_bridge.flags import program_order, show_code
from d2s.paddle_bridge.gate import keep_mode, static_lock
from d2s.paddle_bridge.gradients.current import is_read_in_memory, let_be_in_memory, reading
from d2s.paddle_bridge.gradients.dependence import reached_inputs
from d2s.paddle_bridge.gradients.reads import (
    goes_on,
    gradients_go_to,
    read_by_gradients,
    read_from_copies,
    reads_its_result,
    views_among,
)
from d2s.paddle_bridge.gradients.repairs import gradient_function
from d2s.paddle_bridge.host_operations import host_operation
from d2s.paddle_bridge.methods import methods_replaced, set_method, stand_in
from d2s.paddle_bridge.names import (
    NO_COMPILER,
    ASTStaticFunction,
    ConcreteProgram,
    EagerParamBase,
    EagerTensor,
    PaddlesFunction,
    PirTranslatedLayer,
    Value,
    has_grad,
    hook_gradient,
    input_specs_compatible,
    switch_to_static_graph,
)
from d2s.paddle_bridge.preparing.passes import copy_what_is_read_twice
from d2s.paddle_bridge.running.backward import (
    RunScope,
    backward_retains,
    keep_backward_error,
    let_gradient_stop,
    note_absent,
    note_reached,
    number_of_backward,
    only_asked,
    refuse_behind,
    show_backward_errors,
)
from d2s.paddle_bridge.running.counts import Counting
from d2s.paddle_bridge.running.errors import (
    Failed,
    SavedProgram,
    Words,
    elements,
    failed_operation,
    makes_rows,
    note_rows,
    note_source,
    noted_source,
    saved_programs,
    words_of,
)
from d2s.paddle_bridge.running.hooks import (
    LastHook,
    ResultHooks,
    WatchedResult,
    has_hooks,
    result_of,
)
from d2s.paddle_bridge.running.keeping import Kept
from d2s.paddle_bridge.running.modes import modes_are, thread_modes
from d2s.paddle_bridge.running.runs import Program
from d2s.paddle_bridge.running.steps import (
    filled_like,
    gradients_here,
    gradients_in_block,
    holds,
    id_of_maker,
    ids_from,
    in_dygraph,
    is_flag,
    is_made_of_constants,
    joined,
    known_tensors,
    layers_as_in_dygraph,
    length,
    makes_sparse_gradients,
    outside_of_capture,
    overwriting,
    parted,
    place_among,
    renew,
    share_constants,
    sources,
    taken,
    tensors_of_layers,
    uncopied,
    write_into,
)
from d2s.paddle_bridge.running.stopwatch import present_stopwatch, stopwatch
from d2s.paddle_bridge.values import (
    INDEXING,
    array_to_tensor,
    as_value,
    autocasts,
    callstack,
    capturing,
    dtype_name,
    expect_dense_gradient,
    has_contents,
    inner_write,
    inside_to_static,
    is_array,
    is_eager,
    is_fake,
    is_value,
    key_in_program,
    place_of_tensors,
    producer,
    relax,
    shape_of,
    share_storage,
    sharing,
    shows_value,
    tensor_of,
    with_fitting_masks,
    with_item,
)
from d2s.paddle_bridge.versions import (
    CALLS_PYTHON,
    PROGRAM_NODES,
    check_version,
    ignored_modules,
    runs_as_it_is,
)
from d2s.paddle_bridge.walks import (
    Facts,
    arguments_of,
    between,
    blocks_of,
    computes,
    depth_of,
    draws_numbers,
    handed_on,
    has_differentiable_loop,
    holder_of,
    implied,
    is_chosen,
    is_inner,
    is_only_written,
    is_visible,
    known_truth,
    misplaced,
    never_free,
    operations,
    overwritten,
    size_of,
    without_copies,
)

__all__ = [
    "CALLS_PYTHON",
    "INDEXING",
    "NO_COMPILER",
    "PROGRAM_NODES",
    "ASTStaticFunction",
    "Answer",
    "ConcreteProgram",
    "Counting",
    "EagerParamBase",
    "EagerTensor",
    "Facts",
    "Failed",
    "IfOp",
    "Kept",
    "LastHook",
    "PaddlesFunction",
    "PirTranslatedLayer",
    "Program",
    "ResultHooks",
    "RunScope",
    "SavedProgram",
    "Value",
    "WatchedResult",
    "WhileOp",
    "Words",
    "arguments_of",
    "array_to_tensor",
    "as_float32",
    "as_value",
    "autocasts",
    "backward_retains",
    "between",
    "blocks_of",
    "callstack",
    "capturing",
    "check_version",
    "checked_operations",
    "comes_of",
    "computed",
    "computes",
    "continues",
    "copy_what_is_read_twice",
    "cut",
    "depth_of",
    "derivatives_as_in_dygraph",
    "draws_numbers",
    "dtype_name",
    "elements",
    "exact_numbers",
    "expect_dense_gradient",
    "failed_operation",
    "filled_like",
    "goes_on",
    "gradient_function",
    "gradients_go_to",
    "gradients_here",
    "gradients_in_block",
    "handed_on",
    "has_contents",
    "has_differentiable_loop",
    "has_elements",
    "has_grad",
    "has_hooks",
    "holder_of",
    "holds",
    "hook_gradient",
    "host_operation",
    "id_of_maker",
    "ids_from",
    "ignored_modules",
    "implied",
    "in_dygraph",
    "inner_write",
    "input_specs_compatible",
    "inside_to_static",
    "is_array",
    "is_chosen",
    "is_cut",
    "is_eager",
    "is_fake",
    "is_flag",
    "is_inner",
    "is_made_here",
    "is_made_of_constants",
    "is_only_written",
    "is_read_in_memory",
    "is_value",
    "is_visible",
    "joined",
    "keep_backward_error",
    "keep_mode",
    "keeping_what_goes",
    "key_in_program",
    "known_tensors",
    "known_truth",
    "layers_as_in_dygraph",
    "length",
    "let_be_in_memory",
    "let_gradient_stop",
    "let_gradients_end",
    "makes_rows",
    "makes_sparse_gradients",
    "methods_replaced",
    "misplaced",
    "modes_are",
    "named_for_saving",
    "names_kept",
    "never_free",
    "no_collection",
    "note_absent",
    "note_reached",
    "note_rows",
    "note_source",
    "noted_source",
    "number_of_backward",
    "only_asked",
    "operations",
    "outside_of_capture",
    "overwriting",
    "overwritten",
    "parameters_made",
    "parted",
    "pass_into_blocks",
    "place_among",
    "place_of_tensors",
    "present_stopwatch",
    "producer",
    "program_order",
    "reached_inputs",
    "read_by_gradients",
    "read_from_copies",
    "reading",
    "reads_its_result",
    "refuse_behind",
    "relax",
    "remembered_frames",
    "renew",
    "result_of",
    "runs_as_it_is",
    "saved_programs",
    "set_method",
    "shape_of",
    "share_constants",
    "share_storage",
    "sharing",
    "show_backward_errors",
    "show_code",
    "shows_value",
    "size_of",
    "sources",
    "stand_in",
    "static_lock",
    "static_py_layer",
    "stopwatch",
    "switch_to_static_graph",
    "taken",
    "tell_apart",
    "tensor_of",
    "tensors_as_values",
    "tensors_of_layers",
    "thread_modes",
    "tracing",
    "true_dtypes",
    "uncopied",
    "views_among",
    "with_fitting_masks",
    "with_item",
    "without_copies",
    "words_of",
    "write_into",
]
