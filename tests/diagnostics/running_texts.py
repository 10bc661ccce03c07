"""Texts of functions with what ``f`` is called with, so that every line of a construct is run."""

from __future__ import annotations

from typing import Any

VISITED: dict[str, tuple[str, list[Any]]] = {
    "break, continue and else of a for": (
        """
        def f(x):
            total = 0
            for i in range(x):
                if i % 2:
                    continue
                if i > 4:
                    break
                total += i
            else:
                total = -1
            return total
    """,
        [0, 3, 9],
    ),
    "a return in a loop": (
        """
        def f(x):
            for i in range(x):
                if i == 2:
                    return i
                x = x + 0
            return -1
    """,
        [0, 2, 9],
    ),
    "a while with an else": (
        """
        def f(x):
            while x > 0:
                x -= 1
                if x == 5:
                    break
            else:
                x = 100
            return x
    """,
        [0, 3, 9],
    ),
    "elif and else": (
        """
        def f(x):
            if x > 0:
                if x > 1:
                    y = 1
                else:
                    y = 2
            elif x == 0:
                y = 3
            else:
                y = 4
            return y
    """,
        [2, 1, 0, -1],
    ),
    "a condition over several lines": (
        """
        def f(x):
            if (
                x > 0
                and x < 5
                or x == 7
            ):
                y = 1
            else:
                y = not x
            return y
    """,
        [2, 0, 7, 8],
    ),
    "a conditional expression": (
        """
        def f(x):
            y = (
                x + 1
                if x > 1
                else x - 1
            )
            return y
    """,
        [2, 0],
    ),
    "try, except, else and finally": (
        """
        def f(x):
            try:
                if x > 1:
                    raise ValueError(x)
                y = 1
            except ValueError as error:
                y = 2
            else:
                y = 3
            finally:
                x = 0
            return y
    """,
        [2, 0],
    ),
    "a with statement": (
        """
        def f(x):
            import contextlib
            with contextlib.suppress(KeyError):
                if x:
                    raise KeyError(x)
                x = 1
            return x
    """,
        [2, 0],
    ),
    "comprehensions over several lines": (
        """
        def f(x):
            y = [
                i * 2
                for i in range(x)
                if i != 1
            ]
            z = {i: j for i in y for j in y}
            return sum(y), sum(
                a
                for a in z
            )
    """,
        [3],
    ),
    "lambdas": (
        """
        def f(x):
            g = lambda a: a + 1 if a else 2
            h = (
                lambda a:
                a * 2
            )
            return g(x) + h(x)
    """,
        [3, 0],
    ),
    "functions in the function": (
        """
        def f(x):
            def inner(a):
                if a > 1:
                    a = a - 1
                return a

            @staticmethod
            def other(a):
                return a
            return inner(x)
    """,
        [3, 0],
    ),
    "returns in branches": (
        """
        def f(x):
            if x > 0:
                return 1
            if x < -5:
                return 2
            x = x + 1
            return x
    """,
        [3, 0, -7],
    ),
    "a match with a guard": (
        """
        def f(x):
            match x:
                case 0:
                    y = 1
                case int() if x > 2:
                    y = 2
                case _:
                    y = 3
            return y
    """,
        [3, 0, -7],
    ),
    "assert, del and stores": (
        """
        def f(x):
            y = [x]
            assert x > -1, "no"
            del y[0]
            y.append(x)
            global_ = y
            y[0] += 2
            return y
    """,
        [3],
    ),
    "assignments in conditions": (
        """
        def f(x):
            while (y := x - 1) > 0:
                x = y
            if (z := y) == 0:
                return z
            return x
    """,
        [3, 0],
    ),
    "bodies without anything to do": (
        """
        def f(x):
            if x:
                pass
            for i in range(x):
                pass
            while x:
                break
            return x
    """,
        [3, 0],
    ),
    "calls over several lines": (
        """
        def f(x):
            y = max(
                x,
                abs(
                    x - 10
                ),
                key=None,
            )
            return (
                y
                + 1
            )
    """,
        [3],
    ),
    "a return in two loops": (
        """
        def f(x):
            for i in range(x):
                for j in range(i):
                    if j > 1:
                        return i, j
                    if j == 9:
                        break
            return None
    """,
        [5, 0],
    ),
    "several statements on a line": (
        """
        def f(x):
            if x: x = x + 1; x = x * 2
            for i in range(2): x += i
            return x
    """,
        [5, 0],
    ),
    "a docstring, defaults and parameters of every kind": (
        '''
        def f(x, *rest, key=3, **more):
            """Doc
            string."""
            if x:
                def g(a=x,
                      b=key):
                    return a + b
                return g()
            return key
    ''',
        [5, 0],
    ),
    "an assertion with a message on its own line": (
        """
        def f(x):
            assert x > 0, (
                "message of "
                f"{x}"
            )
            return x
    """,
        [1, 0],
    ),
    "a method": (
        """
        class Cell:
            limit = 3

            def step(self, x):
                if x > self.limit:
                    x = self.limit
                return x

        def f(x):
            cell = Cell()
            return cell.step(x)
    """,
        [1, 5],
    ),
    "decorators over several lines": (
        """
        import functools

        def twice(
            times,
        ):
            def decorate(function):
                @functools.wraps(function)
                def wrapper(x):
                    for _ in range(times):
                        x = function(x)
                    return x
                return wrapper
            return decorate

        @twice(
            times=2,
        )
        @twice(3)
        def step(x):
            if x > 5:
                return 0
            return x + 1

        def f(x):
            return step(x)
    """,
        [0, 3],
    ),
}
