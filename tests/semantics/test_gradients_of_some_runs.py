"""F3: gradients that only some runs have, changed in place, clipped and assigned where they are."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import InplaceError, UnsupportedInGraphError
from tests.helpers import function_of, results_at

OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda found: paddle.optimizer.SGD(0.125, parameters=found),
    "adam": lambda found: paddle.optimizer.Adam(0.125, parameters=found),
}

BODIES = {
    "scaled": """
        with paddle.no_grad():
            for p in net.parameters():
                if p.grad is not None:
                    p.grad.scale_(0.5)
    """,
    "set": """
        for p in net.parameters():
            if p.grad is not None:
                p.grad.set_value(p.grad * 0.5)
        (net.weight.sum() * 0.125).backward()
    """,
    "twice, and on some of those": """
        with paddle.no_grad():
            for p in net.parameters():
                if p.grad is not None:
                    p.grad.add_(paddle.ones_like(p.grad))
                    if loss > 2:
                        p.grad.scale_(0.5)
    """,
    "an item": """
        with paddle.no_grad():
            for p in net.parameters():
                if p.grad is not None:
                    p.grad[0] = 0.0
    """,
    "under a name": """
        with paddle.no_grad():
            for p in net.parameters():
                g = p.grad
                if g is not None:
                    n = g.norm()
                    if n > 0.25:
                        g.scale_(0.25 / n)
    """,
    "where continue has not skipped": """
        total = 0.0
        with paddle.no_grad():
            for p in net.parameters():
                if p.grad is None:
                    continue
                total = total + p.grad.square().sum()
                p.grad.clip_(-0.25, 0.25)
        loss = loss + total
    """,
    "before an exception": """
        if net.weight.grad is not None:
            with paddle.no_grad():
                net.weight.grad.scale_(0.5)
            if loss > 8:
                raise ValueError("large")
    """,
    "read behind it": """
        if net.weight.grad is not None:
            with paddle.no_grad():
                net.weight.grad.scale_(0.5)
        print(net.weight.grad is None, net.bias.grad is None)
    """,
    "clipped by the norm": """
        loss = paddle.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    """,
    "clipped by the largest": """
        loss = paddle.nn.utils.clip_grad_norm_(net.parameters(), 0.5, float("inf"))
    """,
    "clipped by value": """
        paddle.nn.utils.clip_grad_value_(net.parameters(), 0.25)
    """,
}


def seen(name: str, optimizer: str, capsys: Any, **options: Any) -> list[str]:
    paddle.seed(7)
    net = paddle.nn.Linear(3, 1)
    opt = OPTIMIZERS[optimizer](net.parameters())
    text = f"""
    def f(x):
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
        if loss > 0.5:
            loss.backward()
        if loss > 4:
            net.bias.clear_gradient(False){BODIES[name]}
        kept = [None if p.grad is None else p.grad * 1 for p in net.parameters()]
        opt.step()
        opt.clear_grad(set_to_zero=False)
        return loss, kept
    """
    f = function_of(text, "f", net=net, opt=opt)
    if options:
        f = d2s.to_static(f, **options)
    found = []
    for _, result in results_at((0.75, 3.0, 0.25, 2.0, 1.0), f, ValueError):
        state = sorted(str(each) for each in opt.state_dict().values())
        weights = [(each, each.grad) for each in net.parameters()]
        found.append(str([result, capsys.readouterr().out, weights, state]))
    return found


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", BODIES)
def test_as_in_dygraph(name: str, optimizer: str, full_graph: bool, capsys: Any) -> None:
    """F3: results, gradients, weights and accumulators, whether there are gradients or not."""
    mine = seen(name, optimizer, capsys, full_graph=full_graph)
    assert mine == seen(name, optimizer, capsys)


def test_one_that_a_list_holds_is_refused() -> None:
    """F3: which item of the list it would be, only the run knows."""
    net = paddle.nn.Linear(3, 1)
    f = d2s.to_static(
        function_of(
            """
            def f(x):
                loss = net(x).square().mean()
                if loss > 0.5:
                    loss.backward()
                found = [p.grad for p in net.parameters() if p.grad is not None]
                with paddle.no_grad():
                    for g in found:
                        g.scale_(0.5)
                return loss
            """,
            net=net,
        ),
        full_graph=True,
    )
    with pytest.raises((InplaceError, UnsupportedInGraphError)):
        f(paddle.ones([2, 3]))
