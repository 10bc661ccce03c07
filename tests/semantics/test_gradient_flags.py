"""Where gradients begin and end, and what ``stop_gradient`` says of it (rules C7, F3, G3).

A scene is made twice from one seed, once in dygraph and once converted.  Its function is called
twice; what it returns that may have a gradient is differentiated.  Values, gradients, their flags
and the flags of the arguments are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import pytest
from paddle import nn
from paddle.autograd import PyLayer
from paddle.nn import functional as F

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import function_of

Scene = Callable[[], tuple[Callable[..., Any], list[Any]]]


def numbers(*shape: int, seed: int = 0) -> Any:
    """Numbers without a gradient, the same every time."""
    return paddle.to_tensor(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


def leaf(*shape: int, seed: int = 0) -> Any:
    """The same with a gradient to come."""
    made = numbers(*shape, seed=seed)
    made.stop_gradient = False
    return made


def seen(thing: Any, deep: bool = True) -> Any:
    """What can be seen of a result: numbers, flags, gradients."""
    if isinstance(thing, paddle.Tensor):
        gradient = seen(thing.grad, False) if deep and thing.is_leaf else None
        return [thing.numpy(), thing.stop_gradient, gradient]
    if isinstance(thing, dict):
        return {key: seen(item) for key, item in thing.items()}
    if isinstance(thing, list | tuple):
        return [seen(item) for item in thing]
    return thing


def compare(got: Any, want: Any, path: str) -> None:
    """Say where two of them differ."""
    if isinstance(want, np.ndarray):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=path)
    elif isinstance(want, dict):
        assert list(got) == list(want), path
        for key, item in want.items():
            compare(got[key], item, f"{path}[{key!r}]")
    elif isinstance(want, list):
        assert len(got) == len(want), path
        for index, (mine, item) in enumerate(zip(got, want, strict=True)):
            compare(mine, item, f"{path}[{index}]")
    else:
        assert got == want, path


def history(scene: Scene, convert: Callable[[Any], Any]) -> list[Any]:
    """What two calls of the scene's function do."""
    paddle.seed(3)
    function, extra = scene()
    converted = convert(function)
    found = []
    for seed in range(2):
        arguments = function.arguments(seed) if hasattr(function, "arguments") else []
        result = converted(*arguments)
        things = result if isinstance(result, list | tuple) else [result]
        losses = [
            (each * (index + 1.5)).sum()
            for index, each in enumerate(things)
            if isinstance(each, paddle.Tensor) and not each.stop_gradient and not each.is_leaf
        ]
        if losses and not getattr(function, "trains", False):
            paddle.add_n(losses).backward()
        found.append([seen(result), seen(arguments), seen(extra)])
    return found


def hold(scene: Scene) -> None:
    """Hold a converted scene against dygraph."""
    compare(history(scene, d2s.to_static), history(scene, lambda function: function), "")


def given(*made: Callable[[int], Any], trains: bool = False) -> Callable[[Any], Scene]:
    """A scene that is a function of arguments made by the number of the call.

    Args:
        *made: what makes each argument.
        trains: the function calls ``backward`` itself.
    """

    def scene_of(function: Any) -> Scene:
        function.arguments = lambda seed: [make(seed) for make in made]
        function.trains = trains
        return lambda: (function, [])

    return scene_of


def X(seed: int) -> Any:
    return leaf(3, seed=seed)


def N(seed: int) -> Any:
    return numbers(3, seed=seed)


def true(seed: int) -> Any:
    return paddle.to_tensor(1.0)


def either(seed: int) -> Any:
    return paddle.to_tensor(1.0 - 2.0 * seed)


# -- tensors of the function's own, at which gradients arrive and end ------------------------------


@given(X)
def detached(x: Any) -> Any:
    y = x.detach()
    y.stop_gradient = False
    return (y * y).sum() + x.sum()


@given(X)
def made_under_no_grad(x: Any) -> Any:
    with paddle.no_grad():
        t = x * 2
    t.stop_gradient = False
    return (t * x).sum()


@given(X)
def several_results(x: Any) -> Any:
    with paddle.no_grad():
        a, b = paddle.split(paddle.concat([x, x * 2]), 2)
    a.stop_gradient = False
    b.stop_gradient = False
    return (a * b * x).sum()


@given(X)
def detached_on_the_way(x: Any) -> Any:
    y = x.detach().clone()
    y.stop_gradient = False
    z = y.exp()
    w = z.detach() + x
    return (w * z).sum()


@given(X)
def gradient_of_detached(x: Any) -> Any:
    y = x.detach()
    y.stop_gradient = False
    loss = (y * y * x).sum()
    return paddle.grad(loss, y)[0], loss


@given(X)
def stopped_between_uses(x: Any) -> Any:
    z = x * 2
    a = z * 3
    z.stop_gradient = True
    return (a + z * 5).sum()


@given(X)
def stopped_and_started(x: Any) -> Any:
    z = x * 2
    z.stop_gradient = True
    b = z * 7
    z.stop_gradient = False
    return (z * x + b * x).sum()


@given(X, either)
def chosen_under_no_grad(x: Any, c: Any) -> Any:
    with paddle.no_grad():
        if c > 0:
            y = x * 2
        else:
            y = x * 3
    y.stop_gradient = False
    return (y * y).sum() + x.sum()


@given(X, either)
def in_a_branch(x: Any, c: Any) -> Any:
    if c > 0:
        y = x.detach() * 2
        y.stop_gradient = False
        z = y * y
    else:
        z = x * x
    return z.sum() + x.sum()


@given(X, either)
def from_outside_in_a_branch(x: Any, c: Any) -> Any:
    y = x.detach()
    if c > 0:
        y.stop_gradient = False
        z = y * y * x
    else:
        z = x * x
    return z.sum()


@given(X, lambda seed: paddle.to_tensor(3))
def in_a_loop(x: Any, n: Any) -> Any:
    y = x * 1
    s = paddle.zeros([3])
    i = paddle.to_tensor(0)
    while i < n:
        t = (y * 2).detach()
        t.stop_gradient = False
        s = s + t * x
        y = y + t
        i += 1
    return s.sum() + y.sum()


@given(X, lambda seed: paddle.to_tensor(3))
def descent_in_a_loop(x: Any, n: Any) -> Any:
    d = paddle.zeros([3])
    i = paddle.to_tensor(0)
    while i < n:
        d.stop_gradient = False
        loss = ((x + d) ** 3).sum()
        g = paddle.grad(loss, d)[0]
        d = (d - 0.1 * g).detach()
        i += 1
    return ((x + d) ** 2).sum(), d


@pytest.mark.parametrize(
    "scene",
    [
        detached,
        made_under_no_grad,
        several_results,
        detached_on_the_way,
        gradient_of_detached,
        stopped_between_uses,
        stopped_and_started,
        chosen_under_no_grad,
        in_a_branch,
        from_outside_in_a_branch,
        in_a_loop,
        descent_in_a_loop,
    ],
)
def test_a_gradient_ends_where_a_tensor_without_history_gets_one(scene: Scene) -> None:
    """C7: ``y.stop_gradient = False`` of a tensor without a history makes a leaf of it."""
    hold(scene)


# -- arguments -------------------------------------------------------------------------------------


@given(N)
def started(x: Any) -> Any:
    a = x * 2
    x.stop_gradient = False
    return (a + x * 3).sum()


@given(X)
def stopped(x: Any) -> Any:
    x.stop_gradient = True
    return (x * 3).sum()


@given(X)
def stopped_after_a_use(x: Any) -> Any:
    a = x * 2
    x.stop_gradient = True
    return (a + x * 3).sum()


@given(N)
def differentiated(x: Any) -> Any:
    x.stop_gradient = False
    return paddle.grad((x**3).sum(), x)[0]


@given(N, trains=True)
def gone_back_to(x: Any) -> Any:
    x.stop_gradient = False
    (x**3).sum().backward()
    return x.grad, x.grad * 2


@given(lambda seed: [numbers(2, seed=seed), numbers(2, seed=seed + 1)])
def in_a_list(xs: Any) -> Any:
    for x in xs:
        x.stop_gradient = False
    return sum((x**2).sum() for x in xs)


@pytest.mark.parametrize(
    "scene", [started, stopped, stopped_after_a_use, differentiated, gone_back_to, in_a_list]
)
def test_an_argument_keeps_the_flag_that_the_function_sets(scene: Scene) -> None:
    """F3: ``image.stop_gradient = False`` of an argument is seen by the caller, as in dygraph."""
    hold(scene)


def set_in_a_branch(x: Any, c: Any) -> Any:
    if c > 0:
        x.stop_gradient = False
    return (x * 3).sum()


def test_the_flag_of_an_argument_under_a_tensor_condition_is_refused() -> None:
    """F3: on which runs the caller would see it, only the run knows."""
    with pytest.raises(UnsupportedInGraphError, match="stop_gradient of an argument"):
        d2s.to_static(set_in_a_branch)(numbers(3), paddle.to_tensor(1.0))


# -- what has no derivative ------------------------------------------------------------------------


@given(lambda seed: leaf(2, 4, seed=seed))
def without_derivatives(x: Any) -> Any:
    index = x.argmax(-1)
    return [
        index,
        index.astype("float32") * 2,
        x > 0,
        (x > 0).astype("float32"),
        x.isnan(),
        paddle.isfinite(x).astype("float32").sum(),
        paddle.zeros_like(x) + 1,
        paddle.ones_like(x),
        F.one_hot(index, 4),
        paddle.stack([x.argmax(-1), x.argmin(-1)]),
        x // 2,
        paddle.bernoulli(F.sigmoid(x) * 0 + 1),
        paddle.searchsorted(x[0].sort(), x[1]),
        paddle.linspace(x[0, 0], x[0, 1], 3),
    ]


@given(lambda seed: leaf(2, 4, seed=seed))
def with_derivatives(x: Any) -> Any:
    return [
        paddle.topk(x, 2)[0],
        paddle.topk(x, 2)[1],
        x.astype("int64"),
        x.floor(),
        x.sign(),
        x.round(),
        paddle.where(x > 0, x, paddle.zeros_like(x)),
        x.clip(0, 1),
    ]


@given(lambda seed: leaf(2, 4, seed=seed), either)
def without_derivatives_in_a_branch(x: Any, c: Any) -> Any:
    if c > 0:
        index = x.argmax(-1).astype("float32")
    else:
        index = x.argmin(-1).astype("float32") + 1
    return index, index * 2


@pytest.mark.parametrize("scene", [without_derivatives, without_derivatives_in_a_branch])
def test_what_has_no_derivative_says_so(scene: Scene) -> None:
    """C7: results of comparisons, ``argmax`` and their like have ``stop_gradient=True``."""
    hold(scene)


def test_what_has_a_derivative_says_so_too() -> None:
    """C7: integers among them, as in dygraph."""
    x = leaf(2, 4)
    want = [each.stop_gradient for each in with_derivatives()[0](x)]
    got = [each.stop_gradient for each in d2s.to_static(with_derivatives()[0])(x)]
    assert got == want == [False] * len(want)


INDICES = ("paddle.topk(w, 2)[1]", "paddle.argsort(w)[:2]", "(w * 3).astype('int64')[:2]")

INDEXED = (
    "paddle.gather(x, i)",
    "paddle.gather_nd(x, i.unsqueeze(-1))",
    "paddle.index_select(x, i, axis=0)",
    "paddle.index_sample(x[:2], paddle.stack([i, i]))",
    "paddle.index_add(x, i, 0, paddle.ones([2, 4]))",
    "paddle.index_fill(x, i, 0, 1.0)",
    "paddle.index_put(x, (i,), paddle.ones([4]))",
    "paddle.take_along_axis(x, i.unsqueeze(-1), 0)",
    "paddle.put_along_axis(x, i.unsqueeze(-1), 1.0, 0)",
    "paddle.take(x, i)",
    "paddle.scatter(x, i, paddle.ones([2, 4]))",
    "paddle.scatter_nd_add(x, i.unsqueeze(-1), paddle.ones([2, 4]))",
    "paddle.where(i.astype('bool'), paddle.ones([2]), paddle.zeros([2]))",
    "paddle.masked_fill(x[:2], i.astype('bool').unsqueeze(-1), 1.0)",
    "paddle.multiplex([x[:2], x[:2]], i.clip(0, 1).unsqueeze(-1).astype('int32'))",
    "paddle.repeat_interleave(x[:2], i + 1, 0)",
    "F.embedding(i, x)",
    "F.cross_entropy(x[:2], i)",
    "F.nll_loss(F.log_softmax(x[:2]), i)",
    "x[i]",
    "x[i, i]",
    "x[..., i]",
    "x[i.min():]",
    "x.reshape([i.max() * 0 + 2, -1])",
    "x[:1].expand([i.max() + 1, 4])",
    "x.tile([i.max() + 1, 1])",
    "assigned(x, i)",
)


def assigned(x: Any, i: Any) -> Any:
    x = x.clone()
    x[i] = 1.0
    return x


@pytest.mark.sampled(3)
@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("use", INDEXED)
def test_an_index_counts_for_nothing(use: str, index: str) -> None:
    """C7: what is picked has the flag of what it is picked from, also by indices of ``topk``."""
    f = function_of(f"def f(x, w):\n    i = {index}\n    return {use}", F=F, assigned=assigned)
    static = d2s.to_static(f, full_graph=True)
    for x in (numbers(4, 4), leaf(4, 4)):
        w = paddle.to_tensor([0.1, 0.9, 0.3, 0.5], stop_gradient=False)
        want, got = f(x, w), static(x, w)
        compare(seen(got), seen(want), "result")


# -- gradients themselves --------------------------------------------------------------------------


def gradients_outside() -> tuple[Callable[..., Any], list[Any]]:
    paddle.seed(3)
    net = nn.Linear(3, 2)

    def function(x: Any) -> Any:
        return net(x).sum()

    function.arguments = lambda seed: [leaf(2, 3, seed=seed)]  # type: ignore[attr-defined]
    return function, net.parameters()


def gradients_outside_of_a_loop() -> tuple[Callable[..., Any], list[Any]]:
    paddle.seed(3)
    net = nn.Linear(3, 3)

    def function(x: Any, n: Any) -> Any:
        while n > 0:
            x = F.tanh(net(x))
            n = n - 1
        return x.sum()

    function.arguments = lambda seed: [  # type: ignore[attr-defined]
        leaf(2, 3, seed=seed),
        paddle.to_tensor(2),
    ]
    return function, net.parameters()


def gradients_inside() -> tuple[Callable[..., Any], list[Any]]:
    net = nn.Linear(3, 2)

    def function(x: Any) -> Any:
        loss = net(x).square().mean()
        loss.backward()
        found = {name: each.grad for name, each in net.named_parameters()}
        norm = paddle.add_n([(each.grad**2).sum() for each in net.parameters()]).sqrt()
        with paddle.no_grad():
            half = net.weight.grad * 0.5
        copy = net.weight.grad.clone()
        return [norm, half, copy, found, {"loss": loss.stop_gradient}]

    function.arguments = lambda seed: [numbers(4, 3, seed=seed)]  # type: ignore[attr-defined]
    function.trains = True  # type: ignore[attr-defined]
    return function, net.parameters()


def gradients_assigned() -> tuple[Callable[..., Any], list[Any]]:
    net = nn.Linear(3, 2)

    def function(x: Any) -> Any:
        net.bias.grad = paddle.ones([2])
        first = net.bias.grad.stop_gradient
        net(x).square().mean().backward()
        net.weight.grad = net.weight.grad * 0.1
        return net.weight.grad, first

    function.arguments = lambda seed: [numbers(4, 3, seed=seed)]  # type: ignore[attr-defined]
    function.trains = True  # type: ignore[attr-defined]
    return function, net.parameters()


@pytest.mark.parametrize(
    "scene",
    [gradients_outside, gradients_outside_of_a_loop, gradients_inside, gradients_assigned],
)
def test_a_gradient_is_a_leaf(scene: Scene) -> None:
    """G3: ``p.grad.stop_gradient`` is ``False``, and so is what is computed of it."""
    hold(scene)


# -- a PyLayer's forward ---------------------------------------------------------------------------


class Doubled(PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        with paddle.no_grad():
            y = x * 2
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (y,) = ctx.saved_tensor()
        return gradient * y


class Rounded(PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return (x > 0).astype("float32"), x.argmax().astype("float32")

    @staticmethod
    def backward(ctx: Any, first: Any, second: Any) -> Any:
        return first * 3 + second


@given(X, either)
def py_layers(x: Any, c: Any) -> Any:
    x = x * 1  # the gradient of a leaf that a PyLayer gives has another flag in dygraph
    a, b = Rounded.apply(x)
    if c > 0:
        y = Doubled.apply(x)
    else:
        y = x
    return y.sum() + (a * b).sum()


@given(N)
def py_layer_without_gradient(x: Any) -> Any:
    return Doubled.apply(x)


@given(X)
def py_layer_under_no_grad(x: Any) -> Any:
    with paddle.no_grad():
        y = Doubled.apply(x)
    return y * x, y


@pytest.mark.parametrize("scene", [py_layers, py_layer_without_gradient, py_layer_under_no_grad])
def test_no_grad_in_a_py_layer_says_nothing_of_its_gradient(scene: Scene) -> None:
    """C7: the ``backward`` of a ``PyLayer`` is what differentiates it."""
    hold(scene)


class Estimated(PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any, of: Any) -> Any:
        ctx.of = of
        return (x > 0).astype("float32")

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * ctx.of(gradient)


@pytest.mark.parametrize(
    "of",
    [
        lambda dy: paddle.full_like(dy, 3),
        paddle.ones_like,
        paddle.zeros_like,
        lambda dy: paddle.where(dy > 0, dy, 0.0),
        lambda dy: paddle.zeros([3], dy.dtype) + 2,
    ],
    ids=["full_like", "ones_like", "zeros_like", "where", "zeros"],
)
def test_a_py_layer_s_backward_makes_tensors_like_its_gradient(of: Callable[[Any], Any]) -> None:
    """C7: straight-through estimators; the place of a tensor is asked while gradients are made."""

    def function(x: Any) -> Any:
        return (Estimated.apply(x * 2, of) * x).sum()

    found = []
    for each in (function, d2s.to_static(function, full_graph=True)):
        x = paddle.to_tensor([1.0, -2.0, 3.0], stop_gradient=False)
        each(x).backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1]


# -- parameters with new contents ------------------------------------------------------------------


def scene_of_net(body: Callable[[Any, Any], Any], trains: bool = False) -> Scene:
    def scene() -> tuple[Callable[..., Any], list[Any]]:
        paddle.seed(3)
        net = nn.Linear(3, 3)

        def function(x: Any) -> Any:
            return body(net, x)

        function.arguments = lambda seed: [numbers(2, 3, seed=seed)]  # type: ignore[attr-defined]
        function.trains = trains  # type: ignore[attr-defined]
        return function, [net.weight, net.bias, Kind(net)]

    return scene


class Kind:
    """Compares by what a layer's weight is."""

    def __init__(self, net: Any) -> None:
        self.net = net

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kind) and type(self.net.weight) is type(other.net.weight)

    __hash__ = None  # type: ignore[assignment]


def before_the_loss(net: Any, x: Any) -> Any:
    net.weight.set_value(net.weight * 2)
    return net(x).square().sum()


def under_no_grad(net: Any, x: Any) -> Any:
    with paddle.no_grad():
        net.weight.set_value(net.weight * 0.5)
    return net(x).square().sum()


def between_uses(net: Any, x: Any) -> Any:
    a = net(x).square().sum()
    net.weight.set_value(net.weight * 0.5)
    return a + 3 * net(x).square().sum()


def twice(net: Any, x: Any) -> Any:
    before = net.weight.clone().detach()
    net.weight.set_value(before * 2)
    loss = net(x).square().sum()
    net.weight.set_value(before + 1)
    return loss + net(x).sum()


def before_a_loop(net: Any, x: Any) -> Any:
    net.weight.set_value(net.weight.clip(-0.3, 0.3))
    while x.abs().sum() > 0.5:
        x = F.tanh(net(x)) * 0.3
    return x


def behind_backward(net: Any, x: Any) -> Any:
    net(x).sum().backward()
    net.weight.set_value(net.weight * 2)
    return net.weight.grad


def between_backwards(net: Any, x: Any) -> Any:
    a = net(x).square().sum()
    net.weight.set_value(net.weight * 0.5)
    b = net(x).square().sum()
    (a + 3 * b).backward()
    return a.detach(), b.detach()


def by_state_dict(net: Any, x: Any) -> Any:
    start = {name: each.clone() for name, each in net.state_dict().items()}
    gradients = paddle.grad(net(x).square().sum(), net.parameters())
    with paddle.no_grad():
        for each, gradient in zip(net.parameters(), gradients, strict=True):
            each.set_value(each - 0.1 * gradient)
    after = net.state_dict()
    missing, more = net.set_state_dict({k: (start[k] + after[k]) / 2 for k in start})
    return net(x).sum(), missing, more


@pytest.mark.parametrize(
    "scene",
    [
        scene_of_net(before_the_loss),
        scene_of_net(under_no_grad),
        scene_of_net(between_uses),
        scene_of_net(twice),
        scene_of_net(before_a_loop),
        scene_of_net(behind_backward, trains=True),
        scene_of_net(between_backwards, trains=True),
        scene_of_net(by_state_dict),
    ],
)
def test_set_value_leaves_the_parameter_what_it_is(scene: Scene) -> None:
    """F3: it stays the parameter of its layer, and gradients go on to arrive at it."""
    hold(scene)


# -- parameters that stop gradients for a while ----------------------------------------------------


def adversaries() -> tuple[Callable[..., Any], list[Any]]:
    paddle.seed(3)
    made, judged = nn.Linear(3, 3), nn.Linear(3, 1)
    optimizers = [
        paddle.optimizer.SGD(0.1, parameters=each.parameters()) for each in (made, judged)
    ]

    def function(x: Any, z: Any) -> Any:
        for each in judged.parameters():
            each.stop_gradient = False
        first = F.softplus(-judged(x)).mean() + F.softplus(judged(made(z).detach())).mean()
        optimizers[1].clear_grad()
        first.backward()
        optimizers[1].step()
        for each in judged.parameters():
            each.stop_gradient = True
        second = F.softplus(-judged(made(z))).mean()
        optimizers[0].clear_grad()
        second.backward()
        optimizers[0].step()
        return first.detach(), second.detach()

    function.arguments = lambda seed: [  # type: ignore[attr-defined]
        numbers(2, 3, seed=seed),
        numbers(2, 3, seed=seed + 5),
    ]
    function.trains = True  # type: ignore[attr-defined]
    return function, [*made.parameters(), *judged.parameters()]


def frozen_by_turns() -> tuple[Callable[..., Any], list[Any]]:
    paddle.seed(3)
    net = nn.Linear(3, 2)

    def function(x: Any) -> Any:
        net.weight.stop_gradient = not net.weight.stop_gradient
        return net(x).sum()

    function.arguments = lambda seed: [numbers(2, 3, seed=seed)]  # type: ignore[attr-defined]
    return function, net.parameters()


def frozen_between_uses() -> tuple[Callable[..., Any], list[Any]]:
    paddle.seed(3)
    net = nn.Linear(3, 2)

    def function(x: Any) -> Any:
        a = net(x).sum()
        net.weight.stop_gradient = True
        b = net(x).sum()
        net.weight.stop_gradient = False
        return a + 3 * b + 5 * net(x * 2).sum()

    function.arguments = lambda seed: [numbers(2, 3, seed=seed)]  # type: ignore[attr-defined]
    return function, net.parameters()


@pytest.mark.parametrize("scene", [adversaries, frozen_by_turns, frozen_between_uses])
def test_a_parameter_may_stop_gradients_for_a_while(scene: Scene) -> None:
    """F3: ``p.stop_gradient = True`` counts for what comes behind it, on every run."""
    hold(scene)


def rates() -> tuple[Callable[..., Any], list[Any]]:
    paddle.seed(3)
    net = nn.Linear(3, 1)
    optimizer = paddle.optimizer.Adam(0.1, parameters=net.parameters())
    state = {"calls": 0}

    def function(x: Any) -> Any:
        state["calls"] += 1
        optimizer.set_lr(0.1 / state["calls"])
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss.detach(), optimizer.get_lr()

    function.arguments = lambda seed: [numbers(2, 3, seed=seed)]  # type: ignore[attr-defined]
    function.trains = True  # type: ignore[attr-defined]
    return function, net.parameters()


def test_a_rate_that_the_function_sets() -> None:
    """F3: ``set_lr`` counts for the steps behind it, and stays."""
    hold(rates)


# -- gradients asked for in a branch ---------------------------------------------------------------


@given(X, either)
def of_what_is_outside(x: Any, c: Any) -> Any:
    energy = (x**3).sum()
    if c > 0:
        force = paddle.grad(energy, x)[0]
    else:
        force = paddle.grad(energy.exp(), x)[0]
    return force, x * 2 + force


@given(N, either)
def of_an_argument(x: Any, c: Any) -> Any:
    x.stop_gradient = False
    energy = (x**2).sum() + paddle.sin(x).sum()
    if c > 0:
        if c > 0.5:
            x = x - 0.1 * paddle.grad(energy, x)[0]
        else:
            x = x * 2
    else:
        x = x - 0.01 * paddle.grad(energy.exp(), x)[0]
    return x * 3


@given(X, lambda seed: paddle.to_tensor(seed))
def of_a_branch_before_a_loop(x: Any, c: Any) -> Any:
    if c > 0:
        y = x**3
    else:
        y = x**2
    i = paddle.to_tensor(0)
    s = x.detach()
    while i < 3:
        g = paddle.grad((y * s).sum(), x)[0]
        s = s - 0.1 * g
        i += 1
    return s


@given(X, lambda seed: paddle.to_tensor([1, 0, 2]))
def attack_that_ends_early(x: Any, label: Any) -> Any:
    delta = paddle.zeros([3, 3])
    for _ in range(4):
        delta.stop_gradient = False
        logits = paddle.outer(x, x) + delta
        if (logits.argmax(-1) != label).all():
            break
        loss = F.cross_entropy(logits, label)
        delta = paddle.clip(delta + 0.5 * paddle.grad(loss, delta)[0].sign(), -1, 1).detach()
    return (x + delta).sum()


@given(X, lambda seed: paddle.to_tensor(1.0))
def penalty(x: Any, c: Any) -> Any:
    if c > 0:
        g = paddle.grad(x.exp().sum(), x, create_graph=True)[0]
        loss = ((g * g).sum() - 1) ** 2
    else:
        loss = x.sum()
    return loss


@pytest.mark.parametrize(
    "scene",
    [
        of_what_is_outside,
        of_an_argument,
        of_a_branch_before_a_loop,
        attack_that_ends_early,
        penalty,
    ],
)
def test_gradients_in_a_branch_are_those_of_dygraph(scene: Scene) -> None:
    """C7: ``paddle.grad`` of what was computed outside of the branch was ``None``."""
    hold(scene)
