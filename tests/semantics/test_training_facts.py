"""What a program with a training step relies on, and the gradients in it (rules A1, C7, G2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s import paddle_bridge as bridge
from d2s.errors import UnsupportedInGraphError
from tests.helpers import function_of, tensor

X = tensor(1.0, 2.0, -3.0)


def numbers(results: Any) -> list[Any]:
    return [None if one is None else np.array(one.numpy()) for one in results]


def both(make: Any, calls: int = 3) -> None:
    """``make(convert)`` gives a function; in dygraph and converted it returns the same."""
    want, got = make(lambda function: function), make(d2s.to_static)
    for trip in range(calls):
        expected, found = numbers(want(trip)), numbers(got(trip))
        assert len(expected) == len(found), trip
        for position, (one, other) in enumerate(zip(expected, found, strict=True)):
            assert (one is None) == (other is None), (trip, position)
            if one is not None:
                np.testing.assert_allclose(other, one, rtol=1e-5, err_msg=f"{trip}: {position}")


def weight(*numbers: float) -> Any:
    made = paddle.create_parameter([len(numbers)], "float32")
    made.set_value(paddle.to_tensor(numbers))
    return made


def test_a_parameter_that_joins_the_optimizer_is_trained() -> None:
    """G2: a step that was captured with fewer parameters is captured again."""

    def make(convert: Any) -> Any:
        first, second = weight(1.0, 2.0, 3.0), weight(0.5, 0.5, 0.5)
        parameters = [first]
        optimizer = paddle.optimizer.SGD(0.1, parameters=parameters)

        def step(x: Any) -> Any:
            loss = ((first + second) * x).sum()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        run = convert(step)

        def trip(number: int) -> list[Any]:
            if number == 2:
                optimizer._parameter_list.append(second)
            return [run(X), first, second]

        return trip

    both(make, 4)


def test_accumulators_that_are_replaced_are_used() -> None:
    """G2: a moment that is another tensor than before is the one that the step reads and writes."""

    def make(convert: Any) -> Any:
        layer = weight(1.0, 2.0, 3.0)
        optimizer = paddle.optimizer.Momentum(0.1, 0.9, parameters=[layer])

        def step(x: Any) -> Any:
            loss = (layer * x).sum()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        run = convert(step)

        def trip(number: int) -> list[Any]:
            if number == 2:
                for table in optimizer._accumulators.values():
                    for name, old in table.items():
                        table[name] = paddle.full_like(old, 7.0)
                        table[name].name = old.name
            result = [run(X), layer]
            return [*result, *optimizer._accumulators["velocity"].values()]

        return trip

    both(make, 4)


def test_gradients_of_gradients_inside_of_a_step() -> None:
    """C7: a penalty on a gradient, as ``paddle.grad`` with ``create_graph`` gives it."""

    def make(convert: Any) -> Any:
        layer = weight(1.0, 2.0, 3.0)
        optimizer = paddle.optimizer.SGD(0.01, parameters=[layer])

        def step(x: Any) -> Any:
            y = (layer * layer * layer * x).sum()
            (slope,) = paddle.grad(y, [layer], create_graph=True)
            loss = y + (slope * slope).sum()
            loss.backward()
            gradient = layer.grad * 1
            optimizer.step()
            optimizer.clear_grad()
            return [loss, slope, gradient]

        run = convert(step)
        return lambda number: [*run(X), layer]

    both(make)


def test_a_second_backward_sees_nothing_of_the_first() -> None:
    """C7: the gradient of a loss does not go through what another gradient was made of."""

    def make(convert: Any) -> Any:
        layer = weight(1.0, 2.0, 3.0)

        def step(x: Any) -> Any:
            y = (layer * layer * x).sum()
            (slope,) = paddle.grad(y, [layer], retain_graph=True)
            loss = y + (slope * layer).sum()
            loss.backward()
            found = layer.grad * 1
            layer.clear_gradient()
            return [loss, found]

        run = convert(step)
        return lambda number: run(X)

    both(make)


@pytest.mark.parametrize("first", ["pass", "x.clear_gradient(False)", "x.grad = x * 10"])
def test_a_gradient_of_an_argument_adds_to_what_the_caller_has(first: str) -> None:
    """C7: unless the function has dropped or assigned it."""

    def make(convert: Any) -> Any:
        run = convert(
            function_of(f"""
            def f(x):
                {first}
                (x * x).sum().backward()
                (x * 3).sum().backward()
                return x * 1
            """)
        )

        def trip(number: int) -> list[Any]:
            x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
            if number:
                (x * number).sum().backward()
            return [run(x).detach(), x.grad]

        return trip

    both(make, 4)


CHANGES = [
    "layer.grad.scale_(2.0)",
    "layer.grad.scale_(2.0); layer.grad.add_(x)",
    "layer.grad[0] = 7.0",
    "layer.grad.add_(x); layer.grad[0] = 7.0; layer.grad.scale_(0.5)",
    "g = layer.grad; g[1] = 0.0",
    "layer.grad.zero_()",
    "paddle.nn.functional.relu_(layer.grad)",
    "layer[0] = 9.0",
    "layer[1:] = x[1:]; layer.scale_(2.0)",
]


@pytest.mark.sampled(3, also=["-layer[0] = 9.0"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("around", ["", "before", "after"])
def test_a_change_in_place_of_a_gradient_or_parameter(change: str, around: str) -> None:
    """C7, F3: it is that of the tensor, with a ``backward()`` in the function or without."""

    def make(convert: Any) -> Any:
        layer = weight(1.0, 2.0, 3.0)
        (layer * X).sum().backward()
        backward = "(layer * layer * x).sum().backward()"
        f = function_of(
            f"""
            def f(x):
                {backward if around == "before" else "pass"}
                with paddle.no_grad():
                    {change.replace("; ", chr(10) + " " * 20)}
                {backward if around == "after" else "pass"}
                return layer.grad.sum(), (layer * 2).detach()
            """,
            layer=layer,
        )
        run = convert(f)
        return lambda number: [*run(X * (number + 1)), layer.grad, layer.detach()]

    both(make)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "leaf",
    ["x * 1", "x.detach()", "paddle.ones([3])", "(x * 1).detach()"],
)
@pytest.mark.parametrize(
    "loss",
    ["z * z", "z * 3 + z + x * z", "paddle.concat([z, z]) * 2", "z if s > 0 else z * z"],
)
def test_the_gradient_of_a_leaf_that_is_used_twice(leaf: str, loss: str) -> None:
    """C7: the gradients of all uses are added up."""

    def make(convert: Any) -> Any:
        run = convert(
            function_of(f"""
            def f(x, s):
                z = {leaf}
                z.stop_gradient = False
                y = {loss}
                y.sum().backward()
                with paddle.no_grad():
                    z.scale_(2.0)
                return z.grad * 1, z.detach()
            """)
        )
        return lambda number: run(X * 1, paddle.to_tensor(1.0 - number))

    both(make)


def test_a_parameter_used_twice_behind_its_own_step() -> None:
    """C7: two steps of one call, of a weight that two places share."""

    def make(convert: Any) -> Any:
        layer = weight(1.0, 2.0, 3.0)
        optimizer = paddle.optimizer.SGD(0.1, parameters=[layer])

        def step(x: Any) -> Any:
            losses = []
            for _ in range(3):
                loss = (layer * layer * x).sum() + layer.mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                losses.append(loss)
            return losses

        run = convert(step)
        return lambda number: [*run(X), layer]

    both(make)


UPDATES = [
    "(layer * layer * x).sum().backward(); optimizer.step(); optimizer.clear_grad()",
    "with paddle.no_grad(): layer.scale_(2.0)",
    "with paddle.no_grad(): layer[0] = 9.0",
    "with paddle.no_grad(): paddle.assign(x * 2, layer)",
]


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("use", ["layer * 2", "layer.detach() * 2 + x", "paddle.exp(layer)"])
def test_what_is_computed_of_a_parameter_behind_its_update(update: str, use: str) -> None:
    """A1, F3: it does not overwrite the parameter, though nothing reads that afterwards."""

    def make(convert: Any) -> Any:
        layer = weight(1.0, 2.0, 3.0)
        optimizer = paddle.optimizer.SGD(0.1, parameters=[layer])
        f = function_of(
            f"""
            def f(x):
                {update.replace("; ", chr(10) + " " * 16)}
                return {use}
            """,
            layer=layer,
            optimizer=optimizer,
        )
        run = convert(f)
        return lambda number: [run(X), layer]

    both(make)


def test_an_unused_input_of_grad_is_an_error_as_in_dygraph() -> None:
    """A1: without ``allow_unused`` it raises, with it there is ``None``."""

    def f(x: Any, allow: bool) -> Any:
        y, other = x * 2, x * 3
        found = paddle.grad((y * y).sum(), [y, other], allow_unused=allow)
        return [0.0 if one is None else one.sum() for one in found]

    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    static = d2s.to_static(f)
    assert [float(one) for one in static(x, True)] == [float(one) for one in f(x, True)]
    for function in (f, static):
        with pytest.raises(ValueError, match="allow_unused"):
            function(x, False)


def test_a_scaler_that_drives_the_optimizer_is_refused() -> None:
    """G3: what leaves out steps by a flag of its own is no step that a program has."""
    layer = weight(1.0, 2.0, 3.0)
    optimizer = paddle.optimizer.SGD(0.1, parameters=[layer])
    optimizer._set_auxiliary_var("found_inf", paddle.to_tensor([False]))

    def step(x: Any) -> Any:
        loss = (layer * x).sum()
        loss.backward()
        optimizer.step()
        return loss

    with pytest.raises(UnsupportedInGraphError, match="SGD is driven by a GradScaler"):
        d2s.to_static(step)(X)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("optimizer.set_state_dict({})", "set while the program is being captured"),
        ("optimizer.state_dict()", "asked for while the program is being captured"),
        ("optimizer.set_lr_scheduler(scheduler)", "the scheduler is set while"),
        ("optimizer.apply_gradients([])", "use step()"),
    ],
)
def test_what_the_host_alone_can_do_with_an_optimizer(call: str, words: str) -> None:
    """G3: it is refused with its cure; outside of a capture it works on."""
    layer = weight(1.0, 2.0, 3.0)
    scheduler = paddle.optimizer.lr.StepDecay(0.1, 2)
    optimizer = paddle.optimizer.Adam(0.1, parameters=[layer])
    scope = {"optimizer": optimizer, "scheduler": scheduler, "layer": layer}
    f = function_of(f"def f(x):\n    {call}\n    return (layer * x).sum()", **scope)
    with pytest.raises(UnsupportedInGraphError) as caught:
        d2s.to_static(f)(X)
    assert words in f"{caught.value}"
    optimizer.set_state_dict(optimizer.state_dict())
    optimizer.set_lr(0.25)
    assert optimizer.get_lr() == 0.25


@pytest.mark.parametrize("argument", ["w", "[w]"])
def test_an_argument_that_an_optimizer_trains_is_refused(argument: str) -> None:
    """A1: one tensor by two ways would be two in a program, of which one is trained."""
    w = weight(1.0, 2.0, 3.0)
    optimizer = paddle.optimizer.SGD(0.1, parameters=[w])
    f = function_of(
        """
        def f(x, given):
            w = given[0] if isinstance(given, list) else given
            (w * x).sum().backward()
            optimizer.step()
        """,
        optimizer=optimizer,
    )
    static = d2s.to_static(f)
    for _ in range(2):
        with pytest.raises(UnsupportedInGraphError, match="an argument is a parameter"):
            static(X, [w] if argument == "[w]" else w)
    assert w.tolist() == [1.0, 2.0, 3.0]
    static(X, paddle.to_tensor([1.0, 1.0, 1.0], stop_gradient=False))


@pytest.mark.parametrize("name", ["SGD", "Momentum", "Adam"])
def test_a_step_of_many_parameters_makes_each_constant_once(name: str) -> None:
    """A program with a step does not grow by the numbers that all updates share."""
    counts = []
    for size in (2, 6):
        parameters = [weight(1.0, 2.0, 3.0) for _ in range(size)]
        optimizer = getattr(paddle.optimizer, name)(parameters=parameters, weight_decay=0.01)

        @d2s.to_static
        def step(x: Any, optimizer: Any) -> Any:
            loss = (sum(optimizer._parameter_list) * x).sum()
            loss.backward()
            optimizer.step()
            return loss

        step(X, optimizer)
        operations = bridge.operations(step.programs[0].program)
        counts.append(sum(operation.name() == "pd_op.full" for operation in operations))
    assert counts[0] == counts[1]


CLIPS = [
    "paddle.nn.utils.clip_grad_norm_([w], 1000.0)",
    "paddle.nn.utils.clip_grad_norm_([w], 0.5)",
    "paddle.nn.utils.clip_grad_norm_(w, 0.5, float('inf'))",
    "paddle.nn.utils.clip_grad_value_([w], 1.5)",
]


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("convert", [d2s.to_static, d2s.convert])
def test_gradients_that_are_clipped_by_hand(clip: str, convert: Any) -> None:
    """A1: they get smaller, never larger; in a program, and converted without one."""

    def scene(change: Any) -> list[Any]:
        w = weight(1.0, 2.0, 3.0)
        f = function_of(
            f"""
            def f(x):
                (w * x).sum().backward()
                norm = {clip}
                return x * 1 if norm is None else norm
            """,
            w=w,
        )
        return [change(f)(X), w.grad]

    for want, got in zip(scene(lambda f: f), scene(convert), strict=True):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5)


def test_a_leaf_that_is_told_to_keep_its_gradient_stays_a_leaf() -> None:
    """A1: ``retain_grads`` changes nothing for it, nor for a constant."""

    def make(convert: Any) -> Any:
        f = function_of("""
        def f(x, w):
            x.retain_grads()
            w.retain_grads()
            (w * w * x).sum().backward()
            return paddle.to_tensor([x.is_leaf, w.is_leaf, (w * 2).is_leaf])
        """)
        run = convert(f)

        def trip(number: int) -> list[Any]:
            w = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
            return [run(X, w), w.grad]

        return trip

    both(make)
