"""Lists and dicts that more than one name knows, changed under a tensor condition (G1, F3, B4).

The caller's list is the same object afterwards, with what dygraph leaves in it, under every name
that it has outside of the function.  What a program cannot say is refused with a code.
"""

from __future__ import annotations

import collections
import textwrap
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError, D2SError
from tests.helpers import assert_same, function_of


class Box:
    """An object of the user's with attributes."""


def scene(setup: str, body: str, signature: str, given: str, seen: str) -> Any:
    """A function that makes the function to convert, its further arguments, and what to compare."""
    lines = [
        "def make():",
        *textwrap.indent(textwrap.dedent(setup).strip(), "    ").splitlines(),
        f"    def f({signature}):",
        *textwrap.indent(textwrap.dedent(body).strip(), "        ").splitlines(),
        f"    return f, ({given}), [{seen}]",
    ]

    def number(value: float) -> Any:
        return paddle.to_tensor(float(value))

    return function_of("\n".join(lines), T=number, Box=Box, deque=collections.deque)


def shown(thing: Any, known: dict[int, Any]) -> Any:
    """Contents with identities: an object that was met before is shown as its number."""
    if isinstance(thing, paddle.Tensor):
        return ("tensor", thing.tolist())
    if isinstance(thing, tuple):
        return tuple(shown(item, known) for item in thing)
    if not isinstance(thing, list | dict | set | collections.deque | Box):
        return thing
    if id(thing) in known:
        return f"object {list(known).index(id(thing))}"
    known[id(thing)] = thing
    if isinstance(thing, Box):
        return ("box", shown(vars(thing), known))
    if isinstance(thing, dict):
        return {key: shown(item, known) for key, item in thing.items()}
    if isinstance(thing, set):
        return sorted(thing)
    return (type(thing).__name__, [shown(item, known) for item in thing])


def play(make: Any, convert: Any, values: tuple[float, ...]) -> list[Any]:
    """All that the caller sees after each of several calls."""
    function, rest, seen = make()
    converted, found = convert(function), []
    for value in values:
        try:
            result = converted(paddle.to_tensor(value), *rest)
        except D2SError:
            raise
        except Exception as error:
            result = (type(error), str(error))
        found.append(shown([*rest, *seen, result], {}))
    return found


def same(make: Any) -> None:
    """Static is dygraph for every order in which the paths are taken."""
    for values in ((3.0, -1.0, 3.0), (-1.0, 2.0, 0.5)):
        assert play(make, d2s.to_static, values) == play(make, lambda f: f, values)


HOLDERS = {
    "dict argument": ("l = [T(1), T(2)]; q = {'l': l}", "q['l']", "q", "q,", "l"),
    "list argument": ("l = [T(1), T(2)]; q = [l]", "q[0]", "q", "q,", "l"),
    "tuple argument": ("l = [T(1), T(2)]; q = (l, 5)", "q[0]", "q", "q,", "l"),
    "dict in dict": ("l = [T(1), T(2)]; q = {'d': {'l': l}}", "q['d']['l']", "q", "q,", "l, q"),
    "object argument": ("l = [T(1), T(2)]; q = Box(); q.l = l", "q.l", "q", "q,", "l"),
    "object outside": ("l = [T(1), T(2)]; b = Box(); b.l = l", "b.l", "", "", "l, b"),
    "dict outside": ("l = [T(1), T(2)]; q = {'l': l}", "q['l']", "", "", "l, q"),
    "cell": ("l = [T(1), T(2)]; m = l", "l", "", "", "m"),
}
CHANGES = {
    "append": "if x > 0: L.append(x)",
    "append to both": """
        if x > 0: L.append(x)
        else: L.extend([x, x * 2])
    """,
    "append twice": """
        if x > 0: L.append(x)
        if x > 1: L.append(x * 2)
    """,
    "append behind": """
        if x > 0: L.append(x)
        L.append(x * 2)
    """,
    "append in branches of branches": """
        if x > 0:
            if x > 1: L.append(x)
            else: L.extend([x, x])
    """,
    "append in an expression": "L.append(x) if x > 0 else None",
    "append behind and": "x > 0 and L.append(x)",
    "append and return": """
        if x > 0:
            L.append(x)
            return x * 2
        L.append(x); L.append(x)
    """,
    "append and raise": """
        if x > 0: L.append(x)
        if x > 2: raise ValueError('big')
    """,
    "append in a Python loop": """
        for i in range(2):
            if x > i: L.append(x + i)
    """,
    "pop": "if x > 0 and len(L) > 0: L.pop()",
    "clear": "if x > 0: L.clear()",
    "delete": """
        if x > 0:
            L.append(x)
            del L[0]
            del L[0]
    """,
    "same length": "if x > 0: L[0] = x",
    "grow in while": """
        i = x * 0
        while i < x:
            L.append(i)
            i = i + 1
    """,
    "grow in some trips": """
        i = x * 0
        while i < x:
            if i > 0.5: L.append(i)
            i = i + 1
    """,
    "grow in while in a branch": """
        if x > 1:
            i = x * 0
            while i < x:
                L.append(i)
                i = i + 1
    """,
}


@pytest.mark.sampled(
    12,
    also=[
        "object outside-append behind",
        "cell-append in an expression",
        "dict argument-append and raise",
    ],
)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("holder", HOLDERS)
def test_the_caller_keeps_its_list(holder: str, change: str) -> None:
    """G1, F3, B4: the list is changed in place, for all who know it."""
    setup, path, name, given, seen = HOLDERS[holder]
    body = textwrap.dedent(CHANGES[change]).strip().replace("L", path) + "\nreturn x"
    same(scene(setup, body, f"x, {name}" if name else "x", given, seen))


@pytest.mark.parametrize(
    "body",
    [
        "if x > 0:\n    q['l'] = [x, x]",
        "if x > 0:\n    q['l'] = [x]\nelse:\n    q['l'].append(x)\n    q['l'] = []",
        "if x > 0:\n    q['l'].append(x)\n    q['l'] = q['l'][1:]",
        "if x > 0:\n    q['l'].append(x)\n    q['l'] = q['l'][1:]\nq['l'].append(x * 2)",
        "if x > 0:\n    if x > 1:\n        q['l'].append(x)\n        q['l'] = q['l'][1:]",
        "for i in range(2):\n    if x > i:\n        q['l'].append(x)\n        q['l'] = q['l'][1:]",
        "if x > 0:\n    q['l'].append(x)\n    q['l'] = q['l'][1:]\nelse:\n    raise ValueError(1)",
        "if x > 0:\n    q['l'].append(x)\n    del q['l']\n    q['l'] = []",
        "if x > 0:\n    q['l'].append(x)\nq['l'] = [x]",
        "q['l'].append(x)\nq['l'] = q['l'][-2:]",
        "if x > 0:\n    q['l'], q['m'] = q['m'], q['l']",
    ],
)
def test_another_list_takes_its_place(body: str) -> None:
    """G1: the old list holds what dygraph leaves in it, the new one what is put into it."""
    setup = "l, m = [T(1), T(2)], [T(3)]\nq = {'l': l, 'm': m}"
    same(scene(setup, f"{body}\nreturn x", "x, q", "q,", "l, m"))


def test_the_order_of_the_keys_of_a_dict() -> None:
    """B4: where one side deletes a key and sets it again, or the sides make two dicts."""
    again = "if x > 0:\n    v = q.pop('a')\n    q['a'] = v\nreturn list(q)"
    same(scene("q = {'a': T(1), 'b': T(2)}", again, "x, q", "q,", ""))
    other = "if x > 0: q = {'a': x, 'b': x}\nelse: q = {'b': x, 'a': x}\nreturn q, list(q)"
    same(scene("", other, "x", "", ""))


@pytest.mark.parametrize(
    ("thing", "change"),
    [
        ("{1, 2}", ".add(3)"),
        ("deque([T(1)], 3)", ".append(x)"),
        ("{'a': T(1)}", ".update(b=x)"),
        ("{'a': T(1), 'b': T(2)}", ".pop('a', None)"),
    ],
)
def test_other_containers(thing: str, change: str) -> None:
    """G1, F3: sets, deques and dicts as well."""
    body = f"if x > 0: q['l']{change}\nreturn x"
    same(scene(f"l = {thing}; q = {{'l': l}}", body, "x, q", "q,", "l"))
    same(scene(f"l = {thing}; q = {{'l': l}}", body, "x", "", "l, q"))


def test_one_of_two_globals_is_changed_item_by_item() -> None:
    """B4: which one, a tensor decides."""
    body = "m = a if x > 0 else b\nm[0] = x\nreturn x"
    same(scene("a, b = [T(1)], [T(2)]", body, "x", "", "a, b"))


@pytest.mark.parametrize(
    ("setup", "body", "signature", "given"),
    [
        ("q = {'l': l}; r = l", "q['l'].append(x)", "x, q, r", "q, r"),
        ("q = {'l': l, 'm': l}", "q['l'].append(x)", "x, q", "q,"),
        ("q = [l, l]", "q[0].append(x)", "x, q", "q,"),
        ("q = {'l': l}; g = [l]", "q['l'].append(x); x = x + len(g[0])", "x", ""),
    ],
)
def test_two_names_on_one_side(setup: str, body: str, signature: str, given: str) -> None:
    """F3: both are arguments, or both are state: the one list is changed."""
    same(scene(f"l = [T(1)]; {setup}", f"if x > 0: {body}\nreturn x", signature, given, "l"))


@pytest.mark.parametrize(
    ("setup", "body", "signature", "given"),
    [
        ("q = {'l': l}; r = {'l': l}", "q['l'].append(x)", "x, q, r", "q, r"),
        ("q = {'l': l}", "q['l'].append(x); x = x + len(l)", "x, q", "q,"),
        ("q = {'l': l}; g = [l]", "q['l'].append(x); x = x + len(g[0])", "x, q", "q,"),
        ("b = Box(); b.l = l", "b.l.append(x); x = x + len(q)", "x, q, b", "l, b"),
        ("q = {'l': l}", "q['l'][0] = x; x = x + l[0]", "x, q", "q,"),
        ("q = {'l': l}", "q['d'] = x; q['l'].append(x)", "x, q", "q,"),
    ],
)
def test_two_names_within_the_function(setup: str, body: str, signature: str, given: str) -> None:
    """G1: refused; a program keeps arguments and state apart."""
    make = scene(f"l = [T(1)]; {setup}", f"if x > 0: {body}\nreturn x", signature, given, "l")
    with pytest.raises(ContainerInGraphError) as caught:
        same(make)
    assert caught.value.code == "D2S207"


def test_an_argument_that_becomes_state_later() -> None:
    """G1: the program was captured while they were two lists."""
    kept = [paddle.to_tensor(1.0)]

    def f(x, q):
        if x > 0:
            q.append(x)
        return x + len(kept)

    static = d2s.to_static(f)
    other = [paddle.to_tensor(1.0)]
    assert float(static(paddle.to_tensor(2.0), other)) == 3.0
    assert len(other) == 2
    with pytest.raises(ContainerInGraphError, match="'kept' as well"):
        static(paddle.to_tensor(2.0), kept)
    assert len(kept) == 1


def test_one_of_two_lists_that_swap_places_is_changed() -> None:
    """B4: what a tensor has swapped is known under two names each."""
    setup = "a, b = [T(1)], [T(2), T(3)]\nq = {'a': a, 'b': b}"
    body = "if x > 0:\n    q['a'], q['b'] = q['b'], q['a']\nq['a'].append(x)\nreturn x"
    same(scene(setup, body, "x, q", "q,", "a, b"))


class Keeper(paddle.nn.Layer):
    """Keeps what it has seen, under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = [paddle.to_tensor(1.0)]

    def forward(self, x):
        i = x * 0
        while i < x:
            self.kept.append(i)
            i = i + 1
        if x > 1:
            self.kept.append(x)
        return x + len(self.kept)


def test_the_list_of_a_layer() -> None:
    """F3: ``self`` of a method, and the variable that its caller calls it by, are one layer."""

    def play(layer: Any, convert: Any) -> list[Any]:
        alias = layer.kept

        def f(x):
            return layer(x)

        converted, found = convert(f), []
        for value in (2.0, -1.0, 3.0):
            found.append(float(converted(paddle.to_tensor(value))))
            assert layer.kept is alias
            found.append([float(item) for item in alias])
        return found

    assert play(Keeper(), d2s.to_static) == play(Keeper(), lambda f: f)


def test_unread_tensors_that_move_are_those_of_the_run() -> None:
    """F3: a list of the state is cut; what stays in it is what was there before this run."""

    def play(convert: Any) -> list[Any]:
        box = Box()
        box.items = [paddle.to_tensor(float(value)) for value in (1, 2, 3)]

        def f(x):
            box.items = [*box.items[1:], x]
            return x

        converted, found = convert(f), []
        for value in (4.0, 5.0, 6.0, 7.0):
            converted(paddle.to_tensor(value))
            found.append([float(item) for item in box.items])
        return found

    assert play(d2s.to_static) == play(lambda f: f)


IN_TUPLES = {
    "a branch": """
    outputs = (x * 2, x + 1)
    row = outputs[0][:, -1]
    if x.sum() > 0:
        row[:] = -1.0
        row[0] = -2.0
    return outputs, row
""",
    "a loop": """
    total = 0.0
    while x.sum() < 20:
        outputs = (x * 2, x + 1)
        row = outputs[0][:, -1]
        if x.sum() > 5:
            row[:] = -1.0
        total = total + row.sum() + outputs[0].sum()
        x = outputs[1]
    return total
""",
    "a tuple of a tuple": """
    outputs = (x * 2, (x + 1, x))
    other = outputs
    if x.sum() > 0:
        outputs[1][0][0] = 5.0
    return outputs, other
""",
    "another tuple since": """
    outputs = (x * 2, x + 1)
    first = outputs[0]
    if x.sum() > 0:
        outputs = (x,)
        first[0] = 5.0
    return outputs, first
""",
}


@pytest.mark.parametrize("where", IN_TUPLES)
def test_an_item_of_a_tuple_is_changed_in_place(where: str) -> None:
    """F3: a tuple shows what was written into a tensor that it holds, or into a view of it.

    As logits processors do: the logits are a part of the first output of a model.
    """
    function = function_of(f"def f(x):\n{IN_TUPLES[where]}", "f")
    static = d2s.to_static(function, full_graph=True)
    ones = paddle.ones([2, 3])
    assert_same(function, ones, -ones, 5 * ones, static=static, grad=False)
