"""A ``with`` statement leaves its context manager on the run as dygraph does (rules F1, F3)."""

from __future__ import annotations

import contextlib
import functools
import operator

import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import function_of, shown


class Counter:
    """Counts how deep it is entered, and what it was left with."""

    def __init__(self, swallows: type[BaseException] | None = None) -> None:
        self.depth = 0
        self.seen: list[str] = []
        self.swallows = swallows

    def __enter__(self) -> Counter:
        self.depth += 1
        return self

    def __exit__(self, kind, error, trace):
        self.depth -= 1
        self.seen.append("nothing" if kind is None else kind.__name__)
        print("left with", kind)
        return kind is not None and self.swallows is not None and issubclass(kind, self.swallows)


def outcome_of(function, *arguments) -> str:
    """What a call gives or raises, as text."""
    try:
        return shown(function(*arguments))
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]  # pytest adds lines to assert


class Pair:
    """A function and its own state, made twice: for dygraph and for d2s."""

    def __init__(self, make) -> None:
        self.functions = []
        self.states = []
        for _ in range(2):
            function, state = make()
            self.functions.append(function)
            self.states.append(state)
        self.functions[1] = d2s.to_static(self.functions[1])

    def agree(self, capfd, *values: float) -> None:
        """Each call gives, raises, prints and leaves behind the same."""
        for value in values:
            seen = []
            for function, state in zip(self.functions, self.states, strict=True):
                result = outcome_of(function, paddle.to_tensor([value, 1.0]))
                seen.append((result, capfd.readouterr().out, repr(state())))
            assert seen[0] == seen[1], value


def test_exit_sees_what_the_run_raises(capfd) -> None:
    """F1, F3: state that ``__exit__`` changes, and what it prints, on each kind of run."""

    def make():
        counter = Counter()

        def f(x):
            with counter:
                if x.sum() > 5:
                    raise ValueError("large")
                if x.sum() < 0:
                    raise KeyError("small")
                x = x * 2
            return x

        return f, lambda: (counter.depth, counter.seen)

    Pair(make).agree(capfd, 1.0, 9.0, -9.0, 1.0, 9.0, 1.0)


def test_exit_swallows(capfd) -> None:
    """F1: what ``__exit__`` swallows does not leave; the run goes on behind the statement."""

    def make():
        counter = Counter(swallows=ValueError)

        def f(x):
            y = x
            with counter as same:
                assert same is counter
                y = y + 1
                if x.sum() > 5:
                    raise ValueError("large")
                if x.sum() < 0:
                    raise KeyError("small")
                y = y * 2
            return y * 3

        return f, lambda: (counter.depth, counter.seen)

    Pair(make).agree(capfd, 1.0, 9.0, -9.0, 9.0, 1.0)


def test_several_managers(capfd) -> None:
    """F1: the inner one is left first, and what it swallows the outer one does not see."""

    def make():
        outer, inner = Counter(), Counter(swallows=ValueError)

        def f(x):
            with outer, inner as same:
                if x.sum() > 5:
                    raise ValueError("large")
                if x.sum() < 0:
                    raise KeyError(same.depth)
                x = x * 2
            return x

        return f, lambda: (outer.depth, outer.seen, inner.depth, inner.seen)

    Pair(make).agree(capfd, 1.0, 9.0, -9.0, 1.0)


def test_return_inside(capfd) -> None:
    """B6, F1: a return in the body, under a tensor condition and without."""

    def make():
        counter = Counter()

        def f(x):
            with counter:
                if x.sum() > 5:
                    return x * 2
                assert x.sum() > 0, "small"
                return x

        return f, lambda: (counter.depth, counter.seen)

    Pair(make).agree(capfd, 1.0, 9.0, -9.0, 1.0)


def test_around_a_try(capfd) -> None:
    """F1: an exception handled in the body does not come to ``__exit__``, a new one does."""

    def make():
        counter = Counter()

        def f(x):
            try:
                with counter:
                    try:
                        if x.sum() > 5:
                            raise ValueError("large")
                        if x.sum() < 0:
                            raise KeyError("small")
                    except ValueError:
                        x = x - 1
                    x = x * 2
            except KeyError as error:
                print("caught", error)
                x = x * 0
            return x

        return f, lambda: (counter.depth, counter.seen)

    Pair(make).agree(capfd, 1.0, 9.0, -9.0, 1.0)


def test_made_in_the_function(capfd) -> None:
    """F1: a manager that each call makes."""

    def make():
        def f(x):
            with Counter(swallows=ValueError) as counter:
                if x.sum() > 5:
                    raise ValueError("large")
                x = x * 2
            return x, counter.depth, counter.seen

        return f, lambda: None

    Pair(make).agree(capfd, 1.0, 9.0, 1.0)


def test_exit_decided_by_a_tensor(capfd) -> None:
    """F1, B1: a tensor decides whether ``__exit__`` swallows."""

    class Tolerant:
        def __init__(self) -> None:
            self.limit = paddle.to_tensor(10.0)

        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            return kind is not None and error.args[0] < self.limit

    def make():
        tolerant = Tolerant()

        def f(x):
            with tolerant:
                if x.sum() > 5:
                    raise ValueError(x.sum())
                x = x * 2
            return x

        return f, lambda: None

    Pair(make).agree(capfd, 1.0, 9.0, 19.0, 1.0)


class Module(paddle.nn.Layer):
    def forward(self, x):
        return x * 2 if self.training else x


@contextlib.contextmanager
def evaluating(module):
    was = module.training
    module.eval()
    try:
        yield module
    finally:
        print("back")
        if was:
            module.train()


def test_generator_with_finally(capfd) -> None:
    """F1, F3: a generator under ``contextmanager``; the layer is in its mode again after each."""

    def make():
        module = Module()

        def f(x):
            with evaluating(module) as same:
                y = same(x)
                assert y.sum() < 5, "large"
            return y + module(x)

        return f, lambda: module.training

    Pair(make).agree(capfd, 1.0, 9.0, 1.0)


@contextlib.contextmanager
def noted(text, log):
    print("enter", text)
    log.append(text)
    yield text + "!"
    log.pop()
    print("leave", text)


def test_generator_without_try(capfd) -> None:
    """F1: what is behind a plain ``yield`` does not run when the body raises."""

    def make():
        log: list[str] = []

        def f(x):
            with noted("it", log) as name:
                if x.sum() > 5:
                    raise ValueError(name)
                x = x * 2
            return x

        return f, lambda: len(log)

    Pair(make).agree(capfd, 1.0, 9.0, 1.0, 9.0)


@contextlib.contextmanager
def forgiving(kind):
    try:
        yield
    except kind as error:
        print("forgiven", error)
    else:
        print("fine")


def test_generator_that_swallows(capfd) -> None:
    """F1: a generator that handles the exception lets the run go on."""

    def make():
        def f(x):
            y = x
            with forgiving(ValueError):
                y = x + 1
                if x.sum() > 5:
                    raise ValueError("large")
                assert x.sum() > 0, "small"
                y = y * 2
            return y

        return f, lambda: None

    Pair(make).agree(capfd, 1.0, 9.0, -9.0, 1.0)


def test_generator_in_the_function(capfd) -> None:
    """F1, A4: a generator function that shares variables with the function around it."""

    def make():
        def f(x):
            depth = 0

            @contextlib.contextmanager
            def deeper():
                nonlocal depth
                depth += 1
                try:
                    yield depth
                finally:
                    depth -= 1

            try:
                with deeper() as now:
                    if x.sum() > 5:
                        raise ValueError("large")
                    x = x * now
            except ValueError:
                x = x * 7
            return x, depth

        return f, lambda: None

    Pair(make).agree(capfd, 1.0, 9.0, 1.0)


def test_generator_of_another_form_is_refused() -> None:
    """F1: D2S205, where the rest of a generator would be needed twice and cannot be cut off."""

    @contextlib.contextmanager
    def twice(x):
        if x is None:
            yield 1
        else:
            yield 2

    @d2s.to_static
    def f(x):
        with twice(x):
            if x.sum() > 5:
                raise ValueError("large")
        return x

    with pytest.raises(UnsupportedInGraphError, match="D2S205") as caught:
        f(paddle.ones([2]))
    assert "yield" in str(caught.value)
    assert caught.value.line == f.__wrapped__.__code__.co_firstlineno + 4


def test_out_of_a_static_loop_is_refused() -> None:
    """F1: D2S205, rather than a ``finally`` or ``__exit__`` that does not happen."""
    counter = Counter()

    @d2s.to_static
    def managed(x):
        with counter:
            while x.sum() < 5:
                if x.min() < 0:
                    raise ValueError("small")
                x = x + 1
        return x

    @d2s.to_static
    def finished(x):
        try:
            while x.sum() < 5:
                if x.min() < 0:
                    raise ValueError("small")
                x = x + 1
        finally:
            counter.depth += 1
        return x

    for f in (managed, finished):
        with pytest.raises(UnsupportedInGraphError, match="D2S205"):
            f(paddle.ones([2]))


def test_inside_a_static_loop(capfd) -> None:
    """F1, C1: a ``with`` in the body of a static loop, left by an exception that it swallows."""

    def make():
        def f(x):
            n = paddle.zeros([], "int64")
            while x.sum() < 5:
                with forgiving(ValueError):
                    if x.sum() > 3:
                        n = n + 1
                        raise ValueError("near")
                    n = n + 10
                x = x + 1
            return x, n

        return f, lambda: None

    Pair(make).agree(capfd, 0.0, -3.0, 9.0)


def test_what_only_the_run_can_see(capfd) -> None:
    """F1: an index out of range, which no ``if`` of the user's decides."""

    def make():
        counter = Counter(swallows=IndexError)

        def f(x):
            items = [x, x + 1]
            y = x
            with counter:
                y = items[int(x.sum())]
                y = y * 2
            return y

        return f, lambda: (counter.depth, counter.seen)

    Pair(make).agree(capfd, 0.0, 9.0, -1.0)


def test_python_exceptions_are_pythons(capfd) -> None:
    """A1: what Python raises in the body comes to ``__exit__`` as in plain Python."""

    def make():
        counter = Counter(swallows=ZeroDivisionError)

        def f(x, n=0):
            with counter:
                x = x / (1 // n)
            with pytest.raises(TypeError), 3:
                pass
            return x

        return f, lambda: (counter.depth, counter.seen)

    Pair(make).agree(capfd, 1.0, 2.0)


def test_of_a_class_without_a_module(capfd) -> None:
    """F1: ``exec`` has made it, as a notebook may; what it prints, it prints on each run."""

    def make():
        function = function_of(
            """
            class Scope:
                def __enter__(self):
                    return self

                def __exit__(self, kind, error, trace):
                    print("left with", kind)

            def f(x):
                with Scope():
                    if x.sum() > 5:
                        raise ValueError("large")
                    x = x * 2
                return x
            """,
            "f",
        )
        return function, lambda: None

    Pair(make).agree(capfd, 1.0, 9.0, 1.0)


def test_closing(capfd) -> None:
    """F1: ``contextlib.closing`` closes an object of the user's on each kind of run."""

    class File:
        def __init__(self) -> None:
            self.closed = 0

        def close(self) -> None:
            self.closed += 1
            print("closed")

    def make():
        file = File()

        def f(x):
            with contextlib.closing(file):
                if x.sum() > 5:
                    raise ValueError("large")
                x = x * 2
            return x

        return f, lambda: file.closed

    Pair(make).agree(capfd, 1.0, 9.0, 1.0, 9.0)


def test_a_stack_is_refused() -> None:
    """F1: D2S205 where a tensor decides an exception in it; without one it is Python's."""
    counter = Counter()

    @d2s.to_static
    def f(x):
        with contextlib.ExitStack() as stack:
            stack.enter_context(counter)
            if x.sum() > 5:
                raise ValueError("large")
        return x

    @d2s.to_static
    def g(x):
        with contextlib.ExitStack() as stack:
            stack.enter_context(counter)
            if x.sum() > 5:
                x = x + 1
        return x

    with pytest.raises(UnsupportedInGraphError, match="D2S205") as caught:
        f(paddle.ones([2]))
    assert "ExitStack" in str(caught.value)
    assert g(paddle.ones([2]) * 3).tolist() == [4.0, 4.0]
    assert counter.depth == 0


def said() -> None:
    print("said")


class Closed:
    def close(self, what: str = "closed") -> None:
        print(what)


AT_EXIT = {
    "built in": "stack.callback(print, 'bye', x.shape, sep='-')",
    "a value": "stack.callback(print, x.mean() > 0)",
    "partial": "stack.callback(functools.partial(print, 'bye'))",
    "function": "stack.callback(said)",
    "method": "stack.callback(Closed().close, what='gone')",
    "lambda": "stack.callback(lambda: print('bye'))",
    "of a list": "stack.callback(seen.append, 1)",
    "pushed function": "stack.push(lambda *error: print('pushed', error[0]))",
    "pushed manager": "stack.push(Counter())",
    "manager": "stack.enter_context(manager(2))",
    "handed on": "stack.callback(print, 'a'); rest = stack.pop_all(); rest.callback(print, 'b')",
    "named method": "stack.callback(operator.methodcaller('close', what='w'), Closed())",
}

STACKS = """
    def f(x):
        seen, rest = [], contextlib.ExitStack()
        with contextlib.ExitStack() as stack:
            {call}
            y = (x * 2).tanh() - x.mean() + x.sum()
            {inside}
            print("inside", seen)
        print("left", seen)
        {behind}
        rest.close()
        return (y * 2).tanh() - y.mean() + y.sum()
"""


@contextlib.contextmanager
def manager(number):
    print("in", number)
    try:
        yield number
    finally:
        print("out", number)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("call", AT_EXIT.values(), ids=AT_EXIT)
@pytest.mark.parametrize("where", ["one program", "inside", "behind"])
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_what_a_stack_calls_is_called_on_each_run(call: str, where: str, capfd) -> None:
    """F1, H1: once, where dygraph does, also where a break ends the capture in the stack."""
    needs = "print(bytes(memoryview(y.numpy()))[3])"
    text = STACKS.format(
        call=call,
        inside=needs if where == "inside" else "pass",
        behind=needs if where == "behind" else "pass",
    )
    scope = {"contextlib": contextlib, "functools": functools, "operator": operator}
    scope |= {"said": said, "Closed": Closed, "manager": manager, "Counter": Counter}
    found = []
    for convert in (
        lambda f: f,
        lambda f: d2s.to_static(f, full_graph=where == "one program"),
    ):
        f = convert(function_of(text, **scope))
        results = [f(paddle.to_tensor([1.0, number])).tolist() for number in (2.0, 3.0, 2.0)]
        found.append((results, capfd.readouterr().out))
    assert found[0] == found[1]


class Noted:
    """Puts into a list of its caller's how it was left; swallows some exceptions."""

    def __init__(self, seen: list[object], swallows: type[BaseException] = KeyError) -> None:
        self.seen = seen
        self.swallows = swallows

    def __enter__(self) -> Noted:
        return self

    def __exit__(self, kind, error, trace):
        self.seen.append("fine" if kind is None else kind.__name__)
        return kind is not None and issubclass(kind, self.swallows)


ONE_IN_THE_OTHER = [
    "Noted(seen, ValueError), contextlib.suppress(KeyError)",
    "Noted(seen), contextlib.suppress(ValueError)",
    "contextlib.suppress(KeyError), Noted(seen, ValueError)",
    "Noted(seen, ValueError), Noted(seen), contextlib.suppress(KeyError)",
    "Noted(seen), Noted(seen, ValueError), contextlib.suppress(KeyError), Noted(seen)",
    "Noted(seen, ValueError) as first, paddle.no_grad(), contextlib.suppress(KeyError)",
    "Noted(seen), Noted(seen)",
    "Noted(seen), Noted(seen, ValueError), Noted(seen)",
    "noting(seen), Noted(seen, ValueError), noting(seen)",
]


@contextlib.contextmanager
def noting(seen):
    seen.append("in")
    try:
        yield
    finally:
        seen.append("out")


@pytest.mark.parametrize("managers", ONE_IN_THE_OTHER)
@pytest.mark.parametrize(
    "body",
    [
        "if x.min() < -9: raise ValueError('small')\n        y = x * 2",
        "if x.sum() > 0: seen.append(1)\n        if x.min() < -9: raise ValueError('small')",
        "for v in x:\n            if v > 0: seen.append(2)\n        y = x * 3",
        "if x.sum() > 0: seen.insert(0, x.sum())\n        else: seen.insert(0, x.max())",
    ],
)
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_managers_in_managers(managers: str, body: str) -> None:
    """F1, B4: each is told, and what only a manager holds is the list that the function knows."""
    text = (
        f"def f(x):\n    y, seen = x, []\n    with {managers}:\n        {body}\n    return y, seen"
    )
    scope = {"Noted": Noted, "noting": noting, "contextlib": contextlib}
    plain, static = (function_of(text, **scope) for _ in range(2))
    static = d2s.to_static(static, full_graph=True)
    for value in (1.0, -3.0, -13.0, 1.0):
        x = paddle.to_tensor([value, -1.0])
        assert outcome_of(static, x) == outcome_of(plain, x)


def test_names_of_one_list_behind_a_handler() -> None:
    """B4, F1: they were names of two, which changed apart from each other."""

    def f(x):
        kept = [x]
        holder = Noted(kept)
        table = {"kept": kept}
        try:
            try:
                kept.append(x + 1)
                if x.min() < -9:
                    raise ValueError("small")
                holder.seen.append(x * 2)
            finally:
                table["kept"].append(x)
        except ValueError:
            kept.append(x - 4)
        holder.seen.append(3)
        return kept, table, kept is table["kept"], kept is holder.seen, len(kept)

    static = d2s.to_static(f, full_graph=True)
    for value in (1.0, -13.0, 2.0):
        x = paddle.to_tensor([value, -1.0])
        assert outcome_of(static, x) == outcome_of(f, x)
