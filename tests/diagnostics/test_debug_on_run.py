"""Breakpoints, at capture and on the run; effects in programs that are saved (rules F1, F2).

The functions are compared with themselves in dygraph: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import bdb
import functools
import pdb
import subprocess
import sys
import textwrap
import warnings
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import LoweredEffectWarning
from tests.diagnostics.failing import seen, tensor

X = tensor(1.0, 2.0)
TWO = paddle.to_tensor(2)
FACTOR = 3


class Stops:
    """What a debugger sees each time that it is called."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __call__(self, *things: Any, **options: Any) -> None:
        frame = sys._getframe(1)
        shown = {name: plain(value) for name, value in frame.f_locals.items()}
        self.seen.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, shown))

    def taken(self) -> list[Any]:
        found, self.seen = self.seen, []
        return found


def plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, paddle.Tensor):
        return value.tolist()
    return value


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> Stops:
    """Called in the place of the debugger."""
    found = Stops()
    monkeypatch.setattr(sys, "breakpointhook", found)
    return found


def straight(x, n):
    y = x * 2
    pair = (y, {"n": n})
    breakpoint()
    return y + pair[1]["n"]


def in_a_branch(x, n):
    y = x * 2
    if y.sum() > 0:
        z = y + 1
        breakpoint()
        y = z * 2
    else:
        breakpoint()
    return y


def in_a_loop(x, n):
    name = "loop"
    for i in range(n):
        y = x + i
        if i > 0:
            breakpoint()
        x = y
    return x


def helper(y, scale):
    scaled = y * scale
    breakpoint()
    return scaled


def in_a_helper(x, n):
    total = x
    while total.sum() < 50:
        total = helper(total, 2.5)
    return total


def in_a_nested_function(x, n):
    offset = x.max()

    def shifted(y):
        if y.sum() > 0:
            y = y + offset
            breakpoint()
        return y

    return shifted(x)


class Layer(paddle.nn.Layer):
    def forward(self, x, n):
        h = x * 2
        breakpoint()
        return h


LAYER = Layer()


def in_a_layer(x, n):
    return LAYER(x, n) + 1


FUNCTIONS = [
    straight, in_a_branch, in_a_loop, in_a_helper, in_a_nested_function, in_a_layer,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_stops_on_the_run(function: Any, stops: Stops) -> None:
    """F2: as often, at the lines and with the variables of dygraph."""
    static = d2s.to_static(function)
    for x in (X, X * 3, -X + 4):
        want = function(x, TWO).tolist()
        at = stops.taken()
        with d2s.debug_on_run():
            assert static(x, TWO).tolist() == want
        assert stops.taken() == at
    assert at


def test_the_capture_stops_without_it(stops: Stops) -> None:
    """F2: once, while the program is captured; the two have programs of their own."""
    static = d2s.to_static(straight)
    line = straight.__code__.co_firstlineno + 3
    for count in (1, 0):
        static(X, TWO)
        assert [stop[1] for stop in stops.taken()] == [line] * count
    with d2s.debug_on_run():
        for _ in range(2):
            static(X, TWO)
            assert [stop[3]["y"] for stop in stops.taken()] == [[2.0, 4.0]]
    static(X, TWO)
    assert stops.taken() == []
    assert len(static.programs) == 2


def test_set_trace_of_pdb(monkeypatch, stops: Stops) -> None:
    """F2: ``pdb.set_trace()`` as well."""

    def f(x):
        y = x + 1
        pdb.set_trace()
        return y

    monkeypatch.setattr(pdb, "set_trace", made := named(stops))
    assert made.__module__ == "pdb"
    with d2s.debug_on_run():
        d2s.to_static(f)(X)
    (stop,) = stops.taken()
    assert stop[1] == f.__code__.co_firstlineno + 2
    assert stop[3]["y"] == [2.0, 3.0]


def named(stops: Stops) -> Any:
    """A function that looks like ``pdb.set_trace`` and tells ``stops`` of its caller."""

    def set_trace() -> None:
        frame = sys._getframe(1)
        shown = {name: plain(value) for name, value in frame.f_locals.items()}
        stops.seen.append((None, frame.f_lineno, frame.f_code.co_name, shown))

    set_trace.__module__ = "pdb"
    return set_trace


class Wrapped(Stops):
    """An object in the place of ``pdb.set_trace``, named like it, as a tool may put one there."""

    def __init__(self) -> None:
        super().__init__()
        functools.update_wrapper(self, named(self))


def test_an_object_in_the_place_of_set_trace() -> None:
    """F2: it is known by its name and stops on the run, with the values of the run."""
    stop = Wrapped()

    def f(x):
        y = x + 1
        stop()
        return y

    static = d2s.to_static(f)
    with d2s.debug_on_run():
        for x in (X, X * 2):
            static(x)
            (found,) = stop.taken()
            assert found[3]["y"] == (x + 1).tolist()


def test_the_next_line_is_the_next_line(monkeypatch) -> None:
    """F2: "next" from the place of the stop comes to the line below, as it does in dygraph."""
    found: list[int] = []

    def trace(frame: Any, event: str, given: Any) -> Any:
        if event == "line":
            found.append(frame.f_lineno)
        return trace

    def hook() -> None:
        frame = sys._getframe(1)
        frame.f_trace = trace
        sys.settrace(lambda *given: None)

    monkeypatch.setattr(sys, "breakpointhook", hook)
    before = sys.gettrace()
    nexts = []
    for function in (straight, d2s.to_static(straight)):
        try:
            with d2s.debug_on_run():
                function(X, TWO)
        finally:
            sys.settrace(before)
        nexts.append(found[:1])
        found.clear()
    assert nexts == [[straight.__code__.co_firstlineno + 4]] * 2


def test_a_frame_has_the_globals_of_the_function(monkeypatch) -> None:
    """F2: what is typed in the debugger means what it means in the function."""
    found = []

    def hook() -> None:
        frame = sys._getframe(1)
        found.append(eval("FACTOR * y.sum().item()", frame.f_globals, frame.f_locals))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    with d2s.debug_on_run():
        d2s.to_static(straight)(X, TWO)
    assert found == [18.0]


def test_what_the_debugger_raises() -> None:
    """F2: leaving the debugger ends the call, at the user's line; the function works after."""

    def f(x):
        if x.sum() > 0:
            breakpoint()
        return x * 2

    def quit_(*things: Any) -> None:
        raise bdb.BdbQuit

    static = d2s.to_static(f)
    before = sys.breakpointhook
    sys.breakpointhook = quit_
    try:
        with d2s.debug_on_run():
            got = seen(static, X)
            assert got.type is bdb.BdbQuit
            line = f.__code__.co_firstlineno + 2
            assert got.frames[-2:] == [(line, "f"), (quit_.__code__.co_firstlineno + 1, "quit_")]
            assert static(-X).tolist() == [-2.0, -4.0]
    finally:
        sys.breakpointhook = before


SCRIPT = """
    import paddle, d2s

    @d2s.to_static
    def f(x, n):
        for i in range(n):
            y = x + i
            breakpoint()
            x = y * 2
        return x

    with d2s.debug_on_run():
        print("result", f(paddle.ones([2]), paddle.to_tensor(2)).tolist())
"""


def driven(tmp_path: Any, text: str, commands: str, **environment: str) -> str:
    """What a real pdb prints when it is given ``commands``."""
    file = tmp_path / "net.py"
    file.write_text(textwrap.dedent(text).lstrip("\n"))
    given = {"PYTHONPATH": ":".join(sys.path), "GLOG_minloglevel": "3", **environment}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(file)],
        input=commands, capture_output=True, text=True, env=given, timeout=300, check=False,
    )  # fmt: skip
    return done.stdout.replace(str(file), "net.py")


def test_a_real_debugger(tmp_path) -> None:
    """F2: pdb stands at the user's line in the user's function, and prints real values."""
    text = driven(tmp_path, SCRIPT, "p i, y.tolist(), sorted(locals())\nc\np i, y.tolist()\nc\n")
    stop = (
        "> net.py(8)f()\n-> x = y * 2\n"
        if sys.version_info < (3, 13)
        else "> net.py(7)f()\n-> breakpoint()\n"
    )
    assert text == (
        f"{stop}(Pdb) (0, [1.0, 1.0], ['i', 'n', 'x', 'y'])\n"
        f"(Pdb) {stop}(Pdb) (1, [3.0, 3.0])\n"
        "(Pdb) result [6.0, 6.0]\n"
    )


def test_the_variable_of_the_environment(tmp_path) -> None:
    """F2: ``D2S_DEBUG_ON_RUN=1`` is the same for a whole process."""
    text = SCRIPT.replace("with d2s.debug_on_run():", "if True:")
    printed = driven(tmp_path, text, "p y.tolist()\nc\nc\n", D2S_DEBUG_ON_RUN="1")
    assert "(Pdb) [1.0, 1.0]\n" in printed
    assert printed.endswith("result [6.0, 6.0]\n")


# -- saved -----------------------------------------------------------------------------------------

SPEC = [paddle.static.InputSpec([2], "float32", "x")]


def full_of_effects(x):
    print("x is", x)
    breakpoint()
    if x.sum() > 0:
        assert x.max() < 5, "too large"
        print(f"the sum is {x.sum()}, good")
    else:
        raise ValueError("negative")
    return x * 2


def saved(function: Any, path: str) -> list[warnings.WarningMessage]:
    """The warnings about effects of saving ``function``."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        d2s.save(d2s.to_static(function), path, input_spec=SPEC)
    return [each for each in caught if issubclass(each.category, LoweredEffectWarning)]


def test_saving_says_once_what_becomes_of_effects(tmp_path, stops: Stops) -> None:
    """F1: one warning with each kind of effect and its lines, at the first of them."""
    (warning,) = saved(full_of_effects, str(tmp_path / "model"))
    first = full_of_effects.__code__.co_firstlineno
    assert str(warning.message) == (
        "a saved program runs without Python: "
        f"print shows the tensors, in Paddle's format (lines {first + 1}, {first + 5}); "
        f"breakpoint() is left out (line {first + 2}); "
        f"assert fails without its message (line {first + 4}); "
        f"the ValueError is a failed assertion (line {first + 7})  [D2S403]"
    )
    assert (warning.filename, warning.lineno) == (__file__, first + 1)
    assert stops.taken() == []


def test_a_function_without_effects_is_saved_in_silence(tmp_path) -> None:
    """F1."""
    assert saved(lambda x: x * 2, str(tmp_path / "model")) == []


@pytest.mark.filterwarnings("ignore:a saved program runs without Python")
def test_effects_of_a_loaded_program(tmp_path, stops: Stops, capfd) -> None:
    """F1: the file has them: printed in order, with the text before each; failing at their line."""
    path = str(tmp_path / "model")
    d2s.save(d2s.to_static(full_of_effects), path, input_spec=SPEC)
    loaded = d2s.load(path)
    capfd.readouterr()
    assert loaded(X).tolist() == [2.0, 4.0]
    printed = capfd.readouterr()
    lines = (printed.out + printed.err).splitlines()
    told = [line.strip() for line in lines if "message" in line or "data" in line]
    assert told == [
        "- message: x is", "- data: [1.000000 2.000000]",
        "- message: the sum is", "- data: [3.000000]",
    ]  # fmt: skip
    first = full_of_effects.__code__.co_firstlineno
    for x, line in ((X * 10, first + 4), (-X, first + 7)):
        for _ in range(2):
            got = seen(loaded, x)
            assert (got.type, got.frames) == (AssertionError, [(line, "full_of_effects")])
    assert loaded(X).tolist() == [2.0, 4.0]
    assert stops.taken() == []


def logs(x):
    import logging

    logging.getLogger("d2s.tests").warning("sum %s", x.sum())
    return x * 2


def test_logging_is_left_out_of_a_file(tmp_path) -> None:
    """F1: and said."""
    (warning,) = saved(logs, str(tmp_path / "model"))
    line = logs.__code__.co_firstlineno + 3
    assert f"warning() of logging is left out (line {line})" in str(warning.message)


def test_behind_the_last_line_of_a_body_another_line_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F2: a debugger stops where a line begins: at the loop or branch that the body belongs to."""
    lines: list[tuple[int, int]] = []

    def hook() -> None:
        frame = sys._getframe(1)
        found = [line for _, _, line in frame.f_code.co_lines() if line is not None]
        lines.append((frame.f_lineno, found[-1]))

    monkeypatch.setattr(sys, "breakpointhook", hook)

    def f(x):
        while x.sum() < 3:
            x = x + 1
            breakpoint()
        if x.sum() > 0:
            x = x + 1
            breakpoint()
        breakpoint()
        return x

    with d2s.debug_on_run():
        d2s.to_static(f)(paddle.to_tensor([1.0]))
    first = f.__code__.co_firstlineno
    found = [(at - first, behind - first) for at, behind in lines]
    assert found == [(3, 1), (3, 1), (6, 4), (7, 8)]
