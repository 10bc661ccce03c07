"""What a run has done that fails, where the function may run in dygraph (rules F1, F4, H1)."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of, tensor

BEFORE = {
    "nothing": "pass",
    "a print": "print('sum', x.sum(), end='; ')",
    "two prints": "print(box.n)\nprint(x, sep='', end='')",
    "stderr": "print(box.n, file=sys.stderr)\nprint('out')",
    "an array": "box.total = box.total + float(np.sort(x.numpy())[0])",
    "a draw": "box.total = box.total + random.random()",
    "a draw and a print": "box.total = box.total + random.random()\nprint(box.total)",
}
FAILS = {
    "an index": ("y = x[k]", (0, 1, 2, 5, 1, 7, 0)),
    "a product": ("y = x @ paddle.ones([n, 2])", (3, 3, 4, 3, 2, 3, 3)),
    "in a branch": (
        "if x.sum() > 3:\n    print('big')\n    y = x[k]\nelse:\n    y = x",
        (0, 4, 1, 6, 2, 9, 0),
    ),
}
AROUND = {
    "alone": "BEFORE\nFAILS",
    "in a try": "try:\n    BEFORE\n    FAILS\nexcept (IndexError, ValueError):\n"
    "    box.failed += 1\n    y = x * 0",
    "with finally": "try:\n    BEFORE\n    FAILS\nfinally:\n    box.left += 1\n    print('left')",
    "with a manager": "with box.managed:\n    BEFORE\n    FAILS",
}


class Managed:
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __enter__(self) -> None:
        self.seen.append("in")

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.seen.append(kind and kind.__name__)


def filled(around: str, before: str, fails: str) -> str:
    """The body of the function."""
    lines = []
    for line in AROUND[around].split("\n"):
        gap = line[: len(line) - len(line.lstrip())]
        text = {"BEFORE": BEFORE[before], "FAILS": fails}.get(line.strip(), line.strip())
        lines += [gap + each for each in text.split("\n")]
    return "\n".join("    " + line for line in lines)


def made(body: str) -> tuple[Any, Any]:
    box = SimpleNamespace(n=0, total=0.0, failed=0, left=0, kept=[], managed=Managed())
    text = (
        "import random, sys\nimport numpy as np\ndef f(x, k, n):\n    box.n += 1\n"
        f"    box.kept.append(x.mean())\n{body}\n    return y * 2"
    )
    return function_of(text, "f", box=box), box


def seen(function: Any, box: Any, numbers: tuple[int, ...], capsys: Any) -> list[Any]:
    """What each call gives, prints and leaves behind."""
    random.seed(3)
    found = []
    for at, number in enumerate(numbers):
        x = tensor(1.0, 2.0, 3.0) * (at % 3 + 1)
        try:
            result = function(x, paddle.to_tensor(number), number).tolist()
        except (IndexError, ValueError) as error:
            result = type(error)
        kept = [float(each) for each in box.kept]
        left = box.n, box.total, box.failed, box.left, list(box.managed.seen)
        found.append((result, capsys.readouterr(), kept, left, random.random()))
    return found


@pytest.mark.sampled(24)
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("fails", FAILS)
@pytest.mark.parametrize("before", BEFORE)
def test_a_run_that_fails_is_repeated_in_dygraph(
    before: str, fails: str, around: str, capsys: Any
) -> None:
    """F1, F4, H1: state, prints, draws, handlers and managers see what dygraph shows them."""
    line, numbers = FAILS[fails]
    body = filled(around, before, line)
    plain, box = made(body)
    want = seen(plain, box, numbers, capsys)
    function, other = made(body)
    got = seen(d2s.to_static(function, full_graph=False), other, numbers, capsys)
    for one, two in zip(want, got, strict=True):
        assert one == two


def test_what_others_print_meanwhile_is_printed(capsys: Any) -> None:
    """F1: only the text that the run has printed is left out, once."""

    def f(x, k):
        print("one")
        y = x[k]
        print("two")
        return y

    static = d2s.to_static(f, full_graph=False)
    for k in (0, 1, 9, 2):
        try:
            static(tensor(1.0, 2.0, 3.0), paddle.to_tensor(k))
        except IndexError:
            print("one")
    assert capsys.readouterr().out == "one\ntwo\n" * 2 + "one\none\n" + "one\ntwo\n"


def test_an_index_out_of_range_that_is_printed_says_nothing_more(capfd: Any) -> None:
    """F1: Paddle's own words of what Python is given then are no output of the function."""

    def f(x, k):
        y = x[k]
        print("got", y)
        return y

    static = d2s.to_static(f, full_graph=False)
    for k in (0, 1, 5):
        try:
            static(tensor(1.0, 2.0, 3.0), paddle.to_tensor(k))
        except IndexError:
            pass
    assert "Traceback" not in capfd.readouterr().err


def test_slow_programs_that_run_once_each(monkeypatch: Any) -> None:
    """G2, H3: a list that grows makes a new program on each call, and soon none any more."""
    monkeypatch.setattr("d2s.program.dispatch.program_cache._MOST_SECONDS", 0.0)
    log: list[str] = []

    @d2s.to_static(full_graph=False)
    def f(x):
        log.append("trip")
        if x.sum() > 2:
            log.append("large")
        return x * len(log)

    want = 0
    for call in range(12):
        x = tensor(1.0, 2.0) * (call % 2)
        result = f(x)
        want += 2 if call % 2 else 1
        assert len(log) == want
        assert (result == x * want).all()
    assert f.captures < 6
