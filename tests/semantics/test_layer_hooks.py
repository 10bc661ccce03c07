"""E2, C7: what hooks of layers change in place, or set a gradient hook on, is what comes next."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of

HOOKS = {
    "a gradient hook on the result": "layer, given, out\n    out.register_hook(lambda g: g * 2)",
    "one where a gradient goes": (
        "layer, given, out\n    if not out.stop_gradient:\n"
        "        out.register_hook(lambda g: g * 3)"
    ),
    "the result in place": "layer, given, out\n    out.add_(paddle.ones([4]) * 0.5)",
    "the result, returned": "layer, given, out\n    return out.add_(paddle.ones([4]) * 0.5)",
    "on some runs": "layer, given, out\n    if out.sum() > 0:\n        out.scale_(2.0)",
    "what it is given": "layer, given\n    given[0].add_(paddle.ones([2]) * 0.5)",
    "that, with keywords": "layer, given, options\n    given[0].add_(paddle.ones([2]) * 0.5)",
}

STEP = """
def step(x):
    y = x * 1
    loss = last(first(y)).square().mean()
    loss.backward()
    return loss, y
"""


def called(body: str, options: dict[str, Any]) -> list[str]:
    paddle.seed(53)
    first, last = paddle.nn.Linear(2, 4), paddle.nn.Linear(4, 1)
    given, _, rest = body.partition("\n")
    hook = function_of(f"def hook({given}):\n{rest}")
    if ", options" in given:
        first.register_forward_pre_hook(hook, with_kwargs=True)
    elif ", out" in given:
        first.register_forward_post_hook(hook)
    else:
        first.register_forward_pre_hook(hook)
    step = function_of(STEP, first=first, last=last)
    if options:
        step = d2s.to_static(step, **options)
    found = []
    for scale in (-1.0, 0.5, 2.0):
        result = step(paddle.ones([3, 2]) * scale)
        found.append(str([*result, first.weight.grad, first.bias.grad]))
    return found


@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("name", HOOKS)
def test_what_a_hook_of_a_layer_changes(name: str, full_graph: bool) -> None:
    """E2, C7: the layers behind it get it, and gradients go the way that it has set."""
    assert called(HOOKS[name], {"full_graph": full_graph}) == called(HOOKS[name], {})
