"""What is asked of a list whose length the run decides (rules C3, C5, D1, D3)."""

from __future__ import annotations

import textwrap
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError, UnsupportedInGraphError
from tests.helpers import assert_same, function_of, tensor

POSITIVE, NEGATIVE, SMALL = tensor(1.0, 2.0), tensor(-1.0, 0.0), tensor(0.5, 0.25)


GROWN = """
import collections

Pair = collections.namedtuple("Pair", "a b")

class Holder:
    pass

def f(x):
    out = [{item}]
    n = paddle.zeros([])
    while n < 3:
        out.append({item} * n)
        n = n + 1
{after}
"""


AFTER_LINE = 14
"""On which line of that text the part stands that comes after the loop."""


def grown(after: str, item: str = "x") -> Any:
    """A function that grows ``out`` in a static loop, and then does ``after``."""
    return function_of(GROWN.format(item=item, after=textwrap.indent(after, "    ")), "f")


def refused(function: Any, kind: Any, words: str, line: int, *arguments: Any) -> None:
    """A direct call is refused with these words, at this line of the function's file."""
    with pytest.raises(kind, match=words) as caught:
        d2s.to_static(function)(*(arguments or (POSITIVE,)))
    assert f":{line}: " in str(caught.value)


@pytest.mark.parametrize(
    "after",
    [
        "out *= 2\nreturn out",
        "out *= -1\nreturn out, len(out)",
        "out[0:1] = out\nreturn out",
        "out[:] = [x]\nreturn out",
        "out[0:2] = (x, x * 2)\nreturn out",
        "out.extend(x.reshape([1, 2]))\nreturn out",
        "out.extend({'a': x}.values())\nreturn out",
        "out.extend(v * 2 for v in [x, x])\nreturn out",
        "k = 1 if x.sum() > 0 else 0\nreturn out[k]",
        "return out * (2 if x.sum() > 0 else 3)",
        "return 1 if out else 2, bool(out), not out",
        "while out:\n    x = x + out.pop()\nreturn x",
    ],
)
def test_a_list_is_changed_as_a_whole(after: str) -> None:
    """D1: values and gradients, also where a choice or a tensor says how."""
    assert_same(grown(after), POSITIVE, NEGATIVE)


def test_rows_that_the_run_counts_are_appended() -> None:
    """D1: a tensor of open length gives as many items as it has rows then."""
    after = "m = paddle.masked_select(x, x > 0)\nout.extend(paddle.stack([m, m], 1))\nreturn out"
    assert_same(grown(after), POSITIVE, NEGATIVE, SMALL)


@pytest.mark.parametrize("what", ["==", "!="])
def test_a_list_is_compared_with_the_empty_one_and_itself(what: str) -> None:
    """D1: everything else that a list may equal is refused, at its line."""
    after = f"b = out {what} []\nout.clear()\nreturn b, out {what} [], out {what} out"
    assert_same(grown(after), POSITIVE)
    refused(
        grown(f"return out {what} [x]"), ContainerInGraphError, "compared with another", AFTER_LINE
    )


@pytest.mark.parametrize(
    "after",
    [
        "return out.index(x.sum()), out.index(x.sum() * 2)",
        "return out.index(x.sum(), 0, 2)",
        "out.remove(x.sum())\nreturn out",
        "out.remove(9.0)\nreturn out",
        "try:\n    out.remove(9.0)\nexcept ValueError:\n    x = x * 2\nreturn out, x",
        "try:\n    return out.index(9.0)\nexcept ValueError:\n    return -1",
        "k = x.sum() if x.sum() > 0 else 1\nreturn k in out, out.count(k)",
        "return None in out",
        "return out.count((x, x))",
    ],
)
def test_an_item_is_looked_for(after: str) -> None:
    """D1: where it stands, or the ValueError of the run that a ``try`` may catch."""
    assert_same(grown(after, "x.sum()"), POSITIVE, SMALL)


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ("out[::2] = [x]", "an extended slice of 'out', .* is assigned"),
        ("del out[::2]", "an extended slice of 'out', .* is deleted"),
        ("return out[:: x.sum().astype('int64')]", "a tensor decides the step of a slice"),
        ("return out.index(x)", r"tensors of shape \[2\] are compared in 'out'"),
        ("out.append(out)", "'out', whose length a tensor decides, is put into itself"),
    ],
)
def test_what_no_program_can_do_with_a_list(after: str, words: str) -> None:
    """D1: a coded error at the line that asks for it, never one of Paddle's."""
    refused(grown(f"{after}\nreturn out"), ContainerInGraphError, words, AFTER_LINE)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda out, x: x in out, r"tensors of shape \[2\] are compared"),
        (lambda out, x: out.__contains__(x), r"tensors of shape \[2\] are compared"),
    ],
)
def test_code_that_stays_python_asks_a_list(function: Any, words: str) -> None:
    """D1: only the run knows the answer."""
    made = function_of(GROWN.format(item="x", after="    return g(out, x)"), "f", g=function)
    with pytest.raises(ContainerInGraphError, match=words):
        d2s.to_static(made)(POSITIVE)


@pytest.mark.parametrize(
    "after",
    [
        "out.extend([[x], x.sum()])",
        "out.append(x.sum())",
        "out[1:] = x",
        "out[-1] = None",
        "out.append(out[:])",
        "out.insert(0, [])",
    ],
)
def test_items_of_other_kinds_come_behind_the_loop(after: str) -> None:
    """D3: each item is what it was."""
    assert_same(grown(f"{after}\nreturn out, len(out)"), POSITIVE, NEGATIVE)


@pytest.mark.parametrize("second", ["(n, n)", "n.astype('int64')", "int(n)"])
@pytest.mark.parametrize("join", ["out.extend(other)", "out = out + other", "out += other"])
def test_two_lists_with_other_items_are_joined(second: str, join: str) -> None:
    """D1, D3: one list, whose items are what they were."""
    after = (
        f"other = []\nwhile n < 6:\n    other.append({second})\n    n = n + 1\n{join}\nreturn out"
    )
    assert_same(grown(after, "x.sum()"), POSITIVE, SMALL)


APPENDING = """
def f(x):
    out = {begin}
    n = paddle.zeros([])
    while n < 3:
        {append}
        n = n + 1
    return out
"""


def test_what_cannot_be_an_item() -> None:
    """D1, D3: what has no form as tensors is refused at its line."""
    function = function_of(APPENDING.format(begin="[]", append="out.append(object())"))
    refused(function, ContainerInGraphError, "a value of type 'object' is put into a list", 4)


@pytest.mark.parametrize(
    ("begin", "append"),
    [
        ("[]", "out.append(())"),
        ("[]", "out.append([])"),
        ("[(x, 1)]", "out.append([x, 1])"),
        ("[x]", "out.append(n)"),
        ("[0]", "out.append(n if n > 1 else None)"),
        ("[1, 2.5, True]", "out.append(int(n))"),
        ("[]", "out.append(x if n > 0 else (x, 'end'))"),
        ("[]", "out.append([x] if n > 0 else [x, n])"),
        ("[]", "out.append({'a': [n, [n]]} if n > 1 else {'a': [n]})"),
        ("[[x], [x, x]]", "out.append([n])"),
        ("['no']", "out.append(n if n > 1 else 'small')"),
    ],
)
def test_items_are_of_several_kinds(begin: str, append: str) -> None:
    """D3: each of them is what it was, the ones from before the loop too."""
    assert_same(function_of(APPENDING.format(begin=begin, append=append)), POSITIVE, NEGATIVE)


def test_items_are_named_tuples_and_dicts() -> None:
    """D3: a structure with a fixed form, appended with and without a condition."""

    assert_same(
        function_of(
            """
            import collections

            Pair = collections.namedtuple("Pair", "a b")

            def f(x):
                out, others = [], []
                n = paddle.zeros([])
                while n < 3:
                    out.append(Pair(x * n, n))
                    if n > 0:
                        others.append({"a": x * n, "b": (n, 1)})
                    n = n + 1
                last = out[-1]
                return out, last, last.b, others, others[1]["a"], others[-1]
            """,
            "f",
        ),
        POSITIVE,
        NEGATIVE,
    )


def test_an_item_may_be_unbound_on_another_path() -> None:
    """C3: the run raises what dygraph raises where the item is missing."""

    def f(x):
        out = []
        n = paddle.zeros([])
        if x.sum() > 0:
            v = x
        while n < 3:
            out.append(v)
            n = n + 1
        return out

    assert_same(f, POSITIVE, NEGATIVE)


@pytest.mark.parametrize(
    "after",
    [
        "t = tuple(out)\nt.append(x)\nreturn t",
        "return out.frobnicate",
        "return hasattr(out, 'append'), hasattr(out, 'keys')",
        "return type(out) is list, isinstance(out, list), isinstance(out, tuple)",
    ],
)
def test_a_list_has_the_attributes_of_a_list(after: str) -> None:
    """E1: what it has not raises Python's AttributeError."""
    assert_same(grown(after), POSITIVE)


@pytest.mark.parametrize("change", ["t.pop()", "t[0] = x", "del t[0]", "t.insert(0, x)"])
def test_a_tuple_of_items_is_not_changed(change: str) -> None:
    """A1: it raises, at its line, and changes nothing."""
    function = grown(f"t = tuple(out)\n{change}\nreturn t")
    for which in (function, d2s.to_static(function)):
        with pytest.raises((AttributeError, TypeError), match="'tuple' object"):
            which(POSITIVE)


@pytest.mark.parametrize(
    "partner",
    [
        "x",
        "[1, 2]",
        "out",
        "out[:-1]",
        "[x.sum(), x.max()]",
        "[x.sum()] * 9",
    ],
)
@pytest.mark.parametrize("strict", ["", ", strict=True"])
def test_partners_of_a_list(partner: str, strict: str) -> None:
    """C5: the shorter one ends the loop, and with ``strict`` the run raises what Python does."""
    after = f"return [(a, b) for a, b in zip(out, {partner}{strict})]"
    assert_same(grown(after, "x.sum()"), POSITIVE, SMALL)


def test_a_tensor_of_dygraph_beside_a_list() -> None:
    """C5: its rows are items too."""
    after = "return [a + b for a, b in zip(out, OTHER)], [a * b for a, b in zip(OTHER, out)]"
    text = GROWN.format(item="x.sum()", after=textwrap.indent(after, "    "))
    assert_same(function_of(text, "f", OTHER=tensor(3.0, 4.0)), POSITIVE, SMALL)


@pytest.mark.parametrize("partner", ["['a', 'b']", "[]", "[x, None]"])
def test_partners_that_no_program_can_index(partner: str) -> None:
    """C5: text and nothing have no place in a tensor."""
    after = f"return [b for a, b in zip(out, {partner})]"
    words = "a Python sequence of other things than tensors"
    refused(grown(after), UnsupportedInGraphError, words, AFTER_LINE)
