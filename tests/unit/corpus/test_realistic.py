"""The runner of realistic programs sees each kind of difference, and tells each verdict."""

from __future__ import annotations

import collections
import dataclasses
import doctest
import enum
import functools
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest

import corpus.realistic.__main__ as cli
from corpus.realistic import Raised, attempt, run, seen, verdicts
from corpus.realistic.run import Item, Judged, Run
from corpus.realistic.verdicts import Verdict
from tests.processes import python

ROOT = Path(__file__).parents[3]


def tensor(*values: float, dtype: str = "float32", stop: bool = True) -> paddle.Tensor:
    return paddle.to_tensor(list(values), dtype=dtype, stop_gradient=stop)


def with_grad(value: float) -> paddle.Tensor:
    x = tensor(1.0, stop=False)
    (x * value).sum().backward()
    return x


def text_of(want: object, got: object) -> tuple[str | None, list[str]]:
    """What is said about two values, and about their gradient flags."""
    flags: list[str] = []
    found = seen.difference(seen.seen("it", want), seen.seen("it", got), flags)
    return (found.text if found else None), flags


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Box:
    inside: object


class Counter:
    def __init__(self, count: int) -> None:
        self.count = count


class Slotted:
    __slots__ = ("inside",)

    def __init__(self, inside: object) -> None:
        self.inside = inside


class Net(paddle.nn.Layer):
    def __init__(self, scale: float, steps: int = 0) -> None:
        super().__init__()
        self.weight = self.create_parameter(
            [1], default_initializer=paddle.nn.initializer.Constant(scale)
        )
        self.register_buffer("mean", tensor(float(steps)))
        self.history = [0] * steps


Pair = collections.namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("want", "got", "says"),
    [
        (tensor(1.0), tensor(1.1), "is 1.1"),
        (tensor(1.0), tensor(1.0, dtype="float64"), "Tensor float64"),
        (tensor(1.0), tensor(1.0, 1.0), r"Tensor float32 \[2\]"),
        (tensor(1.0), paddle.to_tensor(1.0), r"Tensor float32 \[\]"),
        (tensor(float("nan")), tensor(0.0), "should be nan"),
        (tensor(1.0), 1.0, "is the float 1.0"),
        (tensor(1.0), np.ones([1], "float32"), "is ndarray"),
        (np.float32(1), np.ones([], "float32"), "is ndarray"),
        (with_grad(2.0), with_grad(3.0), r"it.grad is 3.0"),
        (with_grad(2.0), tensor(1.0, stop=False), "it.grad is missing"),
        (tensor(1.0, stop=False), with_grad(2.0), "it.grad is .* should not be there"),
        (1, True, "is the bool True, should be the int 1"),
        (1, 1.0, "is the float 1.0"),
        (0.5, 0.6, "is the float 0.6"),
        (None, 0, "is the int 0, should be None"),
        ("a", "b", "is the str 'b'"),
        ([1, 2], [1], "list of 1"),
        ([1], (1,), "tuple of 1"),
        ([[1]], [[2]], r"it\[0\]\[0\] is the int 2"),
        (collections.deque([1]), [1], "list of 1"),
        ({"a": 1}, {"b": 1}, r"it\['b'\] stands where it\['a'\] should be"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "stands where"),
        ({"a": 1}, collections.OrderedDict(a=1), "OrderedDict of 1"),
        ({1, 2}, {1, 3}, "set .*3"),
        (Pair(1, 2), (1, 2), "tuple of 2, should be Pair"),
        (Pair(1, 2), Pair(1, 3), r"it.b is the int 3"),
        (Colour.RED, Colour.BLUE, "Colour.BLUE, should be Colour.RED"),
        (Box(1), Box(2), r"it.inside is the int 2"),
        (Counter(1), Counter(2), r"it.count is the int 2"),
        (Counter(1), Box(1), "is Box, should be Counter"),
        (Slotted(1), Slotted(2), r"it.inside is the int 2"),
        (Net(1.0), Net(2.0), r"it.weight is 2.0"),
        (Net(1.0, 1), Net(1.0, 2), r"it.mean is 2.0"),
        (Net(1.0).eval(), Net(1.0), r"it.training is the bool True"),
        (Raised("ValueError", "no"), Raised("ValueError", "yes"), "raised ValueError: yes"),
        (Raised("ValueError", "no"), Raised("KeyError", "no"), "raised KeyError"),
        (Raised("ValueError", "no"), 1, "is the int 1, should be ValueError: no"),
        (1, Raised("ValueError", "no"), "raised ValueError: no, should be the int 1"),
        (paddle.float32, paddle.float64, "float64"),
        (slice(1, 2), slice(1, 3), "slice"),
    ],
)
def test_a_difference_is_seen(want: object, got: object, says: str) -> None:
    text, _ = text_of(want, got)
    assert text is not None
    assert re.search(says, text), text


@pytest.mark.parametrize(
    "make",
    [
        lambda: tensor(1.0, float("nan"), float("inf")),
        lambda: with_grad(2.0),
        lambda: [(1, "a"), {"k": {3, 1}}, np.arange(3), Colour.RED, slice(0, 1)],
        lambda: Net(1.0, 3),
        lambda: Box(Slotted(Counter(2))),
        lambda: Raised("ValueError", "no"),
        lambda: paddle.nn.functional.relu,
        lambda: float("nan"),
        lambda: paddle.optimizer.SGD(parameters=Net(1.0).parameters()),
    ],
)
def test_equal_values_are_equal(make: Callable[[], object]) -> None:
    assert text_of(make(), make()) == (None, [])


def test_what_is_seen_is_a_copy() -> None:
    x, box = tensor(1.0), Box([1])
    before = seen.seen("it", [x, box])
    x.set_value(tensor(5.0))
    box.inside = [2]
    assert seen.difference(before, seen.seen("it", [tensor(1.0), Box([1])]), []) is None


def test_rounding_is_no_difference_but_a_lost_digit_is() -> None:
    assert text_of(tensor(1.0), tensor(1.000001))[0] is None
    assert text_of(tensor(1.0), tensor(1.0001))[0] is not None
    assert text_of(tensor(1e4, 1e-3), tensor(1e4, 1.1e-3))[0] is None
    assert text_of(tensor(1.0, dtype="float64"), tensor(1.00001, dtype="float64"))[0] is not None
    assert text_of(tensor(3, dtype="int64"), tensor(4, dtype="int64"))[0] is not None


def test_a_flag_alone_is_collected() -> None:
    text, flags = text_of([tensor(1.0), tensor(2.0)], [tensor(1.0, stop=False), tensor(2.0)])
    assert text is None
    assert flags == ["it[0].stop_gradient is True in dygraph, False here"]


def test_an_object_inside_of_itself_is_seen_once() -> None:
    box, other = Box(None), Box(None)
    box.inside, other.inside = [box], [other]
    assert text_of(box, other)[0] is None
    other.inside = [Box([other])]
    assert text_of(box, other)[0] is not None


def test_a_code_makes_a_refusal_of_an_exception() -> None:
    raised = attempt(functools.partial(_raise, RuntimeError("D2S205: not this")))
    assert raised == Raised("RuntimeError", "D2S205: not this", "D2S205")
    found = seen.difference(seen.seen("it", 1), seen.seen("it", raised), [])
    assert found is not None
    assert found.code == "D2S205"


def test_of_paddles_errors_the_type_is_compared() -> None:
    one = attempt(lambda: paddle.ones([2]) @ paddle.ones([3]))
    two = attempt(lambda: paddle.concat([paddle.ones([2, 2]), paddle.ones([1, 3])]))
    assert isinstance(one, Raised)
    assert one == two


def _raise(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("want", "got", "same"),
    [
        ("loss 0.1234567\n", "loss 0.1234568\n", True),
        ("[0.5       , 1.]", "[0.50000001, 1.]", True),
        ("loss 0.12\n", "loss 0.13\n", False),
        ("step 1\n", "step 2\n", False),
        ("1", "1.0", False),
        ("a\n", "b\n", False),
        ("a\nb\n", "a\n", False),
        ("", "a", False),
        ("1.5 2.5", "1.52.5", False),
    ],
)
def test_printed_text(want: str, got: str, same: bool) -> None:
    assert (seen.text_difference(want, got) is None) is same


def test_doctests() -> None:
    for module in (seen, cli):
        assert doctest.testmod(module).failed == 0


# -- verdicts ------------------------------------------------------------------------------------

SOURCE = """
import os, time
import paddle
from corpus.realistic import attempt, program

class Counter:
    def __init__(self): self.n = 0
    def __call__(self, x):
        self.n += 1
        return x * self.n

@program
def one(convert):
    counter = Counter()
    f = convert(counter)
    for k in range(3):
        y = f(paddle.ones([2]) * k)
        print("call", k)
        yield y
    yield counter.n
    yield attempt(lambda: f("text" + 1))
"""


@pytest.fixture
def item(tmp_path: Path) -> Item:
    path = tmp_path / "made.py"
    path.write_text(SOURCE, encoding="utf-8")
    (found,) = run.items(tmp_path)
    assert (found.name, found.path) == ("one", path)
    return found


def plain(function: Callable[..., Any], **_: object) -> Callable[..., Any]:
    return function


def stuck(function: Callable[..., Any], **_: object) -> Callable[..., Any]:
    """A converter that always gives the first result."""
    return functools.cache(lambda x: function(paddle.zeros([2])))


def chatty(function: Callable[..., Any], **_: object) -> Callable[..., Any]:
    print("converting")
    return function


def flagged(function: Callable[..., Any], **_: object) -> Callable[..., Any]:
    def call(x: paddle.Tensor) -> paddle.Tensor:
        y = function(x)
        y.stop_gradient = False
        return y

    return call


def failing(function: Callable[..., Any], **_: object) -> Callable[..., Any]:
    raise TypeError("cannot")


def refusing(function: Callable[..., Any], **_: object) -> Callable[..., Any]:
    raise TypeError("D2S205: will not")


def ending(function: Callable[..., Any], **_: object) -> Callable[..., Any]:
    os._exit(3)


def sleeping(function: Callable[..., Any], **_: object) -> Callable[..., Any]:
    time.sleep(60)
    return function


@pytest.mark.parametrize(
    ("converter", "verdict", "says"),
    [
        (plain, "right", ""),
        (stuck, "WRONG", "record 1"),
        (chatty, "WRONG", "printed 'converting'"),
        (flagged, "gradient flag", "record 0.stop_gradient"),
        (failing, "failed", "record 0: TypeError: cannot"),
        (refusing, "refused", "record 0: TypeError: D2S205: will not"),
    ],
)
def test_judge(item: Item, converter: Any, verdict: str, says: str) -> None:
    judged = run.judge(item, lambda: converter)
    assert judged.verdict == verdict, judged
    assert judged.detail.startswith(says)
    assert judged.records == 5
    assert judged.bad is (verdict in ("WRONG", "failed"))


def test_a_crash_and_a_hang_are_verdicts(item: Item) -> None:
    (ended,) = run.run_all([item], f"{__name__}:ending", {}, 60, 1)
    (slept,) = run.run_all([item], f"{__name__}:sleeping", {}, 2, 1)
    assert (ended.verdict, ended.detail) == ("crash", "the process ended with 3")
    assert (slept.verdict, slept.detail) == ("hang", "no answer in 2 s")


def test_a_program_that_fails_in_dygraph_is_invalid(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(SOURCE.replace("yield counter.n", "yield counter.m"), encoding="utf-8")
    judged = run.judge(Item("one", path), lambda: plain)
    assert (judged.verdict, judged.bad) == ("invalid", True)
    assert "AttributeError" in judged.trace


def test_fewer_records_are_wrong() -> None:
    facts = seen.seen("record 0", 1)
    verdict = run.compare(Run([facts, facts], "", None, 0), Run([facts], "", None, 0))
    assert verdict == ("WRONG", "yields 1 values, should yield 2")


def test_names_of_programs_are_their_own(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(SOURCE, encoding="utf-8")
    with pytest.raises(ValueError, match="two programs are called one"):
        run.items(tmp_path)


def test_an_unknown_converter_says_so() -> None:
    for name in ("nothing_here:f", "math:nothing", "math"):
        with pytest.raises(run.UnknownConverterError, match="no converter"):
            run.converter(name, {})


def test_options_reach_the_converter(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: dict[str, object] = {}
    monkeypatch.setattr(os, "converting", lambda f, **k: taken.update(k), raising=False)
    run.converter("os:converting", {"a": 1, "b": 2})(len, b=3)
    assert taken == {"a": 1, "b": 3}


# -- tables and command line ---------------------------------------------------------------------


def test_a_first_verdict_is_never_written_again(tmp_path: Path) -> None:
    known = {"a": Verdict("failed", "at first")}
    later = verdicts.first(known, [Judged("a", "right"), Judged("b", "refused", "D2S205 0x12")])
    assert later == {"a": Verdict("failed", "at first"), "b": Verdict("refused", "D2S205 0x...")}
    verdicts.write(tmp_path / "first.json", later)
    assert verdicts.read(tmp_path / "first.json") == later
    assert verdicts.read(tmp_path / "none.json") == {}


def test_verdicts_of_today_replace_and_forget() -> None:
    known = {"a": Verdict("failed"), "gone": Verdict("right")}
    items = [Item("a", Path("x.py")), Item("b", Path("x.py"))]
    assert verdicts.now(known, [Judged("a", "right")], items) == {"a": Verdict("right")}


def test_counts() -> None:
    items = [Item("a", Path("x.py")), Item("b", Path("x.py")), Item("c", Path("y.py"))]
    first = {"a": Verdict("WRONG"), "b": Verdict("right"), "c": Verdict("refused")}
    table = verdicts.counts(items, first, {**first, "a": Verdict("right")}, "en")
    assert table.splitlines()[2:] == [
        "| `x` | 2 | 1 → 2 |  |  | 1 → 0 |  |  |  |",
        "| `y` | 1 |  |  | 1 → 1 |  |  |  |  |",
        "| all | 3 | 1 → 2 |  | 1 → 1 | 1 → 0 |  |  |  |",
    ]
    text = f"before\n{verdicts.BEGIN}old{verdicts.END}after\n"
    assert verdicts.page(text, table).startswith("before\n")
    assert table in verdicts.page(text, table)
    assert verdicts.page(verdicts.page(text, table), table) == verdicts.page(text, table)


def test_matching() -> None:
    items = [Item("beam_search", Path("decoding.py")), Item("newton", Path("solvers.py"))]
    assert cli.matching(items, ()) == items
    assert cli.matching(items, ("beam",)) == cli.matching(items, ("decod",)) == items[:1]
    with pytest.raises(ValueError, match="'bean_search'; the nearest are beam_search"):
        cli.matching(items, ("bean_search",))
    with pytest.raises(ValueError, match="the nearest are newton"):
        cli.matching(items, ("newtn",))
    with pytest.raises(ValueError, match="the nearest are shown by --list"):
        cli.matching(items, ("xyzzyx",))


def command(*arguments: str) -> Iterator[object]:
    done = python("-m", "corpus.realistic", *arguments)
    return iter((done.returncode, done.stdout, done.stderr))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"name": ["bisektion"]}, "the nearest are priority_and_bisection_structures"),
        ({"convert": "nothing_here:f"}, "no module for the converter"),
        ({"option": ["full_graph"]}, "an option is KEY=VALUE"),
        ({"record": True, "convert": "none"}, "recorded with d2s:to_static without options"),
    ],
)
def test_bad_arguments_end_with_2(arguments: dict[str, Any], says: str, capsys: Any) -> None:
    with pytest.raises(cli.typer.Exit) as end:
        cli.main(**arguments)
    out, error = capsys.readouterr()
    assert (end.value.exit_code, out) == (2, "")
    assert says in error


def test_a_run_from_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    status, out, _ = command("bisection_with", "--convert", "none", "--json", str(file))
    assert status == 0
    assert out.endswith("1 programs: 1 right\n")
    assert '"verdict": "right"' in file.read_text(encoding="utf-8")
