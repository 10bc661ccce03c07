"""A second backward through one call (rule C7): as in dygraph by default; refused by one program.

Paddle frees what a program has saved.  A program of one result and no loop runs again for a second
backward where the first one retained the graph; of the others, a first call in dygraph shows what
comes to it.
"""

from __future__ import annotations

import paddle
import pytest

import d2s
from d2s.errors import BackwardTwiceError
from tests.helpers import function_of, tensor

pytestmark = pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")

PROGRAMS = {
    "straight": "return x * x, x.sum()",
    "branch": "y = x\n    if x.sum() > 0: y = x * x\n    return y, x.sum()",
    "loop": "i = paddle.zeros([], 'int64')\n    y = x\n    while i < 2:\n        y = y * x\n"
    "        i = i + 1\n    return y, x.sum()",
}

SINGLE = {
    "operations": "return paddle.tanh(x * w) * x",
    "branch": "y = x\n    if x.sum() > 0: y = paddle.exp(x * w)\n    return y * y",
    "statistics": "return norm(paddle.stack([x, x * x, x * w])) * x",
}

LOOPED = {
    "loop": "i = paddle.zeros([], 'int64')\n    y = x * w\n    while i < 2:\n        y = y * x\n"
    "        i = i + 1\n    return y",
}


def scope():
    paddle.seed(1)
    weight = paddle.create_parameter([2], "float32")
    weight.set_value(paddle.to_tensor([0.5, -0.5]))
    return {"w": weight, "norm": paddle.nn.BatchNorm1D(2)}


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("body", PROGRAMS.values(), ids=PROGRAMS)
def test_it_is_refused_and_leaves_the_gradient_alone(body: str, keep: bool) -> None:
    """C7: Paddle would crash, or read what another call has written."""
    f = d2s.to_static(function_of(f"def f(x):\n    {body}"), full_graph=True)
    x = tensor(1.0, 2.0)
    x.stop_gradient = False
    first, second = f(x)
    first.sum().backward(retain_graph=keep)
    before = x.grad.tolist()
    with pytest.raises(BackwardTwiceError, match="add the losses up") as caught:
        second.backward()
    assert caught.value.file == __file__
    assert x.grad.tolist() == before


def one_after_the_other(results, x, f):
    """A backward that retains the graph, a call in between, and two backwards more."""
    results[0].sum().backward(retain_graph=True)
    f(x * 3)
    results[-1].sum().backward(retain_graph=True)
    results[0].mean().backward()


def each_once(results, x, f):
    """No graph is retained: dygraph goes back where the results share nothing that was saved."""
    for each in results:
        each.sum().backward()


def gradient_first(results, x, f):
    (found,) = paddle.grad(results[0].sum(), x, retain_graph=True)
    (results[-1].sum() + found.sum()).backward()


def with_a_step_between(results, x, f):
    """The saved values stay, the weights are those of now."""
    results[0].sum().backward(retain_graph=True)
    weight = f.__globals__["w"] if hasattr(f, "__globals__") else f.d2s_original.__globals__["w"]
    with paddle.no_grad():
        weight.set_value(weight * 2)
    (results[0] * 3).sum().backward()


WAYS = (one_after_the_other, each_once, gradient_first, with_a_step_between)


def seen(f, made, way):
    found = []
    for number in range(4):
        x = tensor(0.5 + number, 2.0)
        x.stop_gradient = False
        results = f(x)
        way(results if isinstance(results, tuple) else (results,), x, f)
        weight = made["w"].grad
        found.append((x.grad.tolist(), None if weight is None else weight.tolist()))
        found.append(made["norm"]._mean.tolist())
    return found


@pytest.mark.sampled(
    3, also=["return norm(paddle.stack([x, x * x, x * w])) * x-with_a_step_between"]
)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("body", [*PROGRAMS.values(), *SINGLE.values(), *LOOPED.values()])
def test_by_default_it_is_what_dygraph_does(body: str, way) -> None:
    """C7, H1: from the first call on, with calls between and weights that change."""
    found = []
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=False)):
        made = scope()
        f = function_of(f"def f(x):\n    {body}", **made)
        f.__globals__["w"] = made["w"]
        try:
            found.append(seen(convert(f), made, way))
        except Exception as error:
            found.append(type(error))
    if isinstance(found[0], type):
        pytest.skip("dygraph refuses it")
    for one, other in zip(*found, strict=True):
        for want, got in zip(one, other, strict=True):
            assert want == got if want is None else want == pytest.approx(got, rel=1e-5)


@pytest.mark.parametrize("body", SINGLE.values(), ids=SINGLE)
@pytest.mark.parametrize("way", [one_after_the_other, gradient_first, with_a_step_between])
def test_one_result_and_no_loop_is_one_program_all_the_same(body: str, way) -> None:
    """C7: the program runs again; running statistics move once."""
    found = []
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=True)):
        made = scope()
        f = function_of(f"def f(x):\n    {body}", **made)
        found.append(seen(convert(f), made, way))
    for one, other in zip(*found, strict=True):
        for want, got in zip(one, other, strict=True):
            assert want == pytest.approx(got, rel=1e-5)


def test_masks_are_those_of_the_call() -> None:
    """C7: a program that draws is gone back through with what it has drawn."""
    f = d2s.to_static(lambda x: paddle.nn.functional.dropout(x * x, 0.5), full_graph=True)
    for _ in range(4):
        x = paddle.ones([64])
        x.stop_gradient = False
        y = f(x)
        y.sum().backward(retain_graph=True)
        f(x)
        y.sum().backward()
        assert x.grad.tolist() == (4 * y).tolist()


def test_an_input_that_has_changed_is_refused() -> None:
    """C7: what the program has read is not there any more."""
    f = d2s.to_static(lambda x, y: paddle.tanh(x) * y, full_graph=True)
    x, y = tensor(1.0, 2.0), tensor(1.0, 2.0)
    x.stop_gradient = False
    result = f(x, y).sum()
    result.backward(retain_graph=True)
    y.add_(paddle.ones([2]))
    with pytest.raises(BackwardTwiceError):
        result.backward()


def test_where_it_comes_later_dygraph_goes_on() -> None:
    """H1: the call that has run as a program raises; the calls behind it are dygraph's."""
    f = d2s.to_static(function_of(f"def f(x):\n    {PROGRAMS['loop']}"), full_graph=False)
    for number in range(6):
        x = tensor(1.0, 2.0)
        x.stop_gradient = False
        first, second = f(x)
        if number < 3:
            (first.sum() + second).backward()
            continue
        first.sum().backward(retain_graph=True)
        if number == 3:
            with pytest.raises(BackwardTwiceError):
                second.backward()
        else:
            second.backward()
            assert x.grad.tolist() == [4.0, 13.0]
    assert [each.code for each in f.breaks] == ["D2S309"]


@pytest.mark.parametrize("body", PROGRAMS.values(), ids=PROGRAMS)
def test_two_calls_may_each_go_back_once(body: str) -> None:
    """C7: also when the second call came before the first backward."""
    function = function_of(f"def f(x):\n    {body}")
    found = []
    for f in (function, d2s.to_static(function)):
        x = tensor(1.0, 2.0)
        x.stop_gradient = False
        one, two = f(x), f(x * 3)
        one[0].sum().backward()
        (two[0].sum() + two[1]).backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1]


# -- gradients of gradients -----------------------------------------------------------------------


def penalty(net, x, *, more=True):
    """A gradient penalty, as for a critic; the gradients of the parameters."""
    y = net(x)
    (found,) = paddle.grad(y.sum(), x, create_graph=True)
    loss = (found.norm() - 1) ** 2
    (loss + y.sum() if more else loss).backward()
    return [None if p.grad is None else p.grad.numpy().round(4).tolist() for p in PARAMETERS]


PARAMETERS: list = []


def critic(convert, kind):
    paddle.seed(3)
    net = paddle.nn.Sequential(
        paddle.nn.Linear(3, 4), paddle.nn.Tanh(), paddle.nn.Linear(4, 4), paddle.nn.Linear(4, 1)
    )
    PARAMETERS[:] = net.parameters()
    if kind == "layer":
        return convert(net)
    if kind == "loop":

        def called(x):
            i = paddle.zeros([], "int64")
            while i < 2:
                x = x * 1.5
                i = i + 1
            return net(x)

        return convert(called)
    return convert(lambda x: (net(x), x.sum())) if kind == "several" else convert(lambda x: net(x))


def first_of(net):
    return lambda x: found[0] if isinstance(found := net(x), tuple) else found


@pytest.mark.parametrize("more", [True, False])
@pytest.mark.parametrize("kind", ["layer", "function", "loop", "several"])
def test_a_gradient_of_a_gradient(kind: str, more: bool) -> None:
    """C7: as in dygraph by default; a program refuses it, and gives no other number."""

    def called(convert):
        net, seen = first_of(critic(convert, kind)), []
        for number in (1.0, 0.5, -1.0):
            x = tensor(1.0, number, 3.0)
            x.stop_gradient = False
            seen.append(penalty(net, x.unsqueeze(0), more=more))
        return seen

    assert called(lambda f: d2s.to_static(f, full_graph=False)) == called(lambda f: f)
    with pytest.raises(BackwardTwiceError, match="gradient of a gradient"):
        called(lambda f: d2s.to_static(f, full_graph=True))


def test_gradients_that_nobody_goes_back_through() -> None:
    """C7: ``create_graph=True`` alone is no error."""
    net = critic(lambda f: d2s.to_static(f, full_graph=True), "layer")
    x = tensor(1.0, 2.0, 3.0)
    x.stop_gradient = False
    (found,) = paddle.grad(net(x).sum(), x, create_graph=True)
    (expected,) = paddle.grad(critic(lambda f: f, "layer")(x).sum(), x)
    assert found.tolist() == pytest.approx(expected.tolist())


def test_it_begins_with_a_later_call() -> None:
    """H2: raised once, as nobody could know; then the function runs in dygraph."""
    options: dict = {"create_graph": True}

    def unseen(net, x):
        y = net(x)
        (found,) = paddle.grad(y.sum(), x, **options)
        ((found.norm() - 1) ** 2).backward()
        return [None if p.grad is None else p.grad.numpy().round(4).tolist() for p in PARAMETERS]

    x = tensor(1.0, 2.0, 3.0)
    x.stop_gradient = False
    net = critic(lambda f: d2s.to_static(f, full_graph=False), "layer")
    with pytest.raises(BackwardTwiceError, match="gradient of a gradient"):
        unseen(net, x)
    found = unseen(net, x)
    assert found == unseen(critic(lambda f: f, "layer"), x)


def test_behind_a_break() -> None:
    """H2: what asks for it runs without programs."""

    def step(x):
        y = net(x) * 2 + 1
        y = y - 0.5 * y.tanh()
        y.numpy().tobytes()
        (found,) = paddle.grad(y.sum(), x, create_graph=True)
        loss = y.sum() + (found.norm() - 1) ** 2
        loss.backward()
        return loss

    seen = []
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=False)):
        net = critic(lambda f: f, "layer")
        run = convert(step)
        for number in (1.0, 0.5):
            x = tensor(1.0, number, 3.0)
            x.stop_gradient = False
            seen.append((float(run(x)), [p.grad.numpy().round(4).tolist() for p in PARAMETERS]))
    assert seen[:2] == seen[2:]


RAISING = {
    "python": "raise ValueError('large')",
    "library": "int('large')",
}


@pytest.mark.parametrize("raised", RAISING.values(), ids=RAISING)
def test_a_first_call_that_raises_has_its_effects_once(raised: str, capsys) -> None:
    """F1, H1: also where the call runs in dygraph, to see how backwards come to it."""
    text = f"""
        def f(x, n):
            print("begins")
            for _ in range(n):
                x = x * 2
                print("doubled", x.shape)
                if x.sum() > 5:
                    {raised}
            return x, x + 1
    """
    found = []
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=False)):
        f = convert(function_of(text))
        for number in (1.0, 4.0, 1.0):
            x = paddle.to_tensor([number, 0.25], stop_gradient=False)
            with pytest.raises(ValueError, match="large"):
                f(x, paddle.to_tensor(4))
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]
