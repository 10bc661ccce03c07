"""What changes a tensor in place is seen under every name of it, or refused (row 88)."""

from __future__ import annotations

import itertools
import textwrap
from typing import Any

import paddle
import paddle.nn.functional as F
import pytest
from paddle import nn

import d2s
from d2s.errors import InplaceError
from tests.helpers import assert_same, function_of, scalar, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)
BOTH = (PLUS, MINUS)


def test_every_name_sees_the_change() -> None:
    """F3: variables, items of a list and a dict, attributes."""

    class Box:
        pass

    def f(x):
        y = x * 2
        z, parts, table, box = y, [y], {"k": y}, Box()
        box.h = y
        y.add_(x)
        return y, z, parts[0], table["k"], box.h

    assert_same(f, *BOTH)


def test_a_chain_returns_the_tensor() -> None:
    """E1: the method gives the tensor itself."""

    def f(x):
        y = x * 1
        z = y.scale_(2.0).clip_(-1.0, 3.0)
        return y, z, z is y

    assert_same(f, *BOTH)


def test_functions_that_end_in_an_underscore() -> None:
    """E1: of paddle and of paddle.nn.functional."""

    def f(x):
        y, z = x * 2, x + 1
        F.relu_(y)
        paddle.tanh_(z)
        return y, z

    assert_same(f, *BOTH)


def test_an_argument_changes_for_the_caller() -> None:
    """A1: as in dygraph, on each run."""

    @d2s.to_static
    def f(total, x):
        total.add_(x)
        return total * 2

    total = paddle.zeros([2])
    for count in (1, 2, 3):
        result = f(total, PLUS)
        assert total.tolist() == [1.0 * count, 2.0 * count]
        assert result.tolist() == [2.0 * count, 4.0 * count]


def test_buffers() -> None:
    """F3: add_, set_value and an item assignment, in a branch too."""

    class Net(nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", paddle.zeros([2]))

        def forward(self, x):
            with paddle.no_grad():
                self.mean.add_(x)
                self.mean[0] = 7.0
                if x.sum() < 0:
                    self.mean.set_value(x)
            return x + self.mean

    mine, theirs = Net(), Net()
    d2s.to_static(mine)
    for x in (PLUS, MINUS, PLUS, PLUS):
        assert mine(x).tolist() == theirs(x).tolist()
        assert mine.mean.tolist() == theirs.mean.tolist()


def test_in_branches_and_loops() -> None:
    """B4, C2: a name that the branch or loop hands on."""

    def f(x):
        y = x * 2
        if x.sum() > 0:
            y.add_(x)
        else:
            y.scale_(3.0)
        for _ in range(paddle.to_tensor(2)):
            y.multiply_(x)
        return y

    assert_same(f, *BOTH)


def test_a_name_outside_of_a_loop() -> None:
    """C2: it goes through the loop as another name, unless only some trips make two of them."""

    def f(x):
        y = x * 2
        z = y
        for _ in range(paddle.to_tensor(2)):
            y.add_(x)
        return y, z

    def two(x):
        y = x * 2
        z = y
        for _ in range(paddle.to_tensor(2)):
            y = y * 2
            y.add_(x)
        return y, z

    def some(x):
        y = x * 2
        z = y
        for i in range(paddle.to_tensor(2)):
            if i > 0:
                y = y * 2
            y.add_(x)
        return y, z

    assert_same(f, *BOTH)
    assert_same(two, *BOTH)
    with pytest.raises(InplaceError, match="'z'") as caught:
        d2s.to_static(some)(PLUS)
    assert caught.value.line == some.__code__.co_firstlineno + 6
    assert caught.value.cure


def test_a_helper_changes_its_argument() -> None:
    """A1: the caller's variable is the same tensor."""

    def bump(t):
        t.add_(paddle.ones_like(t))

    def f(x):
        y = x * 2
        bump(y)
        y[0] = 5.0
        return y

    assert_same(f, *BOTH)


def sorted_rows(x):
    a, b = x * 1, x * 2
    rows = sorted([a, b], key=lambda row: -row.sum())
    rows[0].add_(paddle.to_tensor(10.0))
    return a, b


def sorted_pairs(x):
    a, b = x * 1, x * 2
    rows = [(a, 1), (b, 2)]
    rows.sort(key=lambda row: -row[0].sum())
    rows[0][0].add_(paddle.to_tensor(10.0))
    return a, b


def test_items_of_tuples_that_are_sorted() -> None:
    """B4: they are the tensors that were sorted."""
    assert_same(sorted_pairs, tensor(1.0, 2.0), tensor(-1.0, -2.0), tensor(-1.0, 2.0))


@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_items_of_a_list_that_is_sorted() -> None:
    """B4: what changes one of them is refused, or not part of a program."""
    with pytest.raises(InplaceError):
        d2s.to_static(sorted_rows, full_graph=True)(tensor(1.0, 2.0))
    parts = d2s.to_static(sorted_rows, full_graph=False)
    for values in ((1.0, 2.0), (-1.0, -2.0)):
        want, got = sorted_rows(tensor(*values)), parts(tensor(*values))
        assert [each.tolist() for each in got] == [each.tolist() for each in want]


def test_random_fills_are_refused() -> None:
    """F5: Paddle has no form of them without a place."""

    def f(x):
        y = x * 2
        y.uniform_()
        return y

    with pytest.raises(InplaceError, match="uniform_"):
        d2s.to_static(f)(PLUS)


def test_a_detached_tensor_does_not_overwrite_the_argument() -> None:
    """Paddle 3.3.1 works in place on storage that detach() shares."""

    def f(x):
        return x.detach() * 2 + 0 * x

    given = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    assert d2s.to_static(f)(given).tolist() == [2.0, 4.0]
    assert given.tolist() == [1.0, 2.0]


OF_SEVERAL = {
    "nothing on the other path": """
        y = None
        if x.sum() > 0:
            y = x * 2
        if x.sum() > 0:
            y.add_(x)
        return y
    """,
    "and raises there": """
        y = None
        if x.sum() > 0:
            y = x * 2
        y.add_(x)
        y[0] = 7
        return y
    """,
    "two names": """
        y = None
        if x.sum() > 0:
            y = x * 2
        z = [y]
        if x.max() > 2:
            z[0].add_(x)
        return y, z
    """,
    "an attribute": """
        box = Box()
        box.y = None
        while x.sum() > 9:
            box.y = x * 1
            x = x - 1
        if x.max() > 2:
            x = x * 0.5
            if box.y is not None:
                box.y.scale_(3.0)
        return box.y, x
    """,
}


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_one_of_several_things_is_changed(name: str) -> None:
    """B2, A1: whoever holds the tensor, as one of several, has its new contents."""

    class Box:
        pass

    function = function_of(f"def f(x):{OF_SEVERAL[name]}", "f", Box=Box)
    assert_same(function, tensor(1.0, 2.0), tensor(-1.0, 0.5), tensor(3.0, 7.0))


CHOSEN = {
    "of the chosen object": "box.y.add_(x)",
    "by a name": "y = box.y\n    y[0] = 4.0",
    "of one of them": "y = box.y\n    one.y[0] = 5.0\n    box.y = y * 2",
    "on a side": "y = box.y\n    if x.max() > 2: y.add_(x)\n    box.y = y + 1",
    "on both sides": "y = box.y\n    if x.max() > 2: one.y.add_(x)\n    else: one.y.scale_(2.0)\n"
    "    box.y = y + 1",
    "behind a side": "y = box.y\n    if x.max() > 2: y = y + 1\n    one.y.scale_(3.0)\n"
    "    box.y = y",
    "taken on a side": "y = x * 9\n    if x.max() > 1: y = box.y\n    one.y.scale_(3.0)\n"
    "    box.y = y + 1",
    "in a loop": "y = box.y\n    i = paddle.zeros([])\n    while i < 2:\n        y.add_(x)\n"
    "        i = i + 1\n    box.y = y + 1",
    "of one, in a loop": "y = box.y\n    i = paddle.zeros([])\n    while i < 2:\n"
    "        one.y.add_(x)\n        i = i + 1\n    box.y = y + 1",
    "of an item, in a loop": "row = [one.y * 1]\n    y = row[0] if x.sum() > 0 else x\n"
    "    i = paddle.zeros([])\n    while i < 2:\n        row[0].add_(x)\n        i = i + 1\n"
    "    box.y = y + row[0]",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CHOSEN)
def test_a_tensor_of_one_of_several_objects(name: str) -> None:
    """A1, B2: lost in the object as one program; refused, and right as several."""

    class Box:
        def __init__(self, y: Any) -> None:
            self.y = y

    function = function_of(
        "def f(x):\n    one, other = Box(x * 1), Box(x * 2)\n"
        f"    box = one if x.sum() > 0 else other\n    {CHOSEN[name]}\n"
        "    return box.y, one.y, other.y",
        Box=Box,
    )
    with pytest.raises(InplaceError) as caught:
        d2s.to_static(function, full_graph=True)(tensor(1.0, 1.5))
    assert caught.value.line is not None
    parts = d2s.to_static(function, full_graph=False)
    for x in (tensor(1.0, 1.5), tensor(-1.0, 0.5), tensor(3.0, 7.0), tensor(-9.0, 7.0)):
        assert str(parts(x.clone())) == str(function(x.clone()))


PERHAPS = {
    "a name that a branch binds anew": "y = x * 1; z = y\n    if n > 0: z = z + 1\n    z.add_(x)",
    "the one that it was": "y = x * 1; z = y\n    if n > 0: z = z + 1\n    y.add_(x)",
    "a loop without a trip": "y = x * 1; z = y\n    for i in range(n): z = z + i\n    z[0] = 3.0",
    "an item of a list": "y = x * 1; z = [y]\n    if n > 0: z[0] = x + 1\n    z[0].add_(x)",
    "a choice": "y = x * 1\n    z = y if n > 0 else x * 2\n    y.add_(x)",
    "an argument": "y = z = x\n    if n > 0: z = x * 2\n    z.add_(y * 1)",
    "a new one of a branch": "y = x * 1; z = x * 2\n    if n > 0: y = z = x + 1\n    z[0] = 3.0",
    "one written in a branch": (
        "y = x * 1; z = None\n    if n > 0: y[0] = 7.0; z = y\n    y.add_(x)"
    ),
    "one of two branches": (
        "y = x * 1; z = x * 2\n    if n > 0: y = z = x + 1 if x.sum() > 9 else x * 3\n    z.add_(x)"
    ),
    "one of a nested branch": (
        "y = x * 1; z = x * 2\n    if n > 0: y = z = z if x.sum() > 9 else x * 3\n    y.add_(x)"
    ),
    "one that a loop keeps": (
        "y = x * 1; z = x * 2\n    for i in range(n): y = x * i; z = y\n    z.add_(x)"
    ),
    "one that some trips keep": (
        "y = x * 1; z = x * 2\n    for i in range(n): y = y + 1; z = y if i > 1 else z\n"
        "    z[0] = 3.0"
    ),
    "in a tuple": "y = x * 1; z = None\n    if n > 0: y = x + 1; z = (y, 1)\n    y.add_(x)",
    "in a list": "y = x * 1; z = None\n    if n > 0: z = [y, 1]\n    y.add_(x)",
    "in a dict": "y = x * 1; z = None\n    if n > 0: z = {'a': y}\n    y.add_(x)",
}


@pytest.mark.parametrize("name", PERHAPS)
def test_a_tensor_that_has_another_name_on_some_runs(name: str) -> None:
    """A1: which of the two gets the new contents, only the run knows: refused, with the line."""
    function = function_of(f"def f(x, n):\n    {PERHAPS[name]}\n    return y, z")
    with pytest.raises(InplaceError, match="on some runs") as caught:
        d2s.to_static(function)(tensor(1.0, 2.0), scalar(1))
    assert caught.value.line == 4
    assert caught.value.cure == "change a copy of it: y = y.clone()"


APART = {
    "a copy": "y = x * 1; z = y.clone()\n    if n > 0: z = z + 1\n    z.add_(x)",
    "only one name": "y = 3; z = x * 1\n    if n > 0: z = z + 1\n    z.add_(x)",
    "new ones": "y = x * 1\n    if n > 0: z = x + 1\n    else: z = x + 2\n    z.add_(x)",
    "changed before under both": "y = x * 1; z = y\n    if n > 0: z.add_(x)\n    z.add_(x)",
    "the argument itself": "y = z = x\n    if n > 0: x.add_(x)\n    x.scale_(2.0)",
    "two that change places": "y = x * 1; z = x * 2\n    if n > 0: y, z = z, y\n    z.add_(x)",
    "a new one each": "y = x * 1; z = x * 2\n    if n > 0: y = x + 1; z = x + 1\n    z.add_(x)",
    "the one before": (
        "y = x * 1; z = x * 2\n    for i in range(n): z = y; y = y + 1\n    y.add_(x)"
    ),
}


@pytest.mark.parametrize("name", APART)
def test_a_tensor_that_is_no_other_one(name: str) -> None:
    """A1: changed as in dygraph."""
    function = function_of(f"def f(x, n):\n    {APART[name]}\n    return y, z")
    for number in (1, 0):
        with paddle.no_grad():
            mine, theirs = tensor(1.0, 2.0), tensor(1.0, 2.0)
            want, got = (
                function(mine, scalar(number)),
                d2s.to_static(function)(theirs, scalar(number)),
            )
        assert str(got) == str(want)
        assert theirs.tolist() == mine.tolist()


@pytest.mark.parametrize(
    "behind",
    [
        "return y, [g * 2 for g in [x, x]]",
        "return y, {k: g for k, g in enumerate([x, x])}",
        "for g in [x, y]:\n        i = i + g.sum()\n    return y, i",
        "g = y * 3\n    return y, g",
        "try:\n        g = y * 3\n    finally:\n        i = 1\n    return y, g, i",
    ],
)
def test_another_name_that_is_bound_anew_behind_the_loop(behind: str) -> None:
    """A1: nobody reads what it was; the variable of a comprehension is its own, in 3.12 too."""
    f = function_of(f"""
    def f(x, n):
        g = x * 1
        y = g
        i = 0
        while i < n:
            y.scale_(2.0)
            i += 1
        {behind.replace(chr(10), chr(10) + "    ")}
    """)
    assert_same(f, *((tensor(1.0, 2.0), scalar(n)) for n in (0, 1, 3)), grad=False)


def test_a_name_that_is_read_behind_the_loop() -> None:
    """A1: it shows the change, also where a branch binds it to something else then."""

    def f(x, n):
        g = x * 1
        y = g
        i = 0
        while i < n:
            y.scale_(2.0)
            i += 1
        if n > 5:
            g = x
        return y, g

    assert_same(f, *((tensor(1.0, 2.0), scalar(n)) for n in (2, 7, 0)))


LEFT = {
    "a result of the other side": """
        if n > 3:
            return y, 1
        while y[1] < 20:
            y[0] += 1
            y[1] = y[1] + x[0] * x[0]
        return y, 2
    """,
    "another name on both sides": """
        if n > 3:
            z = y
        else:
            for i in range(n):
                if x[0] > 0:
                    y[1] = x[0] * x[1] + i
            z = y
        return z
    """,
    "the loop of a loop, in a branch of a branch": """
        z = x
        if n > 0:
            if n > 3:
                z = y
            else:
                for i in range(n):
                    while y[1] < 10 * i:
                        y[1] += x[0] * x[0] + 1
                z = y + 1
        return z
    """,
}


@pytest.mark.parametrize("case", LEFT)
def test_a_loop_on_the_one_side_changes_what_the_other_side_reads(case: str) -> None:
    """B4, C2: the tensor is no variable of the branch before the loop changes it."""
    body = textwrap.dedent(LEFT[case]).strip()
    f = function_of(f"def f(x, n):\n    y = x * 2\n{textwrap.indent(body, '    ')}\n")
    assert_same(f, *((x, scalar(n)) for n in (0, 2, 5) for x in BOTH))


@pytest.mark.parametrize("row", ["y[i]", "y[i, :1]", "y"])
def test_set_value_of_a_part_in_a_loop(row: str) -> None:
    """A1: of what has no gradient, seen in the whole."""
    f = function_of(f"""
    def f(x, n):
        with paddle.no_grad():
            y = x.detach().clone()
            for i in range(n):
                {row}.set_value({row} * 0.5 + x[0, 0])
                {row}.copy_({row} + y[0, 1], True)  # without it, Paddle 3.1 ends
        return y, y[0]
    """)
    calls = [(tensor([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]), scalar(n)) for n in (1, 3)]
    assert_same(f, *calls, grad=False)


@pytest.mark.parametrize("call", ["copy_(x * 3, True)", "copy_(x * 3, False)", "set_value(x * 3)"])
def test_contents_are_copied_into_a_tensor_of_the_state(call: str) -> None:
    """F3: with a method that is written in C, too."""

    def run(convert: Any) -> list[Any]:
        kept = paddle.ones([2])
        text = f"def f(x):\n    kept.{call}\n    return kept + 1"
        function = convert(function_of(text, "f", kept=kept))
        return [
            (function(paddle.full([2], value)).numpy().tolist(), kept.numpy().tolist())
            for value in (1.0, 2.0)
        ]

    assert run(lambda function: function) == run(d2s.to_static)


def test_a_variable_of_the_same_name_in_another_function() -> None:
    """B4: what a helper changes in its branches is changed for the caller, whatever it is called.

    Both functions call the tensor ``e``; the state of the helper's branch has the helper's one.
    """
    text = """
        def masked(e, i):
            if i > 1:
                e[:2] = -1.0
            if i < 3:
                e[i:] = e[i:] - 2.0
            return e

        def warped(warpers, e, i):
            for warp in warpers:
                e = warp(e, i)
            return e

        def kept_by_the_caller(x, i):
            e = x * 1
            s = masked(e, i)
            return s + e, e

        def one_after_the_other(x, i):
            e = x * 1
            return warped((masked, masked), e, i), e

        def in_a_loop(x, i):
            total = 0.0
            for k in range(3):
                e = x * (k + 1)
                e = warped([masked, masked], e, i)
                total = total + e
                if e.sum() > 5:
                    break
            return total

        def in_lists(x, i):
            e = x * 1
            parts = [x * 2, e]

            def change(parts):
                if i > 1:
                    parts[0][0] = 5.0

            change([e])
            return parts[0] + parts[1] + e

        everything = kept_by_the_caller, one_after_the_other, in_a_loop, in_lists
    """
    x = tensor(1.0, 2.0, 3.0, 4.0)
    for function in function_of(text, "everything"):
        assert_same(function, *((x, scalar(i, "int64")) for i in (0, 2, 3)))


def test_a_loop_of_a_helper_that_has_the_callers_name() -> None:
    """C2: a static loop does not take the caller's variable for its own of the same name."""
    text = """
        def filled(e, n):
            k = paddle.zeros([], "int64")
            while k < n:
                e[k] = -1.0
                k += 1
            return e

        def f(x, n):
            e = x * 1
            s = filled(e, n)
            return s + e
    """
    x = tensor(1.0, 2.0, 3.0)
    assert_same(function_of(text), *((x, scalar(n, "int64")) for n in (2, 0, 3)))


RAISING = {
    "raised": """
        if s > 5:
            y[0] = 1
            raise ValueError("left")
        """,
    "raised on one of three": """
        if s > 5:
            y[0] = 1
        elif s < 0:
            y[1] = 4
            raise ValueError("left")
        else:
            z[2] = 6
        """,
    "absent on one side": """
        if s > 5:
            y = z = None
        if y is None:
            return s
        """,
}


@pytest.mark.parametrize(
    ("what", "whose"),
    [*itertools.product(RAISING, ["y = x * 1"]), *((what, "y = x") for what in list(RAISING)[:2])],
)
def test_two_names_behind_a_branch_that_raises(what: str, whose: str) -> None:
    """B4, F1: a change in place behind it is seen under both, and in the caller's argument."""
    lines = textwrap.indent(textwrap.dedent(RAISING[what]), "    ")
    f = function_of(
        f"def f(x, s):\n    {whose}\n    z = y\n{lines}    y[1] = 20\n    return y * 1, z * 1"
    )
    x = tensor(1, 2, 3, dtype="int64")
    assert_same(f, *((x, scalar(sign)) for sign in (1.0, 9.0, -1.0)), grad=False)


def test_a_tensor_of_the_state_changed_in_two_loops() -> None:
    """F3, C2: it is that tensor on runs without a trip, too; the second loop changes it again."""

    class Network:
        def __init__(self) -> None:
            self.flow = paddle.zeros([3])

        def run(self, n, x):
            for _ in range(2):
                k = n * 0
                while k < n:
                    self.flow[k] += x[0]
                    k = k + 1
            return self.flow * 1

    plain, converted = Network(), Network()
    static = d2s.to_static(converted.run, full_graph=True)
    for n in (2, 0, 3):
        given = scalar(n), PLUS
        assert static(*given).tolist() == plain.run(*given).tolist()
        assert converted.flow.tolist() == plain.flow.tolist()


def test_a_tensor_of_the_state_behind_a_branch_that_raises() -> None:
    """F1, F3: on the runs that go on it is the tensor that it was, and is changed in place."""

    class Board:
        def __init__(self) -> None:
            self.view = paddle.zeros([3])

        def open(self, x):
            for k in [0, 1]:
                if x[k] > 4:
                    self.view = paddle.where(x > 4, x * 2, self.view)
                    raise ValueError("boom")
                self.view[k] = x[k]
            return self.view

    plain, converted = Board(), Board()
    static = d2s.to_static(converted.open, full_graph=True)
    for values in ([1.0, 2.0, 3.0], [2.0, 9.0, 3.0], [0.0, 1.0, 9.0], [5.0, 1.0, 0.0]):
        said = []
        for board, called in ((plain, plain.open), (converted, static)):
            try:
                said.append(called(tensor(*values)).tolist())
            except ValueError as error:
                said.append(str(error))
            said.append(board.view.tolist())
        assert said[:2] == said[2:]


REBOUND = {
    "in a branch": "if x.sum() < 0:\n    s.t[0] = x[0]\n    s.t = s.t * 2\nreturn s.t * 1",
    "behind an early return": (
        "if x.sum() > 0: return s.t * 1\ns.t[0] = x[0]\ns.t = s.t * 2\nreturn s.t"
    ),
    "on both sides": (
        "if x.sum() < 0:\n    s.t.add_(x)\n    s.t = s.t * 2\nelse:\n    s.t[1] = 7.0\n"
        "    s.t = x * 3\nreturn s.t * 1"
    ),
    "to something else": "if x.sum() < 0:\n    s.t.add_(x)\n    s.t = x * 2\nreturn x",
    "in a branch in a branch": (
        "if x.sum() < 3:\n    if x.sum() < 0:\n        s.t.add_(x)\n        s.t = s.t + 1\n"
        "    s.t = s.t * 2\nreturn s.t * 1"
    ),
    "before an exception of another run": (
        "if x.sum() < 0:\n    s.t.add_(x)\n    s.t = s.t * 2\n"
        "    if x.sum() < -9: raise ValueError('low')\nreturn s.t * 1"
    ),
    "before a loop that is left early": (
        "if x.sum() < 0:\n    s.t.add_(x)\n    for _ in range(3):\n        s.t = s.t * 2\n"
        "        if s.t.sum() > 3: break\nreturn x"
    ),
}


@pytest.mark.parametrize("name", REBOUND)
def test_a_tensor_of_the_state_that_is_changed_and_replaced_in_a_branch(name: str) -> None:
    """A1, B4, F3: the run writes into the tensor that was there, and binds another one."""

    class State:
        def __init__(self) -> None:
            self.t = paddle.to_tensor([1.0, 2.0])

    lines = "\n".join(f"    {line}" for line in REBOUND[name].splitlines())
    function = function_of(f"def f(s, x):\n{lines}")
    static = d2s.to_static(function_of(f"def f(s, x):\n{lines}"), full_graph=True)
    found = []
    for called in (function, static):
        state = State()
        first, seen = state.t, []
        for values in ([1.0, 2.0], [-1.0, -2.0], [-3.0, 1.0], [3.0, 4.0]):
            result = called(state, paddle.to_tensor(values))
            seen.append([result.tolist(), state.t.tolist(), first.tolist(), state.t is first])
        found.append(seen)
    assert found[0] == found[1]


def test_an_argument_that_is_changed_and_replaced_in_a_branch() -> None:
    """A1, B4: the caller's tensor has what was written into it."""

    def f(x, s):
        if s > 0:
            x[0] = 5
            x = x * 2
        return x + 1

    calls = ([3, 1], 1.0), ([3, 1], -1.0)
    assert_same(f, *((paddle.to_tensor(x), scalar(s)) for x, s in calls))
