"""Schedulers of learning rates in converted functions: runs ask them, and step them last."""

from __future__ import annotations

import functools
import linecache
import math
import types
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of, tensor

RATES = {
    "NoamDecay": lambda: paddle.optimizer.lr.NoamDecay(64, 10),
    "ExponentialDecay": lambda: paddle.optimizer.lr.ExponentialDecay(0.5, 0.9),
    "MultiplicativeDecay": lambda: paddle.optimizer.lr.MultiplicativeDecay(0.5, lambda _: 0.9),
    "LinearWarmup": lambda: paddle.optimizer.lr.LinearWarmup(0.5, 3, 0.0, 0.5),
    "OneCycleLR": lambda: paddle.optimizer.lr.OneCycleLR(0.5, 20),
    "ReduceOnPlateau": lambda: paddle.optimizer.lr.ReduceOnPlateau(0.5, patience=1),
}
"""Schedulers of learning rates."""

ASKED = {
    "epoch": "r = rate.last_epoch",
    "rate": "r = rate.last_lr",
    "call": "r = rate()",
    "condition": "r = 2 if rate.last_epoch % 2 else 1",
    "by the optimizer": "r = optimizer._learning_rate.last_lr",
    "in a callee": "r = (lambda which: which.last_epoch + 1)(rate)",
    "before a step": "r = rate.last_epoch, rate.last_lr\n    rate.step(*metric)",
}
"""What one program says of a scheduler."""

BEHIND = {
    "epoch": "rate.step(*metric)\n    r = rate.last_epoch",
    "rate": "rate.step(*metric)\n    r = rate.last_lr",
    "call": "rate.step(*metric)\n    r = rate()",
    "formula": "rate.step(*metric)\n    r = rate.get_lr()",
    "between": "rate.step(*metric)\n    r = rate.last_epoch\n    rate.step(*metric)",
    "in a branch": "if x.sum() > 2:\n        rate.step(*metric)\n    r = rate.last_lr, rate()",
    "in each trip": (
        "r = []\n    for k in range(3):\n        r.append(rate.last_epoch)\n"
        "        rate.step(*metric)\n        r.append(rate())"
    ),
    "as a text": "rate.step(*metric)\n    r = f'{rate.last_epoch}: {rate():.4f}'",
    "in a condition": "rate.step(*metric)\n    r = 2 if rate.last_epoch > 2 else 1",
}
"""What is read behind a step."""

SEEN = {
    "all of it": "r = dict(rate.state_dict())\n    rate.step(*metric)",
    "set": "rate.last_epoch = 3\n    rate.step(*metric)\n    r = 1",
    "said": "rate.verbose = True\n    rate.step(*metric)\n    rate.verbose = False",
    "loaded": "rate.set_state_dict({**rate.state_dict(), 'last_epoch': 5})",
}
"""What is refused as one program."""


ALL = {**ASKED, **{f"{name} behind": body for name, body in BEHIND.items()}, **SEEN}

EPOCHS = {
    "each batch": """
    def f(x):
        for k in range(3):
            loss = (weight * x * (k + 1)).square().sum()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            rate.step()
        return optimizer.get_lr()
    """,
    "until a tensor leaves": """
    def f(x):
        for k in range(4):
            loss = (weight * x).square().sum()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            rate.step()
            if loss < 0.5:
                break
        return loss.detach(), optimizer.get_lr()
    """,
    "on one side": """
    def f(x):
        loss = (weight * x).square().sum()
        loss.backward()
        if loss < 2:
            optimizer.step()
            rate.step()
        optimizer.step()
        optimizer.clear_grad()
        rate.step()
        return optimizer.get_lr()
    """,
    "at a side's end": """
    def f(x):
        (weight * x).square().sum().backward()
        if x.sum() > 1:
            rate.step()
            rate.step()
        else:
            rate.step()
        optimizer.step()
        optimizer.clear_grad()
    """,
}
"""Steps behind that of the scheduler, which the run makes last."""

FORESEEN = {
    **{k: make for k, make in RATES.items() if k not in ("MultiplicativeDecay", "ReduceOnPlateau")},
    "a warm-up of another": lambda: paddle.optimizer.lr.LinearWarmup(
        paddle.optimizer.lr.CosineAnnealingDecay(0.5, 6), 2, 0.0, 0.5
    ),
    "CyclicLR": lambda: paddle.optimizer.lr.CyclicLR(0.125, 0.5, 3),
}
"""Schedulers whose rates a copy tells."""


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", FORESEEN)
@pytest.mark.parametrize("body", EPOCHS.values(), ids=EPOCHS)
def test_the_rate_behind_a_step(kind: str, body: str) -> None:
    """F3: the next one, as in dygraph; one program serves all epochs."""
    found = []
    for full_graph in (None, True):
        rate = FORESEEN[kind]()
        weight = paddle.create_parameter([2], "float32")
        weight.set_value(tensor(1.0, 2.0))
        optimizer = paddle.optimizer.Momentum(rate, parameters=[weight])
        f = function_of(body, rate=rate, optimizer=optimizer, weight=weight)
        if full_graph:
            f = d2s.to_static(f, full_graph=True)
        seen = []
        for scale in (0.5, 0.25, -1.0, 0.5, 0.125):
            result = f(tensor(1.0, 0.5) * scale)
            seen.append(str([result, weight, rate.last_epoch, rate.last_lr]))
            if scale < 0:
                rate.step()
        found.append(seen)
    assert found[0] == found[1]
    assert len(f.programs) == 1


def of_scheduler(kind: str, body: str, convert: Any) -> list[Any]:
    """What calls and the scheduler say, also when it has stepped outside."""
    rate = RATES[kind]()
    metric = (0.5,) if kind == "ReduceOnPlateau" else ()
    weight = paddle.create_parameter([2], "float32")
    optimizer = paddle.optimizer.SGD(rate, parameters=[weight])
    text = f"def f(x):\n    r = 0\n    {body}\n    return paddle.tanh(x) * 2 + x.mean(), r"
    f = convert(function_of(text, rate=rate, optimizer=optimizer, metric=metric))
    seen = []
    for _ in range(4):
        y, r = f(tensor(1.0, 2.0))
        seen += [y.tolist(), r, rate.last_epoch, rate.last_lr]
        rate.step(*metric)
    return seen


@pytest.mark.sampled(3, also=["call behind-MultiplicativeDecay", "before a step-OneCycleLR"])
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
@pytest.mark.parametrize("kind", RATES)
@pytest.mark.parametrize("body", ALL.values(), ids=ALL)
def test_what_a_scheduler_holds_by_default(kind: str, body: str) -> None:
    """F3, H1: as in dygraph, before a step and behind it."""
    if "get_lr" in body and kind == "ReduceOnPlateau":
        pytest.skip("it has no formula")
    want = of_scheduler(kind, body, lambda f: f)
    assert repr(of_scheduler(kind, body, d2s.to_static(full_graph=False))) == repr(want)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", RATES)
@pytest.mark.parametrize("body", ASKED.values(), ids=ASKED)
def test_each_run_asks_a_scheduler(kind: str, body: str) -> None:
    """F3: one program serves all epochs."""
    made = []

    def convert(f):
        made.append(d2s.to_static(f, full_graph=True))
        return made[0]

    assert of_scheduler(kind, body, convert) == of_scheduler(kind, body, lambda f: f)
    assert len(made[0].programs) == 1


@pytest.mark.parametrize("kind", [kind for kind in RATES if kind != "ReduceOnPlateau"])
@pytest.mark.parametrize("body", BEHIND.values(), ids=BEHIND)
def test_a_copy_of_a_scheduler_tells_what_is_read_behind_its_step(kind: str, body: str) -> None:
    """F3: one program serves all epochs."""
    made = []

    def convert(f):
        made.append(d2s.to_static(f, full_graph=True))
        return made[0]

    want = of_scheduler(kind, body, lambda f: f)
    assert repr(of_scheduler(kind, body, convert)) == repr(want)
    assert len(made[0].programs) == 1


@pytest.mark.parametrize("body", BEHIND.values(), ids=BEHIND)
def test_what_a_loss_decides_behind_a_step_is_refused(body: str) -> None:
    """F3: only the step itself tells it."""
    with pytest.raises(d2s.errors.UnsupportedInGraphError, match="scheduler"):
        of_scheduler("ReduceOnPlateau", body, d2s.to_static(full_graph=True))


@pytest.mark.parametrize("body", SEEN.values(), ids=SEEN)
def test_a_scheduler_behind_its_step_is_refused(body: str) -> None:
    """F3: with the line; the scheduler steps when the program has run."""
    with pytest.raises(d2s.errors.UnsupportedInGraphError, match="scheduler") as caught:
        of_scheduler("ExponentialDecay", body, d2s.to_static(full_graph=True))
    assert caught.value.line in (3, 4)


FORMULAS = """
STEPS, MILESTONES = 6, (2, 4)

def warm(epoch, base=0.5, total=8):
    if epoch < MILESTONES[0]:
        return (epoch + 1) / MILESTONES[0]
    return max(0.125, base * (1 + math.cos(math.pi * min(epoch, total) / total)))

def enclosed(steps):
    return lambda epoch: 1.0 if epoch < steps else warm(epoch)

box = Box(factor=0.5)
seen = []
last = 3
"""

OWN = {
    "a lambda": "lambda epoch: 0.5 ** epoch",
    "a function of the module": "warm",
    "a partial": "functools.partial(warm, total=5)",
    "one that another gives": "enclosed(2)",
    "a number of the module": "lambda epoch: 1.0 / (epoch + STEPS)",
}
"""Formulas of the user's."""

OTHERS = {
    "an attribute": "lambda epoch: box.factor ** epoch",
    "a list": "lambda epoch: seen.append(epoch) or 0.5",
    "what the function binds anew": "lambda epoch: 1.0 / (epoch + last)",
}
"""Functions of the user's that no copy of a scheduler may call ahead."""

ROUND = """
def f(x):
    global last
    last += 1
    found = []
    for k in range(2):
        (weight * x).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
        rate.step()
        found.append((rate.last_lr, rate.last_epoch))
    return found
"""


def of_formula(formula: str, kind: str, options: dict[str, Any]) -> list[str]:
    scope = function_of(
        f"{FORMULAS}\ndef give():\n    return globals(), {formula}", "give", **NAMES
    )
    names, function = scope()
    rate = getattr(paddle.optimizer.lr, kind)(0.5, function)
    weight = paddle.create_parameter([2], "float32")
    weight.set_value(tensor(1.0, 2.0))
    optimizer = paddle.optimizer.Adam(rate, parameters=[weight])
    names.update(rate=rate, weight=weight, optimizer=optimizer)
    exec(compile(ROUND, "<round>", "exec"), names)
    linecache.cache["<round>"] = (len(ROUND), None, ROUND.splitlines(keepends=True), "<round>")
    f = d2s.to_static(names["f"], **options) if options else names["f"]
    return [str([f(tensor(1.0, 0.5)), weight, rate.last_lr, names["seen"]]) for _ in range(3)]


NAMES = {"math": math, "functools": functools, "Box": types.SimpleNamespace}


@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("kind", ["LambdaDecay", "MultiplicativeDecay"])
@pytest.mark.parametrize("name", OWN)
def test_a_formula_of_ones_own_is_read_behind_a_step(name, kind, full_graph) -> None:
    """F3: it changes nothing, and depends on constants alone."""
    mine = of_formula(OWN[name], kind, {"full_graph": full_graph})
    assert mine == of_formula(OWN[name], kind, {})


@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
@pytest.mark.parametrize("name", OTHERS)
def test_what_a_function_of_ones_own_changes_or_reads(name: str) -> None:
    """F3, H1: as one program it is refused; by default it is called where dygraph does."""
    with pytest.raises(d2s.errors.UnsupportedInGraphError, match="scheduler"):
        of_formula(OTHERS[name], "LambdaDecay", {"full_graph": True})
    mine = of_formula(OTHERS[name], "LambdaDecay", {"full_graph": False})
    assert mine == of_formula(OTHERS[name], "LambdaDecay", {})
