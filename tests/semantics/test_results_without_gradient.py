"""C7: results that get no gradient are not gone back through, as in dygraph.

Their gradients are not zero but absent: zero times an infinite derivative is not a number, and what
only they depend on has no gradient at all.
"""

from __future__ import annotations

import itertools
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of, tensor

ROOT = """
def f(x, w):
    return (x * w).exp().sum(), ((x - x).sqrt() * w).sum()
"""

HEADS = """
def f(x, w):
    h = paddle.tanh(x)
    return (h * w).sum(), h.sum(), (x * 3).sum()
"""

BRANCH = """
def f(x, w):
    if x.sum() > 0:
        y = (x * w).sum()
    else:
        y = x.sum()
    return y, ((w - w).sqrt() * x).sum()
"""

LOOP = """
def f(x, w):
    y = x * w
    while y.max() < 10:
        y = y * 2
    return y.sum(), ((x - x).sqrt() * w).sum()
"""

ONE = """
def f(x, w):
    return (x * w.detach()).sum()
"""

LISTS = """
def f(x, w):
    a, b = [], []
    i = paddle.zeros([], "int64")
    while i < 3:
        a.append(x * i.astype("float32"))
        b.append(x * w)
        i = i + 1
    return paddle.stack(a).sum(), paddle.stack(b).sum()
"""

PROGRAMS = {"root": (ROOT, 2), "heads": (HEADS, 3), "branch": (BRANCH, 2), "loop": (LOOP, 2)}


def leaf(*values: float) -> Any:
    return paddle.to_tensor(values, stop_gradient=False)


def loss_of(results: Any, used: tuple[int, ...]) -> Any:
    return sum(results[index] * (index + 2.0) for index in used)


def shown(gradient: Any) -> Any:
    return None if gradient is None else (gradient.numpy().tolist(), gradient.stop_gradient)


def after(function: Any, used: tuple[int, ...]) -> list[Any]:
    """All gradients of one call, by ``backward`` and by ``paddle.grad``."""
    leaves = [leaf(1.0, 2.0), leaf(2.0, 3.0)]
    loss_of(function(*leaves), used).backward()
    others = [leaf(1.0, 2.0), leaf(2.0, 3.0)]
    found = paddle.grad(loss_of(function(*others), used), others, allow_unused=True)
    return [shown(each) for each in (*(each.grad for each in leaves), *found)]


def orders(count: int) -> list[list[tuple[int, ...]]]:
    sets = [
        each for size in range(1, count + 1) for each in itertools.combinations(range(count), size)
    ]
    return [sets * 2, sets[::-1], [each for each in sets for _ in range(6)]]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("order", range(3))
def test_any_results_may_get_gradients_in_any_order(name: str, order: int) -> None:
    """C7: whatever the calls before have used, a call's gradients are those of dygraph."""
    text, count = PROGRAMS[name]
    function = function_of(text)
    static = d2s.to_static(function)
    for used in orders(count)[order]:
        assert repr(after(static, used)) == repr(after(function, used)), used


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_argument_whose_gradient_is_retained(name: str) -> None:
    """C7: it is computed by dygraph, and its gradient kept; more is not said of that one."""
    text, count = PROGRAMS[name]
    function = function_of(text)

    def kept(function: Any) -> list[Any]:
        leaves = [leaf(1.0, 2.0), leaf(2.0, 3.0)]
        given = [each * 2 + 1 for each in leaves]
        for each in given:
            each.retain_grads()
        loss_of(function(*given), tuple(range(count))).backward()
        gradients = [each.grad.numpy().tolist() for each in given if each.grad is not None]
        return [*gradients, *(shown(each.grad) for each in leaves)]

    static = d2s.to_static(function)
    for _ in range(3):
        assert repr(kept(static)) == repr(kept(function))


def test_an_argument_without_gradient_has_none() -> None:
    """C7: of one result, too: an argument that is only detached has no gradient, not zeros."""
    function = function_of(ONE)
    static = d2s.to_static(function)
    for _ in range(3):
        assert after(lambda x, w: [static(x, w)], (0,)) == after(
            lambda x, w: [function(x, w)], (0,)
        )


def test_lists_of_a_loop_that_paddle_differentiates_together() -> None:
    """C7: the values are those of dygraph, where Paddle needs a gradient of each list."""
    function = function_of(LISTS)
    static = d2s.to_static(function)
    for used in ((0,), (1,), (0, 1), (0,)):
        found, wanted = after(static, used), after(function, used)
        for mine, plain in zip(found, wanted, strict=True):
            assert (mine and mine[0]) in (plain and plain[0], [0.0, 0.0])


CELL = """
def f(x, h, w):
    h = paddle.tanh(x * w + h)
    return h * 2, h
"""


def test_the_last_state_of_a_chain_of_calls_gets_no_gradient() -> None:
    """C7: calls of one backward may have gradients at different results."""
    function = function_of(CELL)

    def chain(step: Any) -> list[Any]:
        w, inputs, seen = leaf(0.5), [leaf(float(number)) for number in range(4)], []
        for _ in range(3):
            h, total = paddle.zeros([1]), paddle.zeros([1])
            for x in inputs:
                y, h = step(x, h, w)
                total = total + y
            total.backward()
            seen += [shown(each.grad) for each in (w, *inputs)]
            w.clear_gradient()
        return seen

    assert chain(d2s.to_static(function)) == chain(function)


class Two(paddle.nn.Layer):
    """Dropout, running statistics, and a head that some losses do not reach."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = paddle.nn.Linear(4, 4)
        self.norm = paddle.nn.BatchNorm1D(4)
        self.head = paddle.nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        y = self.norm(self.inner(paddle.nn.functional.dropout(x, 0.5)))
        return y.square().sum(), self.head(y)


def test_random_numbers_and_statistics_are_those_of_the_call() -> None:
    """C7, F5: gradients that are computed once more see the same masks; statistics move once."""
    used = [(0,), (1,), (0,), (0, 1), (1,), (1,), (1,), (1,), (1,), (0,)]

    def trained(convert: Any) -> list[Any]:
        paddle.seed(3)
        model = convert(Two())
        paddle.seed(4)
        seen = []
        for which in used:
            results = model(tensor(1, 2, 3, 4, 4, 3, 2, 1).reshape([2, 4]))
            loss_of([results[0], results[1].sum()], which).backward()
            for parameter in model.parameters():
                gradient = parameter.grad
                seen.append(None if gradient is None else gradient.numpy().round(4).tolist())
                parameter.clear_gradient(False)
            seen.append(model.norm._mean.numpy().round(4).tolist())
        return seen

    assert trained(d2s.to_static) == trained(lambda model: model)


def test_a_hook_on_a_result_is_called_with_gradients_alone() -> None:
    """C7: a hook on a result that gets no gradient is not called."""
    function = function_of(HEADS)

    def hooked(step: Any) -> list[Any]:
        seen: list[Any] = []
        loss_of(step(leaf(1.0), leaf(2.0)), (0, 1)).backward()
        for _ in range(3):
            x, w = leaf(1.0), leaf(2.0)
            results = step(x, w)
            for index, result in enumerate(results):
                result.register_hook(
                    lambda gradient, at=index, seen=seen: (
                        seen.append((at, float(gradient))) or gradient * 10
                    )
                )
            loss_of(results, (0, 1)).backward()
            seen += [(3, shown(x.grad)), (4, shown(w.grad))]
        return sorted(seen, key=repr)

    assert hooked(d2s.to_static(function)) == hooked(function)


def test_a_hook_where_other_results_have_gradients_than_before() -> None:
    """C7: the gradient that goes on is the one that the hook gives."""
    function = function_of(HEADS)

    def seen(step: Any) -> list[Any]:
        loss_of(step(leaf(1.0), leaf(2.0)), (0, 1, 2)).backward()
        given = leaf(1.0), leaf(2.0)
        results = step(*given)
        results[0].register_hook(lambda gradient: gradient * 10)
        results[0].backward()
        return [None if each.grad is None else each.grad.item() for each in given]

    assert seen(d2s.to_static(function, full_graph=True)) == seen(function)


@pytest.mark.parametrize(
    "part",
    ["x[0]", "x.exp()[1]", "x.reshape([1, 2]).sum()", "x.astype('float32')[0] * 1", "x.max()"],
)
@pytest.mark.parametrize(
    "text",
    [
        "def f(e, w): return w * 2 + e.detach(), e * 3",
        "def f(e, w): return w * 2 if w > 100 else w * 3, e * 3",
        """
        def f(e, w):
            while w < 9:
                w = w * 2
            return w, e * 3
        """,
    ],
    ids=["straight", "branch", "loop"],
)
def test_an_argument_that_was_computed_and_gets_no_gradient(part: str, text: str) -> None:
    """C7: the operation that has made it goes back; it does not end the process."""
    function = function_of(text)

    def seen(step: Any) -> list[Any]:
        found = []
        for _ in range(2):
            x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
            w = leaf(2.0)
            step(eval(part, {"x": x}), w)[0].backward()
            found.append((w.grad.item(), None if x.grad is None else x.grad.tolist()))
        return found

    assert seen(d2s.to_static(function)) == seen(function)


def test_results_that_want_gradients_of_inputs_that_want_none() -> None:
    """C7: tensors that the function itself gives a gradient are its leaves."""
    function = function_of(
        """
        def f(x):
            a, b = x.detach() * 2, x.detach() * 3
            a.stop_gradient = b.stop_gradient = False
            return a, b
        """
    )
    static = d2s.to_static(function)
    for _ in range(2):
        a, b = static(paddle.ones([2]))
        assert (a.stop_gradient, b.stop_gradient) == (False, False)
        assert (a + b).tolist() == [5.0, 5.0]


@pytest.mark.parametrize("text", [ROOT, LOOP], ids=["straight", "loop"])
def test_what_has_no_gradient_is_a_leaf(text: str) -> None:
    """C7: a result that stops gradients has no history; made to follow them, it has its own."""
    text = text.replace("    return ", "    return x.detach() * 3, x.argmax(), ")
    seen = []
    for convert in (lambda function: function, d2s.to_static):
        f = convert(function_of(text, "f"))
        w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        for _ in range(2):
            scaled, index, *_ = f(tensor(1.0, 2.0), w)
            seen.append((scaled.is_leaf, index.is_leaf, scaled.stop_gradient))
            scaled.stop_gradient = False
            (scaled * scaled).sum().backward()
            seen.append((scaled.grad.tolist(), w.grad))
    assert seen[:4] == seen[4:]
