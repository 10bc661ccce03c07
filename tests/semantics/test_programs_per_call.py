"""A function that is called in a loop settles after a few programs, and stays right (G2, H3)."""

from __future__ import annotations

import math
import warnings
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import ManyProgramsWarning
from tests.helpers import tensor

HALF = paddle.nn.initializer.Constant(0.5)


class Kept(paddle.nn.Layer):
    """Keeps every loss."""

    def __init__(self) -> None:
        super().__init__()
        self.history: list[Any] = []

    def forward(self, x: Any) -> Any:
        loss = (x * x).mean()
        self.history.append(loss)
        return loss


class KeptMany(Kept):
    """The same, with more items than anybody looks at."""

    def __init__(self) -> None:
        super().__init__()
        self.history = [0.0] * 1500


class KeptSome(Kept):
    """Keeps some."""

    def forward(self, x: Any) -> Any:
        if x.sum() > 3:
            self.history.append(x.mean())
        return x * 2


class KeptLast(Kept):
    """Keeps the last ones: what it does depends on how many there are."""

    def forward(self, x: Any) -> Any:
        self.history.append(x.mean())
        if len(self.history) > 3:
            self.history.pop(0)
        return x * len(self.history)


class Lazy(paddle.nn.Layer):
    """Makes an attribute on the first call."""

    def forward(self, x: Any) -> Any:
        if not hasattr(self, "scale"):
            self.scale = x.max()
        return x / self.scale


class LazyInside(paddle.nn.Layer):
    """Has such a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Lazy()

    def forward(self, x: Any) -> Any:
        y = self.inner(x)
        if y.sum() > 1.5:
            y = y * 2
        return y


class LazySometimes(paddle.nn.Layer):
    """Makes it on the first call that needs it."""

    def forward(self, x: Any) -> Any:
        if x.sum() > 4:
            if getattr(self, "scale", None) is None:
                self.scale = x.max()
            return x / self.scale
        return x


class LazyCaught(paddle.nn.Layer):
    """Asks by an exception, whatever it is."""

    def forward(self, x: Any) -> Any:
        try:
            k = self.previous
        except:  # noqa: E722
            k = x * 0
        self.previous = x
        return x + k


class Answers:
    """Has an answer for what is not there yet."""

    def __getattr__(self, name: str) -> Any:
        if name == "previous":
            return 5.0
        raise AttributeError(name)

    def __call__(self, x: Any) -> Any:
        y = x + self.previous
        self.previous = y
        return y


class Inputs(paddle.nn.Layer):
    """Keeps what it was called with, and reads it elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = paddle.nn.Linear(2, 2, weight_attr=HALF)

    def forward(self, x: Any) -> Any:
        self.inputs = {"image": x, "more": x + 1}
        return self.run()

    def run(self) -> Any:
        return self.linear(self.inputs["image"]) - self.inputs["more"]


class Said(paddle.nn.Layer):
    """Writes a text and a list that nobody in it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 0
        self.said = ""
        self.shape: Any = None

    def forward(self, x: Any) -> Any:
        self.n += 1
        self.said = f"step {self.n}"
        self.shape = list(x.shape)
        return x * 2


class SaidSometimes(paddle.nn.Layer):
    """Writes it on some runs: on the others it stays what it was."""

    def __init__(self) -> None:
        super().__init__()
        self.said: Any = "none"
        self.big: Any = None

    def forward(self, x: Any) -> Any:
        if x.sum() > 3:
            self.said = "big"
            self.big = x
        return x * 2


class SaidLate(SaidSometimes):
    """The same behind a return."""

    def forward(self, x: Any) -> Any:
        if x.sum() > 3:
            return x
        self.said = "small"
        return x * 2


class SaidInALoop(SaidSometimes):
    """The same in a loop."""

    def forward(self, x: Any) -> Any:
        while x.sum() > 3:
            self.said = "looped"
            x = x / 2
        return x * 2


class SaidInATry(SaidSometimes):
    """The same behind what may raise."""

    def forward(self, x: Any) -> Any:
        try:
            if x.sum() > 3:
                raise ValueError("big")
            self.said = "fine"
        except ValueError:
            x = x + 1
        return x * 2


class SaidInEachTrip(SaidSometimes):
    """A method that a loop calls puts it there, whatever was there before."""

    def note(self, x: Any) -> Any:
        self.said = []
        self.said.append(len(self.said))
        return x + 1

    def forward(self, x: Any) -> Any:
        while True:
            x = self.note(x)
            if x.sum() > 4:
                break
        return x


class SaidBeforeABranch(SaidSometimes):
    """What a branch may leave as it was is what the code has put there."""

    def note(self, x: Any) -> Any:
        if x.sum() > 3:
            self.said = 2.0
        return x * 2

    def forward(self, x: Any) -> Any:
        self.said = 1.0
        return self.note(x)


class SaidInABranchInABranch(SaidSometimes):
    """What the inner one may leave is new, what the outer one may leave is not."""

    def note(self, x: Any) -> Any:
        if x.max() > 5:
            self.said = 2.0
        return x * 2

    def forward(self, x: Any) -> Any:
        if x.sum() > 3:
            self.said = 1.0
            x = self.note(x)
        return x * 2


class Counts:
    """Counts in a list and a dict, under tensor conditions too."""

    def __init__(self) -> None:
        self.table = [0, 0]
        self.seen: dict[Any, int] = {}

    def __call__(self, x: Any) -> Any:
        if x.sum() > 5:
            self.table[0] += 1
        else:
            self.table[1] += 1
        key = "even"
        self.seen[key] = self.seen.get(key, 0) + 1
        return x * 2


MAKERS: list[tuple[Any, int]] = [
    (Kept, 1), (KeptMany, 1), (KeptSome, 1), (KeptLast, 5), (Lazy, 2), (LazyInside, 2),
    (LazySometimes, 3), (LazyCaught, 2), (Answers, 2), (Inputs, 1), (Said, 2), (Counts, 4),
    (SaidInEachTrip, 1), (SaidBeforeABranch, 3), (SaidInABranchInABranch, 4),
]  # fmt: skip


def shown(value: Any) -> Any:
    """All that can be seen of a value."""
    if isinstance(value, paddle.Tensor):
        return (str(value.dtype), value.tolist())
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    return [shown(item) for item in value] if isinstance(value, list | tuple) else value


NAMES = (
    "history", "scale", "previous", "inputs", "n", "said", "shape", "big", "table", "seen",
)  # fmt: skip


def state_of(thing: Any) -> Any:
    """The attributes that the objects here have."""
    found = {name: getattr(thing, name) for name in NAMES if hasattr(thing, name)}
    return shown({name: list(v) if name == "history" else v for name, v in found.items()})


def converted(thing: Any) -> Any:
    """The converted call of an object, and the programs of that."""
    if isinstance(thing, paddle.nn.Layer):
        static = d2s.to_static(thing)
        return static, static.forward
    function = d2s.to_static(thing.__call__)
    return function, function


@pytest.mark.parametrize(("make", "most"), MAKERS, ids=lambda part: getattr(part, "__name__", ""))
def test_settles(make: Any, most: int) -> None:
    """F3, G2: each of a dozen calls is what it is in dygraph; there are few programs."""
    plain, other = make(), make()
    static, programs = converted(other)
    for k in (1.0, 5.0, 2.0, 7.0, 3.0, 1.0, 4.0, 8.0, 0.5, 6.0, 2.0, 9.0):
        assert shown(static(tensor(k, 1.0))) == shown(plain(tensor(k, 1.0)))
        assert state_of(other) == state_of(plain)
    assert len(programs.programs) <= most


@pytest.mark.parametrize(
    "make",
    [
        *(SaidSometimes, SaidLate, SaidInALoop, SaidInATry),
        *(SaidInEachTrip, SaidBeforeABranch, SaidInABranchInABranch),
    ],
)
def test_what_some_runs_leave_as_it_was(make: Any) -> None:
    """F3: an attribute that only some runs write stays on the others what others have set."""
    plain, other = make(), make()
    static = d2s.to_static(other)
    for k in (1.0, 5.0, 1.0, 6.0, 2.0, 7.0):
        assert shown(static(tensor(k, 1.0))) == shown(plain(tensor(k, 1.0)))
        assert state_of(other) == state_of(plain)
        plain.said = other.said = f"set after {k}"


class Accumulates:
    """Makes a step every ``k`` calls."""

    def __init__(self, k: int) -> None:
        self.net = paddle.nn.Linear(2, 1, weight_attr=HALF)
        self.opt = paddle.optimizer.SGD(0.1, parameters=self.net.parameters())
        self.k = k
        self.n = 0

    def __call__(self, x: Any) -> Any:
        loss = (self.net(x) ** 2).mean()
        (loss / self.k).backward()
        self.n += 1
        if self.n % self.k == 0:
            self.opt.step()
            self.opt.clear_grad()
        if 10 - self.n < 2 and not self.n > 11:
            loss = loss * 2
        return loss


def test_a_step_every_few_calls() -> None:
    """G2: which side of a condition on a counter is meant is a guard, not the counter's value."""
    plain, other = Accumulates(3), Accumulates(3)
    static = d2s.to_static(other.__call__)
    for call in range(24):
        if call == 17:  # somebody else sets it
            plain.n = other.n = 4
        x = tensor(call % 3, 1.0).unsqueeze(0)
        assert static(x).tolist() == pytest.approx(plain(x).tolist(), rel=1e-5)
        assert other.n == plain.n
        assert other.net.weight.tolist() == [
            pytest.approx(row, rel=1e-5) for row in plain.net.weight.tolist()
        ]
    assert len(static.programs) <= 7
    plain.k = other.k = 2
    for call in range(6):
        x = tensor(call % 3, 1.0).unsqueeze(0)
        assert static(x).tolist() == pytest.approx(plain(x).tolist(), rel=1e-5)


SEEN: dict[str, int] = {}
LOG: dict[str, Any] = {"loss": [], "n": 0}


def count_keys(x, key):
    SEEN[key] = SEEN.get(key, 0) + 1
    return x * SEEN[key]


def keep_in_a_dict(x):
    LOG["loss"].append(x.mean())
    LOG["n"] += 1
    return x * 2


def test_counters_of_several_kinds_of_calls() -> None:
    """G2: what a call of another kind counts is no constant of this one's program."""
    SEEN.clear()
    static = d2s.to_static(count_keys)
    for k in range(12):
        assert static(tensor(1.0), "ab"[k % 2]).tolist() == [float(k // 2 + 1)]
    assert len(static.programs) <= 6
    assert SEEN == {"a": 6, "b": 6}


def test_a_list_in_a_dict_that_only_grows() -> None:
    """G2: nobody looks into it."""
    LOG.update(loss=[], n=0)
    static = d2s.to_static(keep_in_a_dict)
    for k in range(8):
        static(tensor(float(k)))
    assert [float(loss) for loss in LOG["loss"]] == [float(k) for k in range(8)]
    assert LOG["n"] == 8
    assert len(static.programs) <= 2


def test_who_looks_into_such_a_list_relies_on_it() -> None:
    """G2: in another function, too."""
    log: list[Any] = []

    def keep(x):
        log.append(x.mean())

    def f(x):
        keep(x)
        return x * len(log)

    static = d2s.to_static(f)
    assert [static(tensor(1.0)).tolist() for _ in range(4)] == [[1.0], [2.0], [3.0], [4.0]]


ALL: list[Any] = []


def mean_of_all(x):
    ALL.append(x)
    return paddle.stack(ALL).mean(0)


def with_a_number(x, step):
    return x * math.cos(step)


@pytest.mark.parametrize("function", [mean_of_all, with_a_number])
def test_what_never_settles_runs_in_dygraph(function: Any) -> None:
    """H3: with one warning; results stay what they are."""
    ALL.clear()
    static = d2s.to_static(function)
    items: list[Any] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(80):
            x = tensor(float(k), 1.0)
            items.append(x)
            if function is with_a_number:
                want, got = function(x, k), static(x, k)
            else:
                want, got = paddle.stack(items).mean(0), static(x)
            assert got.tolist() == pytest.approx(want.tolist(), rel=1e-5, abs=1e-6)
    assert [note.category for note in caught] == [ManyProgramsWarning]
    assert "dygraph" in str(caught[0].message)
    assert len(static.programs) < 25


def test_what_comes_again_is_a_program_again() -> None:
    """H3: some dozen values that come again and again have a program each."""
    static = d2s.to_static(with_a_number)
    for _ in range(3):
        for k in range(12):
            assert static(tensor(1.0), k).tolist() == pytest.approx([math.cos(k)])
    assert len(static.programs) == 12
    assert sum(program.runs for program in static.programs) == 36


i = 0
n = 0


def inner_variables(x: Any) -> Any:
    def local(y: Any) -> Any:
        n = y + 1
        return n * 2

    sizes = {i for i in range(3)}
    parts = [x * i for i in range(3)]
    return sum(parts) + local(x) * len(sizes) + (lambda i: i + 1)(x) + sum(i for i in (1, 2))


def test_variables_inside_are_no_globals() -> None:
    """G2: a global with the name of a variable of a comprehension, lambda or inner function."""
    global i, n
    f = d2s.to_static(inner_variables, full_graph=True)
    for i in range(4):
        n = i
        assert f(tensor(1.0, 2.0)).tolist() == inner_variables(tensor(1.0, 2.0)).tolist()
    assert len(f.programs) == 1


def test_a_global_beside_them_counts() -> None:
    """G2: read by an inner function, it is guarded."""
    global n

    def f(x: Any) -> Any:
        return [x * k + (lambda: n)() for k in range(2)]

    g = d2s.to_static(f, full_graph=True)
    for n in (1, 2, 1):
        assert [each.tolist() for each in g(tensor(1.0))] == [[n], [n + 1.0]]
    assert len(g.programs) == 2
