"""C7: for which results the first training call of a program is built.

The gradients are dygraph's whatever it was built for; only what is built twice takes longer.
"""

from __future__ import annotations

import textwrap
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of

BODIES = {
    "a loss and what it is of": (
        """
        h = (x * w).tanh()
        return (h * h).mean(), h
        """,
        (True, False),
    ),
    "what it is of first, and one element in a shape": (
        """
        h = (x * w).tanh()
        return h, h.sum().reshape([1, 1])
        """,
        (False, True),
    ),
    "a sum of parts": (
        """
        a, b = (x * w).sum(), (x - w).abs().mean()
        return a + b, a, b
        """,
        (True, False, False),
    ),
    "a penalty beside the logits": (
        """
        return x * w, (w * w).sum()
        """,
        (True, True),
    ),
    "two losses": (
        """
        h = x * w
        return h.mean(), (h * h).mean()
        """,
        (True, True),
    ),
    "no loss": (
        """
        h = x * w
        return h, h.exp()
        """,
        (True, True),
    ),
    "a loop": (
        """
        h = x * 1
        while h.sum() < 40:
            h = h * w + 1
        return h.mean(), h
        """,
        (True, False),
    ),
}


def arguments() -> tuple[Any, Any]:
    x = paddle.to_tensor([1.0, 2.0, 0.5])
    w = paddle.to_tensor([0.5, 1.5, 2.5])
    x.stop_gradient = w.stop_gradient = False
    return x, w


def gone_back(f: Any, which: tuple[bool, ...]) -> list[Any]:
    """The results of a call, and the gradients of its arguments by some of them."""
    given = arguments()
    results = f(*given)
    parts = [result.sum() for result, wanted in zip(results, which, strict=True) if wanted]
    sum(parts[1:], start=parts[0]).backward()
    found = [*results, *(each.grad for each in given)]
    return [None if each is None else each.numpy().tolist() for each in found]


@pytest.mark.parametrize("full", [True, None])
@pytest.mark.parametrize("name", BODIES)
def test_the_first_call_is_built_for_the_loss(name: str, full: bool | None) -> None:
    body, which = BODIES[name]
    plain = function_of("def f(x, w):\n" + textwrap.indent(textwrap.dedent(body), "    "))
    f = d2s.to_static(plain, full_graph=full)
    f(*arguments())
    (entry,) = f._programs.entries
    assert entry.runner.wanted.now == which
    built = len(entry.runner.program._ready)
    for _ in range(2):
        assert gone_back(f, which) == gone_back(plain, which)
    (entry,) = f._programs.entries
    if full and not entry.runner.captured.has_loop:
        assert len(entry.runner.program._ready) == built


@pytest.mark.parametrize("full", [True, None])
@pytest.mark.parametrize("name", BODIES)
def test_gradients_at_other_results(name: str, full: bool | None) -> None:
    body, expected = BODIES[name]
    plain = function_of("def f(x, w):\n" + textwrap.indent(textwrap.dedent(body), "    "))
    f = d2s.to_static(plain, full_graph=full)
    count = len(expected)
    sets = [tuple(at == one for at in range(count)) for one in range(count)] + [(True,) * count]
    for which in [*sets, *reversed(sets)]:
        assert gone_back(f, which) == gone_back(plain, which), which


def test_what_is_kept_for_later_calls_gets_no_gradient_at_first() -> None:
    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.conv = paddle.nn.utils.weight_norm(paddle.nn.Linear(3, 3))
            self.before: Any = None

        def forward(self, x: Any) -> Any:
            before, self.before = self.before, self.conv(x)
            return self.before if before is None else self.before + before

    found = []
    for full in (False, True):
        paddle.seed(1)
        net = Net()
        run = d2s.to_static(net, full_graph=True) if full else net
        losses = []
        for k in range(4):
            loss = (run(paddle.ones([2, 3]) * k) ** 2).sum()
            losses.append(loss.item())
            (loss + 0.0).backward(retain_graph=False)
            net.before = net.before.detach()
        grads = [each.grad.numpy().tolist() for each in net.parameters()]
        found.append((losses, grads))
        if full:
            for entry in net.forward._programs.entries:
                returned = entry.runner.captured.returned
                assert entry.runner.wanted.now == tuple(
                    at < returned
                    for at, value in enumerate(entry.runner.captured.outputs)
                    if not value.stop_gradient
                )
                assert sum(1 for _, training in entry.runner.program._ready if training) == 1
    assert str(found[0]) == str(found[1])
