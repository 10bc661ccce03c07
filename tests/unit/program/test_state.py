"""State outside of a function: each call sees what is there (rules F3, G2)."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest
from paddle.static import InputSpec

import d2s
from d2s.errors import UnsupportedInGraphError
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
