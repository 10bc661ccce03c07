"""What the run raises in the body of a ``try`` is handled on the run (rule F1).

The assertions in these functions are part of what is compared: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import contextlib

import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, scalar, tensor
from tests.semantics.test_effects import same_text

SMALL, MINUS, LARGE = tensor(1.0, 2.0), tensor(-1.0, -2.0), tensor(20.0, 30.0)
ALL = (SMALL, MINUS, LARGE)


@pytest.mark.row(60)
def test_what_follows_is_skipped(capfd) -> None:
    """F1: the rest of a helper, of the expression and of the body do not happen."""

    def helper(x):
        print("in")
        if x.sum() < 0:
            print("raising", x.sum())
            raise ValueError("negative")
        print("after", x)
        return x + 1

    def f(x):
        y = x
        try:
            y = x * 2
            y = helper(y) + helper(y + 3)
            print("rest")
        except ValueError as error:
            print("caught", error)
            y = y - 5
        else:
            print("else")
        print("end", y)
        return y

    assert_same(f, *ALL)
    same_text(f, capfd, *ALL)


def test_texts_of_the_run_beside_plain_ones() -> None:
    """F1, F3: one ``try`` catches both, each with its own text."""

    class Stop(Exception):
        pass

    class Watch:
        def __init__(self):
            self.best, self.wait, self.epoch = None, 0, 0

        def saw(self, value):
            if paddle.isnan(value):
                raise Stop(f"nan in {self.epoch}")
            if self.best is None or value < self.best:
                self.best, self.wait = value, 0
                return
            self.wait += 1
            if self.wait >= 2:
                raise Stop(f"no progress for {self.wait}", value)

    def f(x):
        watch, status = Watch(), "done"
        try:
            for _ in range(3):
                for value in x:
                    watch.saw(value)
                watch.epoch += 1
        except Stop as reason:
            status = f"stopped: {reason}"
        return status, watch.epoch, watch.wait

    nan = float("nan")
    assert_same(f, tensor(1.0, 2.0), tensor(3.0, 2.0), tensor(nan, 1.0), tensor(2.0, nan))


def test_one_name_for_the_exceptions_of_several_tries(capfd) -> None:
    """F1: also where one of them stands in a loop or branch, and before the others."""

    def f(x):
        caught = []
        for given in (1, 2):
            try:
                if x.sum() > given:
                    raise ValueError(given)
            except ValueError as error:
                caught.append(repr(error))
        if x[0] > 0:
            try:
                assert x[1] > 0, "second"
            except AssertionError as error:
                print("caught", error)
                caught.append(str(error))
        try:
            for given in (1, 2):
                if x.sum() > given:
                    raise KeyError(given)
                x = x - 1
        except KeyError as error:
            caught.append(repr(error))
        finally:
            print("end")
        while x.sum() > -9:
            x = x - 3
            try:
                if x[1] < -2:
                    raise ValueError("low")
            except ValueError as error:
                print(error)
        return caught, x

    assert_same(f, *ALL, tensor(1.0, -0.5))
    same_text(f, capfd, *ALL)


def test_arguments_that_are_equal_and_of_two_types() -> None:
    """F1: the exception has what it was made of."""

    def f(x):
        caught = []
        for given in (1, True, 1.0, 0.0, -0.0, "1"):
            try:
                for k in range(2):
                    if x[k] > 0:
                        raise ValueError(given if x[k] < 2 else 7)
            except ValueError as error:
                caught.append(repr(error.args[0]))
        try:
            for given in (1, True, -0.0, 0.0):
                if x.sum() > given:
                    raise ValueError(given)
                x = x - 1
        except ValueError as error:
            caught.append(repr(error))
        return caught

    assert_same(f, tensor(1.0, 0.0), tensor(-1.0, 1.5), tensor(-1.0, 3.0), tensor(-1.0, -5.0))
    assert_same(f, tensor(0.0, 1.0), tensor(1.5, 1.5))


@pytest.mark.row(60)
def test_nested_tries(capfd) -> None:
    """F1: the right handler, ``finally`` on every path, a handler that raises."""

    def f(x):
        z = x
        try:
            try:
                z = x + 1
                if x.sum() < 0:
                    if x.max() < -0.5:
                        raise KeyError("k")
                    raise ValueError("v")
                elif x.sum() > 10:
                    raise IndexError("i")
                z = z + 1
            except KeyError:
                z = z * 3
                print("key")
                if x.min() < -1.5:
                    raise OverflowError("from the handler") from None
            finally:
                print("finally", z)
            z = z + 100
        except (ValueError, OverflowError) as error:
            print("outer", type(error).__name__, str(error))
            z = -z
        except IndexError:
            z = z / 7
        return z

    cases = (*ALL, tensor(-1.0, 0.2), tensor(-1.0, -0.6))
    assert_same(f, *cases)
    same_text(f, capfd, *cases)


@pytest.mark.row(60)
def test_raised_again_or_anew() -> None:
    """F1: a bare ``raise`` and a new exception leave the program, as their own."""

    def f(x):
        try:
            if x.sum() < 0:
                raise ValueError("negative", x.sum())
            y = x + 1
        except ValueError as error:
            if x.min() < -1.5:
                raise
            raise RuntimeError("other") from error
        return y

    assert_same(f, SMALL, MINUS, tensor(-1.0, -1.0))
    with pytest.raises(RuntimeError) as caught:
        d2s.to_static(f)(tensor(-1.0, -1.0))
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.__cause__.args[0] == "negative"


@pytest.mark.row(60)
def test_unbound_after_a_raise() -> None:
    """F1, B2: what the body had not bound yet is unbound in the handler and after it."""

    def f(x):
        try:
            if x.sum() < 0:
                raise ValueError
            y = x + 1
        except ValueError:
            pass
        return y

    def g(x):
        y = None
        try:
            y = x + 1
            if x.sum() < 0:
                raise ValueError
        except ValueError:
            return y, None
        return y

    assert_same(f, SMALL, MINUS)
    assert_same(g, SMALL, MINUS)


@pytest.mark.row(60)
def test_in_python_loops() -> None:
    """F1, C1: ``continue`` in a handler, and a loop inside of the body."""

    def f(x):
        done = x
        for k in (1.0, 2.0, 3.0):
            try:
                if x.sum() < -k:
                    raise ValueError(k)
                done = done + x * k
            except ValueError:
                done = done * 2
                continue
            if x.sum() > 10:
                break
        return done

    def g(x):
        try:
            for v in (1.0, 2.0, 3.0):
                x = x + v
                if x.sum() > 6:
                    raise StopIteration(v)
        except StopIteration:
            x = x * 10
        return x

    assert_same(f, *ALL, tensor(-1.0, -0.5))
    assert_same(g, *ALL)


@pytest.mark.row(60)
def test_in_a_static_loop() -> None:
    """F1: a ``try`` inside of the loop's body."""

    def f(x, n):
        i = 0
        bad = 0
        while i < n:
            i = i + 1
            try:
                if x.sum() > 5:
                    raise ValueError("large")
                x = x * 2
            except ValueError:
                bad = bad + 1
                x = x - 1
        return x, bad

    assert_same(f, *[(x, scalar(4)) for x in ALL])


@pytest.mark.row(60)
def test_out_of_a_static_loop_is_refused() -> None:
    """F1: D2S205, with line and cure, when the exception would leave a loop of the program."""

    def f(x, n):
        try:
            for _ in range(n):
                if x.sum() > 5:
                    raise ValueError("x")
                x = x * 2
        except ValueError:
            x = -x
        return x

    with pytest.raises(UnsupportedInGraphError) as caught:
        d2s.to_static(f)(SMALL, scalar(3))
    assert caught.value.line == f.__code__.co_firstlineno + 4
    assert "inside the loop" in caught.value.cure


@pytest.mark.row(60)
def test_assertion_is_caught() -> None:
    """F1."""

    def f(x):
        try:
            assert x.sum() > 0, "no"
            x = x + 1
        except AssertionError as error:
            x = x - 1
            if str(error) == "no":
                x = x * 2
        return x

    assert_same(f, *ALL)


@pytest.mark.row(60)
def test_exception_with_tensors(capfd) -> None:
    """F1: attributes, arguments and texts of the exception are those of the run."""

    class BadError(Exception):
        def __init__(self, *, where):
            super().__init__("bad")
            self.where = where

    def check(x):
        if x.sum() < 0:
            raise BadError(where=x * 3)
        if x.sum() > 10:
            raise ValueError(x.sum(), f"sum is {x.sum()}")

    def f(x):
        y = x
        try:
            check(x)
            y = x + 1
        except BadError as error:
            y = error.where + 1
        except ValueError as error:
            y = y + error.args[0]
            print(error.args[1])
        return y

    assert_same(f, *ALL)
    same_text(f, capfd, *ALL)


@pytest.mark.row(60)
def test_lists_and_attributes() -> None:
    """F1, F3: what the body changed before the exception stays changed, the rest does not."""

    class Net(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.lin = paddle.nn.Linear(2, 2)
            self.h = paddle.zeros([2])

        def forward(self, x):
            items = [x]
            try:
                self.h = x + 1
                items.append(x * 2)
                if x.sum() < 0:
                    raise ValueError
                self.h = self.lin(self.h)
                items.append(x * 3)
            except ValueError:
                items.append(self.h)
            return items[-1] + self.h, len(items)

    paddle.seed(1)
    eager = Net()
    static = d2s.to_static(Net())
    static.set_state_dict(eager.state_dict())
    for x in (SMALL, MINUS, SMALL, LARGE):
        want, got = eager(x), static(x)
        assert want[1] == got[1]
        assert bool(paddle.allclose(want[0], got[0]))
        assert bool(paddle.allclose(eager.h, static.h))


@pytest.mark.row(60)
def test_inside_expressions() -> None:
    """F1: in conditional expressions, ``or``, and a bare ``except``."""

    def positive(x):
        if x.sum() < 0:
            raise ValueError("negative")
        return x

    def f(x):
        try:
            y = positive(x) * 2 if x.max() < 10 else positive(-x)
            ok = x.min() > 1.5 or positive(x - 1.4).sum() > 0
        except:  # noqa: E722
            return x * 7, False
        return y, ok

    assert_same(f, *ALL, tensor(1.0, 1.0))


@pytest.mark.row(60)
def test_finally_alone(capfd) -> None:
    """F1: ``finally`` runs on the run that raises, and the exception goes on."""

    def f(x):
        y = x
        try:
            y = y + 1
            if x.sum() < 0:
                raise ValueError("v")
            y = y + 1
        finally:
            print("finally", y)
        return y

    assert_same(f, *ALL)

    def guarded(function):
        def call(x):
            with contextlib.suppress(ValueError):
                function(x)

        return call

    static = guarded(d2s.to_static(f))
    for x in ALL:
        texts = []
        for function in (guarded(f), static, static):
            capfd.readouterr()
            function(x)
            texts.append(capfd.readouterr().out)
        assert texts[0] == texts[1] == texts[2]


@pytest.mark.row(60)
def test_every_path_raises() -> None:
    """F1."""

    def f(x):
        try:
            if x.sum() < 0:
                raise ValueError("a")
            elif x.sum() > 10:
                raise KeyError("b")
            else:
                raise ValueError("ccc")
        except ValueError as error:
            y = x + len(str(error))
        except KeyError:
            y = x * 2
        return y

    def g(x):
        try:
            if x.sum() < 0:
                raise ValueError("a")
            raise KeyError("b")
        except ValueError:
            y = x
        return y

    assert_same(f, *ALL)
    assert_same(g, *ALL)


@pytest.mark.row(60)
def test_closure_rebinds() -> None:
    """F1, A4: variables that a nested function rebinds."""

    def f(x):
        n = 0

        def step(v):
            nonlocal n
            n += 1
            if v.sum() < 0:
                n += 10
                raise ValueError
            n += 100
            return v

        with contextlib.suppress(ValueError):
            x = step(x) + step(x - 5)
        return x, n

    assert_same(f, *ALL)


@pytest.mark.row(60)
def test_in_a_branch() -> None:
    """F1: a ``try`` in a branch; what no tensor decides there is Python's own."""

    def f(x):
        if x.max() > 0:
            try:
                if x.sum() > 10:
                    raise ValueError
                y = x + 1
            except ValueError:
                y = x + 2
            z = y * 2
        else:
            try:
                raise KeyError(3)
            except KeyError as error:
                z = x * error.args[0]
        return z

    assert_same(f, *ALL)


@pytest.mark.row(60)
def test_python_error_in_a_branch() -> None:
    """F1, A1: what Python itself raises in a side of a branch."""

    def f(x):
        table = {"up": 2.0}
        try:
            y = x * table["up"] if x.sum() > 0 else x * table["down"]
        except KeyError as error:
            y = x - len(error.args)
        return y

    assert_same(f, *ALL)


@pytest.mark.row(60)
def test_what_the_body_calls_may_change() -> None:
    """F1, F3: attributes that a method changes before the exception."""

    class Box:
        def __init__(self):
            self.total = 0
            self.last = None

        def put(self, x):
            self.total = self.total + 1
            self.last = x * 2
            if x.sum() < 0:
                raise ValueError
            self.total = self.total + 10

    def f(x):
        box = Box()
        try:
            box.put(x)
            box.put(x - 5)
        except ValueError:
            return box.last, box.total
        return x, box.total

    assert_same(f, *ALL)


@pytest.mark.row(60)
def test_variables_of_the_body_alone() -> None:
    """F1: what only the body uses is still there behind a branch that may have raised."""

    def f(x):
        moved = x
        with contextlib.suppress(ValueError):
            candidate = x - 0.5
            if candidate.abs().max() > 10:
                raise ValueError
            step = candidate * 2
            if candidate.sum() < 0:
                raise ValueError
            moved = candidate + step
        return moved * 2

    assert_same(f, *ALL)


@pytest.mark.parametrize("form", ["handler", "finally", "else"])
def test_what_was_changed_before_it_is_raised_again(form) -> None:
    """F1, F3: a list that each side of a branch appends to, left by the exception of one side."""

    def make():
        seen: list[str] = []

        def handler(x):
            try:
                if x.sum() < 0:
                    seen.append("small")
                    raise KeyError("a")
                else:
                    seen.append("fine")
            except KeyError:
                raise
            return x

        def final(x):
            try:
                if x.sum() < 0:
                    seen.append("small")
                    raise KeyError("a")
                else:
                    seen.append("fine")
            finally:
                seen.append("end")
            return x

        def orelse(x):
            try:
                if x.sum() < 0:
                    seen.append("small")
                    raise KeyError("a")
            except KeyError as error:
                seen.append("handled")
                raise ValueError("b") from error
            else:
                seen.append("fine")
            return x

        return {"handler": handler, "finally": final, "else": orelse}[form], seen

    (function, want), (other, got) = make(), make()
    static = d2s.to_static(other)
    for value in (1.0, -1.0, 1.0, -1.0):
        raised = []
        for call in (function, static):
            try:
                raised.append(call(tensor(value)).tolist())
            except (KeyError, ValueError) as error:
                raised.append(repr(error))
        assert raised[0] == raised[1]
        assert want == got


def test_index_out_of_range_is_handled() -> None:
    """F1: exceptions of operators, which no ``raise`` of the user's makes."""

    def f(x):
        items = [x, x + 1]
        table = {0: x, 1: x * 5}
        try:
            y = items[int(x.sum())]
            y = y + table[int(y.sum())]
        except IndexError as error:
            y = x * 2
            print(error)
        except KeyError as error:
            y = x * 3
            print(error)
        except ValueError:
            y = paddle.zeros_like(x)
        return y

    assert_same(f, tensor(0.0), tensor(1.0), tensor(7.0), tensor(-9.0), tensor(float("nan")))


def test_context_of_what_a_second_capture_raises(capfd) -> None:
    """F1: it is none of the exceptions for which the function is captured again."""

    def f(x):
        y, best = x * 2, x.sum() * 0
        try:
            if x.min() < 0.5:
                raise ValueError(f"{x.max().item():.2f}")
        except ValueError as error:
            print(error, error.__context__)
        for i in range(2):
            if y[i] > 1:
                best = y[i]
        y[1] = 7.0  # which the first capture does not see in ``best``
        return best + y

    same_text(f, capfd, *ALL)
