"""F1, F3: an exception of the run leaves parameters as what stood before it has made them."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of

OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda found: paddle.optimizer.SGD(0.125, parameters=found),
    "adam": lambda found: paddle.optimizer.Adam(0.125, parameters=found),
}

BODIES = {
    "a step, then raise": """
        if loss > 0.5:
            loss.backward()
            opt.step()
            if loss > 4:
                raise ValueError(f"diverged at {float(loss):.3f}")
            opt.clear_grad()
    """,
    "a rate and a step": """
        if loss > 0.5:
            opt.set_lr(opt.get_lr() * 0.5)
            loss.backward()
            opt.step()
            assert loss < 4, opt.get_lr()
            opt.set_lr(opt.get_lr() * 1.5)
    """,
    "set, then a number of Python": """
        n = 0
        if loss != 1:
            with paddle.no_grad():
                net.bias.set_value(net.bias + 0.25)
            n = int(loss)
        print("n", n)
    """,
    "set, then an item": """
        if loss > 0.5:
            with paddle.no_grad():
                net.weight.scale_(0.5)
            print("abc"[int(loss)])
    """,
    "on the side that changes nothing more": """
        if loss > 0.25:
            with paddle.no_grad():
                net.bias.add_(paddle.ones([1]))
            if loss > 4:
                with paddle.no_grad():
                    net.bias.scale_(0.5)
            elif loss < 2:
                raise ValueError("small")
    """,
    "behind a branch in the branch": """
        if loss > 0.25:
            with paddle.no_grad():
                net.bias.add_(paddle.ones([1]))
            if loss > 4:
                with paddle.no_grad():
                    net.bias.scale_(0.5)
            assert loss < 2, "large"
    """,
    "in a loop": """
        k = 0
        while loss > 0.01 and k < 4:
            loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
            loss.backward()
            opt.step()
            opt.clear_grad()
            k += 1
            if loss > 3:
                raise ValueError(f"diverged in {k}")
    """,
    "in a helper": """
        def revive(layer):
            dead = (layer.weight.abs() < 0.75).astype("float32")
            if dead.sum() == 0:
                return 0
            layer.weight.set_value(layer.weight * (1 - dead) + 0.5 * dead)
            return int(dead.sum())

        loss.backward()
        with paddle.no_grad():
            print(revive(net))
            for p in net.parameters():
                p.set_value(p - 0.05 * p.grad)
                p.clear_gradient()
    """,
}


def seen(name: str, optimizer: str, capsys: Any, **options: Any) -> list[str]:
    paddle.seed(7)
    net = paddle.nn.Linear(3, 1)
    opt = OPTIMIZERS[optimizer](net.parameters())
    text = "def f(x):\n        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()"
    f = function_of(f"{text}{BODIES[name]}    return loss", "f", net=net, opt=opt)
    if options:
        f = d2s.to_static(f, **options)
    found = []
    for scale in (1.0, 3.0, 0.5, float("nan"), 2.0, 0.25):
        x = paddle.to_tensor([[1.0, -0.5, 0.25], [0.5, 2.0, -1.0]]) * scale
        try:
            result = f(x)
        except (ValueError, AssertionError, IndexError) as error:
            result = f"{type(error).__name__}: {error}"
        state = list(opt.state_dict().values()) if len(found) > 1 else None  # see decision 20
        said = capsys.readouterr().out
        weights = [(each, each.grad) for each in net.parameters()]
        found.append(str([result, said, weights, state, opt.get_lr()]))
    return found


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", BODIES)
def test_as_in_dygraph(name: str, optimizer: str, full_graph: bool, capsys: Any) -> None:
    """F1, F3: weights, gradients, accumulators and rates, whether it was raised or not."""
    mine = seen(name, optimizer, capsys, full_graph=full_graph)
    assert mine == seen(name, optimizer, capsys)
