"""State outside of a function that is rarely kept so: each call sees what is there (F3, G2)."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest
from paddle.static import InputSpec

import d2s
from d2s.errors import InplaceError, UnsupportedInGraphError
from d2s.runtime.lists.probes import probes
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0, 3.0)
SIGNS = [(X, scalar(1.0)), (X, scalar(-1.0)), (X, scalar(0.0))]

TABLE = tuple(range(1001))
NESTED = ((tensor(1.0, 1.0, 1.0), tensor(2.0, 2.0, 2.0)), tensor(3.0, 3.0, 3.0))


def in_a_large_tuple(x: Any, s: Any) -> Any:
    return x * TABLE[3] + s


def in_nested_tuples(x: Any, s: Any) -> Any:
    return x * NESTED[0][1] + NESTED[1] * NESTED[0][0] * s


def deleted_global(x: Any, s: Any) -> Any:
    global passing
    if s > 0:
        passing = x * 2
    else:
        passing = x
    y = passing
    del passing
    return y


@pytest.mark.parametrize("function", [in_a_large_tuple, in_nested_tuples, deleted_global])
def test_globals_are_read_and_deleted(function: Any) -> None:
    """A2: as dygraph reads and deletes them."""
    assert_same(function, *SIGNS)


def both(make: Any, use: Any) -> None:
    """``use(thing, call)`` sees the same of what ``make()`` gives, called plainly and converted.

    ``make`` gives the thing whose state is looked at, and the function that is converted.
    """
    seen = []
    for convert in (lambda function: function, d2s.to_static):
        thing, function = make()
        seen.append(use(thing, convert(function)))
    assert seen[0] == seen[1]


def called(function: Any, *arguments: Any) -> Any:
    """The result as lists, or the type and text of what was raised."""
    try:
        return function(*arguments).tolist()
    except (NameError, TypeError) as error:
        return type(error).__name__, str(error)


def test_a_cell_that_is_bound_and_unbound_between_calls() -> None:
    """A2: the program that did not read it, and the one that did."""

    def make() -> Any:
        def f(x, k):
            return x * n if k else x

        def bind(value: Any) -> None:
            nonlocal n
            if value is None:
                del n
            else:
                n = value

        n = 0
        bind(None)
        return bind, f

    def use(bind: Any, f: Any) -> list[Any]:
        found = [called(f, X, False), called(f, X, True)]
        bind(3)
        found += [called(f, X, True), called(f, X, False)]
        bind(None)
        return [*found, called(f, X, True), called(f, X, False)]

    both(make, use)


def test_a_cell_that_each_call_deletes() -> None:
    """A2: the run deletes it; without it the function raises."""

    def make() -> Any:
        n = 3

        def f(x):
            nonlocal n
            y = x * n
            del n
            return y

        def look(value: Any = None) -> Any:
            nonlocal n
            if value is not None:
                n = value
            return n

        return look, f

    def use(look: Any, f: Any) -> list[Any]:
        found = []
        for value in (4, 5):
            found.append(called(f, X))
            with pytest.raises(NameError):
                look()
            look(value)
        return [*found, called(f, X), called(f, X)]

    both(make, use)


def test_an_attribute_that_holds_another_kind_of_thing_each_time() -> None:
    """G2: a tensor, another one, a number, ``None``; an object, a number, a layer."""

    def make() -> Any:
        kind = function_of("class Thing:\n    pass\n")
        thing = kind()
        thing.w, thing.inner = paddle.ones([3]), kind()
        thing.inner.k = 2

        def f(x):
            y = x * thing.w
            if hasattr(thing.inner, "k"):
                y = y * thing.inner.k
            return y

        return thing, f

    def use(thing: Any, f: Any) -> list[Any]:
        found = [called(f, X)]
        for w in (3, paddle.ones([3]), paddle.ones([1]) * 2, None, 2.0):
            thing.w = w
            found.append(called(f, X))
        empty = type(thing)()
        for inner in (5, empty, paddle.nn.Linear(3, 3), None):
            thing.inner = inner
            found.append(called(f, X))
        return found

    both(make, use)


def test_a_layer_in_a_list_that_is_taken_out() -> None:
    """G2: the place held a layer, whose mode the program relies on."""

    def make() -> Any:
        layers: list[Any] = [paddle.nn.Dropout(0.5)]
        layers[0].eval()

        def f(x):
            for layer in layers:
                if layer is not None:
                    x = layer(x)
            return x

        return layers, f

    def use(layers: Any, f: Any) -> list[Any]:
        found = [called(f, -X)]
        for layer in (None, paddle.nn.ReLU()):
            layers[0] = layer
            found.append(called(f, -X))
        return found

    both(make, use)


def test_a_method_that_its_class_loses() -> None:
    """G2: ``hasattr`` is asked again."""

    def make() -> Any:
        kind = function_of(
            """
            class Thing:
                def go(self, x):
                    return x * 2

                def use(self, x):
                    if hasattr(self, "go"):
                        x = self.go(x)
                    return x + 1
            """
        )
        return kind, kind().use

    def use(kind: Any, f: Any) -> list[Any]:
        found = [called(f, X), called(f, X)]
        del kind.go
        return [*found, called(f, X)]

    both(make, use)


def test_an_array_of_objects_is_looked_at_each_time() -> None:
    """G2: by the identity of its items."""

    def make() -> Any:
        array = np.array([2, "q", None], dtype=object)

        def f(x):
            return x * array[0]

        return array, f

    def use(array: Any, f: Any) -> list[Any]:
        found = [called(f, X)]
        array[0] = 5
        return [*found, called(f, X)]

    both(make, use)


def test_a_large_array_in_a_slot_is_looked_at_each_time() -> None:
    """G2: it is too large for its contents to be compared as a part of its object."""

    def make() -> Any:
        holder = function_of("class Holder:\n    __slots__ = ('array',)\n")()
        holder.array = np.arange(3_000_000.0)

        def f(x):
            return x * float(holder.array[1])

        return holder, f

    def use(holder: Any, f: Any) -> list[Any]:
        found = [called(f, X)]
        holder.array[1] = 5
        return [*found, called(f, X)]

    both(make, use)


class Thing:
    pass


def test_objects_that_are_made_and_returned() -> None:
    """G3: each once, however often it is returned; an attribute may be there on some runs only."""

    def f(x, s):
        one, other = Thing(), Thing()
        one.a, one.items = x, [x * 2, (s,)]
        if s > 0:
            one.h = x * 3
        other.child, other.n = one, 3
        return one, [one, other], {"k": other}, Thing()

    def seen(result: Any) -> Any:
        one, (same, other), table, empty = result
        assert same is one
        assert table["k"] is other
        assert other.child is one
        values = one.a.tolist(), one.items[0].tolist(), one.items[1][0].item(), other.n
        h = one.h.tolist() if hasattr(one, "h") else None
        return sorted(vars(one)), values, h, type(empty), vars(empty)

    static = d2s.to_static(f)
    for arguments in (*SIGNS, *SIGNS):
        assert seen(static(*arguments)) == seen(f(*arguments))


BEFORE = Thing(), Thing()


def test_objects_that_were_there_before_are_returned() -> None:
    """F3: themselves, with what the run has assigned."""

    def f(x, s):
        one, other = BEFORE
        one.h = x * s
        other.held = [x]
        return one, [other, one]

    static = d2s.to_static(f)
    for x, s in (*SIGNS, *SIGNS):
        one, (other, same) = static(x, s)
        assert one is same is BEFORE[0]
        assert other is BEFORE[1]
        assert one.h.tolist() == (x * s).tolist()


def changed_buffer(x: Any, b: Any) -> Any:
    b.add_(x.detach())
    y = b * x
    return y * y


def changed_result(x: Any, b: Any) -> Any:
    b.add_(x)
    return b * x


@pytest.mark.parametrize("function", [changed_buffer, changed_result])
def test_an_argument_that_changes_in_place_while_another_is_trained(function: Any) -> None:
    """C7: the backward sees what was there in the forward part; the caller sees the change."""
    found = []
    for call in (function, d2s.to_static(function)):
        x, start = tensor(1.0, 2.0), tensor(3.0, 4.0)
        x.stop_gradient = False
        start.stop_gradient = function is changed_buffer
        b = start * 2
        y = call(x, b)
        (y * tensor(1.0, 3.0)).sum().backward()
        gradient = None if start.grad is None else start.grad.tolist()
        found.append((y.tolist(), b.tolist(), x.grad.tolist(), gradient))
    assert found[0] == found[1]
    assert (found[0][3] is None) is (function is changed_buffer)


def test_a_tensor_whose_gradient_the_function_switches_on() -> None:
    """C7: an argument that took none before the call has one after it."""

    def f(x):
        x.stop_gradient = False
        y = (x * x).sum()
        y.backward()
        return y

    found = []
    for call in (f, d2s.to_static(f)):
        x = tensor(1.0, 2.0)
        found.append((call(x).item(), x.stop_gradient, x.grad.tolist()))
    assert found[0] == found[1]


def test_an_argument_whose_gradient_is_read_comes_without_one() -> None:
    """C7: one that has a gradient already is refused, for the program computes its own only."""

    def f(x):
        y = (x * x).sum()
        y.backward()
        return x.grad * 1

    x = tensor(1.0, 2.0)
    x.stop_gradient = False
    static = d2s.to_static(f)
    assert static(x).tolist() == [2.0, 4.0]
    with pytest.raises(UnsupportedInGraphError, match="has a gradient already") as caught:
        static(x)
    assert ".grad to None" in str(caught.value.cure)
    x.grad = None  # as the message says
    assert static(x).tolist() == [2.0, 4.0]
    other = tensor(1.0, 3.0)
    other.stop_gradient = False
    assert static(other).tolist() == [2.0, 6.0]


def test_the_gradient_of_a_frozen_tensor_is_set_and_read() -> None:
    """C7: the call that captures read what was there before it."""
    weight = tensor(1.0, 2.0)

    def f(x):
        weight.grad = x * 2
        return weight.grad + 1

    static = d2s.to_static(f)
    for factor in (1.0, 0.0, 3.0):
        weight.grad = None
        assert static(tensor(1.0, 2.0) * factor).tolist() == [2 * factor + 1, 4 * factor + 1]
        assert weight.grad.tolist() == [2 * factor, 4 * factor]


def test_the_gradient_of_a_computed_tensor_is_set() -> None:
    """E2: it was lost in silence; that it has none is no news."""

    def f(x):
        y = x * 2
        y.grad = x
        return y

    def g(x):
        y = x * 2
        y.grad = None
        return y.grad is None, y

    assert d2s.to_static(g)(paddle.to_tensor([1.0, 2.0]))[0] is True

    with pytest.raises(UnsupportedInGraphError, match="has computed itself") as caught:
        d2s.to_static(f)(tensor(1.0, 2.0))
    assert (caught.value.code, caught.value.line) == ("D2S205", f.__code__.co_firstlineno + 2)


def test_a_property_of_a_layer_that_is_set() -> None:
    """F3: Paddle's layer makes a buffer of the tensor as well, which no program can do."""
    kind = function_of(
        """
        class Made(paddle.nn.Layer):
            @property
            def h(self):
                return self._h

            @h.setter
            def h(self, value):
                self._h = value

            def forward(self, x):
                stays(self, x * 2)
                return x
        """,
        stays=d2s.not_to_static(function_of("def stays(layer, x):\n    layer.h = x\n")),
    )
    with pytest.raises(UnsupportedInGraphError, match="set_h"):
        d2s.to_static(kind())(X)


def test_a_module_that_is_no_library_is_named_once() -> None:
    """E2: naming it again to ``ignore_module`` changes nothing."""
    module = types.ModuleType("colours")
    module.__file__ = "/nowhere/colours.py"
    for _ in range(2):
        d2s.ignore_module([module])

    def f(x):
        return x * 2

    assert d2s.to_static(f)(X).tolist() == f(X).tolist()


def test_a_layer_of_paddles_is_given_attributes() -> None:
    """F3: one that it had before and one that it had not, after each run; none of the capture's."""

    def make() -> Any:
        layer = paddle.nn.ReLU()
        layer.last = 1

        def f(x):
            layer.last = x * 2
            layer.more = x
            return layer(x)

        return layer, f

    def use(layer: Any, f: Any) -> list[Any]:
        found = []
        for x in (X, -X, X):
            found.append((called(f, x), layer.last.tolist(), layer.more.tolist()))
        return found

    both(make, use)


def views_in_a_branch(x: Any, s: Any) -> Any:
    y = x * 2
    v = y[0:2]
    if s > 0:
        w = v
        y[0] = 9.0
        z = w * 2
    else:
        z = v
        w = v
    return z, w, y


def an_argument_in_a_loop_that_is_left(x: Any, s: Any) -> Any:
    k = s * 0
    while k < 2:
        x[0] = 5
        if s > 0:
            raise ValueError("left")
        k = k + 1
    return s * 2


def test_items_of_views_and_arguments() -> None:
    """F3: what is written is seen in the views of it, and in an argument after an exception."""
    assert_same(views_in_a_branch, *SIGNS)
    whole = [(paddle.to_tensor([1, 2, 3]), s) for _, s in SIGNS]
    assert_same(an_argument_in_a_loop_that_is_left, *whole)


def test_a_view_whose_bounds_are_a_tensor_of_python() -> None:
    """F3: which part it is, is not known, so a later write would be lost in it."""

    def f(x):
        y = x * 1
        at = paddle.to_tensor([0])
        v = paddle.slice(y, [0], at, at + 2)
        y[0] = 9.0
        return v, y

    with pytest.raises(InplaceError, match="a view") as error:
        d2s.to_static(f)(X)
    assert error.value.line == f.__code__.co_firstlineno + 4


def test_probes_see_each_run_and_no_file(tmp_path: Path) -> None:
    """F1: text of the run is hidden; a call outside of the check, and a file, note nothing."""

    def f(x, s):
        text, items = f"{s}", []
        k = s * 0
        while k < 2:
            items.append(x)
            k = k + 1
        y = x * len(items)
        return y, text

    notes: list[Any] = []

    def note(place: Any, kind: str, name: str, value: Any) -> None:
        notes.append((name, repr(value)))

    with probes(note):
        static = d2s.to_static(f)
        static(*SIGNS[0])
        seen = list(notes)
        layer = function_of(
            "class Twice(paddle.nn.Layer):\n"
            "    def forward(self, x):\n"
            "        y = x * 2\n"
            "        return y\n"
        )()
        d2s.save(
            d2s.to_static(layer), str(tmp_path / "model"), input_spec=[InputSpec([3], "float32")]
        )
    static(*SIGNS[1])
    assert notes == seen
    assert ("text", "...") in seen
    assert any(name == "y" and "[2., 4., 6.]" in value for name, value in seen)
