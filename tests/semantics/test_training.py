"""Whole training steps inside one converted function (rules A1, C7, F3, G2).

Each scene is built twice from one seed, once in dygraph and once converted, and stepped five times.
After every step the results, parameters, gradients and the optimizer's state are the same.
"""

from __future__ import annotations

import copy
import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import pytest
from paddle import nn
from paddle.nn import functional as F

import d2s
from d2s.errors import D2SError, UnsupportedInGraphError
from tests.helpers import function_of

TRIPS = 5

Convert = Callable[[Any], Any]


def batches(count: int = TRIPS, rows: int = 5) -> list[tuple[Any, Any]]:
    """Inputs and targets, the same on every call."""
    numbers = np.random.default_rng(0)
    return [
        (
            paddle.to_tensor(numbers.standard_normal((rows, 4)).astype("float32")),
            paddle.to_tensor(numbers.standard_normal((rows, 2)).astype("float32")),
        )
        for _ in range(count)
    ]


def net(*more: Any) -> Any:
    """A small network with the same weights every time."""
    paddle.seed(7)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), *more, nn.Linear(8, 2))


class Loopy(nn.Layer):
    """A network with a branch and a loop that tensors decide."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.last = nn.Linear(8, 2)

    def forward(self, x: Any) -> Any:
        h = self.first(x)
        if h.mean() > 0:
            h = paddle.tanh(h) * 2
        else:
            h = paddle.tanh(h)
        while h.abs().sum() > 4:
            h = h * 0.7
        return self.last(h)


def loopy() -> Any:
    paddle.seed(7)
    return Loopy()


def numbers_of(thing: Any) -> Any:
    """A copy of what can be seen of ``thing``."""
    if isinstance(thing, paddle.Tensor):
        return np.array(thing.numpy())
    if isinstance(thing, dict):
        return {key: numbers_of(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [numbers_of(value) for value in thing]
    return thing


def state_of(optimizer: Any) -> list[Any]:
    """The optimizer's state; the names of its tensors differ from one optimizer to the next."""
    state = optimizer.state_dict()
    scheduler = copy.copy(state.pop("LR_Scheduler", None))
    return [numbers_of(value) for value in state.values()] + [scheduler]


def world(parameters: list[Any], *optimizers: Any) -> list[Any]:
    return [
        numbers_of(parameters),
        [numbers_of(parameter.grad) for parameter in parameters],
        [state_of(optimizer) for optimizer in optimizers],
    ]


def close(want: Any, got: Any, where: str) -> None:
    if isinstance(want, list):
        assert isinstance(got, list), where
        assert len(want) == len(got), where
        for index, (one, other) in enumerate(zip(want, got, strict=True)):
            close(one, other, f"{where}[{index}]")
    elif isinstance(want, dict):
        assert want.keys() == got.keys(), where
        for key in want:
            close(want[key], got[key], f"{where}[{key!r}]")
    elif isinstance(want, np.ndarray | float):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6, err_msg=where)
    else:
        assert want == got, where


Scene = Callable[[Convert], tuple[Callable[[int], Any], Callable[[], Any]]]


def in_turn(static: Any, plain: Any) -> Convert:
    """A function whose calls run as programs and in dygraph, two the one way and two the other."""
    ways = itertools.cycle((static, static, plain, plain))
    return lambda *args: next(ways)(*args)


def same(scene: Scene, trips: int = TRIPS, *, mixed: bool = False) -> None:
    """The scene in dygraph and converted: the same after every step.

    Args:
        scene: makes it.
        trips: so many steps.
        mixed: some of them run in dygraph, as calls do that are timed beside it.
    """
    functions: list[Any] = []

    def convert(function: Any) -> Any:
        functions.append(d2s.to_static(function))
        return in_turn(functions[-1], function) if mixed else functions[-1]

    act, see = scene(lambda function: function)
    want = [[numbers_of(act(trip)), see()] for trip in range(trips)]
    act, see = scene(convert)
    for trip in range(trips):
        close(want[trip], [numbers_of(act(trip)), see()], f"step {trip}: ")
    assert all(function.programs for function in functions)


def usual(make: Callable[[Any], Any], model: Callable[[], Any] = net) -> Scene:
    """A scene of the usual form: forward, backward, step, clear."""

    def scene(convert: Convert) -> Any:
        layer = model()
        optimizer = make(layer.parameters())

        def step(x: Any, y: Any) -> Any:
            loss = F.mse_loss(layer(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        run, data = convert(step), batches()
        return lambda trip: run(*data[trip]), lambda: world(layer.parameters(), optimizer)

    return scene


O = paddle.optimizer

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: O.SGD(0.1, parameters=p),
    "sgd, decay": lambda p: O.SGD(0.1, parameters=p, weight_decay=0.1),
    "momentum": lambda p: O.Momentum(0.1, 0.9, parameters=p),
    "nesterov": lambda p: O.Momentum(0.1, 0.9, parameters=p, use_nesterov=True),
    "momentum, decay": lambda p: O.Momentum(
        0.1, 0.9, parameters=p, weight_decay=paddle.regularizer.L2Decay(0.1)
    ),
    "momentum, l1": lambda p: O.Momentum(
        0.1, 0.9, parameters=p, weight_decay=paddle.regularizer.L1Decay(0.1)
    ),
    "adam": lambda p: O.Adam(0.1, parameters=p),
    "adam, decay": lambda p: O.Adam(0.1, parameters=p, weight_decay=0.1),
    "amsgrad": lambda p: O.Adam(0.1, parameters=p, amsgrad=True),
    "adamw": lambda p: O.AdamW(0.1, parameters=p, weight_decay=0.1),
    "adamw, some": lambda p: O.AdamW(
        0.1, parameters=p, weight_decay=0.1, apply_decay_param_fun=lambda name: "w_0" in name
    ),
    "rmsprop": lambda p: O.RMSProp(0.01, parameters=p, momentum=0.5, centered=True),
    "adagrad": lambda p: O.Adagrad(0.1, parameters=p),
    "adadelta": lambda p: O.Adadelta(0.5, parameters=p),
    "adamax": lambda p: O.Adamax(0.1, parameters=p),
    "lamb": lambda p: O.Lamb(0.1, parameters=p),
    "nadam": lambda p: O.NAdam(0.1, parameters=p),
    "radam": lambda p: O.RAdam(0.1, parameters=p),
    "rprop": lambda p: O.Rprop(0.01, parameters=p, learning_rate_range=(1e-4, 1.0)),
    "clip by value": lambda p: O.SGD(0.1, parameters=p, grad_clip=nn.ClipGradByValue(0.05)),
    "clip by norm": lambda p: O.SGD(0.1, parameters=p, grad_clip=nn.ClipGradByNorm(0.1)),
    "clip by global norm": lambda p: O.Adam(
        0.1, parameters=p, grad_clip=nn.ClipGradByGlobalNorm(0.1), weight_decay=0.01
    ),
    "groups": lambda p: O.AdamW(
        0.1,
        parameters=[
            {"params": p[:2], "learning_rate": 0.5},
            {"params": p[2:], "weight_decay": 0.3, "grad_clip": nn.ClipGradByValue(0.05)},
        ],
        weight_decay=0.1,
    ),
    "momentum groups": lambda p: O.Momentum(
        0.1, parameters=[{"params": p[:2], "learning_rate": 0.1}, {"params": p[2:]}]
    ),
}


@pytest.mark.sampled(3, also=["groups"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_of_every_optimizer(name: str) -> None:
    """A1: parameters, gradients and accumulators are dygraph's after every step."""
    same(usual(OPTIMIZERS[name]))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_programs_and_of_dygraph_go_on_from_each_other(name: str) -> None:
    """F3, H3: an optimizer has one state, whichever way a call runs."""
    same(usual(OPTIMIZERS[name]), mixed=True)


def test_the_state_has_the_names_that_dygraph_gives() -> None:
    """A1: a checkpoint can be loaded on the other side."""

    def names(convert: Convert) -> list[str]:
        with paddle.utils.unique_name.guard():
            layer = net()
            optimizer = O.Adam(0.1, parameters=layer.parameters())

            def step(x: Any) -> None:
                layer(x).mean().backward()
                optimizer.step()

            run = convert(step)
            for rows in (5, 4, 3):
                run(batches(rows=rows)[0][0])
            return sorted(optimizer.state_dict())

    assert names(d2s.to_static) == names(lambda function: function)


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_a_step_through_branches_and_loops(name: str) -> None:
    """C7: forward, gradients of ``if`` and ``while``, and the step are one program."""
    same(usual(OPTIMIZERS[name], loopy))


def test_one_program_for_all_steps() -> None:
    """G2: gradients that come and go are no reason for another program."""
    layer = net()
    optimizer = O.Adam(0.1, parameters=layer.parameters())

    @d2s.to_static
    def step(x: Any, y: Any) -> Any:
        loss = F.mse_loss(layer(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    for x, y in batches():
        step(x, y)
    assert len(step.programs) == 1


def steps(body: Callable[[Any, Any, Any, Any], Any], **options: Any) -> Scene:
    """A scene whose function is ``body(layer, optimizer, x, y)``."""
    model = options.pop("model", net)
    make = options.pop("make", OPTIMIZERS["adam"])

    def scene(convert: Convert) -> Any:
        layer = model()
        optimizer = make(layer.parameters())
        run, data = convert(body), batches()
        return (
            lambda trip: run(layer, optimizer, *data[trip]),
            lambda: world(layer.parameters(), optimizer),
        )

    return scene


def clears_first(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    optimizer.clear_grad()
    loss = F.mse_loss(layer(x), y)
    loss.backward()
    optimizer.step()
    return loss


def never_clears(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    loss = F.mse_loss(layer(x), y)
    loss.backward()
    optimizer.step()
    return loss


def only_backward(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    F.mse_loss(layer(x), y).backward()


def drops(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    loss = F.mse_loss(layer(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad(set_to_zero=False)
    return loss


def zero_grads(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    optimizer.zero_grad()
    loss = F.mse_loss(layer(x), y)
    loss.backward()
    optimizer.step()
    return loss


def gradients_cleared_by_hand(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    loss = F.mse_loss(layer(x), y)
    loss.backward()
    optimizer.step()
    for parameter in layer.parameters():
        parameter.clear_gradient()
    return loss


def layer_clears(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    loss = F.mse_loss(layer(x), y)
    loss.backward()
    optimizer.step()
    layer.clear_gradients()
    optimizer.clear_gradients()
    return loss


def two_losses(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    out = layer(x)
    first = F.mse_loss(out, y)
    second = out.abs().mean()
    first.backward(retain_graph=True)
    second.backward()
    optimizer.step()
    optimizer.clear_grad()
    return first, second


def micro_batches(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    total = 0.0
    for part in range(2):
        loss = F.mse_loss(layer(x[part * 2 : part * 2 + 2]), y[part * 2 : part * 2 + 2]) / 2
        loss.backward()
        total = total + loss
    optimizer.step()
    optimizer.clear_grad()
    return total


def two_steps(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    losses = []
    for _ in range(3):
        loss = F.mse_loss(layer(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss)
    return losses


def minimizes(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    loss = F.mse_loss(layer(x), y)
    loss.backward()
    optimizer.minimize(loss)
    layer.clear_gradients()
    return loss


def reads_gradients(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    loss = F.mse_loss(layer(x), y)
    loss.backward()
    norms = [parameter.grad.norm() for parameter in layer.parameters()]
    optimizer.step()
    optimizer.clear_grad()
    return loss, norms


def reads_gradients_before(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    before = [parameter.grad for parameter in layer.parameters()]
    known = [gradient is not None for gradient in before]
    loss = F.mse_loss(layer(x), y)
    loss.backward()
    optimizer.step()
    return known, [gradient * 1 for gradient in before if gradient is not None]


def scales_gradients(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    loss = F.mse_loss(layer(x), y)
    loss.backward()
    for parameter in layer.parameters():
        parameter.grad = parameter.grad * 0.5
    optimizer.step()
    optimizer.clear_grad()
    return loss


def scales_gradients_in_place(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    loss = F.mse_loss(layer(x), y)
    loss.backward()
    with paddle.no_grad():
        for parameter in layer.parameters():
            parameter.grad.scale_(0.5)
    optimizer.step()
    return loss


def clips_by_hand(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    loss = F.mse_loss(layer(x), y)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(layer.parameters(), 0.1)
    nn.utils.clip_grad_value_(layer.parameters(), 0.01)
    optimizer.step()
    optimizer.clear_grad()
    return loss, norm


def own_update(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    loss = F.mse_loss(layer(x), y)
    loss.backward()
    with paddle.no_grad():
        for parameter in layer.parameters():
            parameter.set_value(parameter - 0.1 * parameter.grad)
            parameter.clear_gradient()
    return loss


def own_update_in_place(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    losses = []
    for _ in range(2):
        loss = F.mse_loss(layer(x), y)
        loss.backward()
        with paddle.no_grad():
            for parameter in layer.parameters():
                parameter.subtract_(0.1 * parameter.grad)
        layer.clear_gradients()
        losses.append(loss)
    return losses


def own_update_by_assign(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    loss = F.mse_loss(layer(x), y)
    loss.backward()
    with paddle.no_grad():
        for parameter in layer.parameters():
            paddle.assign(parameter - 0.1 * parameter.grad, parameter)
    layer.clear_gradients()
    return loss, layer(x)


def own_update_with_grad(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    loss = F.mse_loss(layer(x), y)
    gradients = paddle.grad(loss, layer.parameters())
    with paddle.no_grad():
        for parameter, gradient in zip(layer.parameters(), gradients, strict=True):
            parameter.set_value(parameter - 0.1 * gradient)
    return loss


def minus_equals_rebinds(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    loss = F.mse_loss(layer(x), y)
    loss.backward()
    with paddle.no_grad():
        for parameter in layer.parameters():
            parameter -= 0.1 * parameter.grad  # a new tensor, in dygraph too
    return loss


SCALER = paddle.amp.GradScaler(init_loss_scaling=1024.0)  # on a CPU it scales nothing


def scaled_loss(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    with paddle.amp.auto_cast(level="O1"):
        loss = F.mse_loss(layer(x), y)
    SCALER.scale(loss).backward()
    SCALER.step(optimizer)
    SCALER.update()
    optimizer.clear_grad()
    return loss


def given_gradient(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    out = layer(x)
    out.backward(y)
    optimizer.step()
    optimizer.clear_grad()
    return out


def together(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    out = layer(x)
    paddle.autograd.backward([out.mean(), (out * y).sum()], [None, paddle.ones([]) * 2])
    optimizer.step()
    optimizer.clear_grad()
    return out


def part_is_frozen(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    with paddle.no_grad():
        hidden = layer[0](x)
    loss = F.mse_loss(layer[2](paddle.tanh(hidden)), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    return loss


def tells_the_rate(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    loss = F.mse_loss(layer(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    return loss, optimizer.get_lr()


def own_leaf(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    moved = x.detach()
    for _ in range(2):
        moved.stop_gradient = False
        loss = F.mse_loss(layer(moved), y)
        loss.backward()
        moved = (moved + 0.1 * paddle.sign(moved.grad)).detach()
    optimizer.clear_grad()
    loss = F.mse_loss(layer(moved), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    return loss, moved


def latent(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    z = paddle.zeros([5, 4])
    z.stop_gradient = False
    for _ in range(3):
        loss = F.mse_loss(layer(z), y)
        loss.backward()
        with paddle.no_grad():
            z.subtract_(z.grad * 0.5)
        z.clear_gradient()
    layer.clear_gradients()
    return z


def retained(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    hidden = layer[0](x)
    hidden.retain_grads()
    loss = F.mse_loss(layer[2](hidden), y)
    loss.backward()
    optimizer.clear_grad()
    return hidden.grad, hidden.is_leaf


def after_a_branch(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    out = layer(x)
    if out.mean() > 0:
        loss = F.mse_loss(out, y)
    else:
        loss = out.abs().mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    return loss


def writes_items(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    out = layer(x)
    first = out[0].clone()
    out[1] = first * 2
    loss = F.mse_loss(out, y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    return loss


def no_grad_backward(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    with paddle.no_grad():
        loss = F.mse_loss(layer(x), y)
    loss.backward()
    optimizer.step()
    return loss


BODIES = [
    clears_first, never_clears, only_backward, drops, zero_grads, gradients_cleared_by_hand,
    layer_clears, two_losses, micro_batches, two_steps, minimizes, reads_gradients,
    reads_gradients_before, scales_gradients, scales_gradients_in_place, clips_by_hand, own_update,
    own_update_in_place, own_update_by_assign, own_update_with_grad, minus_equals_rebinds,
    scaled_loss, given_gradient, together, part_is_frozen, tells_the_rate, own_leaf, latent,
    retained, after_a_branch, writes_items, no_grad_backward,
]  # fmt: skip


@pytest.mark.sampled(
    4,
    also=[
        "together",
        "scaled_loss",
        "own_update_by_assign",
        "no_grad_backward",
        "clips_by_hand",
        "layer_clears",
        "minimizes",
        "latent",
    ],
)
@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_every_form_of_a_step(body: Any) -> None:
    """A1: results, parameters, gradients and accumulators are dygraph's after every step."""
    same(steps(body))


@pytest.mark.parametrize("body", [two_losses, micro_batches, two_steps, never_clears, own_leaf])
def test_forms_of_a_step_with_loops(body: Any) -> None:
    """C7: several gradients of one program with branches and loops."""
    same(steps(body, model=loopy, make=OPTIMIZERS["momentum"]))


def keeps_gradients(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    F.mse_loss(layer(x), y).backward()
    kept = [parameter.grad for parameter in layer.parameters()]
    layer(x).mean().backward()
    more = [gradient * 1 for gradient in kept]
    optimizer.step()
    optimizer.clear_grad()
    return more, [gradient * 1 for gradient in kept]


def test_a_gradient_is_one_tensor_under_all_names() -> None:
    """A1: what was read as ``.grad`` shows what is added later, and the zeros of ``clear_grad``."""
    same(steps(keeps_gradients))


def rate_scene(make: Callable[[], Any], inside: bool) -> Scene:
    """A scene with a scheduler that steps in the function or after it."""

    def scene(convert: Convert) -> Any:
        layer, scheduler = net(), make()
        optimizer = O.Adam(scheduler, parameters=layer.parameters())

        def step(x: Any, y: Any) -> Any:
            loss = F.mse_loss(layer(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            if inside:
                if isinstance(scheduler, O.lr.ReduceOnPlateau):
                    scheduler.step(loss)
                else:
                    scheduler.step()
            return loss

        run, data = convert(step), batches()

        def act(trip: int) -> Any:
            loss = run(*data[trip])
            if not inside:
                scheduler.step()
            return loss, optimizer.get_lr(), scheduler.last_epoch

        return act, lambda: world(layer.parameters(), optimizer)

    return scene


SCHEDULERS: dict[str, Callable[[], Any]] = {
    "exponential": lambda: O.lr.ExponentialDecay(0.1, 0.5),
    "piecewise": lambda: O.lr.PiecewiseDecay([2, 3], [0.1, 0.01, 0.001]),
    "warm up": lambda: O.lr.LinearWarmup(O.lr.CosineAnnealingDecay(0.1, 5), 3, 0.0, 0.1),
    "lambda": lambda: O.lr.LambdaDecay(0.1, lambda epoch: 0.9**epoch),
}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_each_run_asks_for_the_learning_rate(name: str, inside: bool) -> None:
    """G2: the rate is no constant of the program; a scheduler steps once for each run."""
    same(rate_scene(SCHEDULERS[name], inside))


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_rates_of_programs_and_of_dygraph_go_on_from_each_other(name: str, inside: bool) -> None:
    """G2, H3: so does a scheduler."""
    same(rate_scene(SCHEDULERS[name], inside), mixed=True)


def test_a_scheduler_that_looks_at_the_loss() -> None:
    """A1: ``scheduler.step(loss)`` gets the loss of the run."""
    same(rate_scene(lambda: O.lr.ReduceOnPlateau(0.1, patience=0, threshold=0.5), True))


def test_the_rate_that_is_set_is_used() -> None:
    """G2: ``set_lr`` between two calls, without another program."""

    layer = net()
    optimizer = O.SGD(0.0, parameters=layer.parameters())
    weight = layer[0].weight.numpy()

    @d2s.to_static
    def step(x: Any) -> Any:
        layer(x).sum().backward()
        optimizer.step()
        optimizer.clear_grad()

    x = batches()[0][0]
    step(x)
    np.testing.assert_array_equal(layer[0].weight.numpy(), weight)
    optimizer.set_lr(0.1)
    step(x)
    assert (layer[0].weight.numpy() != weight).any()
    assert len(step.programs) == 1


def test_state_that_was_loaded_is_used() -> None:
    """G2: ``set_state_dict`` between two calls."""

    def scene(convert: Convert) -> Any:
        layer = net()
        optimizer = O.Adam(0.1, parameters=layer.parameters())
        kept: dict[str, Any] = {}

        def step(x: Any, y: Any) -> Any:
            loss = F.mse_loss(layer(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        run, data = convert(step), batches()

        def act(trip: int) -> Any:
            if trip == 1:
                kept.update({key: value.clone() for key, value in optimizer.state_dict().items()})
                kept["weights"] = [parameter.clone() for parameter in layer.parameters()]
            if trip == 3:
                weights = kept.pop("weights")
                optimizer.set_state_dict(dict(kept))
                for parameter, weight in zip(layer.parameters(), weights, strict=True):
                    parameter.set_value(weight)
            return run(*data[trip])

        return act, lambda: world(layer.parameters(), optimizer)

    same(scene)


def test_an_optimizer_that_was_changed_is_captured_again() -> None:
    """G2: numbers of the optimizer, frozen parameters, and gradients that are gone."""

    def scene(convert: Convert) -> Any:
        layer = net()
        optimizer = O.AdamW(0.1, parameters=layer.parameters(), weight_decay=0.1)

        def step(x: Any, y: Any) -> Any:
            loss = F.mse_loss(layer(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        run, data = convert(step), batches()

        def act(trip: int) -> Any:
            if trip == 1:
                optimizer._beta1 = 0.5
            if trip == 2:
                layer[0].weight.stop_gradient = True
            if trip == 3:
                layer[0].weight.stop_gradient = False
                optimizer.clear_grad(set_to_zero=False)
            return run(*data[trip])

        return act, lambda: world(layer.parameters(), optimizer)

    same(scene)


def test_steps_inside_and_outside_can_be_mixed() -> None:
    """A1: dygraph goes on from what the program has left, and the other way round."""

    def scene(convert: Convert) -> Any:
        layer = net()
        optimizer = O.Adam(0.1, parameters=layer.parameters())

        def step(x: Any, y: Any) -> Any:
            loss = F.mse_loss(layer(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        run, data = convert(step), batches(6)

        def act(trip: int) -> Any:
            if trip in (0, 3):
                return step(*data[trip])
            if trip == 4:
                layer(data[4][0]).mean().backward()  # stays, and is added to
            return run(*data[trip])

        return act, lambda: world(layer.parameters(), optimizer)

    same(scene, 6)


def test_two_networks_against_each_other() -> None:
    """A1: two optimizers, gradients that flow through both networks, ``detach``."""

    def scene(convert: Convert) -> Any:
        paddle.seed(3)
        maker, judge = nn.Linear(4, 4), nn.Linear(4, 1)
        first = O.Adam(0.1, parameters=maker.parameters())
        second = O.SGD(0.1, parameters=judge.parameters())

        def step(x: Any) -> Any:
            made = maker(x)
            loss = F.softplus(judge(x)).mean() + F.softplus(-judge(made.detach())).mean()
            loss.backward()
            second.step()
            second.clear_grad()
            other = F.softplus(judge(made)).mean()
            other.backward()
            first.step()
            first.clear_grad()
            second.clear_grad()
            return loss, other

        run, data = convert(step), batches()
        parameters = [*maker.parameters(), *judge.parameters()]
        return lambda trip: run(data[trip][0]), lambda: world(parameters, first, second)

    same(scene)


def test_statistics_move_once_in_a_step() -> None:
    """F3: the forward is not computed again."""

    def scene(convert: Convert) -> Any:
        layer = net(nn.BatchNorm1D(8))
        optimizer = O.SGD(0.1, parameters=layer.parameters())

        def step(x: Any, y: Any) -> Any:
            loss = F.mse_loss(layer(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        run, data = convert(step), batches()
        return (
            lambda trip: run(*data[trip]),
            lambda: [*world(layer.parameters(), optimizer), numbers_of(layer.state_dict())],
        )

    same(scene)


def test_a_layer_that_trains_itself() -> None:
    """F3, G1: the step is a method, its counter and losses are state."""

    class Trainer:
        def __init__(self, convert: Convert) -> None:
            self.layer = net()
            self.optimizer = O.Momentum(0.1, 0.9, parameters=self.layer.parameters())
            self.seen = 0
            self.average = paddle.zeros([])
            self.run = convert(self.step)

        def step(self, x: Any, y: Any) -> Any:
            loss = F.mse_loss(self.layer(x), y)
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()
            self.seen += 1
            with paddle.no_grad():
                self.average = self.average * 0.9 + loss * 0.1
            return loss

    def scene(convert: Convert) -> Any:
        trainer, data = Trainer(convert), batches()
        return (
            lambda trip: trainer.run(*data[trip]),
            lambda: [
                *world(trainer.layer.parameters(), trainer.optimizer),
                trainer.seen,
                numbers_of(trainer.average),
            ],
        )

    same(scene)


def test_gradients_of_arguments() -> None:
    """A1: an argument's ``.grad`` is set, and added to."""

    def scene(convert: Convert) -> Any:
        x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)

        def body(x: Any) -> Any:
            y = x * x
            y.sum().backward()
            return y

        run = convert(body)
        return lambda trip: run(x), lambda: [numbers_of(x.grad)]

    same(scene)


def test_an_argument_that_is_trained() -> None:
    """A1: an argument that is changed in place, with its gradient asked for."""

    def scene(convert: Convert) -> Any:
        w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)

        def body(w: Any, x: Any) -> Any:
            for _ in range(2):
                loss = ((w * x).sum() - 1.0) ** 2
                loss.backward()
                with paddle.no_grad():
                    w.subtract_(0.05 * w.grad)
                w.clear_gradient(False)
            return loss

        run = convert(body)
        x = paddle.to_tensor([0.5, 0.25])
        return (
            lambda trip: run(w, x),
            lambda: [numbers_of(w), numbers_of(w.grad), w.stop_gradient],
        )

    same(scene)


def checks_in_the_middle(where: str) -> Scene:
    def scene(convert: Convert) -> Any:
        layer = net()
        optimizer = O.Adam(0.1, parameters=layer.parameters())

        def step(x: Any, y: Any) -> Any:
            loss = F.mse_loss(layer(x), y)
            if where == "before":
                assert loss > 0.6, "too small"
            loss.backward()
            if where == "between":
                assert loss > 0.6, "too small"
            optimizer.step()
            if where == "after":
                assert loss > 0.6, "too small"
            optimizer.clear_grad()
            return loss

        run, data = convert(step), batches()

        def act(trip: int) -> Any:
            try:
                return run(*data[trip])
            except AssertionError as error:
                return str(error).splitlines()[0]

        return act, lambda: world(layer.parameters(), optimizer)

    return scene


@pytest.mark.parametrize("where", ["before", "between", "after"])
def test_an_exception_leaves_what_dygraph_leaves(where: str) -> None:
    """A1: parameters, gradients and accumulators at the moment of the assertion."""
    acted = checks_in_the_middle(where)(lambda function: function)[0]
    assert "too small" in [acted(trip) for trip in range(TRIPS)]
    same(checks_in_the_middle(where))


def test_an_exception_inside_a_loop_leaves_nothing_behind_for_the_next_run() -> None:
    """A1: what a failed run has saved for its gradient does not reach the next one."""

    def scene(convert: Convert) -> Any:
        layer = net()
        optimizer = O.SGD(0.1, parameters=layer.parameters())

        def step(x: Any, y: Any, limit: Any) -> Any:
            h = layer(x)
            trips = paddle.zeros([], "int32")
            while h.abs().sum() > 2:
                assert trips < limit, "too many"
                h = h * 0.7
                trips = trips + 1
            loss = F.mse_loss(h, y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        run, data = convert(step), batches()

        def act(trip: int) -> Any:
            try:
                return run(*data[trip], paddle.to_tensor(1 if trip % 2 else 100, dtype="int32"))
            except AssertionError as error:
                return str(error).splitlines()[0]

        return act, lambda: world(layer.parameters(), optimizer)

    acted = scene(lambda function: function)[0]
    assert "too many" in [acted(trip) for trip in range(TRIPS)]
    same(scene)


def test_two_threads_step_one_after_the_other() -> None:
    """G4: sums of gradients, and a counter of steps, are those of all calls."""
    weight = paddle.create_parameter([3], "float32", default_initializer=nn.initializer.Constant(0))
    optimizer = O.SGD(1.0, parameters=[weight])

    @d2s.to_static
    def step(x: Any) -> Any:
        (weight * x).sum().backward()
        optimizer.step()
        optimizer.clear_grad()

    x = paddle.ones([3])
    step(x)
    threads = [threading.Thread(target=lambda: [step(x) for _ in range(50)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(weight.numpy(), [-151.0] * 3)


# -- refusals ------------------------------------------------------------------------------------


def refused(body: Any, *more: Any, make: Any = OPTIMIZERS["sgd"]) -> UnsupportedInGraphError:
    layer = net()
    optimizer = make(layer.parameters())
    x, y = batches()[0]
    before = numbers_of(layer.parameters())
    with pytest.raises(D2SError) as caught:
        d2s.to_static(body)(layer, optimizer, x, y, *more)
    close(before, numbers_of(layer.parameters()), "a refusal changes nothing: ")
    assert isinstance(caught.value, UnsupportedInGraphError)
    assert caught.value.line
    assert caught.value.cure
    return caught.value


def in_a_loop(layer: Any, optimizer: Any, x: Any, y: Any, count: Any) -> Any:
    for _ in range(count):
        loss = F.mse_loss(layer(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()


def test_a_step_in_a_loop() -> None:
    """C1, F3: as many as the run decides; more of it is in test_backward_in_blocks."""
    count, seen = paddle.to_tensor(3), []
    for convert in (lambda body: body, d2s.to_static):
        layer = net()
        optimizer = OPTIMIZERS["sgd"](layer.parameters())
        convert(in_a_loop)(layer, optimizer, *batches()[0], count)
        seen.append(numbers_of(layer.parameters()))
    close(*seen, "after the loop")


def asks_for_the_state(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    layer(x).mean().backward()
    optimizer.step()
    return optimizer.state_dict()


def test_what_only_the_host_can_do_is_refused() -> None:
    """A1: state that a capture would freeze or lose."""
    refused(asks_for_the_state)


class Halved(O.SGD):
    """An optimizer of the user's."""

    def _append_optimize_op(self, block: Any, param_and_grad: Any) -> Any:
        return super()._append_optimize_op(block, (param_and_grad[0], param_and_grad[1] / 2))


def test_an_optimizer_that_was_not_tried_is_refused() -> None:
    """A1: also fused ones."""
    error = refused(never_clears, make=lambda p: Halved(0.1, parameters=p))
    assert "Halved" in str(error)
    refused(never_clears, make=lambda p: O.Momentum(0.1, parameters=p, use_multi_tensor=True))
    refused(never_clears, make=lambda p: O.ASGD(0.1, parameters=p))
    assert "LBFGS" in str(refused(with_closure, make=lambda p: O.LBFGS(0.1, parameters=p)))


def with_closure(layer: Any, optimizer: Any, x: Any, y: Any) -> Any:
    layer(x).mean().backward()
    return optimizer.step(lambda: layer(x).mean())


def test_a_hook_on_a_parameter_is_refused_and_works_again_when_it_is_gone() -> None:
    """A1: a program does not call hooks that were set outside of it."""
    layer = net()
    hook = layer[0].weight.register_hook(lambda gradient: gradient * 2)

    @d2s.to_static
    def step(x: Any) -> Any:
        layer(x).mean().backward()

    x = batches()[0][0]
    with pytest.raises(UnsupportedInGraphError, match="hook"):
        step(x)
    hook.remove()
    step(x)
    assert layer[0].weight.grad is not None


def test_a_sparse_gradient_is_refused() -> None:
    """A1: Adam moves a row by another amount when the gradient is sparse."""
    table = nn.Embedding(5, 3, sparse=True)

    @d2s.to_static
    def step(x: Any) -> Any:
        total = paddle.zeros([])
        for _ in range(x.sum()):
            total = total + table(x).sum()
        total.backward()

    with pytest.raises(UnsupportedInGraphError, match="sparse"):
        step(paddle.to_tensor([1, 2]))


def test_updates_of_some_rows_only_are_refused() -> None:
    """A1: ``lazy_mode`` means something for sparse gradients alone."""
    refused(never_clears, make=lambda p: O.Adam(0.1, parameters=p, lazy_mode=True))


def test_a_scheduler_between_two_steps_that_does_more_is_refused() -> None:
    """A1: a function of the user's decides the rate of the second step, and does more."""
    layer = net()
    asked: list[int] = []
    scheduler = O.lr.LambdaDecay(0.1, lambda epoch: asked.append(epoch) or 0.5**epoch)
    optimizer = O.SGD(scheduler, parameters=layer.parameters())

    @d2s.to_static
    def step(x: Any) -> Any:
        for _ in range(2):
            layer(x).mean().backward()
            optimizer.step()
            scheduler.step()

    with pytest.raises(UnsupportedInGraphError, match="scheduler"):
        step(batches()[0][0])
    assert scheduler.last_epoch == 0


def test_a_scheduler_between_two_steps() -> None:
    """A1: the second step has the rate that a function of numbers gives for it."""

    def trained(convert: Any) -> tuple[list[float], list[Any]]:
        layer = net()
        scheduler = O.lr.LambdaDecay(0.1, lambda epoch: 0.5**epoch)
        optimizer = O.SGD(scheduler, parameters=layer.parameters())

        def step(x: Any) -> Any:
            for _ in range(2):
                layer(x).mean().backward()
                optimizer.step()
                scheduler.step()
            return scheduler.last_lr

        run = convert(step)
        rates = [float(run(x)) for x, _ in batches()[:2]]
        return rates, [each.numpy().tolist() for each in layer.parameters()]

    assert trained(d2s.to_static) == trained(lambda f: f)


def test_backward_through_a_result_of_a_step_is_refused() -> None:
    """A1: dygraph refuses it too, since the graph is freed."""
    layer = net()

    @d2s.to_static
    def step(x: Any) -> Any:
        out = layer(x)
        out.mean().backward()
        return out

    out = step(batches()[0][0])
    assert not out.stop_gradient
    with pytest.raises(UnsupportedInGraphError, match="calls backward"):
        out.sum().backward()


def test_what_comes_from_outside_with_a_gradient_is_refused() -> None:
    """A1: dygraph would go on into the computation outside."""
    weight = paddle.to_tensor([1.0, 2.0], stop_gradient=False)

    @d2s.to_static
    def step(y: Any) -> Any:
        (y * y).sum().backward()

    with pytest.raises(UnsupportedInGraphError, match="outside"):
        step(weight * 2)
    outer = weight * 2

    @d2s.to_static
    def reads() -> Any:
        (outer * outer).sum().backward()

    with pytest.raises(UnsupportedInGraphError, match="outside"):
        reads()


def test_a_step_is_not_saved(tmp_path: Any) -> None:
    """G3: a file holds no training."""

    class Trained(nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 2)

        def forward(self, x: Any) -> Any:
            out = self.linear(x)
            out.mean().backward()
            return out

    layer = d2s.to_static(Trained())
    with pytest.raises(D2SError, match="no training"):
        d2s.save(layer, str(tmp_path / "m"), [paddle.static.InputSpec([None, 4], "float32")])


# -- randomness ----------------------------------------------------------------------------------


def noisy(x: Any, trips: Any) -> Any:
    """Its result is ``x`` times what was drawn, so the gradient of the sum is result by ``x``."""
    y = x
    i = paddle.zeros([], "int64")
    while i < trips:
        y = F.dropout(y, 0.2) * (paddle.rand(y.shape) + 0.5)
        if y.mean() > 0:
            y = F.dropout(y, 0.1)
        i = i + 1
    return y


def noisy_step(x: Any, trips: Any) -> Any:
    y = noisy(x, trips)
    y.sum().backward()
    return y


def leaf() -> Any:
    x = paddle.linspace(1.0, 2.0, 64)
    x.stop_gradient = False
    return x


def test_the_backward_of_a_loop_sees_the_masks_of_its_forward() -> None:
    """F5: two calls, gone back through in the other order; the forward is computed again."""
    static = d2s.to_static(noisy)
    first, second = leaf(), leaf()
    trips = paddle.to_tensor(3)
    one, other = static(first, trips), static(second, trips)
    other.sum().backward()
    one.sum().backward()
    assert (one.numpy() != other.numpy()).any()
    for x, y in ((first, one), (second, other)):
        assert (y.numpy() == 0).any()
        assert (y.numpy() != 0).any()
        np.testing.assert_allclose(x.grad.numpy(), (y / x).numpy(), rtol=1e-5)


def test_a_step_sees_one_mask() -> None:
    """F5: forward and gradient are one program, drawn once."""
    static, x = d2s.to_static(noisy_step), leaf()
    for _ in range(2):
        x.clear_gradient(False)
        y = static(x, paddle.to_tensor(3))
        assert (y.numpy() == 0).any()
        np.testing.assert_allclose(x.grad.numpy(), (y.detach() / x).numpy(), rtol=1e-5)


def test_a_seed_gives_the_same_run_again_and_two_calls_differ() -> None:
    """F5: and going back through a call takes nothing out of the stream of random numbers."""
    forward, step = d2s.to_static(noisy), d2s.to_static(noisy_step)
    trips = paddle.to_tensor(2)

    def drawn(function: Any, back: bool) -> list[Any]:
        paddle.seed(11)
        seen = []
        for _ in range(3):
            y = function(leaf(), trips)
            if back:
                y.sum().backward()
            seen.append(y.numpy())
        return seen

    want = drawn(forward, False)
    assert (want[0] != want[1]).any()
    assert (want[1] != want[2]).any()
    for function, back in ((forward, False), (forward, True), (step, False), (step, False)):
        np.testing.assert_array_equal(drawn(function, back), want)


# -- state in a file -----------------------------------------------------------------------------


class Counting(nn.Layer):
    """A layer with a counter in a buffer, one in Python, and running statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", paddle.zeros([]))
        self.norm = nn.BatchNorm1D(4)
        self.calls = 0

    def forward(self, x: Any) -> Any:
        self.seen = self.seen + 1
        self.calls += 1
        return self.norm(x), self.seen, self.calls * paddle.ones([])


@pytest.mark.parametrize("load", [d2s.load, paddle.jit.load])
def test_a_file_begins_each_run_with_the_state_of_saving(tmp_path: Any, load: Any) -> None:
    """F3, G3: a run of the file changes nothing, and statistics are those of saving."""
    layer = d2s.to_static(Counting())
    x = batches()[0][0]
    for _ in range(2):
        layer(x)
    path = str(tmp_path / "counting")
    d2s.save(layer, path, [paddle.static.InputSpec([None, 4], "float32")])
    assert float(layer.seen) == 2, "saving changes nothing"
    assert layer.calls == 2
    layer.eval()
    want, _, _ = layer(x)
    file = load(path)
    for _ in range(3):
        out, seen, calls = file(x)
        assert (float(seen), float(calls)) == (3, 3)
        np.testing.assert_allclose(out.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)
    layer(x)
    assert float(layer.seen) == 4, "the layer itself goes on"


ROWS = {
    "stacked": "h = paddle.stack(rows)",
    "joined": "h = paddle.concat(rows)",
    "added up": "h = sum(row.mean() for row in rows)",
    "the last one": "h = rows[-1]",
    "of numbers": "h = paddle.stack([row.sum() for row in rows])",
    "into another loop": (
        "more = []\n    for row in rows: more.append(other(row))\n    h = paddle.stack(more)"
    ),
    "into another layer": "h = other(paddle.stack(rows))",
    "from trip to trip": (
        "h = x[0]\n    for i in range(int(k)):\n        h = other(h)\n        rows.append(h)\n"
        "    h = paddle.stack(rows)"
    ),
    "in a branch": "h = paddle.stack(rows) if x.sum() > 0 else x * one.weight.sum()",
}


@pytest.mark.sampled(3, also=["grad-in a branch"])
@pytest.mark.parametrize("use", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("asks", ["backward", "grad"])
def test_backward_goes_into_a_list_that_a_static_loop_has_grown(use: str, asks: str) -> None:
    """C7, D1: the parameters of what has made the items have their gradients."""
    asked = (
        "(h ** 2).mean().backward()\n    return h"
        if asks == "backward"
        else "return h, paddle.grad((h ** 2).mean(), list(one.parameters()))"
    )
    text = (
        "def f(x, k):\n    rows = []\n    for i in range(int(k)): rows.append(one(x[i]))\n"
        f"    {use}\n    {asked}"
    )
    found = []
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=True)):
        paddle.seed(0)
        layers = one, other = nn.Linear(3, 3), nn.Linear(3, 3)
        f = convert(function_of(text, one=one, other=other, paddle=paddle))
        seen = []
        for k in (1, 3, 2):
            out = f(paddle.to_tensor([[1.0, 2, 3], [2, -1, 1], [0.5, 1, 1]]), paddle.to_tensor(k))
            seen += [each.numpy() for each in paddle.utils.flatten(out)]
            seen += [
                None if p.grad is None else p.grad.numpy() for m in layers for p in m.parameters()
            ]
            for layer in layers:
                layer.clear_gradients()
        found.append(seen)
    for want, got in zip(*found, strict=True):
        assert (want is None) == (got is None)
        if want is not None:
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
