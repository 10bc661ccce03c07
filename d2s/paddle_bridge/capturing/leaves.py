"""Values that no gradient goes through, as in dygraph; Paddle's programs know flags alone.

==============================  ==========================================================
``x.argmax()``, ``x.isnan()``   have no derivative: dygraph says ``stop_gradient=True`` of
                                what comes of them, a program what it says of ``x``
``paddle.gather(x, index)``      depends on ``index`` without a derivative: dygraph says what it
                                says of ``x``, a program what it says of both
``y.stop_gradient = False``     of what was made under ``no_grad``, or by ``detach``: a
                                gradient arrives there, and goes no further
==============================  ==========================================================
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import paddle

from d2s.paddle_bridge.names import pir
from d2s.paddle_bridge.values import is_value


def names_in(text: str) -> frozenset[str]:
    """The words of ``text``."""
    return frozenset(text.split())


WITHOUT_DERIVATIVE: Final = names_in(
    """
    accuracy all allclose any argmax argmin auc bernoulli bincount binomial bipartite_match
    bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor
    box_coder class_center_sample ctc_align dirichlet edit_distance eigvals empty_like equal
    equal_all floor_divide full_like full_with_tensor gather_tree greater_equal greater_than
    histogram is_empty isclose isfinite isinf isnan less_equal less_than linspace logical_and
    logical_not logical_or logical_xor logspace lstsq matrix_nms matrix_rank matrix_rank_atol_rtol
    matrix_rank_tol multinomial nextafter nms nonzero not_equal numel one_hot ones_like randint
    searchsorted sequence_mask shape shape64 shard_index standard_gamma top_p_sampling
    trunc_divide unique unique_consecutive viterbi_decode yolo_box zeros_like
    """
)
"""Operations of ``paddle._C_ops`` for which dygraph makes no node of its graph."""


DERIVATIVE_OF: Final[dict[str, tuple[int, ...]]] = {
    "embedding": (1,),
    **dict.fromkeys(
        names_in(
            """
            cross_entropy_with_softmax expand gather gather_nd index_elementwise_get index_sample
            index_select kthvalue margin_cross_entropy masked_select multiplex nll_loss
            repeat_interleave_with_tensor_index reshape roll segment_pool send_u_recv slice split
            strided_slice take_along_axis tile topk unpool unpool3d
            """
        ),
        (0,),
    ),
    **dict.fromkeys(("send_ue_recv", "send_uv"), (0, 1)),
    **dict.fromkeys(
        names_in(
            """
            index_add index_elementwise_put_with_tensor index_put masked_fill put_along_axis scatter
            scatter_nd_add
            """
        ),
        (0, 2),
    ),
    "where": (1, 2),
}
"""Operations with indices, sizes or conditions, and which arguments they have a derivative of."""


def _of_some(original: Callable[..., Any], counted: tuple[int, ...]) -> Callable[..., Any]:
    def operation(*arguments: Any, **options: Any) -> Any:
        result = original(*arguments, **options)
        given = [arguments[at] for at in counted if at < len(arguments)]
        if len(given) == len(counted) and all(
            getattr(each, "stop_gradient", True) for each in paddle.utils.flatten(given)
        ):
            _stop(result)
        return result

    return operation


def _stop(result: Any) -> None:
    for each in paddle.utils.flatten(result):
        if is_value(each):
            each.stop_gradient = True


def _stopping(original: Callable[..., Any]) -> Callable[..., Any]:
    def operation(*arguments: Any, **options: Any) -> Any:
        result = original(*arguments, **options)
        _stop(result)
        return result

    return operation


@contextlib.contextmanager
def derivatives_as_in_dygraph() -> Iterator[None]:
    """While a program is captured, let operations without a derivative stop gradients."""
    operations = paddle._C_ops
    before = {
        name: getattr(operations, name)
        for name in (*WITHOUT_DERIVATIVE, *DERIVATIVE_OF)
        if hasattr(operations, name)
    }
    for name, original in before.items():
        counted = DERIVATIVE_OF.get(name)
        stopping = _stopping(original) if counted is None else _of_some(original, counted)
        setattr(operations, name, stopping)
    try:
        yield
    finally:
        for name, original in before.items():
            setattr(operations, name, original)


_CUT: Final = "d2s_cut"
"""An attribute of operations that no gradient goes through."""


def cut(value: Any) -> None:
    """Let a gradient end at ``value``; the operation that makes it is not differentiated."""
    cut_operation(value.get_defining_op())


def cut_operation(operation: Any) -> None:
    """Let no gradient go through ``operation``."""
    operation.set_bool_attr(_CUT, True)


def is_cut(operation: Any) -> bool:
    """Whether a gradient ends at what ``operation`` makes."""
    return bool(operation.has_attr(_CUT))


_COPY: Final = "d2s_copy"
"""An attribute of operations that copy what a loop reads of the code around it."""


def let_be_copy(value: Any) -> None:
    """Note that ``value`` was made as a copy, for the sake of gradients."""
    value.get_defining_op().set_bool_attr(_COPY, True)


def is_copy(operation: Any) -> bool:
    """Whether ``operation`` has made what :func:`let_be_copy` was told of."""
    return operation is not None and bool(operation.has_attr(_COPY))


def is_made_here(value: Any) -> bool:
    """Whether a plain operation of the block that is being written makes ``value``."""
    operation = value.get_defining_op()
    if operation is None or operation.num_regions():
        return False
    block = pir.get_current_insertion_point().block()
    return bool(operation.get_parent_block() == block)


def continues(tensor: Any) -> bool:
    """Whether a dygraph tensor was computed of others that want gradients.

    The results of a program that has a ``backward()`` of its own look like leaves.
    """
    return not getattr(tensor, "stop_gradient", True) and (
        not getattr(tensor, "is_leaf", True) or getattr(tensor, _ENDS, False)
    )


_ENDS: Final = "d2s_ends"


def let_gradients_end(tensor: Any, hook: Any) -> None:
    """Let ``hook`` be called with a gradient that arrives at ``tensor``, which is no leaf."""
    tensor.stop_gradient = False
    tensor.register_hook(hook)
    setattr(tensor, _ENDS, True)


def comes_of(tensor: Any, leaves: list[Any]) -> bool:
    """Whether a dygraph tensor was computed of one of ``leaves``."""
    wanted = {leaf.grad_fn.node_ptr() for leaf in leaves if leaf.grad_fn is not None}
    waiting, seen = [tensor.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node.node_ptr() in seen:
            continue
        if node.node_ptr() in wanted:
            return True
        seen.add(node.node_ptr())
        waiting += list(node.next_functions)
    return False
