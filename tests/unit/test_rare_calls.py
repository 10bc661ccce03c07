"""Calls of a converted function that are rarely made so, and what Paddle asks of it (G1, G3)."""

from __future__ import annotations

import copy
import functools
import types
from pathlib import Path
from typing import Any

import paddle
import pytest
from paddle.static import InputSpec

import d2s
from d2s.errors import (
    ArgumentsError,
    InputSpecError,
    NotCapturedError,
    NotStaticError,
    SaveError,
    UnsupportedInGraphError,
)
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0, 3.0)
SPEC = [InputSpec([3], "float32")]


class Model(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        return x * 2


class Ambiguous(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        if x.sum() > 0:
            return x
        return x, x


class Checking(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        assert x.sum() > 0
        return 3


# -- arguments -----------------------------------------------------------------------------------


def test_an_argument_has_the_name_of_a_part_of_another() -> None:
    """G1: the inputs of the program have names of their own."""

    def f(a, a_0):
        return a[0] + a_0 * 2

    static = assert_same(f, ([X], scalar(2.0)))
    text = str(static.main_program)
    assert text.count('name:"a_0"') == 1


def test_specs_of_a_function_with_open_arguments() -> None:
    """G2: each argument behind the first has its spec; what does not fit is named."""

    def f(x, *rest, **options):
        return x + rest[0] * rest[1] * options.get("k", 1)

    fits = [InputSpec([None])] * 3
    assert_same(f, (X, X * 2, X), static=d2s.to_static(f, input_spec=fits))
    wrong = d2s.to_static(f, input_spec=[*fits[:2], InputSpec([None, 2])])
    with pytest.raises(InputSpecError, match=r"rest\[1\]"):
        wrong(X, X, X)


def test_specs_that_are_no_list() -> None:
    """G2: one spec alone is refused where it is given."""
    with pytest.raises(InputSpecError, match="not a list"):
        d2s.to_static(lambda x: x, input_spec=InputSpec([3]))


def test_a_value_of_a_static_program_is_no_argument() -> None:
    """G1: it cannot be run."""
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            value = paddle.static.data("value", [3])
    finally:
        paddle.disable_static()
    with pytest.raises(ArgumentsError, match="static program"):
        d2s.to_static(lambda x: x)(value)


def scaled(k: Any, x: Any) -> Any:
    return x * k


@functools.wraps(scaled)
def wrapped(*things: Any, **named: Any) -> Any:
    return scaled(*things, **named)


@pytest.mark.parametrize("function", [functools.partial(scaled, 2), wrapped])
def test_too_many_arguments_for_what_is_no_plain_function(function: Any) -> None:
    """G1: a ``TypeError``, as in dygraph."""
    for call in (function, d2s.to_static(function)):
        with pytest.raises(TypeError, match="positional argument"):
            call(X, X, X)


# -- methods -------------------------------------------------------------------------------------


class Plain:
    """Can be neither hashed nor referenced weakly."""

    __slots__ = ("k",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, k: int) -> None:
        self.k = k

    @d2s.to_static
    def go(self, x: Any) -> Any:
        return x * self.k

    def other(self, x: Any) -> Any:
        return x + self.k


def test_a_method_of_objects_that_cannot_be_remembered() -> None:
    """G1: each call binds it anew."""
    one, other = Plain(2), Plain(3)
    for _ in range(2):
        assert one.go(X).tolist() == [2.0, 4.0, 6.0]
        assert other.go(X).tolist() == [3.0, 6.0, 9.0]
        assert Plain.go(one, X).tolist() == [2.0, 4.0, 6.0]
    bound = d2s.to_static(one.other)
    assert bound(X).tolist() == bound(X).tolist() == [3.0, 4.0, 5.0]


def test_a_converted_function_is_copied_as_functions_are() -> None:
    """G3: a copy is the function itself."""
    function = Plain.__dict__["go"]
    assert Plain.go is function
    assert copy.copy(function) is function
    assert copy.deepcopy(function) is function


def test_rollback_gives_each_object_its_own_method_back() -> None:
    """G3: one that the object alone has, one of its class, one that was never assigned."""

    def forward(self, x):
        return x * 5

    layer = Model()
    layer.forward = types.MethodType(forward, layer)
    d2s.to_static(layer)
    assert layer(X).tolist() == [5.0, 10.0, 15.0]
    layer.forward.rollback()
    assert isinstance(layer.forward, types.MethodType)
    assert layer(X).tolist() == [5.0, 10.0, 15.0]

    other = Model()
    static = d2s.to_static(other.forward)
    assert static(X).tolist() == [2.0, 4.0, 6.0]
    static.rollback()
    assert isinstance(other.forward, types.MethodType)
    assert other(X).tolist() == [2.0, 4.0, 6.0]


def test_the_program_for_arguments_that_are_only_described() -> None:
    """G3: Paddle asks for it by specs, with words of its own for what is done with it."""

    def f(x, k=2):
        return x * k

    static = d2s.to_static(f)
    found, partial = static.get_concrete_program(
        InputSpec([None, 3], "float32"), k=4, is_train=False
    )
    assert partial is None
    assert [list(value.shape) for value in found.inputs] == [[-1, 3]]
    assert static(paddle.ones([2, 3])).tolist() == [[2.0] * 3] * 2


# -- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "specs", "kind", "words"),
    [
        (Model, None, NotCapturedError, "no program yet"),
        (Model, SPEC * 2, InputSpecError, "does not fit"),
        (Checking, SPEC, SaveError, "returns no tensor"),
    ],
)
def test_what_cannot_be_saved(
    layer: Any, specs: Any, kind: type[Exception], words: str, tmp_path: Path
) -> None:
    """G3: no program, too many specs, no result."""
    options = {} if specs is None else {"input_spec": specs}
    with pytest.raises(kind, match=words):
        d2s.save(d2s.to_static(layer()), str(tmp_path / "model"), **options)


class Calling:
    def __call__(self, x: Any) -> Any:
        if x.sum() > 0:
            return x
        return x, x


def two_forms(k: Any, x: Any) -> Any:
    if x.sum() > 0:
        return x * k
    return x, x


@pytest.mark.parametrize(
    ("thing", "line"),
    [
        (Ambiguous(), Ambiguous.forward.__code__.co_firstlineno + 2),
        (functools.partial(two_forms, 2), two_forms.__code__.co_firstlineno + 2),
        (Calling(), Calling.__call__.__code__.co_firstlineno + 2),
        (Calling().__call__, Calling.__call__.__code__.co_firstlineno + 2),
    ],
)
def test_two_structures_are_refused_where_they_are_returned(
    thing: Any, line: int, tmp_path: Path
) -> None:
    """B6: the lines are found in a method, a partial function, and a callable object."""
    with pytest.raises(SaveError, match="different structure") as error:
        paddle.jit.save(d2s.to_static(thing), str(tmp_path / "model"), input_spec=SPEC)
    assert (error.value.file, error.value.line) == (__file__, line)


class Methods(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", paddle.zeros([1]))

    def forward(self, x: Any, index: Any) -> Any:
        self.calls.add_(paddle.ones([1]))
        return paddle.gather(x, index) * self.calls

    def other(self, x: Any, index: Any) -> Any:
        return paddle.gather(x, index) * 3


def test_a_loaded_layer_has_its_methods_and_their_errors(tmp_path: Path) -> None:
    """F1: the same error in each, at the user's line, with Paddle's own on demand."""
    specs = [*SPEC, InputSpec([1], "int64")]
    layer = d2s.to_static(Methods(), input_spec=specs)
    layer.other = d2s.to_static(layer.other, input_spec=specs)
    paddle.jit.save(layer, str(tmp_path / "model"))
    loaded = d2s.load(str(tmp_path / "model"))
    good, bad = paddle.to_tensor([1]), paddle.to_tensor([9])
    assert loaded(X, good).tolist() == [2.0]
    assert loaded.other(X, good).tolist() == [6.0]
    with pytest.raises(IndexError) as want:
        paddle.gather(X, bad)
    first = str(want.value).splitlines()[0]
    for method in (loaded, loaded.other):
        for full in (False, True):
            with d2s.options(full_traceback=full), pytest.raises(IndexError) as error:
                method(X, bad)
            assert str(error.value).splitlines()[0] == first
            assert error.value.__cause__ is None or full


# -- inside of others ----------------------------------------------------------------------------


def test_it_becomes_a_part_of_what_is_captured() -> None:
    """E2: called by code that stays Python, it is converted there all the same."""

    @d2s.to_static
    def inner(x):
        if x.sum() > 0:
            return x * 2
        return x

    @d2s.not_to_static
    def helper(x):
        return inner(x)

    def outer(x):
        return helper(x) + 1

    assert_same(outer, (X,), (-X,))


def stays(text: str) -> Any:
    return d2s.not_to_static(function_of(f"def stays(x):\n    {text}"))


@pytest.mark.parametrize(
    "text",
    ["return len(x)", "return [v for v in x]"],
)
def test_the_size_of_a_tensor_in_code_that_stays_python(text: str) -> None:
    """E1: of one without dimensions what dygraph says; an open one is refused."""
    function = stays(text)

    def f(x):
        return function(x)

    assert_same(f, (scalar(1.0),), (X,))
    with pytest.raises(UnsupportedInGraphError, match="open first dimension"):
        d2s.to_static(f, input_spec=[InputSpec([None])])(X)


def test_methods_that_change_a_tensor_in_code_that_stays_python() -> None:
    """A1: as in dygraph."""
    function = stays("x.add_(x); x.scale_(3.0); return x")

    def f(x):
        y = x * 2
        return function(y), y

    assert_same(f, (X,))


def test_text_of_a_tensor_in_code_that_stays_python() -> None:
    """F1: an f-string would keep the text of one run; a debugger sees what the value is."""
    formats, shows = stays("return f'{x}'"), stays("return 'Value' in str(x)")

    def refused(x):
        return x, formats(x)

    def shown(x):
        return x, shows(x)

    with pytest.raises(NotStaticError, match="formatted into text"):
        d2s.to_static(refused)(X)
    assert d2s.to_static(shown)(X)[1]
