"""F3, C7: one side of a branch writes weights, and the other goes back through what has read them.

``set_value`` is not noticed by gradients, which read what the weights are by then: on the side that
has not written them that is what the forward has read.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of, results_at

OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda found: paddle.optimizer.SGD(0.0625, parameters=found),
    "adam": lambda found: paddle.optimizer.Adam(0.0625, parameters=found),
}

STEP = "loss.backward()\n            opt.step()\n            opt.clear_grad()"

BODIES = {
    "put back, and left": f"""
        if loss > 3 or not paddle.isfinite(loss):
            net.set_state_dict(box.saved)
            box.n += 1
            return "back", loss.detach()
        box.saved = {{k: v.clone() for k, v in net.state_dict().items()}}
        if True:
            {STEP}
    """,
    "put back, and raised": f"""
        if loss > 3 or not paddle.isfinite(loss):
            for k, p in net.state_dict().items():
                p.set_value(box.saved[k])
            box.n += 1
            if box.n > 2:
                raise RuntimeError(f"{{box.n}} times")
            return "back"
        if True:
            {STEP}
    """,
    "one of three": f"""
        if not paddle.isfinite(loss):
            for p in net.parameters():
                p.set_value(paddle.ones_like(p) * 0.25)
        elif loss > 5:
            for p in net.parameters():
                p.set_value(p * 0.5)
        else:
            {STEP}
    """,
    "steps by hand": """
        if loss > 3:
            for p in net.parameters():
                p.set_value(p * 0.5)
            return "back"
        gradients = paddle.grad(loss, net.parameters())
        with paddle.no_grad():
            for p, g in zip(net.parameters(), gradients):
                p.set_value(p - 0.0625 * g)
    """,
    "in a branch that writes, too": f"""
        if loss > 0.5:
            net[2].weight.set_value(net[2].weight * 0.75)
            if loss > 5:
                net[2].weight.set_value(net[2].weight * 0.5)
            else:
                {STEP.replace("            ", "                ")}
    """,
    "another one on the other side": f"""
        if loss > 3:
            net[2].weight.set_value(net[2].weight * 0.5)
        else:
            net[0].weight.set_value(net[0].weight * 0.5)
            {STEP}
    """,
    "on the same side": """
        if loss > 2:
            for p in net.parameters():
                p.set_value(p * 0.5)
            loss.backward()
        else:
            loss.backward()
        opt.step()
        opt.clear_grad()
    """,
    "in each trip": f"""
        k = 0
        while loss > 0.01 and k < 4:
            loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
            if loss > 5:
                for p in net.parameters():
                    p.set_value(p * 0.5)
            else:
                {STEP.replace("            ", "                ")}
            k += 1
        return k
    """,
    "where an exception is caught": f"""
        try:
            if loss > 3:
                for p in net.parameters():
                    p.set_value(p * 0.5)
                raise ValueError("spike")
            {STEP}
        except ValueError:
            opt.set_lr(opt.get_lr() * 0.5)
        opt.clear_grad()
    """,
}


def seen(name: str, optimizer: str, **options: Any) -> list[str]:
    paddle.seed(3)
    net = paddle.nn.Sequential(paddle.nn.Linear(3, 4), paddle.nn.Tanh(), paddle.nn.Linear(4, 1))
    opt = OPTIMIZERS[optimizer](net.parameters())
    box = SimpleNamespace(n=0, saved={k: v.clone() for k, v in net.state_dict().items()})
    text = "def f(x):\n        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()"
    f = function_of(f"{text}{BODIES[name]}    return loss.detach()", "f", net=net, opt=opt, box=box)
    if options:
        f = d2s.to_static(f, **options)
    found = []
    for _, result in results_at((0.5, 3.0, 1.0, float("nan"), 2.0, 0.25), f, RuntimeError):
        weights = [(each.numpy().round(4).tolist(), each.grad) for each in net.parameters()]
        found.append(str([result, weights, opt.get_lr(), box.n]))
    return found


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", BODIES)
def test_as_in_dygraph(name: str, optimizer: str, full_graph: bool) -> None:
    """F3, C7: weights, gradients and rates, step by step."""
    assert seen(name, optimizer, full_graph=full_graph) == seen(name, optimizer)
