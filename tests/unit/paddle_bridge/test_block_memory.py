"""Programs with branches and loops that keep their values: nothing is written over too early.

Each function is called several times, and all results are looked at in the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest
from paddle.static import InputSpec

import d2s
from d2s import config
from d2s import paddle_bridge as bridge
from d2s.paddle_bridge import flags
from d2s.paddle_bridge.gradients.repairs import differentiate
from d2s.paddle_bridge.preparing import block_memory
from d2s.paddle_bridge.preparing.block_memory import GRADIENTS, OF_SEVERAL, OWN
from d2s.paddle_bridge.running import runs
from tests.helpers import fresh, scalar, tensor

W = paddle.to_tensor([[0.5, -0.25, 0.75], [0.25, 0.5, -0.5], [-0.75, 0.25, 0.5]])


def fibonacci(x: Any, n: Any) -> Any:
    a, b = x, x * 2
    for _ in range(n):
        a, b = b, a + b
    return a, b


def swapped(x: Any, n: Any) -> Any:
    a, b = x, x * 2
    for _ in range(n):
        a, b = b, a
    return a, b


def turned(x: Any, n: Any) -> Any:
    a, b, c = x, x * 2, x * 3
    for _ in range(n):
        a, b, c = c, a, b
    return a - b, c


def multiplied(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = x @ W
    return x


def read_late(x: Any, n: Any) -> Any:
    total = x * 0
    for _ in range(n):
        y = x + 1
        total = total + x @ W
        x = y
    return x, total


def the_one_before(x: Any, n: Any) -> Any:
    before = x
    for _ in range(n):
        before, x = x, x @ W + before
    return before, x


def reversed_in_place(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = paddle.flip(x, [0])
    return x


def grown(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = paddle.concat([x, x[:1] * 2])
    return x


def broadcast(x: Any, n: Any) -> Any:
    y = x[:1]
    for _ in range(n):
        y = y + x
    return y


def one_inside_the_other(x: Any, n: Any) -> Any:
    for i in range(n):
        y = x * 0.5
        for _ in range(i):
            y = y @ W + x
        x = x + y
    return x


def an_inner_loop_without_trips(x: Any, n: Any) -> Any:
    last = x
    for i in range(n):
        y = x
        while i > 2:
            y = y @ W
            i = i - 1
        last, x = y, x * 2 + last
    return last, x


def a_branch_in_a_loop(x: Any, n: Any) -> Any:
    y = x
    for i in range(n):
        if i % 2 == 0:
            y = x @ W
        else:
            x = y - x
    return x, y


def a_branch_that_changes_nothing(x: Any, n: Any) -> Any:
    last = x * 0
    for i in range(n):
        y = x * (i + 1)
        if i > 1:
            y = last
        last, x = x, y + 1
    return last, x


def a_loop_in_a_branch(x: Any, n: Any) -> Any:
    if n > 1:
        for _ in range(n):
            x = x @ W
    else:
        x = x - 1
    return x


def rows(x: Any, n: Any) -> Any:
    found = []
    for i in range(n):
        x = x @ W
        found.append(x if i % 2 == 0 else x * 2)
    found.append(x)
    return paddle.stack(found)


def rows_read_again(x: Any, n: Any) -> Any:
    found = [x]
    for i in range(n):
        found.append(found[i] @ W)
    return found[0], found[-1], len(found)


def results_of_a_branch(x: Any, n: Any) -> Any:
    if n > 1:
        y, z = x * 2, x @ W
    else:
        y, z = x * 3, x
    return y, z, y + z


def a_result_that_is_an_argument(x: Any, n: Any) -> Any:
    y = x
    while n < 2:
        y = y + 1
        n = n + 1
    return x, y


def stopped_early(x: Any, n: Any) -> Any:
    for i in range(n):
        x = x @ W
        if x.sum() > 1:
            return x, i
    return x * 2, n


FUNCTIONS: list[Callable[..., Any]] = [
    fibonacci, swapped, turned, multiplied, read_late, the_one_before, reversed_in_place, grown,
    broadcast, one_inside_the_other, an_inner_loop_without_trips, a_branch_in_a_loop,
    a_branch_that_changes_nothing, a_loop_in_a_branch, rows, rows_read_again, results_of_a_branch,
    a_result_that_is_an_argument, stopped_early,
]  # fmt: skip

CALLS = [
    (tensor(*values), scalar(n))
    for n in (3, 0, 4, 1, 5, 2)
    for values in ((1.0, 2.0, 3.0), (-0.5, 0.25, 4.0))
]


def outcomes(function: Callable[..., Any]) -> list[Any]:
    """All results of all calls, as they are when the last call is over."""
    with paddle.no_grad():
        made = [function(*map(fresh, call)) for call in CALLS]
    return [paddle.utils.flatten([each]) for each in made]


def same(want: list[Any], got: list[Any]) -> None:
    """Assert that results of all calls are the same."""
    for call, left, right in zip(CALLS, want, got, strict=True):
        for one, other in zip(left, right, strict=True):
            np.testing.assert_allclose(
                np.array(other), np.array(one), 1e-5, 1e-6, err_msg=str(call)
            )


@pytest.mark.sampled(3, also=["the_one_before-False"])
@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_what_loops_carry_and_hand_out(function: Callable[..., Any], dynamic: bool) -> None:
    """C1, C2, B1: values of a trip are not written over while they are read, nor results later."""
    with config.options(dynamic_dims=dynamic):
        same(outcomes(function), outcomes(d2s.to_static(function)))


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[flags.Way]:
    """The ways in which programs were prepared."""
    seen: list[flags.Way] = []
    alone_with = runs.alone_with

    def noting(lock: Any, way: flags.Way) -> Any:
        seen.append(way)
        return alone_with(lock, way)

    monkeypatch.setattr(runs, "alone_with", noting)
    return seen


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_they_keep_their_values(function: Callable[..., Any], prepared: list[flags.Way]) -> None:
    """What is tested above is what is meant: they are prepared in that way."""
    outcomes(d2s.to_static(function))
    assert prepared
    assert set(prepared) == {flags.KEEPING_BLOCKS}


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("_in_time", swapped), ("_in_time", fibonacci), ("_in_time", read_late),
    ],
)  # fmt: skip
def test_without_the_copies_they_are_wrong(
    name: str, function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests above can fail."""
    monkeypatch.setattr(block_memory, name, lambda *arguments: None)
    static = d2s.to_static(function)
    with pytest.raises(AssertionError):
        same(outcomes(function), outcomes(static))


def test_a_large_run_first(prepared: list[flags.Way]) -> None:
    """G2: one program is prepared in both ways."""
    static = d2s.to_static(fibonacci)
    sizes = (3, 1 << 20, 4, 1 << 20, 5)
    with paddle.no_grad():
        made = [static(paddle.full([size], 1.0), scalar(5)) for size in sizes]
    for size, (a, b) in zip(sizes, made, strict=True):
        assert a.shape == [size]
        assert [float(a[-1]), float(b[0])] == [13.0, 21.0]
    assert set(prepared) == {flags.KEEPING_BLOCKS, flags.returning(2 << 20, blocks=True)}


def is_float(thing: Any) -> bool:
    return isinstance(thing, paddle.Tensor) and paddle.is_floating_point(thing)


def loss_of(function: Callable[..., Any]) -> Callable[..., Any]:
    def loss(x: Any, n: Any) -> Any:
        made = [each for each in paddle.utils.flatten([function(x, n)]) if is_float(each)]
        return sum([(each * each).mean() for each in made], paddle.zeros([]))

    return loss


def step_of(function: Callable[..., Any]) -> Callable[..., Any]:
    loss_function = loss_of(function)

    def step(x: Any, n: Any) -> Any:
        loss = loss_function(x, n)
        loss.backward()
        return loss

    return step


def gradients(function: Callable[..., Any], *, whole: bool) -> list[list[Any]]:
    """The loss and the gradient of each call, as they are when the last call is over."""
    found = []
    for x, n in CALLS:
        x = fresh(x)
        x.stop_gradient = False
        loss = function(x, fresh(n))
        if not whole:
            loss.backward()
        found.append([loss.detach(), x.grad])
    return found


def rescaled(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = x @ W
        if x.sum() > 1:
            return x
    return x * 2


DIFFERENTIATED = [*(each for each in FUNCTIONS if each is not stopped_early), rescaled]


@pytest.mark.sampled(3, also=["turned-False"])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("function", DIFFERENTIATED, ids=lambda function: function.__name__)
def test_gradients_of_what_loops_carry(
    function: Callable[..., Any], whole: bool, prepared: list[flags.Way]
) -> None:
    """C7: the backward of a function, and a step as one program; what is saved stays as it is."""
    make = step_of if whole else loss_of
    want = gradients(make(function), whole=whole)
    static = d2s.to_static(make(function), full_graph=True)
    same(want, gradients(static, whole=whole))
    if whole:
        assert set(prepared) == {flags.KEEPING_BLOCKS}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("function", [multiplied, rows, a_branch_in_a_loop, one_inside_the_other])
def test_gradients_add_up_over_calls(function: Callable[..., Any], whole: bool) -> None:
    """C7: the gradient of a call is no memory that the next call writes into."""
    static = step_of(d2s.to_static(function, full_graph=True))
    if whole:
        static = d2s.to_static(step_of(function), full_graph=True)
    sums = []
    for step in (step_of(function), static):
        x = tensor(1.0, 2.0, 3.0)
        x.stop_gradient = False
        for n in (3, 2, 3, 4):
            step(x, scalar(n))
        sums.append(x.grad.numpy())
    np.testing.assert_allclose(sums[1], sums[0], 1e-5)


OPTIMIZERS = {
    "sgd": lambda parameters: paddle.optimizer.SGD(0.1, parameters=parameters),
    "momentum": lambda parameters: paddle.optimizer.Momentum(0.1, parameters=parameters),
    "clipped": lambda parameters: paddle.optimizer.AdamW(
        0.05, parameters=parameters, grad_clip=paddle.nn.ClipGradByGlobalNorm(0.5)
    ),
}


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_training_step_through_a_loop(make: Any, prepared: list[flags.Way]) -> None:
    """C7: the optimizer writes into the parameters, and every step sees the last one."""

    def losses(convert: Callable[[Any], Any]) -> list[float]:
        paddle.seed(3)
        net, head = paddle.nn.Linear(3, 3), paddle.nn.Linear(3, 2)
        optimizer = make([*net.parameters(), *head.parameters()])

        def step(x: Any, labels: Any, n: Any) -> Any:
            for _ in range(n):
                x = F.dropout(F.tanh(net(x)), 0.0) + x
            loss = F.cross_entropy(head(x), labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        called, labels = convert(step), paddle.to_tensor([1, 0])
        x = paddle.to_tensor([[0.5, -1.0, 0.25], [1.0, 0.5, -0.5]])
        return [called(x, labels, scalar(n)).item() for n in (2, 3, 1, 4, 2)]

    want = losses(lambda step: step)
    got = losses(lambda step: d2s.to_static(step, full_graph=True))
    np.testing.assert_allclose(got, want, 1e-4)
    assert set(prepared) == {flags.KEEPING_BLOCKS}


@pytest.mark.parametrize("training", [False, True])
def test_the_users_flag_does_not_make_loops_wrong(training: bool) -> None:
    """C7, G2: with the flag set below zero by the user, Paddle's own loops are wrong."""
    before = paddle.get_flags(flags.DELETE)
    paddle.set_flags({flags.DELETE: -1.0})
    try:
        for function in (stopped_early, fibonacci):
            static = d2s.to_static(function)
            x, want = tensor(1.0, 2.0, 3.0), tensor(1.0, 2.0, 3.0)
            x.stop_gradient = want.stop_gradient = not training
            for _ in range(3):
                got, right = static(x, scalar(0))[0], function(want, 0)[0]
                assert got.tolist() == right.tolist()
                if training:
                    got.sum().backward()
                    right.sum().backward()
            if training:
                assert x.grad.tolist() == want.grad.tolist()
        assert paddle.get_flags(flags.DELETE)[flags.DELETE] == -1.0
    finally:
        paddle.set_flags(before)


KEPT: list[Any] = []


@d2s.host
def keep(x: Any) -> None:
    KEPT.append(x)


@d2s.host(result=InputSpec([1, 3], "float32"))
def kept_before(x: Any) -> Any:
    return KEPT[-1]


def told(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = x @ W
        keep(x)
        x = x + kept_before(x)
    return x


def test_what_python_is_given_and_gives(prepared: list[flags.Way]) -> None:
    """F1, E5: tensors that Python keeps are not written over, and may come back."""
    found = []
    for function in (told, d2s.to_static(told, full_graph=True)):
        KEPT.clear()
        with paddle.no_grad():
            made = [function(fresh(x.reshape([1, 3])), fresh(n)) for x, n in CALLS]
        found.append([each.tolist() for each in (*KEPT, *made)])
    assert found[0] == found[1]
    assert set(prepared) == {flags.KEEPING_BLOCKS}


def test_constants_of_the_text_in_a_loop(prepared: list[flags.Way]) -> None:
    """C1: a trip writes a constant where it has made room for it."""

    def counted(x: Any, n: Any) -> Any:
        for i in range(n):
            x = x * paddle.to_tensor([0.5, 2.0, 1.5]) + paddle.to_tensor([i, 1, 2]).astype(
                "float32"
            )
        return x

    same(outcomes(counted), outcomes(d2s.to_static(counted)))
    assert set(prepared) == {flags.KEEPING_BLOCKS}


def drawn(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = x + paddle.poisson(x)
    return x


def test_unknown_operations_go_the_usual_way(prepared: list[flags.Way]) -> None:
    """F1: an operation that is not known may keep what it is given."""
    with paddle.no_grad():
        d2s.to_static(drawn)(CALLS[0][0], scalar(2))
    assert set(prepared) == {flags.returning(2 << 20, blocks=True)}


# -- operations that make tensors of their own -----------------------------------------------------

OPERATIONS: dict[str, Callable[[Any], Any]] = {
    **{
        name: getattr(paddle, name)
        for name in (
            "abs acos asin atan cos cosh erf exp expm1 floor ceil log log10 log1p log2 "
            "reciprocal round rsqrt sigmoid sign sin sinh sqrt square tan tanh isfinite isinf "
            "isnan max mean min prod sum argmax argmin logsumexp"
        ).split()
    },
    **{
        name: getattr(F, name)
        for name in (
            "elu gelu leaky_relu relu relu6 silu softplus softmax log_softmax swish"
        ).split()
    },
    **{
        name: lambda x, name=name: getattr(paddle, name)(x, x)
        for name in (
            "add divide dot equal floor_divide fmax fmin greater_equal greater_than less_equal "
            "less_than matmul maximum minimum multiply not_equal remainder subtract"
        ).split()
    },
    **{
        f"logical_{name}": lambda x, name=name: getattr(paddle, f"logical_{name}")(x, x)
        for name in ("and", "or", "xor")
    },
    **{
        f"bitwise_{name}": lambda x, name=name: getattr(paddle, f"bitwise_{name}")(
            x.astype("int32"), x.astype("int32")
        )
        for name in ("and", "or", "xor")
    },
    "bitwise_not": lambda x: paddle.bitwise_not(x.astype("int32")),
    "logical_not": paddle.logical_not,
    "bmm": lambda x: paddle.bmm(x.unsqueeze(0), x.unsqueeze(0)),
    "clip": lambda x: paddle.clip(x, -100.0, 100.0),
    "elementwise_pow": lambda x: x**x,
    "pow": lambda x: paddle._C_ops.pow(x, 2.0),
    "scale": lambda x: paddle.scale(x, 1.0),
    "where": lambda x: paddle.where(x > 0, x, x),
    "stack": lambda x: paddle.stack([x]),
    "concat": lambda x: paddle.concat([x]),
    "add_n": lambda x: paddle.add_n([x]),
    "all": lambda x: (x > 0).all(),
    "any": lambda x: (x > 0).any(),
    "arange": lambda x: paddle.arange(x.sum()),
    "assign": paddle.assign,
    "cast": lambda x: paddle.cast(x.astype("float64"), "float32"),
    "cumsum": lambda x: paddle.cumsum(x, 0),
    "expand": lambda x: paddle.expand(x, [3, 3]),
    "expand_as": lambda x: x.expand_as(x),
    "flatten": paddle.flatten,
    "flip": lambda x: paddle.flip(x, [0]),
    "full": lambda x: x + paddle.full([3, 3], 1.0),
    "full_int_array": lambda x: x.reshape([9]),
    "full_like": lambda x: paddle.full_like(x, 2.0),
    "gather": lambda x: paddle.gather(x, paddle.full([2], 1, "int64")),
    "layer_norm": lambda x: F.layer_norm(x, 3),
    "p_norm": lambda x: x.norm(p=3.0),
    "pad": lambda x: F.pad(x, [0, 0, 0, 0]),
    "reshape": lambda x: x.reshape([3, 3]),
    "roll": lambda x: paddle.roll(x, 0),
    "slice": lambda x: x[0:2],
    "split": lambda x: paddle.split(x, [1, 2])[0],
    "split_with_num": lambda x: paddle.split(x, 1)[0],
    "squeeze": lambda x: paddle.squeeze(x.unsqueeze(0), 0),
    "strided_slice": lambda x: x[::2],
    "tile": lambda x: paddle.tile(x, [1, 1]),
    "topk": lambda x: paddle.topk(x, 3)[0],
    "transpose": lambda x: paddle.transpose(x, [0, 1]),
    "tril": lambda x: paddle.tril(x, 5),
    "triu": lambda x: paddle.triu(x, -5),
    "argsort": paddle.argsort,
    "bernoulli": paddle.bernoulli,
    "cross_entropy_with_softmax": lambda x: F.cross_entropy(x, paddle.zeros([3, 1], "int64")),
    "dropout": lambda x: F.dropout(x, 0.5),
    "gaussian": lambda x: paddle.normal(shape=[3, 3]),
    "squared_l2_norm": lambda x: paddle._C_ops.squared_l2_norm(x),
    "uniform": lambda x: paddle.uniform([3, 3]),
    "conv2d": lambda x: F.conv2d(x.reshape([1, 1, 3, 3]), paddle.ones([1, 1, 1, 1])),
    "embedding": lambda x: F.embedding(paddle.zeros([3], "int64"), x),
    "gather_nd": lambda x: paddle.gather_nd(x, paddle.zeros([1, 1], "int64")),
    "index_select": lambda x: paddle.index_select(x, paddle.arange(3)),
    "nonzero": paddle.nonzero,
    "one_hot": lambda x: F.one_hot(paddle.zeros([3], "int64"), 3) + x,
    "put_along_axis": lambda x: paddle.put_along_axis(x, paddle.zeros([1, 1], "int64"), 7.0, 0),
    "scatter": lambda x: paddle.scatter(x, paddle.zeros([1], "int64"), x[:1]),
    "set_value": lambda x: paddle._C_ops.set_value(x, [0], [1], [1], [0], [], [], [1], [7.0]),
    "set_value_with_tensor": lambda x: paddle._C_ops.set_value_with_tensor(
        x, x[:1], [0], [1], [1], [0], [], []
    ),
    "shape64": paddle.shape,
    "take_along_axis": lambda x: paddle.take_along_axis(x, paddle.zeros([3, 3], "int64"), 0),
    "unbind": lambda x: paddle.unbind(x)[0],
    "unsqueeze": lambda x: paddle.unsqueeze(x, 0),
    "depthwise_conv2d": lambda x: F.conv2d(
        x.reshape([1, 3, 3, 1]), paddle.ones([3, 1, 1, 1]), groups=3
    ),
    "einsum": lambda x: paddle.einsum("ij,kj->ijk", x, x),
    "full_with_tensor": lambda x: paddle.full([paddle.shape(x)[0]], x.sum()),
    "gather_tree": lambda x: F.gather_tree(
        *[paddle.zeros([3, 1, 3], "int64")] * 2  # type: ignore[list-item]
    ),
    "group_norm": lambda x: F.group_norm(x.reshape([1, 3, 3]), 3),
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "index_sample": lambda x: paddle.index_sample(x, paddle.zeros([3, 3], "int64")),
    "linspace": lambda x: paddle.linspace(x.min(), x.max(), 3),
    "masked_select": lambda x: paddle.masked_select(x, x > 0),
    "mish": F.mish,
    "multinomial": lambda x: paddle.multinomial(x, 2),
    "pad3d": lambda x: F.pad(x.reshape([1, 1, 3, 3]), [0, 0, 0, 0], mode="replicate"),
    "pool2d": lambda x: F.max_pool2d(x.reshape([1, 1, 3, 3]), 1),
    "randint": lambda x: paddle.randint(0, 9, [3, 3]),
    "repeat_interleave": lambda x: paddle.repeat_interleave(x, 1, 0),
    "searchsorted": lambda x: paddle.searchsorted(x[0], x),
    "swiglu": lambda x: paddle.incubate.nn.functional.swiglu(x, x),
}


@pytest.mark.parametrize("name", sorted(each.removeprefix("pd_op.") for each in OWN | OF_SEVERAL))
def test_an_operation_makes_a_tensor_of_its_own(name: str) -> None:
    """What ``block_memory`` believes of an operation: no result shares memory with an operand."""
    paddle.enable_static()
    program = paddle.static.Program()
    try:
        with paddle.static.program_guard(program):
            x = paddle.static.data("x", [3, 3], "float32")
            y = OPERATIONS[name](x)
    finally:
        paddle.disable_static()
    assert f"pd_op.{name}" in {each.name() for each in program.global_block().ops}
    for keep in (0, 1 << 20):
        runnable = bridge.Program(program, [x], [y], ([], []), keep=keep)
        with paddle.no_grad():
            given = paddle.to_tensor(np.linspace(0.1, 0.9, 9).reshape([3, 3]), dtype="float32")
            paddle.seed(1)
            (first,) = runnable.run([given])
            want = first.numpy().copy()
            paddle.seed(1)
            (second,) = runnable.run([given])
            given.add_(paddle.full([3, 3], 5.0))
        for found in (first, second):
            np.testing.assert_array_equal(found.numpy(), want)


@pytest.mark.parametrize("name", sorted(each.removeprefix("pd_op.") for each in GRADIENTS))
def test_a_gradient_is_a_tensor_of_its_own(name: str) -> None:
    """What ``block_memory`` believes of a gradient: it shares memory with no operand or other."""
    paddle.enable_static()
    program = paddle.static.Program()
    try:
        with paddle.static.program_guard(program):
            x = paddle.static.data("x", [3, 3], "float32")
            x.stop_gradient = False
            y = OPERATIONS[name.removesuffix("_grad")](x)
            seed = paddle.static.data("seed", y.shape, "float32")
            differentiate([y], [x], [seed])
    finally:
        paddle.disable_static()
    (operation,) = (each for each in program.global_block().ops if each.name() == f"pd_op.{name}")
    made = [each for each in operation.results() if each.is_dense_tensor_type()]
    for used in [user for each in operation.results() for user in each.all_used_ops()]:
        made += used.results() if used.name() == "builtin.split" else []
    given = np.linspace(0.1, 0.9, 9).reshape([3, 3])
    for keep in (0, 1 << 20):
        runnable = bridge.Program(program, [x, seed], made, ([], []), keep=keep)
        tensors = [paddle.to_tensor(given, "float32"), paddle.ones(seed.shape)]
        with paddle.no_grad():
            paddle.seed(1)
            first = runnable.run(tensors)
            want = [each.numpy().copy() for each in first]
            paddle.seed(1)
            second = runnable.run(tensors)
            for each in tensors:
                each.add_(paddle.full(each.shape, 5.0))
            for at, found in enumerate(first):
                np.testing.assert_array_equal(found.numpy(), want[at])
                found.add_(paddle.full(found.shape, 7.0))
        for found, expected in zip(second, want, strict=True):
            np.testing.assert_array_equal(found.numpy(), expected)
