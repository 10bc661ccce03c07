"""Operations that Paddle refuses, or takes, otherwise in a program than in dygraph (A1).

What dygraph raises for an expression, a converted function raises: class and text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import paddle
import pytest
from paddle.nn import functional

import d2s

FLOATS = ((2, 2), "float32")
WIDE = ((2, 2), "float64")
WHOLE = ((2, 2), "int64")
FLAGS = ((2, 2), "bool")


def tensor(of: tuple[tuple[int, ...], str]) -> Any:
    return paddle.ones(list(of[0]), of[1])


def said(function: Callable[..., Any], *given: Any) -> tuple[str, str]:
    """Class and text of what ``function`` raises."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is the question
        function(*given)
    # An operator of a tensor, and a function, are two operations of dygraph for one of a program.
    return type(caught.value).__name__, re.sub(r" +\[operator < .*", "", str(caught.value)).strip()


def check(function: Callable[..., Any], *given: Any) -> tuple[str, str]:
    want = said(function, *given)
    assert said(d2s.to_static(function), *given) == want
    return want


# -- refused while the program is captured ---------------------------------------------------------

REFUSED: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "and of floats": (lambda x, y: x & y, FLOATS, FLOATS),
    "not of floats": (lambda x, y: ~x, FLOATS, FLOATS),
    "matmul of shapes": (lambda x, y: x @ y, FLOATS, ((3, 2), "float32")),
    "sum with None": (lambda x, y: x + None, FLOATS, FLOATS),
    "concat of dtypes": (lambda x, y: paddle.concat([x, y]), FLOATS, WHOLE),
    "stack of dtypes": (lambda x, y: paddle.stack([x, y]), FLOATS, WHOLE),
    "logarithm of flags": (lambda x, y: paddle.log(x), FLAGS, FLOATS),
    "gather by floats": (lambda x, y: paddle.gather(x, y), FLOATS, FLOATS),
    "item by floats": (lambda x, y: x[y], FLOATS, FLOATS),
    "too many axes": (lambda x, y: x[0, 0, 0], FLOATS, FLOATS),
    "axis out of range": (lambda x, y: x.sum(5), FLOATS, FLOATS),
    "item of a wrong shape": (lambda x, y: write(x, y), FLOATS, ((3,), "float32")),
    "in place, of dtypes": (lambda x, y: x.clone().floor_divide_(y), FLOATS, FLAGS),
    "embedding of floats": (lambda x, y: functional.embedding(x, y), FLOATS, FLOATS),
    "unique of flags": (lambda x, y: paddle.unique(x), FLAGS, FLOATS),
    "method of text": (lambda x, y: x.reshape("a"), FLOATS, FLOATS),
    "unknown dtype": (lambda x, y: x.astype("float31"), FLOATS, FLOATS),
    "cross entropy of flags": (lambda x, y: functional.cross_entropy(x, y), FLOATS, FLAGS),
}


def write(x: Any, y: Any) -> Any:
    x[0] = y
    return x


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_at_capture(what: str) -> None:
    """A1: at the top level, and on the side of a branch that runs."""
    function, left, right = REFUSED[what]

    def in_branch(x: Any, y: Any, flag: Any) -> Any:
        result = paddle.zeros([1])
        if flag:
            result = function(x, y)
        return result

    check(function, tensor(left), tensor(right))
    check(in_branch, tensor(left), tensor(right), paddle.to_tensor(True))
    d2s.to_static(in_branch)(tensor(left), tensor(right), paddle.to_tensor(False))


# -- taken into a program, and refused in dygraph --------------------------------------------------

TAKEN: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "None in a list": (lambda x, y: paddle.stack([x, None]), FLOATS, FLOATS),
    "a tensor for a list": (lambda x, y: paddle.concat(x), FLOATS, FLOATS),
    "matmul of float dtypes": (lambda x, y: paddle.matmul(x, y), FLOATS, WIDE),
    "linear of float dtypes": (lambda x, y: functional.linear(x, y), FLOATS, WIDE),
    "max of two tensors": (lambda x, y: paddle.max(x, y), FLOATS, FLOATS),
    "method sum of two tensors": (lambda x, y: x.sum(y), FLOATS, FLOATS),
    "a shape of floats": (lambda x, y: x.reshape(shape=y), FLOATS, FLOATS),
    "an axis of flags": (lambda x, y: paddle.unsqueeze(x, y), FLOATS, FLAGS),
}


@pytest.mark.parametrize("what", TAKEN)
def test_what_a_program_would_take(what: str) -> None:
    """A1: Paddle leaves out, converts, or ends the process on the run."""
    function, left, right = TAKEN[what]
    check(function, tensor(left), tensor(right))


def test_float_dtypes_that_dygraph_promotes_stay() -> None:
    """A1: what dygraph computes is not refused."""

    def f(x: Any, y: Any) -> Any:
        return x + y, paddle.add(x, y), x @ y, y @ x

    given = tensor(FLOATS), tensor(WIDE)
    assert [str(each) for each in d2s.to_static(f)(*given)] == [str(each) for each in f(*given)]


# -- layers ----------------------------------------------------------------------------------------


def test_a_layer_of_paddle_says_what_it_says_in_dygraph() -> None:
    """A1: also where it is Paddle's own code that calls the operation."""
    for layer, given in [
        (paddle.nn.Embedding(3, 2), tensor(FLOATS)),
        (paddle.nn.Linear(2, 2), tensor(WIDE)),
        (paddle.nn.Linear(2, 2), tensor(((2, 3), "float32"))),
        (paddle.nn.Conv2D(1, 1, 2), tensor(FLOATS)),
        (paddle.nn.Sequential(paddle.nn.ReLU(), paddle.nn.Linear(2, 2)), tensor(WHOLE)),
    ]:
        check(lambda x, layer=layer: layer(x), given)


def test_what_is_asked_of_dygraph_writes_nowhere() -> None:
    """F3, F5: neither the statistics of a layer nor the generator of random numbers change."""
    layer = paddle.nn.BatchNorm1D(2)
    before = [each.numpy() for each in layer.buffers()]
    paddle.seed(7)
    want = paddle.rand([3]).numpy()
    paddle.seed(7)

    def f(x: Any) -> Any:
        return layer(x)

    def draws(x: Any) -> Any:
        return functional.dropout(x, p="a")

    check(f, tensor(FLAGS))
    check(draws, tensor(FLOATS))
    assert all(
        (each.numpy() == old).all() for each, old in zip(layer.buffers(), before, strict=True)
    )
    assert (paddle.rand([3]).numpy() == want).all()


# -- open dimensions -------------------------------------------------------------------------------


def of_open_shape(function: Callable[..., Any]) -> Any:
    spec = paddle.static.InputSpec
    return d2s.to_static(
        function, input_spec=[spec([None, 2], "float32"), spec([None, 2], "float32")]
    )


def test_dtypes_are_refused_as_in_dygraph_where_a_dimension_is_open() -> None:
    """A1: the class and the text do not depend on the dimension."""

    def f(x: Any, y: Any) -> Any:
        return x & y

    assert said(of_open_shape(f), tensor(FLOATS), tensor(FLOATS)) == said(
        f, tensor(FLOATS), tensor(FLOATS)
    )


def test_no_size_is_made_up_where_a_dimension_is_open() -> None:
    """A1: a text that would speak of a size that nobody has given stays Paddle's own."""

    def f(x: Any, y: Any) -> Any:
        return paddle.concat([x, y.reshape([-1, 1])])

    kind, text = said(of_open_shape(f), tensor(FLOATS), tensor(FLOATS))
    assert kind == "ValueError"
    assert "[-1, 1]" in text


# -- user code around ------------------------------------------------------------------------------


def test_a_handler_at_capture_sees_what_dygraph_raises() -> None:
    """A1: ``except`` clauses choose as in dygraph, and nothing is said to have led to it."""

    def f(x: Any, y: Any) -> Any:
        try:
            z = x & y
        except RuntimeError as error:
            contexts.append(error.__context__)
            z = x + y
        return z

    contexts: list[Any] = []
    given = tensor(FLOATS), tensor(FLOATS)
    assert (d2s.to_static(f)(*given).numpy() == f(*given).numpy()).all()
    assert contexts == [None, None]


def test_no_code_of_the_user_runs_twice() -> None:
    """A1: a function that Paddle calls back, and that fails, is called once."""
    calls = []

    def fails(x: Any) -> Any:
        calls.append(x)
        return x & x

    def f(x: Any) -> Any:
        return paddle.distributed.fleet.utils.recompute(fails, x)

    want = said(f, tensor(FLOATS))
    calls.clear()
    assert said(d2s.to_static(f), tensor(FLOATS))[0] == want[0]
    assert len(calls) == 1


# -- None on a path --------------------------------------------------------------------------------

ON_NONE: dict[str, Callable[[Any, Any], Any]] = {
    "x + b": lambda x, b: x + b,
    "b + x": lambda x, b: b + x,
    "x < b": lambda x, b: x < b,
    "b < x": lambda x, b: b < x,
    "x @ b": lambda x, b: x @ b,
    "2 ** b": lambda x, b: 2**b,
    "b + 1": lambda x, b: b + 1,
    "-b": lambda x, b: -b,
    "abs(b)": lambda x, b: abs(b),
    "len(b)": lambda x, b: x * len(b),
    "b.sum()": lambda x, b: b.sum(),
    "b.shape": lambda x, b: b.shape,
    "b[0]": lambda x, b: b[0],
    "x in b": lambda x, b: x + (1 if x in b else 2),
    "for in b": lambda x, b: [x + each for each in b],
    "paddle.exp(b)": lambda x, b: paddle.exp(b),
    "paddle.add(x, b)": lambda x, b: paddle.add(x, b),
    "x.add(b)": lambda x, b: x.add(b),
    "paddle.stack([x, b])": lambda x, b: paddle.stack([x, b]),
    "x.reshape([b, 1])": lambda x, b: x.reshape([b, 1]),
}


@pytest.mark.parametrize("what", ON_NONE)
def test_none_on_the_path_that_runs(what: str) -> None:
    """B2, A1: the run raises what dygraph raises for ``None``; the other path works."""
    use = ON_NONE[what]

    def f(x: Any, t: Any) -> Any:
        b = None
        if t > 0:
            b = x * 2
        return use(x, b)

    static = d2s.to_static(f)
    x, on, off = paddle.ones([2]), paddle.to_tensor(1.0), paddle.to_tensor(-1.0)
    want = said(f, x, off)
    if what not in ("b < x", "x < b", "for in b", "x in b", "x.reshape([b, 1])", "x @ b"):
        expected, got = f(x, on), static(x, on)
        assert str(expected) == str(got)
        assert said(static, x, off) == want
        assert str(static(x, on)) == str(expected)  # and it works again
    else:
        assert said(d2s.to_static(f), x, off) == want


def test_a_comparison_with_none_is_no_error() -> None:
    """B2: ``==`` and ``!=`` know ``None``."""

    def f(x: Any, t: Any) -> Any:
        b = None
        if t > 0:
            b = x * 1
        return x == b, x != b

    static = d2s.to_static(f)
    for t in (1.0, -1.0):
        given = paddle.ones([2]), paddle.to_tensor(t)
        assert str(static(*given)) == str(f(*given))


# -- everything ------------------------------------------------------------------------------------

GIVEN: dict[str, Callable[[], tuple[Any, ...]]] = {
    "floats": lambda: (tensor(FLOATS),),
    "whole": lambda: (tensor(WHOLE),),
    "flags": lambda: (tensor(FLAGS),),
    "floats, floats": lambda: (tensor(FLOATS), tensor(FLOATS)),
    "floats, whole": lambda: (tensor(FLOATS), tensor(WHOLE)),
    "floats, wide": lambda: (tensor(FLOATS), tensor(WIDE)),
    "whole, flags": lambda: (tensor(WHOLE), tensor(FLAGS)),
    "sizes": lambda: (tensor(FLOATS), tensor(((3, 3), "float32"))),
    "None": lambda: (tensor(FLOATS), None),
    "text": lambda: (tensor(FLOATS), "a"),
    "list": lambda: ([tensor(FLOATS), tensor(WHOLE)],),
    "list with None": lambda: ([tensor(FLOATS), None],),
}

ENDS_THE_PROCESS = {
    "index_put": "an argument that is missing",
    "count_nonzero": "an axis of two dimensions",
    "squeeze": "an axis of two dimensions",
}
LENIENT = {
    "increment": "is taken for x + 1, of any shape",
    "arange": "asks for the value of a tensor with another of Paddle's checks",
    "one_hot": "asks for the value of a tensor with another of Paddle's checks",
    "view": "is taken for view_as where it is given a tensor",
    "view_as": "is view",
    "empty": "takes sizes from a tensor",
    "unsqueeze": "takes an axis of two dimensions",
}


def functions() -> dict[str, Any]:
    """Every function of Paddle that computes tensors, by its name."""
    found = {}
    for space in (paddle, functional, paddle.linalg):
        for name in dir(space):
            function = getattr(space, name)
            module = str(getattr(function, "__module__", ""))
            computes = module.startswith(("paddle.tensor", "paddle.nn.functional"))
            hidden = name.startswith(("_", "set_"))  # what is set, as print options, stays set
            if (computes or "generated_tensor_methods" in module) and not hidden:
                if callable(function) and not isinstance(function, type) and name[-1] != "_":
                    found[f"{space.__name__}.{name}"] = function
    return found


@pytest.mark.slow
def test_every_function_fails_as_in_dygraph() -> None:
    """A1: given what it does not take, each raises dygraph's class, or is refused with a code."""
    wrong, tried = [], 0
    for path, function in functions().items():
        name = path.rpartition(".")[2]
        if name in ENDS_THE_PROCESS or name in LENIENT:
            continue
        for what, given in GIVEN.items():
            try:
                function(*given())
                continue
            except Exception as error:
                want = error
            tried += 1
            try:
                d2s.to_static(lambda *a, function=function: function(*a))(*given())
                wrong.append(f"{path}({what}): nothing, dygraph {type(want).__name__}: {want}")
            except d2s.D2SError:
                pass
            except Exception as error:
                if type(error) is not type(want):
                    wrong.append(f"{path}({what}): {type(error).__name__}, dygraph {want!r}")
    assert wrong == []
    assert tried > 2000
