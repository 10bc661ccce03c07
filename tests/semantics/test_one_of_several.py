"""What is done with a value that a tensor decides to be one of several (rules B2, B6, E1)."""

from __future__ import annotations

import copy
import dataclasses
import functools
import heapq
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import paddle
import pytest

import d2s
from d2s import paddle_bridge as bridge
from d2s.errors import AmbiguousValueError, NotStaticError
from d2s.runtime.values.unbound import UNBOUND
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0, 3.0)
SIGNS = [(X, scalar(1.0)), (X, scalar(-1.0))]


def chosen(true: str, false: str, use: str, **scope: object) -> object:
    """``k`` is one of two things, and is used."""
    return function_of(
        f"""
    def f(x, s):
        if s > 0:
            k = {true}
        else:
            k = {false}
        {use}
    """,
        **scope,
    )


@pytest.mark.parametrize("false", ["'three'", "None", "'1e3'", "[3]"])
def test_a_cast_that_fails_for_one_of_them(false: str) -> None:
    """E1: ``int`` raises on the runs that come to that one."""
    assert_same(chosen("'3'", false, "return x * int(k)"), *SIGNS)


@pytest.mark.parametrize(
    "use",
    [
        "a = heapq.heappop(h)", "heapq.heappush(h, 0); a = 0", "a = heapq.heapreplace(h, 4)",
        "heapq.heapify(h); a = heapq.heappop(h)",
    ],
)  # fmt: skip
def test_a_heap_of_one_of_several_lengths(use: str) -> None:
    """E1: each of them is changed as Python does it."""
    f = function_of(
        f"""
    def f(x, s):
        h = [5, 7]
        for i in range(3):
            if x[i] * s > i:
                heapq.heappush(h, 3 - i)
        {use}
        return a, h, len(h)
    """,
        heapq=heapq,
    )
    assert_same(f, *SIGNS)


class Box:
    """An object whose items are asked for with the number itself."""

    def __getitem__(self, key: int) -> object:
        if key == 2:
            raise KeyError(f"no {key!r} here")
        return type(key).__name__, key.bit_length()


def test_an_item_of_an_object_is_asked_for_with_the_number() -> None:
    """A1, E1: the key is the Python int on either path, also where one of them raises."""
    assert_same(chosen("1", "2", "return box[k]", box=Box()), *SIGNS)
    assert_same(chosen("1", "8", "return box[k]", box=Box()), *SIGNS)


@pytest.mark.parametrize("use", ["x[k]", "x[k:]", "x[:k]", "x.reshape([k, -1])", "[x, x + 1][k]"])
def test_a_tensor_is_indexed_with_one_of_two_numbers(use: str) -> None:
    """E1, B6: the item, its shape and its gradient are those of the path."""
    assert_same(chosen("1", "0" if "reshape" not in use else "3", f"return {use} * 2"), *SIGNS)


@pytest.mark.parametrize(
    "things", ["[x, x * 2, x * 3]", "(x, x[:1], x[:2])", "[7, 8, 9]", "[x[:0], x[:0], x[:0]]"]
)
def test_a_list_is_indexed_with_one_of_two_tensors(things: str) -> None:
    """E1: the item keeps its own shape and kind."""
    assert_same(chosen("paddle.argmax(x)", "x.shape[0] - 2", f"return {things}[k]"), *SIGNS)


def test_a_list_is_indexed_with_a_tensor_of_one_element() -> None:
    """E1: whatever its shape, as in dygraph before NumPy 2.5; the item keeps its own shape."""
    f = d2s.to_static(function_of("def f(x, k): return [x, x * 2, x * 3][k]"))
    for k in ([1], [[1]], 1):
        assert f(X, paddle.to_tensor(k)).tolist() == [2.0, 4.0, 6.0]
    one = function_of("def f(x, k): return [x][k - k]")
    assert_same(one, (X, scalar(1)))


@pytest.mark.parametrize(
    "use",
    [
        "x.reshape([k + 2, -1])",
        "x.reshape([2 + k, -1])",
        "[x, x + 1, x + 2, x + 3][3 - k]",
        "x * len('ab' * k)",
        "'ab'[1 - k], 10 // k if k else None",
        "x.reshape([1, -1]).transpose([k, 1 - k])",
    ],
)
def test_arithmetic_of_one_of_two_constants_gives_constants(use: str) -> None:
    """B6, E1: on either side of the operator."""
    assert_same(
        chosen("1", "-1" if "k + 2" in use or "2 + k" in use else "0", f"return {use}"), *SIGNS
    )


@pytest.mark.parametrize("known", ["3 - k", "k * 2 + 1", "7 // k"])
def test_arithmetic_of_one_of_two_constants_is_done_at_capture(known: str) -> None:
    """B6: the program has no more in it than for the constants themselves."""
    sizes = [
        len(list(bridge.operations(converted.programs[0].program)))
        for number in ("k", known)
        for converted in [assert_same(chosen("1", "2", f"return x * ({number})"), *SIGNS)]
    ]
    assert sizes[0] == sizes[1]


def test_the_type_that_all_of_them_have_is_one_type() -> None:
    """E1: and can be looked up in a dict of Python's."""
    table = {paddle.Tensor: "tensor", int: "int", str: "text"}
    look = "return table.get(type(k), 'other'), type(k) is type(x), isinstance(x, type(k))"
    for true, false in (("x", "x[:1]"), ("'a'", "'b'"), ("1", "2")):
        assert_same(chosen(true, false, look, table=table), *SIGNS)


def test_one_of_two_functions_is_called() -> None:
    """E2: by code that stays Python, too."""
    apply = d2s.not_to_static(lambda function, value: function(value))
    use = "return apply(k, x)"
    assert_same(chosen("lambda y: y * 2", "lambda y: y + 2", use, apply=apply), *SIGNS)
    apply_one = d2s.not_to_static(lambda functions, value: functions["k"](value, name="it"))
    use = "return apply({'k': k}, x)"
    assert_same(chosen("paddle.exp", "paddle.sin", use, apply=apply_one), *SIGNS)


@pytest.mark.parametrize("depth", [3, 12])
def test_what_a_branch_changes_deep_inside_of_dicts(depth: int) -> None:
    """B4: at any depth that users write."""
    f = function_of(f"""
    def f(x, s):
        table = {"{'k': " * depth}x{"}" * depth}
        if s > 0:
            table{"['k']" * depth} = x * 2
        return table
    """)
    assert_same(f, *SIGNS)


def test_membership_of_tensors_stays_python_in_dygraph() -> None:
    """A1: what a converted function gives outside of a program is what the original gives."""
    f = function_of("""
    def f(x, number):
        return number in x, x in [x, 1], number in [1, 2]
    """)
    for number in (2.0, 9.0, scalar(2.0)):
        want, got = f(X, number), d2s.convert(f)(X, number)
        assert [type(one) for one in want] == [type(one) for one in got]
        assert want == got


@pytest.mark.parametrize(
    "text",
    [
        "[[(y := v * 2) for v in row] for row in rows]",
        "[[(y := v * 2) for v in row] for row in rows if len(row) > 1]",
        "[(y := v, [w for w in row if (y := w) > 1]) for row in rows for v in row]",
        "{(y := len(row)): [(z := v) for v in row] for row in rows}",
    ],
)
def test_a_walrus_inside_of_two_comprehensions(text: str) -> None:
    """A1: it binds the variable of the function."""
    f = function_of(f"""
    def f(x, s):
        y = z = 0
        rows = [[x, x + 1], [x * 2]] if {"len(row)" in text or "> 1" not in text} else [[1, 2], [3]]
        out = {text}
        if s > 0:
            out, y = out, y
        return out, y, z
    """)
    assert_same(f, *SIGNS)


@pytest.mark.parametrize("use", ["round(k)", "round(k, 1)", "round(k) * 2"])
def test_rounding_one_of_two_numbers(use: str) -> None:
    """E1: as Python rounds the one that it is."""
    assert_same(chosen("1.5", "2.46", f"return x * ({use})"), *SIGNS)


@pytest.mark.parametrize("use", ["k % 2", "k // 4", "-1 if k > 0 else 1"])
def test_arithmetic_that_makes_one_constant_of_two(use: str) -> None:
    """B6: it is that constant."""
    assert_same(chosen("1", "3", f"return x * ({use}), [7, 8, 9][{use}]"), *SIGNS)


def test_the_length_that_code_left_as_it_is_asks_for() -> None:
    """E2, B2: of the one alternative that has one; the other raises on its runs."""
    length = d2s.not_to_static(lambda table: len(table["k"]))
    assert_same(chosen("[x, x]", "None", "return x * length({'k': k})", length=length), *SIGNS)


def test_a_key_that_is_not_there() -> None:
    """A1: ``KeyError`` on the run, with the number as dygraph has it."""
    f = function_of("def f(x, s):\n    return {1: x, 2: x * 2}[int(s)], isinstance(f'{s}', str)")
    assert_same(f, *((X, scalar(number)) for number in (1.0, 2.0, 5.0)))


DICTS = "{'a': x}", "{'a': x, 'b': s}"


@pytest.mark.parametrize("use", ["g(*k)"])
@pytest.mark.parametrize("said", [False, True])
def test_what_python_takes_apart_itself(use: str, said: bool) -> None:
    """B2: refused with a code, although Python puts words of its own in the place of ours."""
    scope = {"g": lambda *items, **named: items}
    function = chosen(*DICTS, ("print(x)\n        " if said else "") + f"return {use}", **scope)
    with pytest.raises(AmbiguousValueError) as caught:
        d2s.to_static(function)(X, scalar(1.0))
    assert caught.value.line == (7 if said else 6)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "use",
    [
        *("dict(k)", "dict(k, c=x)", "g(**k)", "{**k, 'c': x}", "[*k]", "(*k, x)", "next(iter(k))"),
        "functools.reduce(lambda a, b: a + b, k)",
    ],
)
def test_what_is_called_with_the_parts(use: str) -> None:
    """E2: each of the dicts is taken apart where it is meant."""
    scope = {"functools": functools, "g": lambda *items, **named: (items, named)}
    assert_same(chosen(*DICTS, f"return {use}", **scope), *SIGNS)


@pytest.mark.parametrize(("true", "key"), [(DICTS[0], "'a'"), ("[x, s]", "0")])
def test_an_item_of_one_of_several_is_deleted(true: str, key: str) -> None:
    """B2, B4: out of the one that is meant."""
    other = "{'a': s, 'c': x, 'd': s}" if key == "'a'" else "[s, s, s]"
    assert_same(chosen(true, other, f"del k[{key}]\n        return k, len(k)"), *SIGNS)


@pytest.mark.parametrize("use", ["del k[0]", "k = [next(iter(k))]"])
def test_the_one_that_can_be_meant(use: str) -> None:
    """B2: the run raises on the other path."""
    function = chosen("[x, s]", "None", f"{use}\n        return k, len(k)")
    assert_same(function, *SIGNS)


def test_the_mark_of_what_is_not_bound_is_one_object() -> None:
    """B2: however it is copied."""
    assert copy.copy(UNBOUND) is UNBOUND
    assert copy.deepcopy(UNBOUND) is UNBOUND


def pairs_of_keys(x):
    table = {(1, "a"): x, (2, "b"): x * 2}
    k, r = 1, "a"
    if x > 0:
        k = 2
    if x > 0:
        r = "b"
    return table[k, r]


def pairs_that_are_not_there(x):
    table = {(1, "a"): x, (2, "b"): x * 2}
    k, r = 1, "a"
    if x > 0:
        k = 2
    if x > 2:
        r = "b"
    return table[k, r]


def unpacked_pairs(x):
    table = {(1, "a"): 10, (2, "b"): 20}
    back = None
    for k, r, bound in ((1, "a", 0), (2, "b", 2), (1, "a", 4)):
        if x > bound:
            back = (k, r)
    if back is None:
        return -1
    k, r = back
    return table[k, r]


@pytest.mark.parametrize("function", [pairs_of_keys, unpacked_pairs])
def test_two_of_several_in_one_key(function: Any) -> None:
    """B2: a pair that is not there on any run is none that a run looks up."""
    assert_same(function, *map(scalar, (3.0, -1.0, 5.0, 1.0)))


def test_a_pair_that_is_not_there_on_some_run() -> None:
    """B2: that run raises what dygraph raises."""
    converted = d2s.to_static(pairs_that_are_not_there, full_graph=True)
    for value in (3.0, -1.0):
        assert converted(scalar(value)).item() == pairs_that_are_not_there(scalar(value)).item()
    with pytest.raises(KeyError, match="2, 'a'"):
        converted(scalar(1.0))


OF_LIBRARIES = {
    "timedelta": "timedelta(k), timedelta(hours=k).seconds",
    "Fraction": "Fraction(1, k), Decimal(k)",
    "date": "date(2020, k, k).month",
    "bytearray": "bytearray(k), bytes(k)",
    "a text": "'a' * k in 'aaa'",
    "isinstance": "isinstance(3, type(k)), isinstance(k, (str, type(k)))",
}


@pytest.mark.parametrize("name", OF_LIBRARIES)
def test_classes_of_the_standard_library(name: str) -> None:
    """E1: an object is made of each of the things, as of the one that is meant."""
    scope = {"timedelta": timedelta, "date": date, "Fraction": Fraction, "Decimal": Decimal}
    function = chosen("4", "3", f"return {OF_LIBRARIES[name]}", **scope)
    converted = d2s.to_static(function, full_graph=True)
    for given in SIGNS:
        assert converted(*given) == function(*given)


def test_a_text_that_is_looked_for_in_a_text() -> None:
    """E1: one of several, and a class whose objects only Python makes of it."""
    function = chosen("'a'", "'q'", "return k in 'abc', memoryview(k.encode()).nbytes")
    converted = d2s.to_static(function, full_graph=True)
    for given in SIGNS:
        assert converted(*given) == function(*given)


def test_a_class_that_does_not_take_what_the_run_decides() -> None:
    """E1: refused with a code."""
    function = function_of("def f(x):\n    return timedelta(int(x))", timedelta=timedelta)
    with pytest.raises(NotStaticError, match="timedelta") as caught:
        d2s.to_static(function, full_graph=True)(scalar(3.0))
    assert (caught.value.code, caught.value.line) == ("D2S208", 2)


DESCRIBED = {
    "names of classes": ("A()", "B()", "type(k).__name__, k.__class__.__qualname__, k.__module__"),
    "the class": ("A()", "B()", "type(k) is A, k.__class__ is B, k.__class__.__mro__[1] is A"),
    "functions": ("max", "min", "k.__name__, k.__doc__[:3], k.__module__"),
    "a partial": ("partial(pow, 2)", "max", "k(1, 3) if type(k) is partial else k.__name__"),
    "a function or None": ("max", "None", "'none' if k is None else k.__name__"),
    "methods": ("A().go", "B().go", "k.__name__, k.__func__ is A.go, type(k.__self__).__name__"),
    "asdict": ("C(1.0)", "C(2.0, x)", "asdict(k)['a'], asdict(k)['b'] is None"),
    "astuple": ("C(1.0)", "C(2.0, x)", "astuple(k)[0], len(astuple(k))"),
    "replace": ("C(1.0)", "C(2.0, x)", "replace(k, a=k.a + 1).a, replace(k, b=1).b"),
    "deepcopy": ("C(1.0, [x])", "C(2.0, [x, x])", "deepcopy(k).a, len(deepcopy(k).b)"),
    "deepcopy of what holds it": ("C(1.0)", "C(2.0)", "deepcopy([k, {'k': k.a}])[1]['k']"),
}


@pytest.mark.parametrize("name", DESCRIBED)
def test_what_describes_it(name: str) -> None:
    """A1: names, documents and classes are those of the thing that is meant, not of ours."""

    class A:
        def go(self) -> None:
            """Go."""

    class B(A):
        pass

    @dataclasses.dataclass(frozen=True)
    class C:
        a: float = 0.5
        b: Any = None

    true, false, use = DESCRIBED[name]
    scope = {"A": A, "B": B, "C": C, "deepcopy": copy.deepcopy, "replace": dataclasses.replace}
    scope |= {
        "partial": functools.partial,
        "asdict": dataclasses.asdict,
        "astuple": dataclasses.astuple,
    }
    function = chosen(true, false, f"return {use}", **scope)
    converted = d2s.to_static(function, full_graph=True)
    for given in SIGNS:
        assert converted(*given) == function(*given)


@pytest.mark.parametrize("false", ["None", "2.0", "[x]", "'ab'"])
def test_what_only_some_alternatives_iterate(false: str) -> None:
    """E1: the class of what may be a tuple is asked for by Python's abstract classes, too."""
    assert_same(
        chosen("(x, x * 2)", false, "return [e for e in k] if isinstance(k, tuple) else x"), *SIGNS
    )
