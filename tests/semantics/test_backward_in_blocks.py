"""F3, C7: ``backward()`` and steps in branches and static loops that a tensor decides.

Results, parameters, gradients (whether there are any, and what they say of themselves) and rates
are those of dygraph after each of some calls, which take both sides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import D2SError, LoopGradientError
from tests.helpers import function_of

pytestmark = pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")

INPUTS = [[1.0, 2.0, 3.0], [-1.0, 0.5, 0.2], [5.0, 5.0, 5.0], [0.1, 0.2, 0.1], [3.0, 2.0, 1.0]]

OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda found: paddle.optimizer.SGD(0.05, parameters=found),
    "momentum": lambda found: paddle.optimizer.Momentum(0.05, parameters=found),
    "adam": lambda found: paddle.optimizer.Adam(0.05, parameters=found),
    "rmsprop": lambda found: paddle.optimizer.RMSProp(0.05, parameters=found),
    "rprop": lambda found: paddle.optimizer.Rprop(0.05, parameters=found),
    "clipped": lambda found: paddle.optimizer.AdamW(
        0.05, parameters=found, grad_clip=paddle.nn.ClipGradByGlobalNorm(0.1)
    ),
}

BRANCHES = {
    "skipped": """
        if loss > 1:
            opt.clear_grad()
            loss.backward()
            opt.step()
        return loss
    """,
    "cleared behind": """
        if loss > 1:
            loss.backward()
            opt.step()
            opt.clear_grad()
        return loss
    """,
    "returned early": """
        if not paddle.isfinite(loss) or loss < 1:
            return None
        loss.backward()
        opt.step()
        opt.clear_grad()
        return float(loss)
    """,
    "stepped behind": """
        if loss > 1:
            loss.backward()
        opt.step()
        opt.clear_grad()
        return loss
    """,
    "dropped": """
        if loss > 1:
            loss.backward()
        opt.step()
        opt.clear_grad(set_to_zero=False)
        return loss
    """,
    "dropped in a branch": """
        loss.backward()
        opt.step()
        if loss > 1:
            opt.clear_grad(set_to_zero=False)
        elif loss > 0.5:
            net[0].weight.grad = None
        return loss
    """,
    "added to": """
        if loss > 1:
            loss.backward()
        net(x * 2).sum().backward()
        return loss
    """,
    "read": """
        if loss > 1:
            loss.backward()
        g = net[0].weight.grad
        return loss, 0.0 if g is None else g.abs().sum()
    """,
    "scaled": """
        norm = paddle.zeros([])
        if loss > 0.5:
            opt.clear_grad()
            loss.backward()
            norm = paddle.sqrt(sum((p.grad ** 2).sum() for p in net.parameters()))
            if norm > 0.3:
                with paddle.no_grad():
                    for p in net.parameters():
                        p.grad.scale_(0.3 / norm)
            opt.step()
        return loss, norm
    """,
    "twice": """
        if loss > 0.5:
            opt.clear_grad()
            loss.backward()
            net(x + 1).sum().backward()
            opt.step()
            again = net(x).sum()
            opt.clear_grad()
            again.backward()
            opt.step()
        return loss
    """,
    "nested": """
        if loss > 0.5:
            if x.sum() > 3:
                loss.backward()
                opt.step()
            else:
                (2 * loss).backward()
            opt.clear_grad()
        elif x[0] > 0:
            net(x).sum().backward()
        return loss
    """,
    "forward in it": """
        if x.sum() > 3:
            y = net(x) if x[0] > 2 else net(x * 2) + 1
            k = 0
            while y.sum() < 2 and k < 4:
                y = y * 1.5 + 0.3
                k += 1
            loss = (y ** 2).sum()
            loss.backward()
            opt.step()
            opt.clear_grad()
        else:
            loss = paddle.zeros([])
        return loss
    """,
    "through a branch": """
        y = net(x) if x.sum() > 2 else net(x * 2) + 1
        loss = (y ** 2).sum()
        if loss > 0.5:
            loss.backward()
            opt.step()
            opt.clear_grad()
        return loss
    """,
    "rates": """
        if loss > 1.5:
            opt.set_lr(opt.get_lr() * 0.5)
        elif loss > 1:
            opt.set_lr(0.02)
        loss.backward()
        opt.step()
        opt.clear_grad()
        return loss, opt.get_lr()
    """,
    "penalty": """
        x = x.detach()
        x.stop_gradient = False
        y = net(x).sum()
        if y > 0:
            g, = paddle.grad(y, x, create_graph=True)
            (y + (g.norm() - 1) ** 2).backward()
            opt.step()
            opt.clear_grad()
        return y
    """,
}

LOOPS = {
    "until it fits": """
        for i in range(12):
            loss = ((net(x) - 1) ** 2).sum()
            opt.clear_grad()
            loss.backward()
            opt.step()
            if loss < 0.05:
                break
        return loss, i
    """,
    "left before": """
        history = []
        for i in range(12):
            loss = ((net(x) - 1) ** 2).sum()
            history.append(float(loss))
            if loss < 0.05:
                break
            loss.backward()
            opt.step()
            opt.clear_grad()
        return history, i
    """,
    "patience": """
        best, bad = float("inf"), 0
        for i in range(12):
            loss = ((net(x) - 1) ** 2).mean()
            opt.clear_grad()
            loss.backward()
            opt.step()
            value = float(loss)
            if value < best - 1e-3:
                best, bad = value, 0
            else:
                bad += 1
                if bad >= 2:
                    break
        return best, bad, i
    """,
    "by the norm": """
        for i in range(10):
            opt.clear_grad()
            loss = ((net(x) - 1) ** 2).mean()
            loss.backward()
            norm = paddle.sqrt(sum((p.grad ** 2).sum() for p in net.parameters()))
            if norm < 0.1:
                break
            opt.step()
        return loss, norm, i
    """,
    "by hand": """
        for i in range(10):
            loss = ((net(x) - 1) ** 2).mean()
            if loss < 0.05:
                break
            loss.backward()
            with paddle.no_grad():
                for p in net.parameters():
                    p.set_value(p - 0.05 * p.grad)
            net.clear_gradients()
        return loss, i
    """,
    "while": """
        k, loss = 0, paddle.to_tensor(10.0)
        while loss > 0.05 and k < 10:
            y = net(x)
            if y.sum() > 0.5:
                loss = (y ** 2).sum()
            else:
                loss = ((net(x * 2) - 1) ** 2).sum()
            opt.clear_grad()
            loss.backward()
            opt.step()
            k += 1
        return loss, k
    """,
    "skipping": """
        done = 0
        for i in range(8):
            loss = ((net(x * (i - 3)) - 1) ** 2).mean()
            if loss > 1.5:
                continue
            opt.clear_grad()
            loss.backward()
            opt.step()
            done += 1
        return done, i
    """,
    "own tensors": """
        w = x.detach()
        for i in range(6):
            w.stop_gradient = False
            loss = ((w - 1) ** 2).sum()
            if loss < 0.5:
                break
            loss.backward()
            w = (w - 0.2 * w.grad).detach()
        return w, i
    """,
}


def shown(thing: Any) -> Any:
    if isinstance(thing, paddle.Tensor):
        return np.round(thing.numpy() + 0.0, 4).tolist(), thing.stop_gradient
    if isinstance(thing, list | tuple):
        return [shown(item) for item in thing]
    return round(thing, 4) if isinstance(thing, float) else thing


def trained(body: str, optimizer: str, convert: Any) -> list[Any]:
    """All that can be seen after each of some calls."""
    paddle.seed(2)
    net = paddle.nn.Sequential(paddle.nn.Linear(3, 2), paddle.nn.Tanh(), paddle.nn.Linear(2, 1))
    opt = OPTIMIZERS[optimizer](net.parameters())
    text = "    def step(x):\n        loss = ((net(x) - 1) ** 2).sum()" + body
    step = convert(function_of(text, "step", net=net, opt=opt))
    seen = []
    for numbers in INPUTS:
        result = shown(step(paddle.to_tensor(numbers)))
        gradients = [shown(p.grad) for p in net.parameters()]
        seen.append([result, shown(net.parameters()), gradients, round(opt.get_lr(), 6)])
    return seen


def check(body: str, optimizer: str) -> None:
    want = trained(body, optimizer, lambda function: function)
    assert trained(body, optimizer, lambda f: d2s.to_static(f, full_graph=True)) == want


@pytest.mark.sampled(3, also=["dropped in a branch"])
@pytest.mark.parametrize("name", BRANCHES)
def test_branches(name: str) -> None:
    """F3: a branch may call backward() and step; some runs may have no gradients."""
    check(BRANCHES[name], "sgd")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("optimizer", [name for name in OPTIMIZERS if name != "sgd"])
@pytest.mark.parametrize("name", ["skipped", "stepped behind"])
def test_optimizers_in_branches(name: str, optimizer: str) -> None:
    """F3: their state changes on the runs that step, and on no other ones."""
    check(BRANCHES[name], optimizer)


@pytest.mark.sampled(3, also=["own tensors", "by hand", "while"])
@pytest.mark.parametrize("name", LOOPS)
def test_loops(name: str) -> None:
    """C1, F3: a loop that trains, and that a tensor ends."""
    check(LOOPS[name], "sgd")


@pytest.mark.parametrize("optimizer", [name for name in OPTIMIZERS if name != "sgd"])
def test_optimizers_in_loops(optimizer: str) -> None:
    """C1, F3: their state is state of the loop."""
    check(LOOPS["until it fits"], optimizer)


def test_a_loop_that_trains_is_one_loop() -> None:
    """C1: nothing grows with the number of trips."""

    def fit(x: Any) -> Any:
        for _ in range(500):
            loss = ((net(x) - 1) ** 2).sum()
            opt.clear_grad()
            loss.backward()
            opt.step()
            if loss < 0.05:
                break
        return loss

    net = paddle.nn.Linear(3, 1)
    opt = paddle.optimizer.Adam(0.05, parameters=net.parameters())
    static = d2s.to_static(fit, full_graph=True)
    assert float(static(paddle.ones([3]))) < 0.05
    text = str(static.main_program)
    assert text.count("pd_op.while") == 1
    assert text.count("pd_op.adam_") == 2 * len(
        net.parameters()
    )  # in the first trip, and in the loop


def test_schedulers_step_on_the_runs_that_do() -> None:
    """F3: with what the branch has given them."""

    def called(convert: Any) -> Any:
        paddle.seed(1)
        net = paddle.nn.Linear(3, 1)
        scheduler = paddle.optimizer.lr.ReduceOnPlateau(0.1, patience=0)
        opt = paddle.optimizer.SGD(scheduler, parameters=net.parameters())

        def step(x: Any) -> Any:
            loss = ((net(x) - 1) ** 2).sum()
            if loss > 0.5:
                loss.backward()
                opt.step()
                opt.clear_grad()
                scheduler.step(loss)
            return loss

        run = convert(step)
        return [
            (shown(run(paddle.to_tensor(x))), opt.get_lr(), scheduler.last_epoch) for x in INPUTS
        ]

    assert called(lambda f: d2s.to_static(f, full_graph=True)) == called(lambda f: f)


def of_the_trip_before(w: Any, x: Any) -> Any:
    loss = (w * x).sum()
    while loss > 1:
        loss.backward()
        x = x * 0.5
        loss = (w * x).sum()
    return loss


def test_no_gradient_is_lost_in_a_loop() -> None:
    """C7: refused where it would have to go into the trip before."""
    w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    with pytest.raises(LoopGradientError, match="trip before"):
        d2s.to_static(of_the_trip_before, full_graph=True)(w, paddle.ones([2]))


def test_no_gradient_is_lost_behind_a_step() -> None:
    """C7: refused where it would have to go through a step, silent nowhere."""
    w = paddle.create_parameter([2], "float32")
    opt = paddle.optimizer.SGD(0.1, parameters=[w])

    def step(x: Any) -> Any:
        y = (w * x).sum().square()
        if y >= 0:
            y.backward()
            opt.step()
            y = (w * x).sum()
        y.backward()
        return y

    with pytest.raises(LoopGradientError, match="has stepped"):
        d2s.to_static(step, full_graph=True)(paddle.ones([2]))


HELD = """
        if loss > 1:
            loss.backward()
        g = net[0].weight.grad
        net(x).sum().backward()
        return None if g is None else g * 1
    """


def test_a_gradient_that_a_name_holds_is_never_stale() -> None:
    """D1: in dygraph it is the same tensor with other contents; refused where only some have it."""
    with pytest.raises(D2SError, match="name or container holds"):
        trained(HELD, "sgd", lambda f: d2s.to_static(f, full_graph=True))


# -- what goes on in dygraph ----------------------------------------------------------------------


SPLIT = {
    "another loss": """
        fake = net(x)
        first = ((fake.detach() * net(x)) ** 2).sum()
        opt.clear_grad()
        first.backward()
        opt.step()
        exec("k = 1")
        second = (fake * x[0]).sum()
        opt.clear_grad()
        second.backward()
        opt.step()
        return first, second
    """,
    "kept for two": """
        h = net(x)
        one, two = (h ** 2).sum(), h.sum()
        one.backward(retain_graph=True)
        exec("k = 1")
        two.backward()
        opt.step()
        opt.clear_grad()
        return one
    """,
    "cleared in front": """
        opt.clear_grad()
        y = net(x) * 2
        z = y + x[0]
        exec("k = 1")
        z.sum().backward()
        opt.step()
        return z
    """,
}


@pytest.mark.parametrize("name", SPLIT)
def test_gradients_go_on_behind_a_break(name: str) -> None:
    """H2: a part that trains keeps no gradient from what dygraph does with its results."""
    want = trained(SPLIT[name], "sgd", lambda function: function)
    assert trained(SPLIT[name], "sgd", lambda f: d2s.to_static(f, full_graph=False)) == want


def test_a_result_of_a_step_is_gone_through_outside() -> None:
    """H2: by default ``backward()`` of what the function returns is dygraph's."""

    def called(convert: Any) -> Any:
        paddle.seed(1)
        net = paddle.nn.Linear(3, 1)

        def step(x: Any) -> Any:
            y = net(x)
            (net(x * 2) ** 2).sum().backward()
            return y

        run, x = convert(step), paddle.ones([3])
        for _ in range(2):
            run(x).sum().backward()
        return shown(net.weight.grad)

    assert called(lambda f: d2s.to_static(f, full_graph=False)) == called(lambda f: f)


def test_results_say_whether_they_have_a_gradient() -> None:
    """B1: on each run, in a function that trains, too."""

    def called(convert: Any) -> Any:
        paddle.seed(1)
        net = paddle.nn.Linear(3, 1)

        def step(x: Any) -> Any:
            (net(x) * 2).sum().backward()
            return (net(x) ** 2).sum() if x.sum() > 0 else paddle.zeros([])

        run = convert(step)
        return [run(paddle.to_tensor(x)).stop_gradient for x in ([1.0] * 3, [-1.0] * 3)]

    assert called(lambda f: d2s.to_static(f, full_graph=True)) == [False, True]
    assert called(lambda f: f) == [False, True]
