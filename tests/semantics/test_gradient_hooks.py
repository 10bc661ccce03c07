"""C7, E1: what gradient hooks and the ``backward`` of a ``PyLayer`` change around them."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import LoopGradientError, NotStaticError, UnsupportedInGraphError
from tests.helpers import function_of, scalar


def appends(seen: list[Any]) -> Any:
    def f(x: paddle.Tensor) -> paddle.Tensor:
        y = x * 2
        y.register_hook(lambda g: seen.append(g.numpy().tolist()))
        return (y * y).sum()

    return f


def method_of_a_list(seen: list[Any]) -> Any:
    def f(x: paddle.Tensor) -> paddle.Tensor:
        y = x * 2
        y.register_hook(seen.append)
        return (y * y).sum()

    return f


def attribute(seen: list[Any]) -> Any:
    class Net(paddle.nn.Layer):
        def forward(self, x: paddle.Tensor) -> paddle.Tensor:
            y = x * 2
            y.register_hook(self.keep)
            return (y * y).sum()

        def keep(self, gradient: paddle.Tensor) -> paddle.Tensor:
            self.last = gradient
            seen.append(self.last.sum().item())
            return gradient * 2

    return Net()


def py_layer(seen: list[Any]) -> Any:
    class Counted(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: paddle.Tensor) -> paddle.Tensor:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: paddle.Tensor) -> paddle.Tensor:
            (x,) = ctx.saved_tensor()
            seen.append(len(seen))
            return gradient * x

    def f(x: paddle.Tensor) -> paddle.Tensor:
        return Counted.apply(x * 1).sum()

    return f


PROGRAMS = [appends, method_of_a_list, attribute, py_layer]


def _plain(item: Any) -> Any:
    return item.tolist() if isinstance(item, paddle.Tensor) else item


@pytest.mark.parametrize("make", PROGRAMS)
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_what_a_hook_changes_is_changed_on_each_backward(make: Any) -> None:
    """E1: in dygraph; no program does it, so the function is not one."""
    found = []
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=False)):
        seen: list[Any] = []
        f = convert(make(seen))
        for number in (1.0, 2.0, 3.0):
            x = paddle.to_tensor([number, -1.0], stop_gradient=False)
            f(x).backward()
            seen.append(x.grad.tolist())
        found.append([*map(_plain, seen)])
    assert found[0] == found[1]


@pytest.mark.parametrize("make", PROGRAMS)
def test_a_program_refuses_what_a_hook_changes(make: Any) -> None:
    """E1: such a change would happen once, when the gradients are built; it is put back."""
    seen: list[Any] = []
    f = d2s.to_static(make(seen), full_graph=True)
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    with pytest.raises(UnsupportedInGraphError, match="which a run of the program would not do"):
        f(x).backward()
    assert seen == []


def on_what_an_island_reads(seen: list[Any]) -> Any:
    def f(x: paddle.Tensor) -> paddle.Tensor:
        y = (x * 2).tanh() + x.mean()
        y.register_hook(lambda g: (seen.append(g.sum().item()), g * 2)[1])
        seen.append(bytes(memoryview(y.numpy()))[3])
        return ((y * y).tanh() + y.mean()).sum()

    return f


def in_a_callee(seen: list[Any]) -> Any:
    def watch(tensor: paddle.Tensor, weight: float) -> None:
        tensor.register_hook(lambda g: g * weight)

    def f(x: paddle.Tensor) -> paddle.Tensor:
        y = (x * 2).tanh() + x.mean()
        seen.append(bytes(memoryview(y.numpy()))[3])
        watch(y, 3.0)
        return ((y * y).tanh() + y.mean()).sum()

    return f


def removed(seen: list[Any]) -> Any:
    def f(x: paddle.Tensor) -> paddle.Tensor:
        y = (x * 2).tanh() + x.mean()
        handle = y.register_hook(lambda g: g * 2)
        z = ((y * y).tanh() + y.mean()).sum()
        seen.append(bytes(memoryview(y.numpy()))[3])
        seen.append(handle.remove())
        return z

    return f


def of_an_argument(seen: list[Any]) -> Any:
    def f(x: paddle.Tensor) -> paddle.Tensor:
        x.register_hook(lambda g: g * 2)
        return ((x * x).tanh() + x.mean()).sum()

    return f


def stopped(seen: list[Any]) -> Any:
    def f(x: paddle.Tensor) -> paddle.Tensor:
        y = (x * 2).detach()
        try:
            y.register_hook(lambda g: g * 2)
        except RuntimeError as error:
            seen.append(str(error))
        return (y * x).sum()

    return f


AT_HOME = [on_what_an_island_reads, in_a_callee, removed, of_an_argument, stopped]


@pytest.mark.parametrize("make", AT_HOME)
@pytest.mark.parametrize("least", [1, 4])
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_a_hook_on_a_tensor_that_comes_from_elsewhere(make: Any, least: int) -> None:
    """C7: it sees all of the gradient, also what comes from outside of the function or island."""
    found = []
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=False)):
        seen: list[Any] = []
        with d2s.options(least_island=least, try_dygraph=False):
            f = convert(make(seen))
            for number in (1.0, 2.0, 3.0):
                x = paddle.to_tensor([number, -1.0], stop_gradient=False)
                (f(x * 1) + f(x) + (x * x).sum()).backward()
                seen.append(x.grad.numpy().round(5).tolist())
        found.append(seen)
    assert found[0] == found[1]


@pytest.mark.parametrize("make", [of_an_argument, removed])
def test_a_program_refuses_a_hook_that_it_would_not_keep(make: Any) -> None:
    """C7: of an argument it would see the gradients of the program only."""
    f = d2s.to_static(make([]), full_graph=True)
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    with pytest.raises((UnsupportedInGraphError, NotStaticError)):
        f(x)


def with_a_hook_for_a_while(convert: Any, text: str, hooked: str) -> list[Any]:
    """Five calls; on the second and the third ``hooked`` has a hook."""
    w = paddle.create_parameter(
        [2], "float32", default_initializer=paddle.nn.initializer.Constant(2.0)
    )
    opt = paddle.optimizer.SGD(0.1, parameters=[w])
    f = convert(function_of(f"def f(x):\n    {text}\n", "f", w=w, opt=opt))
    x = paddle.to_tensor([1.0, -1.0], stop_gradient=False)
    handle, found = None, []
    for call in range(5):
        if call == 1:
            handle = {"w": w, "x": x}[hooked].register_hook(lambda g: g * 10)
        if call == 3:
            handle.remove()
        try:
            found.append(f(x).tolist())
        except UnsupportedInGraphError as error:
            found.append(error.code)
        found.append([None if t.grad is None else t.grad.tolist() for t in (w, x)])
        x.clear_gradient()
        w.clear_gradient()
    return found


STEPS = {
    "a backward": "(x * w).sum().backward(); return x.detach() * 2",
    "a step": "(x * w).sum().backward(); opt.step(); return w.detach() * 2",
    "a gradient that is returned": "(x * w).sum().backward(); return w.grad * 2",
}


@pytest.mark.parametrize("hooked", ["w", "x"])
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_a_hook_that_is_set_behind_the_first_call(name: str, hooked: str) -> None:
    """C7, G2: a program without it is not the one for calls with it."""
    want = with_a_hook_for_a_while(lambda f: f, STEPS[name], hooked)
    islands = functools.partial(d2s.to_static, full_graph=False)
    assert with_a_hook_for_a_while(islands, STEPS[name], hooked) == want
    whole = functools.partial(d2s.to_static, full_graph=True)
    found = with_a_hook_for_a_while(whole, STEPS[name], hooked)
    assert found[:2] == want[:2]
    assert found[2] == found[4] == "D2S205"
    assert all(type(each) is list for each in found[6:])


def of_a_parameter(w: Any) -> Any:
    def f(x: paddle.Tensor) -> Any:
        u = x * 2
        (x * w).sum().backward()
        w.register_hook(lambda g: g * 2)
        return u, w.grad.clone()

    return f


@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_a_hook_that_a_function_sets_on_a_parameter() -> None:
    """C7: each call adds one, which the backward of the next call sees."""
    found = []
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=False)):
        f = convert(of_a_parameter(paddle.create_parameter([2], "float32")))
        x = paddle.to_tensor([1.0, -1.0])
        found.append([[each.tolist() for each in f(x)] for _ in range(3)])
    assert found[0] == found[1]
    with pytest.raises(UnsupportedInGraphError, match="on a tensor of the state") as raised:
        d2s.to_static(of_a_parameter(paddle.create_parameter([2], "float32")), full_graph=True)(x)
    assert raised.value.code == "D2S205"


USED = {
    "compared": "seen = (y > 0).any()",
    "asked for its place": "seen = y.argmax()",
    "detached": "seen = y.detach().sum()",
    "under no_grad": "with paddle.no_grad():\n        seen = y.norm()",
}


@pytest.mark.parametrize("used", USED)
def test_a_hook_on_a_tensor_that_was_used_where_no_gradient_comes_from(used: str) -> None:
    """C7: such a use is no reason to refuse it."""
    text = f"""
def f(x):
    y = x * 2
    {USED[used]}
    y.register_hook(lambda g: g * 3)
    return (y * y).sum() + seen.astype('float32').sum()
"""
    found = []
    for convert in (lambda f: f, d2s.to_static(full_graph=True)):
        f = convert(function_of(text, "f"))
        for values in ([1.0, -2.0], [-3.0, -4.0]):
            x = paddle.to_tensor(values, stop_gradient=False)
            y = f(x)
            y.backward()
            found.append((y.item(), x.grad.tolist()))
    assert found[:2] == found[2:]


@pytest.mark.parametrize("use", [lambda y: y + 1, lambda y: y.astype("int64")])
def test_a_hook_on_a_tensor_that_was_used_where_a_gradient_comes_from(use: Any) -> None:
    """C7: that one would not be changed (Paddle lets gradients through whole numbers)."""

    @d2s.to_static(full_graph=True)
    def f(x):
        y = x * 2
        z = use(y)
        y.register_hook(lambda g: g * 3)
        return (y * z).sum()

    with pytest.raises(UnsupportedInGraphError, match="was used before"):
        f(paddle.to_tensor([1.0], stop_gradient=False))


RESULTS = {
    "straight": "return x * w, (x + w).exp().mean(), w.sum()",
    "a loop": (
        "y = x\nfor _ in range(n):\n    y = paddle.tanh(y * w)\n"
        "return y, (x + w).exp().mean(), w.sum()"
    ),
    "a branch": (
        "if n > 1:\n    y = x * w * 2\nelse:\n    y = x + w\n"
        "return y, (x + w).exp().mean(), w.sum()"
    ),
    "a history": (
        "net.h = x * w if net.h is None else net.h + x * w\nreturn net.h, (x + w).mean(), w.sum()"
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("goes", [(0,), (1,), (0, 2)])
@pytest.mark.parametrize("hooked", [(0,), (1,), (0, 1, 2)])
@pytest.mark.parametrize("name", RESULTS)
def test_hooks_on_results(name: str, hooked: tuple[int, ...], goes: tuple[int, ...]) -> None:
    """F3: they are called with gradients alone, and what they return is what goes on."""

    def seen(converted: bool) -> list[Any]:
        net = types.SimpleNamespace(h=None)
        w = paddle.to_tensor([0.5, 2.0], stop_gradient=False)
        lines = "\n".join(f"    {line}" for line in RESULTS[name].split("\n"))
        function = function_of(f"def f(x, n):\n{lines}", net=net, w=w)
        if converted:
            function = d2s.to_static(function, full_graph=True)
        found: list[Any] = []
        for call in range(4):
            results = function(paddle.to_tensor([1.0, 3.0]) * (call + 1), scalar(2))
            log: list[Any] = []
            for at in hooked:

                def hook(
                    gradient: Any, at: int = at, log: list[Any] = log, call: int = call
                ) -> Any:
                    log.append((at, gradient.numpy().tolist()))
                    return gradient * 3 if call % 2 else None

                helper = results[at].register_hook(hook)
                if call == 3:
                    helper.remove()
                    results[at].register_hook(hook)
                    results[at].register_hook(lambda gradient: gradient + 1)
            sum(results[at].sum() for at in goes).backward()
            found += [sorted(log), w.grad.numpy()]
            w.clear_gradient(False)
            net.h = None if net.h is None else net.h.detach()
        return found

    for mine, theirs in zip(seen(True), seen(False), strict=True):
        if isinstance(mine, list):
            assert [at for at, _ in mine] == [at for at, _ in theirs]
            mine, theirs = ([value for _, value in each] for each in (mine, theirs))
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("which", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("inputs", ["w", "v", "wv", "vw", "h", "hx"])
@pytest.mark.parametrize("name", ["straight", "a loop", "a history"])
def test_gradients_of_some_inputs(name: str, inputs: str, which: tuple[int, ...]) -> None:
    """F3: ``paddle.grad`` of results by some of what they were computed from."""
    body = {
        "straight": "return (x * w * v * h).sum(), (x * w).sum() + h.sum()",
        "a loop": (
            "y = x\nfor _ in range(n):\n    y = paddle.tanh(y * w + h) * v\n"
            "return y.sum(), (x * w).sum() + h.sum()"
        ),
        "a history": "return (x * w * v).sum() + h.sum(), (x * w).sum()",
    }[name]

    def seen(converted: bool) -> list[Any]:
        w, v = paddle.to_tensor([0.5, 2.0]), paddle.to_tensor([1.5, -1.0])
        w.stop_gradient = v.stop_gradient = False
        lines = "\n".join(f"    {line}" for line in body.split("\n"))
        function = function_of(f"def f(x, h, n):\n{lines}", w=w, v=v)
        if converted:
            function = d2s.to_static(function, full_graph=True)
        found: list[Any] = []
        for call in range(3):
            x = paddle.to_tensor([1.0, 3.0], stop_gradient=False)
            h = (x + call) * 2
            results = function(x, h, scalar(2))
            known = {"w": w, "v": v, "x": x, "h": h}
            found += paddle.grad(
                [results[at] for at in which], [known[each] for each in inputs], allow_unused=True
            )
        return [None if each is None else each.numpy() for each in found]

    for mine, theirs in zip(seen(True), seen(False), strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            np.testing.assert_allclose(mine, theirs, rtol=1e-5)


BETWEEN = {
    "a hook": "got = []\nh.register_hook(lambda g: got.append(g.clone()))\ny.sum().backward()\n"
    "return got[-1]",
    "retain_grads": "h.retain_grads()\ny.sum().backward()\nreturn h.grad",
    "paddle.grad": "return paddle.grad(y.sum(), h)[0]",
    "paddle.grad of several": "return paddle.grad([y.sum()], [w, h], allow_unused=True)[1]",
}
"""Gradients of a result ``h`` from which ``y`` was computed."""

COMPUTED = {
    "straight": "h = x * w\nreturn h, (h * h).sum()",
    "a loop": "h = x * w\ny = h\nfor _ in range(n):\n    y = paddle.tanh(y * w)\nreturn h, y.sum()",
    "a branch": "h = x * w\nif n > 1:\n    y = h * h\nelse:\n    y = h * 2\nreturn h, y.sum()",
}


def _between(name: str, way: str, **options: Any) -> list[Any]:
    w = paddle.to_tensor([0.5, 2.0], stop_gradient=False)
    lines = "\n".join(f"    {line}" for line in COMPUTED[name].split("\n"))
    function = function_of(f"def f(x, n):\n{lines}", w=w)
    if options:
        function = d2s.to_static(function, **options)
    lines = "\n".join(f"    {line}" for line in BETWEEN[way].split("\n"))
    asked = function_of(f"def g(h, y):\n{lines}", w=w)
    found = []
    for call in range(4):
        h, y = function(paddle.to_tensor([1.0, 3.0]) * (call + 1), scalar(2))
        found.append(asked(h, y).numpy())
        w.clear_gradient(False)
    return found


@pytest.mark.parametrize("way", BETWEEN)
@pytest.mark.parametrize("name", COMPUTED)
def test_the_gradient_of_one_result_by_another(name: str, way: str) -> None:
    """F3, H1: a program has none, and says so; by default the first call tells."""
    with pytest.raises(LoopGradientError) as caught:
        _between(name, way, full_graph=True)
    assert caught.value.code == "D2S307"
    for mine, theirs in zip(
        _between(name, way, full_graph=False), _between(name, way), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)


def test_a_hook_on_a_result_that_nothing_else_comes_from() -> None:
    """F3: it is called, also where other results were computed from others."""

    @d2s.to_static(full_graph=True)
    def three(x: Any) -> Any:
        h = x * 2
        return h, h.sum(), x.exp()

    for _ in range(3):
        x = paddle.to_tensor([1.0, 3.0], stop_gradient=False)
        h, total, free = three(x)
        seen: list[Any] = []
        for each in (h, free):
            each.register_hook(lambda gradient, to=seen: to.append(gradient.numpy().tolist()))
        free.sum().backward()  # nothing comes to what was computed from h
        assert seen == [[1.0, 1.0]]
        np.testing.assert_allclose(x.grad.numpy(), x.exp().numpy(), rtol=1e-6)
        del total
