"""Errors of the user's Python, at capture and of effects: those of dygraph, frame by frame.

The functions are compared with themselves in dygraph: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import linecache
import signal
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import paddle
import pytest

import d2s
from d2s.diagnostics.location import is_ours
from d2s.errors import AmbiguousValueError
from tests.diagnostics.failing import Seen, ints, seen, seen_in, tensor
from tests.processes import python

X = tensor(1.0, 2.0, 3.0)
SETTINGS = {"size": 3}


class Twist(Exception):
    def __init__(self, code: int, *, reason: str) -> None:
        super().__init__(f"twist {code}: {reason}")
        self.code = code
        self.reason = reason


def chain(error: BaseException) -> list[Any]:
    """All of ``error``: what it holds, its frames and notes, and what it was caused by."""
    found: list[Any] = []
    each: BaseException | None = error
    while each is not None:
        frames = [
            (frame.lineno, frame.name)
            for frame in traceback.extract_tb(each.__traceback__)
            if not is_ours(frame.filename) and frame.filename == __file__
        ]
        found.append(
            (
                type(each),
                [str(item).split(" (at /")[0] for item in each.args],
                {name: value for name, value in vars(each).items() if name != "__notes__"},
                [note for note in getattr(each, "__notes__", ()) if not note.startswith("d2s: ")],
                frames if each is not error else frames[1:],
                each.__suppress_context__,
            )
        )
        each = each.__cause__ if each.__cause__ is not None else each.__context__
    return found


def hidden_in(error: BaseException) -> list[str]:
    """Frames of ours and Paddle's in ``error`` and in all that is printed with it."""
    found: list[str] = []
    pending, known = [error], set()
    while pending:
        each = pending.pop()
        if id(each) in known:
            continue
        known.add(id(each))
        found += [
            f"{frame.name} in {type(each).__name__}"
            for frame in traceback.extract_tb(each.__traceback__)
            if is_ours(frame.filename)
        ]
        pending += [other for other in (each.__cause__, each.__context__) if other is not None]
        pending += getattr(each, "exceptions", ())
    return found


def same(function: Any, static: Any, *arguments: Any) -> Seen:
    """Both raise the same, twice; what the static one raises."""
    want = seen(function, *arguments)
    for _ in range(2):
        got = seen(static, *arguments)
        assert got.facts == want.facts
        assert chain(got.error) == chain(want.error)
        assert hidden_in(got.error) == []
    return got


def wrong_shape(x):
    y = x + 1
    return y.reshape([2, 2])


def sum_of(values, others):
    return (
        values
        + others
    )  # fmt: skip


def in_a_helper(x):
    y = x * 2
    z = sum_of(y, paddle.ones([4]))
    return z


def missing_attribute(x):
    return x.no_such_thing + 1


def missing_key(x):
    if x is not None:
        return x * SETTINGS["width"]
    return x


def division(x):
    for i in range(3):
        x = x + 1 / (2 - i)
    return x


def in_a_while(x):
    left = 3
    while left > 0:
        left = left - 1
        if left == 1:
            x = x @ paddle.ones([2, 2])
    return x


def in_a_lambda(x):
    widen = lambda v: v.reshape([7])
    return widen(x)


def in_an_operand(x):
    return x is not None and SETTINGS["none"] and x


def in_a_ternary(x):
    return x if x is None else [][7]


def of_the_users(x):
    raise Twist(4, reason="as it is")


def with_a_cause(x):
    try:
        return SETTINGS["cause"]
    except KeyError as error:
        raise Twist(5, reason="no entry") from error


def with_a_context(x):
    try:
        return x.reshape([5])
    except ValueError:
        return SETTINGS["context"]


def without_a_context(x):
    try:
        return sum_of(x, paddle.ones([4]))
    except ValueError:
        raise RuntimeError("plain") from None


def without_a_message(x):
    for _ in [1]:
        raise LookupError


def once_more(x):
    try:
        in_a_helper(x)
    except ValueError:
        raise


def once_more_by_name(x):
    try:
        missing_key(x)
    except KeyError as error:
        raise error


class Inner(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.linear = paddle.nn.Linear(4, 2)

    def forward(self, x):
        return self.linear(x)


INNER = Inner()


def in_a_sublayer(x):
    return INNER(x) + 1


class Box:
    @property
    def content(self):
        return self.no_field

    def __len__(self):
        raise Twist(6, reason="no length")

    def __enter__(self):
        return self

    def __exit__(self, *things):
        raise Twist(7, reason="left")

    @staticmethod
    def static(x):
        return x[0][0][0][0]


def in_a_property(x):
    return x + Box().content


def in_a_method_of_python(x):
    return x + len(Box())


def in_a_context(x):
    with Box():
        x = x.reshape([9])
    return x


def in_a_static_method(x):
    return Box.static({0: [(1,)]})


def in_sorted(x):
    return sorted([3, 1], key=lambda item: SETTINGS[item])


def unpacking(x):
    a, b = [1, 2, 3]
    return x


def in_a_match(x):
    match SETTINGS["size"]:
        case 3:
            return x.reshape([4])
    return x


def items():
    yield 1
    raise Twist(8, reason="no more")


def in_a_generator(x):
    for item in items():
        x = x + item
    return x


def wrapped(function):
    @functools.wraps(function)
    def outer(x):
        return function(x + 1)

    return outer


@wrapped
def decorated(x):
    return x.reshape([8])


FUNCTIONS = [
    wrong_shape, in_a_helper, missing_attribute, missing_key, division, in_a_while, in_a_lambda,
    in_an_operand, in_a_ternary, of_the_users, with_a_cause, with_a_context, without_a_context,
    without_a_message, once_more, once_more_by_name, in_a_sublayer, in_a_property,
    in_a_method_of_python, in_a_context, in_a_static_method, in_sorted, unpacking, in_a_match,
    in_a_generator, decorated,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_errors_at_capture(function: Any) -> None:
    """A1: type, message, attributes, chain and frames, and no frame of ours anywhere."""
    same(function, d2s.to_static(function), X)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_after_an_effect(function: Any, capfd) -> None:
    """A1, F1: each run raises what comes after a ``print``; with the same frames."""

    def f(x):
        print(x.sum())
        return function(x)

    static = d2s.to_static(f)
    want, printed = seen(f, X), capfd.readouterr().out
    for _ in range(2):
        got = seen(static, X)
        assert capfd.readouterr().out == printed
        assert (got.type, got.text) == (want.type, want.text)
        assert got.frames[-1] == want.frames[-1]
        assert hidden_in(got.error) == []


def under_conditions(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``function`` where only the run knows whether it is called."""

    def f(x):
        if x.sum() > 0:
            y = function(x)
            return y
        return x

    return f


KEPT = [f for f in FUNCTIONS if f not in (with_a_context, once_more, once_more_by_name)]


@pytest.mark.parametrize("function", KEPT, ids=lambda f: f.__name__)
def test_in_a_branch_that_a_tensor_decides(function: Any) -> None:
    """F1: raised on the runs that come there, as dygraph raises it; other runs work."""
    f = under_conditions(function)
    static = d2s.to_static(f)
    assert static(-X).tolist() == (-X).tolist()
    same(f, static, X)
    assert static(-X).tolist() == (-X).tolist()
    assert len(static.programs) == 1


# -- assert and raise ------------------------------------------------------------------------------


def positive(x, what):
    assert x.min() > 0, f"{what} is {float(x.min())}"
    return x


def asserts_in_a_helper(x):
    y = positive(x, "x")
    z = positive(
        y - 2,
        "y",
    )
    return z


def asserts_in_a_loop(x):
    for i in range(x.sum().astype("int64")):
        x = x - 1
        assert x.sum() > 0, (i, x)
    return x


def raises_in_a_helper(x):
    def check(y):
        if y.max() > 2:
            if y.min() < 5:
                raise Twist(9, reason="inside") from KeyError("cause")
        return y

    return check(x) + check(-x)


def raises_in_a_while(x):
    while x.sum() < 100:
        x = x * 2
        if x.max() > 40:
            raise ValueError("too large", x.max(), 3)
    return x


def raises_in_a_handler(x):
    try:
        if x.sum() > 0:
            raise KeyError("first")
    except KeyError as error:
        raise Twist(10, reason="second") from error
    return x


def raises_again(x):
    try:
        if x.sum() > 0:
            y = positive(-x, "minus x")
    except AssertionError as error:
        raise error
    return x


def exits(x):
    if x.sum() > 0:
        sys.exit("stopped")
    return x


EFFECTS = [
    asserts_in_a_helper, asserts_in_a_loop, raises_in_a_helper, raises_in_a_while,
    raises_in_a_handler, raises_again, exits,
]  # fmt: skip


@pytest.mark.parametrize("function", EFFECTS, ids=lambda f: f.__name__)
def test_effects(function: Any) -> None:
    """F1: original type, arguments, cause; the frames of all functions on the way."""
    static = d2s.to_static(function)
    want, got = seen(function, X), seen(static, X)
    assert (got.type, got.text) == (want.type, want.text)
    assert [str(item) for item in got.error.args] == [str(item) for item in want.error.args]
    assert got.frames == want.frames
    assert type(got.error.__cause__) is type(want.error.__cause__)
    assert hidden_in(got.error) == []
    again = seen(static, X)
    assert again.facts == got.facts
    assert again.error is not got.error


def test_the_message_of_an_assertion_that_holds() -> None:
    """A1: Python makes the message when it is needed."""
    names = ["a", "b"]

    def f(x):
        assert x.max() < 3, f"class {names[7]}"
        return x * 2

    static = d2s.to_static(f)
    assert static(-X).tolist() == f(-X).tolist()
    same(f, static, X)
    assert static(-X).tolist() == f(-X).tolist()


def test_caught_by_the_caller() -> None:
    """F1: an ``except`` of the caller's sees what dygraph's does; the function goes on working."""
    static = d2s.to_static(raises_in_a_while)
    for _ in range(3):
        caught = None
        try:
            static(X)
        except ValueError as error:
            caught = error.args
        assert caught is not None
        assert (caught[0], float(caught[1]), caught[2]) == ("too large", 48.0, 3)
        assert static(X * 40).tolist() == (X * 40).tolist()


def test_what_is_being_handled_outside_stays() -> None:
    """A1: the caller's own exception is the context, with all its frames."""

    def call(function: Any) -> BaseException:
        try:
            try:
                paddle.ones([2]).reshape([3])
            except ValueError:
                function(X)
        except KeyError as error:
            return error
        raise AssertionError("nothing was raised")

    want, got = call(missing_key), call(d2s.to_static(missing_key))
    for error in (want, got):
        assert type(error.__context__) is ValueError
    assert [f.name for f in traceback.extract_tb(got.__context__.__traceback__)] == [
        f.name for f in traceback.extract_tb(want.__context__.__traceback__)
    ]


# -- odd exceptions --------------------------------------------------------------------------------


class Stubborn(Exception):
    """Cannot be printed, nor made again without its arguments."""

    __slots__ = ("first",)

    def __init__(self, first: Any, second: Any, *, third: Any) -> None:
        self.first = first

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Counted(KeyError):
    """Made in another way than ``__init__`` tells."""

    def __new__(cls, *things: Any) -> Any:
        made = super().__new__(cls, "told by __new__")
        made.number = len(things)
        return made

    def __init__(self, *things: Any) -> None:
        pass


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize(
    "make", [lambda: Stubborn(1, 2, third=3), lambda: Counted(1, 2, 3), lambda: OSError(2, "no")]
)
def test_odd_exceptions(make: Callable[[], Exception], kept: bool) -> None:
    """The issue's bad input: with odd constructors, or failing when they are printed."""

    def f(x):
        if not kept or x.sum() > 0:
            raise make()
        return x

    static = d2s.to_static(f)
    want = make()
    for _ in range(2):
        with pytest.raises(type(want)) as caught:
            static(X)
        error = caught.value
        assert type(error) is type(want)
        assert (error.args, vars(error)) == (want.args, vars(want))
        assert getattr(error, "first", None) == getattr(want, "first", None)
        assert getattr(error, "errno", None) == getattr(want, "errno", None)
        frames = traceback.extract_tb(error.__traceback__)
        assert (frames[-1].lineno, frames[-1].name) == (f.__code__.co_firstlineno + 2, "f")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="notes came with Python 3.11")
@pytest.mark.parametrize("kept", [False, True])
def test_notes(kept: bool) -> None:
    """F1: what ``add_note`` has added is there."""

    def f(x):
        if not kept or x.sum() > 0:
            error = ValueError("with notes")
            error.add_note("one")
            error.add_note("two")
            raise error
        return x

    same(f, d2s.to_static(f), X)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="groups came with Python 3.11")
@pytest.mark.parametrize("kept", [False, True])
def test_groups(kept: bool) -> None:
    """A1, F1: the exceptions of a group, with the frames of each."""

    def one(x):
        raise Twist(1, reason="one")

    def f(x):
        errors = []
        for part in (one, in_a_helper):
            try:
                part(x)
            except Exception as error:
                errors.append(error)
        if not kept or x.sum() > 0:
            raise ExceptionGroup("several", errors)  # noqa: F821
        return x

    want, got = seen(f, X), seen(d2s.to_static(f), X)
    assert (got.type, got.text, got.frames) == (want.type, want.text, want.frames)
    for mine, original in zip(got.error.exceptions, want.error.exceptions, strict=True):
        assert chain(mine) == chain(original)
    assert hidden_in(got.error) == []


def test_formatting_that_fails() -> None:
    """F1: what the user's ``__format__`` raises on the run, with its own frame."""

    class Unit:
        def __str__(self) -> str:
            return SETTINGS["unit"]

    def f(x):
        print("length", x.sum(), Unit())
        return x

    static = d2s.to_static(f)
    want, got = seen(f, X), seen(static, X)
    assert got.facts == want.facts
    assert hidden_in(got.error) == []


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Python's own answer to an interrupt: what a shell starts in the background has none."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_at_capture_and_on_the_run() -> None:
    """The issue's bad input: ``KeyboardInterrupt`` goes through, and the function works after."""
    stop = [True]

    class Text:
        def __str__(self) -> str:
            if stop:
                raise KeyboardInterrupt
            return "text"

    def interrupted(x):
        if stop:
            signal.raise_signal(signal.SIGINT)
        return x * 2

    def printing(x):
        if x.sum() > 0:
            print(Text())
        return x * 2

    for function in (interrupted, printing):
        static = d2s.to_static(function)
        stop[:] = [True]
        for _ in range(2):
            got = seen(static, X)
            assert got.type is KeyboardInterrupt
            assert hidden_in(got.error) == []
        stop.clear()
        assert static(X).tolist() == (X * 2).tolist()


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_while_paddle_computes() -> None:
    """The same while a kernel works: it comes as soon as Python has the word again."""

    def f(x):
        while x.sum() < 1e30:
            x = x * 1.001
        return x

    static = d2s.to_static(f)
    static(paddle.full([2], 1e30))
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        got = seen(static, paddle.full([2], 1e-3))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert got.type is KeyboardInterrupt
    large = paddle.full([2], 1e30)
    assert static(large).tolist() == large.tolist()


# -- the file of the function ----------------------------------------------------------------------

FAILING = """
    import paddle

    def helper(y, i):
        return paddle.gather(y, i)

    def f(x, i):
        if x.sum() > 0:
            return helper(x, i)
        return x
"""


def module_of(file: Path) -> Any:
    """The module in ``file``."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shown(error: BaseException) -> str:
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def test_a_file_that_has_changed(tmp_path) -> None:
    """The issue's bad input: lines and functions are those of the text that was imported."""
    file = tmp_path / "net.py"
    file.write_text(textwrap.dedent(FAILING))
    module = module_of(file)
    static = d2s.to_static(module.f)
    static(X, ints(0))
    file.write_text("# another text\n" * 3)
    linecache.checkcache()
    want, got = seen(module.f, X, ints(9)), seen(static, X, ints(9))
    assert got.facts == want.facts
    assert "IndexError" in shown(got.error)


def test_a_file_that_is_gone(tmp_path) -> None:
    """The issue's bad input: the frames are there, without their lines."""
    file = tmp_path / "net.py"
    file.write_text(textwrap.dedent(FAILING))
    module = module_of(file)
    static = d2s.to_static(module.f)
    static(X, ints(0))
    file.unlink()
    linecache.clearcache()
    want, got = seen(module.f, X, ints(9)), seen(static, X, ints(9))
    assert got.facts == want.facts
    assert f'File "{file}", line 5, in helper\n' in shown(got.error)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8-sig", "cp1251", "shift_jis"])
def test_encodings(encoding: str, tmp_path) -> None:
    """The issue's bad input: a declared encoding; the printed line is the user's."""
    word = {"latin-1": "größe", "cp1251": "размер", "shift_jis": "大きさ"}.get(encoding, "größe")
    text = f"# -*- coding: {encoding} -*-" + textwrap.dedent(FAILING).replace("y", word)
    file = tmp_path / "net.py"
    file.write_bytes(text.replace("cop" + word, "copy").encode(encoding))
    module = module_of(file)
    want, got = seen(module.f, X, ints(9)), seen(d2s.to_static(module.f), X, ints(9))
    assert got.facts == want.facts
    assert f"return paddle.gather({word}, i)" in shown(got.error)


def test_a_very_long_line(tmp_path) -> None:
    """The issue's bad input: 4,500 columns."""
    zeros = "0, " * 1500
    file = tmp_path / "net.py"
    file.write_text(textwrap.dedent(FAILING).replace("(y, i)\n", f"(y, i + len([{zeros}]))\n", 1))
    module = module_of(file)
    want, got = seen(module.f, X, ints(9)), seen(d2s.to_static(module.f), X, ints(9))
    assert got.facts == want.facts


# -- the switch ------------------------------------------------------------------------------------


def test_the_full_traceback() -> None:
    """The issue: ``D2S_FULL_TRACEBACK=1`` shows the frames of d2s and Paddle."""
    static = d2s.to_static(in_a_helper)
    with d2s.options(full_traceback=True):
        got = seen(static, X)
    assert "if_" in got.hidden or "capture" in got.hidden
    assert seen(static, X).hidden == []


def test_what_python_prints(tmp_path) -> None:
    """A1: the same as in dygraph, but for the frames of Paddle; carets and all."""
    text = """
        import sys, paddle, d2s

        def helper(y):
            return y + 1 / (y.shape[0] - 3)

        def f(x):
            for i in range(2):
                if i == 1:
                    x = helper(x) + helper(x)
            return x

        f = d2s.to_static(f) if len(sys.argv) > 1 else f
        f(paddle.ones([3]))
    """
    file = tmp_path / "net.py"
    file.write_text(textwrap.dedent(text).lstrip("\n"))
    environment = {"PYTHONPATH": ":".join(sys.path), "GLOG_minloglevel": "3"}
    dygraph, static = (
        python("-W", "ignore", str(file), *more, env=environment).stderr.splitlines()
        for more in ([], ["d2s"])
    )
    assert static == dygraph
    assert dygraph[-1] == "ZeroDivisionError: division by zero"


class Double:
    def times(self, x, *, by=2):
        return x * by


@pytest.mark.parametrize(
    ("arguments", "options"),
    [((), {}), ((X, X, X), {}), ((X,), {"by": 3, "to": 4}), ((X,), {"x": X}), ((), {"by": 1})],
)
def test_arguments_that_do_not_fit(arguments: Any, options: Any) -> None:
    """A1, G1: what Python says, at the line of the call; for functions and methods."""

    def f(x, y=1, *, by=2):
        return x * by + y

    for function in (f, Double().times):
        want = seen(functools.partial(function, *arguments, **options))
        got = seen(functools.partial(d2s.to_static(function), *arguments, **options))
        assert got.facts == want.facts
        assert hidden_in(got.error) == []


def test_a_d2s_error_names_the_line_of_the_call() -> None:
    """Every coded error has a place: the call, when the arguments are to blame."""
    knot: list[Any] = []
    knot.append(knot)
    with pytest.raises(d2s.D2SError) as caught:
        d2s.to_static(lambda x: x)(knot)
    assert seen_in(caught.value).frames == []
    assert (caught.value.file, caught.value.line) == (__file__, seen_line(caught.value))


def seen_line(error: BaseException) -> int | None:
    """The line at which a call has raised ``error``."""
    return traceback.extract_tb(error.__traceback__)[0].lineno


def test_a_refusal_in_the_standard_library_names_the_line_of_the_user() -> None:
    """F1: it named a line of ``dataclasses``, which is converted as a user's function is."""

    @dataclasses.dataclass
    class Settings:
        tags: list[str]

    def function(x: Any, settings: Settings) -> Any:
        settings = dataclasses.replace(settings, tags=list(settings.tags))
        if x.sum() > 0:
            settings.tags.append("big")
        return x * 2, dataclasses.asdict(settings)

    with pytest.raises(AmbiguousValueError) as caught:
        d2s.to_static(function, full_graph=True)(X, Settings(["all"]))
    assert caught.value.file == __file__
    assert caught.value.line == function.__code__.co_firstlineno + 4
