"""``set_lr`` and ``set_state_dict`` with one of several things, as a tensor has decided."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of

KEPT = """
            with paddle.no_grad():
                seen = (net(x * k + 1) ** 2).sum()
            if seen < best:
                best, bad = seen.item(), 0
                weights = {name: p.clone() for name, p in net.state_dict().items()}
            else:
                bad += 1
                if bad >= 2:
                    net.set_state_dict(weights)
                    return "stopped", k
        return "done", k
    """
"""How the weights of the best step are kept, and put back after two worse ones."""

BODIES = {
    "a rate of a schedule": """
    def f(x):
        factor = 1.0
        for k in range(3):
            opt.set_lr(0.5 / (k + 1) * factor)
            loss = (net(x) ** 2).sum()
            loss.backward()
            opt.step()
            opt.clear_grad()
            if loss > 2:
                factor *= 0.5
        return loss.detach(), factor
    """,
    "one of two rates": """
    def f(x):
        rate = 0.25 if x.sum() > 0 else 1
        opt.set_lr(rate)
        loss = (net(x) ** 2).sum()
        loss.backward()
        opt.step()
        opt.clear_grad()
        return opt.get_lr()
    """,
    "the best weights": f"""
    def f(x):
        best, weights, bad = float("inf"), None, 0
        for k in range(4):
            loss = (net(x) ** 2).sum()
            loss.backward()
            opt.step()
            opt.clear_grad()
{KEPT}""",
    "the best weights, steps by hand": f"""
    def f(x):
        best, weights, bad = float("inf"), None, 0
        for k in range(4):
            grads = paddle.grad((net(x) ** 2).sum(), net.parameters())
            with paddle.no_grad():
                for p, g in zip(net.parameters(), grads):
                    p.subtract_(0.125 * g)
{KEPT}""",
    "a plateau in a static loop": """
    def f(x):
        best, bad = 1e9, 0
        for k in range(70):
            loss = (net(x) ** 2).sum()
            loss.backward()
            opt.step()
            opt.clear_grad()
            if loss < best * 0.5:
                best, bad = loss.detach(), 0
            else:
                bad += 1
                if bad > 1:
                    opt.set_lr(opt.get_lr() * 0.5)
                    bad = 0
            if loss < 0.01 or loss > 1e4:
                break
        return loss.detach(), k, opt.get_lr()
    """,
    "each trip, in a branch": """
    def f(x):
        if x.sum() > 0:
            for k in range(8):
                loss = (net(x) ** 2).sum()
                loss.backward()
                opt.step()
                opt.clear_grad()
                opt.set_lr(opt.get_lr() * 0.75)
                if loss < 3:
                    break
        return opt.get_lr()
    """,
    "raised behind it": """
    def f(x):
        opt.set_lr(opt.get_lr() * 0.5)
        while x.max() > 1:
            x = x / 2
            opt.set_lr(opt.get_lr() * 0.5)
        if x.sum() > 0:
            raise ValueError("positive")
        opt.set_lr(0.125)
    """,
    "weights of a branch, in a branch": """
    def f(x):
        weights = {name: p * 2 for name, p in net.state_dict().items()}
        if x.sum() > 0:
            weights = {name: p * 0.5 for name, p in net.state_dict().items()}
        if x.sum() > -1:
            net.set_state_dict(weights)
        (net(x) ** 2).sum().backward()
        opt.step()
        opt.clear_grad()
    """,
}


def seen(body: str, **options: Any) -> list[str]:
    net = paddle.nn.Linear(2, 1)
    net.weight.set_value(paddle.to_tensor([[1.0], [2.0]]))
    net.bias.set_value(paddle.to_tensor([0.5]))
    opt = paddle.optimizer.SGD(0.0625, parameters=net.parameters())
    function = function_of(body, net=net, opt=opt)
    if options:
        function = d2s.to_static(function, **options)
    found = []
    for scale in (1.0, -0.5, 0.25, -0.25, 0.125):
        try:
            result = function(paddle.to_tensor([[1.0, 0.5], [-2.0, 1.5]]) * scale)
        except ValueError as error:
            result = error
        found.append(str([result, net.weight, net.bias, net.weight.grad, opt.get_lr()]))
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("name", BODIES)
def test_as_in_dygraph(name: str, full_graph: bool) -> None:
    """F3, C7: a tensor has decided what is set, and the run goes on with that."""
    assert seen(BODIES[name], full_graph=full_graph) == seen(BODIES[name])
