"""``d2s.host``: a function that each run calls, with real values (rule E5)."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import paddle
import pytest
from paddle.static import InputSpec

import d2s
from d2s.errors import ArgumentsError, HostResultError, SaveError
from tests.helpers import assert_same, tensor

KNOWN: list[Any] = []


class Peak(NamedTuple):
    height: Any
    place: Any


@d2s.host(result=InputSpec([None], "int64"))
def above(x, limit=1.0):
    """Where a signal is above a limit."""
    return np.flatnonzero(x.numpy() > limit)


@d2s.host(result=Peak(InputSpec([], "float32"), int))
def peak(x):
    return Peak(x.numpy().max(), int(x.numpy().argmax()))


@d2s.host
def seen(name, x):
    KNOWN.append((name, x.tolist()))


def grad_of_cubes(x, grad):
    return grad.numpy() * 3 * x.numpy() ** 2


@d2s.host(result=InputSpec([None], "float32"), gradient=grad_of_cubes)
def cubes(x):
    return x.numpy() ** 3


@d2s.host(
    result=[InputSpec([2], "float32"), {"product": InputSpec([2], "float32")}],
    gradient=lambda x, y, a, b: (a + b * y, a + b * x),
)
def sum_and_product(x, y):
    return [x.numpy() + y.numpy(), {"product": x.numpy() * y.numpy()}]


def test_an_array_whose_size_the_run_decides() -> None:
    """E5: as in dygraph, for each size."""

    def f(x):
        found = above(x, limit=0.5)
        return x.gather(found).sum() + len(found), found

    assert_same(f, tensor(1.0, 0.0, 2.0), tensor(0.0, 0.0, 1.0), tensor(3.0, 2.0, 1.0), grad=False)


def test_containers_and_numbers() -> None:
    """E5: what is given comes as it is described; a number is a number of the run."""

    def f(x):
        found = peak(x)
        rows = [x * k for k in range(found.place + 1)]
        return found.height * 2, len(rows), sum(rows)

    assert_same(f, tensor(1.0, 0.0, 2.0), tensor(5.0, 0.0, 1.0), grad=False)


def test_each_run_calls_it_once_in_a_branch_and_in_a_loop() -> None:
    """F1: an effect happens on each run, in order, where the run comes to it."""

    def f(x):
        i = paddle.zeros([], "int64")
        while x.sum() < 10:
            x = x * 2
            seen("loop", x)
            i = i + 1
        if i > 1:
            seen("branch", x)
        return x

    static = d2s.to_static(f)
    for given in (tensor(1.0, 2.0), tensor(4.0, 4.0), tensor(1.0, 2.0)):
        KNOWN.clear()
        want = f(given), list(KNOWN)
        KNOWN.clear()
        got = static(given), list(KNOWN)
        assert got[0].tolist() == want[0].tolist()
        assert got[1] == want[1]


def test_gradients_go_through_where_they_are_given() -> None:
    """E5: the gradient is called on each run, too; without one no gradient goes through."""

    def f(x):
        if x.sum() > 2:
            x = cubes(x) * 2
        return x

    assert_same(f, tensor(1.0, 2.0), tensor(0.5, 1.0), tensor(3.0, 1.0))

    def g(x, y):
        total, found = sum_and_product(x, y * 2)
        return total * 3 + found["product"]

    assert_same(g, (tensor(1.0, 2.0), tensor(3.0, 4.0)))

    def h(x):
        return x * above(x).astype("float32").sum()

    assert_same(h, tensor(1.0, 2.0))


def test_methods_partials_and_keywords() -> None:
    """A3: it is called as the function that it was."""

    class Table:
        factor = 2.0

        @d2s.host(result=InputSpec([2], "float32"))
        def scaled(self, x, *, more=0):
            return x.numpy() * self.factor + more

    table = Table()
    bound = functools.partial(above, limit=0.0)

    def f(x):
        return table.scaled(x, more=1), bound(x).sum()

    assert above.__name__ == "above"
    assert above.__doc__ is not None
    assert_same(f, tensor(1.0, 2.0), tensor(-1.0, 2.0), grad=False)


def test_what_it_raises_is_raised_at_the_users_line() -> None:
    """F1: an exception of the function is the exception of the call."""

    @d2s.host(result=float)
    def strict(x):
        if float(x.numpy().min()) < 0:
            raise ValueError("negative")
        return 1.0

    def f(x):
        y = x * 2
        return y * strict(y)

    assert_same(f, tensor(1.0, 2.0), tensor(-1.0, 2.0), grad=False)


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize(
    "gives",
    [lambda x: x.numpy()[:1], lambda x: x.numpy()[None], lambda x: (1, 2), lambda x: "text"],
)
def test_what_differs_from_the_description_is_refused(gives: Any, static: bool) -> None:
    """E5: D2S311, with the place of the function; in dygraph, too."""
    odd = d2s.host(gives, result=InputSpec([2], "float32"))

    def f(x):
        return x + odd(x)

    with pytest.raises(HostResultError, match="gives") as caught:
        (d2s.to_static(f) if static else f)(tensor(1.0, 2.0))
    assert caught.value.code == "D2S311"
    assert caught.value.file == __file__


@pytest.mark.parametrize("result", ["float32", [2], object(), {"a": str}])
def test_a_description_of_nothing_is_refused(result: Any) -> None:
    """G3: bad input: D2S301 where the function is described."""
    with pytest.raises(ArgumentsError, match="described"):
        d2s.host(lambda x: x, result=result)


@pytest.mark.parametrize("static", [False, True])
def test_a_result_that_is_not_described_is_refused(static: bool) -> None:
    """E5: it was lost."""

    @d2s.host
    def twice(x):
        return x * 2

    def f(x):
        return twice(x)

    with pytest.raises(HostResultError, match="no result is described"):
        (d2s.to_static(f, full_graph=True) if static else f)(tensor(1.0))


def test_a_program_with_it_is_not_saved(tmp_path: Any) -> None:
    """H1: what needs Python on each run is named, with its line."""

    def f(x):
        return x + peak(x).height

    with pytest.raises(SaveError, match="peak"):
        d2s.save(d2s.to_static(f, input_spec=[InputSpec([2], "float32")]), str(tmp_path / "m"))
    assert not list(tmp_path.iterdir())


# -- paddle.static.py_func, which dygraph does not have ------------------------------------------


def doubled_by(x):
    out = paddle.zeros_like(x)
    paddle.static.py_func(lambda a: a * 2, x=x, out=out)
    return out + 0 if x.sum() > 3 else out * 10


def test_py_func_is_called_on_each_run() -> None:
    """E5: ``out`` is what the function gives; no gradient goes through without another one."""
    static = d2s.to_static(doubled_by, full_graph=True)
    for values in ([1.0, 2.0, 3.0], [1.0, 1.0, 0.5], [4.0, 1.0]):
        given = paddle.to_tensor(values, stop_gradient=False)
        factor = 2 if sum(values) > 3 else 20
        made = static(given)
        assert made.tolist() == [each * factor for each in values]
        assert made.stop_gradient


@pytest.mark.parametrize("skips", [False, True])
def test_py_func_with_a_gradient(skips: bool) -> None:
    """E5: the gradient gets arguments, results and gradients, but for those that are skipped."""

    def gradient(*values):
        assert len(values) == (2 if skips else 3)
        return values[-1] * (1 - values[-2] ** 2)

    def f(x):
        out = paddle.empty_like(x)
        return paddle.static.py_func(np.tanh, x, out, gradient, x if skips else None) * 3

    given = paddle.to_tensor([0.5, -1.0], stop_gradient=False)
    made = d2s.to_static(f, full_graph=True)(given)
    made.sum().backward()
    np.testing.assert_allclose(made.numpy(), 3 * np.tanh(given.numpy()), rtol=1e-6)
    expected = 3 * (1 - np.tanh(given.numpy()) ** 2)
    np.testing.assert_allclose(given.grad.numpy(), expected, rtol=1e-6)


def test_py_func_of_several() -> None:
    """E5: several arguments and results, of several dtypes; and one that only does something."""
    lines: list[float] = []

    def f(x):
        total, count = paddle.empty_like(x), paddle.empty([1], "int64")
        made = paddle.static.py_func(
            lambda a, b: (a + b, np.array([len(a)])),
            [x, x * 2],
            [total, count],
            lambda a, b, total, count, of_total, of_count: (of_total, of_total),
        )
        paddle.static.py_func(lambda a: lines.append(float(a[0])), x, None)
        return made, total * count.astype("float32")

    static = d2s.to_static(f, full_graph=True)
    for _ in range(2):
        given = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        (total, count), product = static(given)
        product.sum().backward()
        assert (total.tolist(), count.tolist()) == ([3.0, 6.0], [2])
        assert (product.tolist(), given.grad.tolist()) == ([6.0, 12.0], [6.0, 6.0])
    assert lines == [1.0, 1.0]


def test_py_func_stays_a_program_by_default() -> None:
    """E5, H1: calls are not tried in dygraph, where Paddle refuses it."""

    @d2s.to_static(full_graph=False)
    def f(x):
        out = paddle.zeros_like(x)
        paddle.static.py_func(np.tanh, x, out, lambda x, y, g: g * (1 - y**2))
        for _ in range(x.sum().astype("int64") * 0 + 2):
            out = out * 2
        return out

    for call in range(60):
        x = tensor(1.0, float(call))
        x.stop_gradient = False
        y = f(x)
        y.sum().backward()
        np.testing.assert_allclose(y.numpy(), np.tanh(x.numpy()) * 4, rtol=1e-5)
        np.testing.assert_allclose(x.grad.numpy(), 4 - y.numpy() ** 2 / 4, rtol=1e-4, atol=1e-5)
    assert not f.breaks


def test_py_func_in_dygraph_is_paddles() -> None:
    """E5: outside of a program it stays what Paddle makes of it."""
    with pytest.raises(AssertionError, match="static graph mode"):
        d2s.convert(doubled_by)(tensor(1.0))
