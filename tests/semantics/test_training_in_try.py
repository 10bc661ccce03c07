"""F1, F3: training in a ``try`` or ``with`` that catches what a tensor raises in it.

What stood before the exception is done when the handler begins, as parameters, gradients, rates and
accumulators are no variables that a handler gets back.
"""

from __future__ import annotations

import contextlib
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of, results_at

OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda found: paddle.optimizer.SGD(0.125, parameters=found),
    "adam": lambda found: paddle.optimizer.Adam(
        0.125, parameters=found, grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0)
    ),
    "scheduled": lambda found: paddle.optimizer.Momentum(
        paddle.optimizer.lr.ExponentialDecay(0.125, 0.5), 0.5, parameters=found
    ),
}

BODIES = {
    "what raises changes, too": """
        try:
            if loss > 2:
                with paddle.no_grad():
                    net.bias.set_value(net.bias + 0.25)
                raise ValueError("big")
            loss.backward()
            opt.step()
        except ValueError as error:
            print(error, float(net.bias.sum()))
            with paddle.no_grad():
                net.weight.scale_(0.5)
        opt.clear_grad()
        return net.bias * 1
    """,
    "one in another": """
        try:
            try:
                if loss > 4:
                    raise ValueError("big")
                loss.backward()
                opt.step()
                if loss > 0.5:
                    decay()
                    raise KeyError("middle")
            except KeyError:
                decay()
                if loss > 1:
                    raise ValueError("from the middle")
            finally:
                opt.clear_grad()
        except ValueError as error:
            decay()
            print("caught", error)
    """,
    "else and finally": """
        try:
            if not paddle.isfinite(loss):
                raise FloatingPointError("nan")
            loss.backward()
        except FloatingPointError:
            r = "skipped"
        else:
            opt.step()
            r = "stepped"
        finally:
            opt.clear_grad()
        return r
    """,
    "a gradient of some runs": """
        try:
            if loss > 4:
                raise ValueError("big")
            loss.backward()
            if loss > 0.5:
                raise KeyError("middle")
            opt.step()
        except ValueError:
            pass
        except KeyError:
            print([p.grad is None for p in net.parameters()])
        opt.clear_grad(set_to_zero=False)
    """,
    "a loop that is left": """
        done = 0
        try:
            for k in range(3):
                loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
                if not paddle.isfinite(loss):
                    raise ValueError(k)
                loss.backward()
                opt.step()
                opt.clear_grad()
                if k > 0:
                    decay()
                done += 1
                if loss < 1:
                    raise KeyError(k)
        except (ValueError, KeyError) as stop:
            return stop.args[0], done
        return done
    """,
    "in each trip": """
        skipped = 0
        for k in range(3):
            try:
                loss = (net(x) * (k + 1) - x.sum(1, keepdim=True)).square().mean()
                if loss > 3 or not paddle.isfinite(loss):
                    raise ValueError("big")
                loss.backward()
                opt.step()
            except ValueError:
                skipped += 1
                continue
            finally:
                opt.clear_grad()
        return skipped
    """,
    "in a helper": """
        def train():
            if loss > 2:
                raise ValueError(f"loss {float(loss):.3f}")
            loss.backward()
            opt.step()
            opt.clear_grad()
            return "trained"

        try:
            return train()
        except ValueError as error:
            decay()
            return str(error)
    """,
    "raised again": """
        try:
            if loss > 2:
                raise ValueError("big")
            loss.backward()
            opt.step()
            if loss > 0.5:
                raise RuntimeError("not caught")
        except ValueError:
            decay()
            raise
    """,
    "each way raises": """
        try:
            if loss > 4:
                raise ValueError("big")
            loss.backward()
            opt.step()
            decay()
            raise KeyError("always")
        except ValueError:
            r = 1
        except KeyError:
            r = 2
            decay()
        opt.clear_grad()
        return r
    """,
    "in a branch": """
        n = 0
        if paddle.isfinite(loss):
            try:
                if loss > 2:
                    raise ValueError("big")
                loss.backward()
                opt.step()
            except ValueError:
                decay()
                n = 1
        opt.clear_grad()
        return n
    """,
    "a context that suppresses": """
        with contextlib.suppress(ValueError):
            if loss > 2:
                raise ValueError("big")
            loss.backward()
            opt.step()
        opt.clear_grad()
    """,
    "a context that puts back": """
        with preserved(net):
            for k in range(3):
                loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
                if loss > 4:
                    raise RuntimeError(f"diverged at {k}")
                loss.backward()
                opt.step()
                opt.clear_grad()
        return k
    """,
    "an item that is not there": """
        try:
            loss.backward()
            n = "abc"[int(loss)]
            opt.step()
        except IndexError:
            n = "none"
        except ValueError:
            n = "nan"
        opt.clear_grad()
        return n
    """,
}

RATE = "opt.set_lr(opt.get_lr() * 0.5)"

PRESERVED = """
@contextlib.contextmanager
def preserved(net):
    weights = {k: v.clone() for k, v in net.state_dict().items()}
    try:
        yield weights
    finally:
        net.set_state_dict(weights)
"""


def seen(name: str, optimizer: str, capsys: Any, **options: Any) -> list[str]:
    paddle.seed(7)
    net = paddle.nn.Linear(3, 1)
    opt = OPTIMIZERS[optimizer](net.parameters())
    slower = "opt._learning_rate.step()" if optimizer == "scheduled" else RATE
    decay = function_of(f"def decay():\n    {slower}", opt=opt)
    scope = {"net": net, "opt": opt, "decay": decay, "contextlib": contextlib}
    scope["preserved"] = function_of(PRESERVED, "preserved", contextlib=contextlib)
    text = "def f(x):\n        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()"
    f = function_of(f"{text}{BODIES[name]}", "f", **scope)
    if options:
        f = d2s.to_static(f, **options)
    found = []
    scales = (0.125, 3.0, 1.0, float("nan"), 2.0, 0.25)
    for scale, result in results_at(scales, f, ValueError, RuntimeError):
        state = list(opt.state_dict().values()) if len(found) > 1 else None  # see decision 20
        said = capsys.readouterr().out
        weights = [(each, each.grad) for each in net.parameters()]
        found.append(str([result, said, weights, state, opt.get_lr()]))
        if scale != scale:
            net.set_state_dict({k: paddle.ones(v.shape) for k, v in net.state_dict().items()})
    return found


@pytest.mark.sampled(4, also=["what raises changes, too-sgd-False"])
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", BODIES)
def test_as_in_dygraph(name: str, optimizer: str, full_graph: bool, capsys: Any) -> None:
    """F1, F3: weights, gradients, accumulators and rates, whether it was raised or not."""
    mine = seen(name, optimizer, capsys, full_graph=full_graph)
    assert mine == seen(name, optimizer, capsys)
