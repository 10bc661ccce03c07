"""F3, F4: what a branch changes of parameters, gradients and optimizers is as in dygraph.

Whatever the runs decide: values, gradients, whether there are any, and the optimizer's state.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import LoopGradientError, UnsupportedInGraphError
from tests.helpers import function_of

pytestmark = pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")

OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda found: paddle.optimizer.SGD(0.05, parameters=found),
    "adam": lambda found: paddle.optimizer.Adam(0.05, parameters=found),
    "clipped": lambda found: paddle.optimizer.AdamW(
        0.05, parameters=found, grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0)
    ),
}

GUARDED = """
def step(x):
    loss = net(x).square().mean()
    loss.backward()
    if paddle.isfinite(loss):
        opt.step()
    opt.clear_grad()
    return loss
"""

EVERY_SECOND = """
def step(x):
    loss = net(x).square().mean()
    loss.backward()
    count.add_(paddle.ones([], "int64"))
    if count % 2 == 0:
        opt.step()
        opt.clear_grad()
    return loss
"""

RETURNS = """
def step(x):
    loss = net(x).square().mean()
    loss.backward()
    if not paddle.isfinite(loss):
        opt.clear_grad()
        return loss, False
    opt.step()
    opt.clear_grad()
    return loss, True
"""

SCALED = """
def step(x):
    loss = net(x).square().mean()
    loss.backward()
    total = paddle.sqrt(sum((p.grad ** 2).sum() for p in net.parameters()))
    if total > 1.0:
        with paddle.no_grad():
            for p in net.parameters():
                p.grad.scale_(1.0 / float(total))
    opt.step()
    opt.clear_grad()
    return loss, total
"""

RESET = """
def step(x):
    loss = net(x).square().mean()
    if loss > 2.0:
        with paddle.no_grad():
            net.weight.set_value(net.weight * 0.5)
            if loss > 50.0:
                net.bias.set_value(paddle.ones([2]))
        loss = net(x).square().mean()
    loss.backward()
    opt.step()
    opt.clear_grad()
    return loss
"""

ASSIGNED = """
def step(x):
    loss = net(x).square().mean()
    loss.backward()
    if loss > 2.0:
        for p in net.parameters():
            p.grad = p.grad * 0.1
    elif loss > 0.5:
        net.weight.clear_gradient()
    else:
        with paddle.no_grad():
            net.weight.grad.set_value(net.weight.grad * 2)
    opt.step()
    kept = net.weight.grad * 2
    opt.clear_grad()
    return kept
"""

CLIPPED = """
def step(x):
    loss = net(x).square().mean()
    loss.backward()
    if loss > 1.0:
        paddle.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    opt.step()
    opt.clear_grad()
    return loss
"""

UNDONE = """
def step(x):
    before = [p.clone().detach() for p in net.parameters()]
    loss = net(x).square().mean()
    loss.backward()
    opt.step()
    opt.clear_grad()
    with paddle.no_grad():
        if net(x).square().mean() > loss:
            for p, old in zip(net.parameters(), before):
                p.set_value(old)
    return loss
"""

LOADED = """
def step(x):
    loss = net(x).square().mean()
    loss.backward()
    opt.step()
    opt.clear_grad()
    if not paddle.isfinite(loss):
        net.set_state_dict(first)
    return loss
"""

PERTURBED = """
class Perturbed:
    def __init__(self, param):
        self.param = param

    def __enter__(self):
        self.saved = self.param.clone()
        with paddle.no_grad():
            gradient = self.param.grad
            if gradient.norm() > 0.1:
                self.param.add_(0.1 * gradient / gradient.norm())

    def __exit__(self, *error):
        with paddle.no_grad():
            self.param.set_value(self.saved)


def step(x):
    net(x).square().mean().backward()
    with Perturbed(net.weight):
        loss = net(x).square().mean()
        loss.backward()
    calm = net(x).square().mean()
    opt.step()
    opt.clear_grad()
    return loss, calm
"""

PROGRAMS = {
    "guarded": GUARDED,
    "every second": EVERY_SECOND,
    "returns": RETURNS,
    "scaled": SCALED,
    "reset": RESET,
    "assigned": ASSIGNED,
    "clipped": CLIPPED,
    "undone": UNDONE,
    "loaded": LOADED,
    "perturbed": PERTURBED,
}


def shown(thing: Any) -> Any:
    if isinstance(thing, paddle.Tensor):
        return np.round(thing.numpy(), 4).tolist()
    return [shown(item) for item in thing] if isinstance(thing, list | tuple) else thing


def trained(text: str, optimizer: str, convert: Any) -> list[Any]:
    """All that can be seen after each of some steps, for inputs of both outcomes."""
    paddle.seed(2)
    net = paddle.nn.Linear(3, 2)
    opt = OPTIMIZERS[optimizer](net.parameters())
    first = {name: value.clone() for name, value in net.state_dict().items()}
    count = paddle.zeros([], "int64")
    step = convert(function_of(text, "step", net=net, opt=opt, count=count, first=first))
    numbers, seen = np.random.RandomState(0), []
    for scale in (1.0, 1.0, 30.0, float("nan"), 0.3, 2.0):
        x = paddle.to_tensor(numbers.randn(4, 3).astype("float32") * scale)
        result = shown(step(x))
        gradients = [
            None if p.grad is None else (shown(p.grad), p.grad.stop_gradient)
            for p in net.parameters()
        ]
        state = [shown(value) for value in opt.state_dict().values()]
        # What an optimizer has made for its first step is there before it, see decision 20.
        steps = len(seen) > 1
        seen.append([result, shown(net.parameters()), gradients, state if steps else None])
    return seen


@pytest.mark.sampled(3)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_both_outcomes_are_those_of_dygraph(name: str, optimizer: str) -> None:
    """F3: results, parameters, gradients and accumulators, step by step."""
    text = PROGRAMS[name]
    static = trained(text, optimizer, d2s.to_static)
    assert repr(static) == repr(trained(text, optimizer, lambda function: function))


CLIPS = {
    "global norm": paddle.nn.ClipGradByGlobalNorm(0.01),
    "norm": paddle.nn.ClipGradByNorm(0.01),
    "value": paddle.nn.ClipGradByValue(0.01),
}

KEPT = """
def step(x):
    loss = net(x).square().mean()
    loss.backward()
    before = net.weight.grad
    opt.step()
    return before * 1, net.weight.grad * 1
"""


@pytest.mark.parametrize("name", CLIPS)
def test_what_a_clip_leaves_in_the_gradients(name: str) -> None:
    """F3: the clip by the global norm changes them in place, the others do not."""

    def called(convert: Any) -> Any:
        paddle.seed(1)
        net = paddle.nn.Linear(3, 2)
        opt = paddle.optimizer.SGD(0.1, parameters=net.parameters(), grad_clip=CLIPS[name])
        step = convert(function_of(KEPT, "step", net=net, opt=opt))
        return [(shown(step(paddle.ones([2, 3]))), shown(net.weight.grad)) for _ in range(2)]

    assert called(d2s.to_static) == called(lambda function: function)


def leaf(*values: float) -> Any:
    return paddle.create_parameter(
        [len(values)], "float32", default_initializer=paddle.nn.initializer.Assign(list(values))
    )


INNER = """
def f(x):
    y = (x * w).sum()
    if y > 0:
        with paddle.no_grad():
            w.set_value(w * 3)
        y = (x * w * w).sum()
    y.backward()
    return y
"""


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_gradient_through_contents_of_a_branch(sign: float) -> None:
    """C7: what a branch computes with its new contents gives the parameter a gradient."""

    def called(convert: Any) -> Any:
        w = leaf(1.0, 2.0)
        f = convert(function_of(INNER, "f", w=w))
        x = paddle.to_tensor([sign, sign])
        return [(shown(f(x)), shown(w), shown(w.grad)) for _ in range(3)]

    assert called(d2s.to_static) == called(lambda function: function)


REFUSED = {
    "a scheduler in a loop": "while x.max() > 1:\n            x = x / 2\n"
    "            scheduler.step()",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_stays_refused(name: str) -> None:
    """F4: a coded error where dygraph's outcome cannot be had."""
    text = f"""
def f(x):
    (x * w).sum().backward()
    if x.sum() > 0:
        {REFUSED[name]}
    return x
"""
    w = leaf(1.0, 2.0)
    opt = paddle.optimizer.SGD(0.1, parameters=[w])
    scheduler = paddle.optimizer.lr.StepDecay(0.1, 1)
    step = function_of(text, "f", w=w, opt=opt, scheduler=scheduler)
    with pytest.raises(UnsupportedInGraphError) as raised:
        d2s.to_static(step)(paddle.to_tensor([1.0, 4.0]))
    assert raised.value.code == "D2S205"


def both_of_a_branch(x):
    y = (x * x).sum()
    if y > 1:
        x = x * 2
        y = (x * x).sum()
    return paddle.grad(y, x)[0]


def both_of_a_loop(x):
    i = paddle.to_tensor(0)
    y = (x * x).sum()
    while i < 3:
        x = x * 2
        y = (x * x).sum()
        i = i + 1
    return paddle.grad(y, x)[0]


def kept_of_a_branch(x):
    y = (x * x).sum()
    if y > 1:
        x = x * 2
        y = (x * x).sum()
    x.retain_grads()
    y.backward()
    return x.grad


def leaf_of_a_branch(x):
    if x.sum() > 1:
        u = (x * 2).detach()
        u.stop_gradient = False
        y = (u * u).sum()
    else:
        u = (x * 3).detach()
        u.stop_gradient = False
        y = (u * u * u).sum()
    y.backward()
    return u.grad


@pytest.mark.parametrize(
    "function", [both_of_a_branch, both_of_a_loop, kept_of_a_branch, leaf_of_a_branch]
)
def test_no_gradient_is_lost_between_two_results_of_a_branch(function) -> None:
    """C7: Paddle has no gradient from one result of a branch to another; such a one is refused."""
    for start in ([1.0, 2.0], [0.1, 0.2]):
        x = paddle.to_tensor(start, stop_gradient=False)
        with pytest.raises(LoopGradientError, match="branch or loop"):
            d2s.to_static(function, full_graph=True)(x)
        split = d2s.to_static(function, full_graph=False)
        for _ in range(2):
            mine, other = (paddle.to_tensor(start, stop_gradient=False) for _ in range(2))
            assert split(mine).tolist() == function(other).tolist()


def of_what_comes_before(x):
    y = (x * x).sum()
    gradient = x * 0
    if y > 1:
        gradient = paddle.grad(y, x)[0]
    return gradient


def of_the_only_result(x):
    if x.sum() > 1:
        x = x * 2
    y = (x * x).sum()
    return paddle.grad(y, x)[0]


@pytest.mark.parametrize("function", [of_what_comes_before, of_the_only_result])
def test_gradients_around_a_branch(function) -> None:
    """C7: of what was computed before a branch, in it; through a branch, behind it."""
    for start in ([1.0, 2.0], [0.1, 0.2]):
        x = paddle.to_tensor(start, stop_gradient=False)
        static = d2s.to_static(function, full_graph=True)
        assert static(x).tolist() == pytest.approx(function(x).tolist())


HELD = {
    "a name": ("p = net.weight", "p"),
    "an attribute": ("box = Box(p=net.weight)", "box.p"),
    "an item": ("box = [net.weight]", "box[0]"),
    "a key": ("box = {'p': net.weight}", "box['p']"),
    "an attribute of an attribute": ("box = Box(box=Box(p=net.weight))", "box.box.p"),
    "one of the parameters": ("box = net.parameters()", "box[0]"),
}
CHANGES = {
    "added to": "{p}.add_(x)",
    "set": "{p}.set_value(x)",
    "an item set": "{p}[0] = x[0] + 5.0",
    "on one side of two": "if x.sum() > 5: {p}.add_(x)",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("held", HELD)
def test_a_parameter_that_a_branch_changes_is_one_tensor_under_each_name(held, change) -> None:
    """B4, F3: what changes it behind the branch, and who reads it, has the parameter itself."""
    bind, p = HELD[held]
    text = f"""
def step(x):
    {bind}
    with paddle.no_grad():
        if x.sum() > 2:
            {CHANGES[change].format(p=p)}
        first = net.weight * 1
        {p}.add_(x)
    return first, {p} * 1, net.weight * 1, {p} is net.weight
"""
    seen = []
    for convert in (lambda f: f, d2s.to_static(full_graph=True)):
        paddle.seed(2)
        net = paddle.nn.Linear(3, 1, bias_attr=False)
        step = convert(function_of(text, "step", net=net, Box=SimpleNamespace))
        for values in ([1.0, 2.0, 3.0], [0.5, 0.0, -1.0], [1.0, 1.0, 1.0]):
            seen.append((shown(step(paddle.to_tensor(values).unsqueeze(1))), shown(net.weight)))
    assert seen[:3] == seen[3:]
