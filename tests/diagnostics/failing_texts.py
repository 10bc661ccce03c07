"""Texts of functions that raise an exception for ``f(1)``, one for each construct."""

from __future__ import annotations

FAILING = {
    "in the element of a comprehension, which may have none": """
        def f(x):
            return [
                i
                / 0
                for i in (
                    x,
                )
                if i
            ]
    """,
    "in if": """
        def f(x):
            y = x

            if y > 0:
                y = y + 1
                y = 1 / 0
            return y
    """,
    "in else": """
        def f(x):
            if x < 0:
                y = 1
            elif x < 1:
                y = 2
            else:
                y = 3
                y = y / 0
            return y
    """,
    "in the test of an elif": """
        def f(x):
            if x < 0:
                y = 1
            elif (
                x / 0
            ):
                y = 2
            return y
    """,
    "in while": """
        def f(x):
            while x < 5:
                x = x + 1
                if x == 3:
                    raise ValueError(
                        "three"
                    )
            return x
    """,
    "in the test of a while": """
        def f(x):
            i = 3
            while 1 / i:
                i = i - 1
            return i
    """,
    "in for": """
        def f(x):
            out = []
            for i in range(3):
                out.append(1 / (1 - i))
            return out
    """,
    "in the iterable": """
        def f(x):
            for i in (
                range(3),
                *x,
            ):
                pass
            return i
    """,
    "in the unpacking of a target": """
        def f(x):
            out = []
            for a, b in [(1, 2), 3]:
                out.append(a)
            return out
    """,
    "in a nested function": """
        def f(x):
            def inner(y):
                if y:
                    return y.missing

                return 0

            if x:
                return inner(x)
            return 0
    """,
    "in a lambda": """
        def f(x):
            g = (
                lambda y: y
                and y.missing
            )
            return g(x)
    """,
    "in a comprehension": """
        def f(x):
            return [
                1 / (1 - i)
                for i in range(3)
                if i or x
            ]
    """,
    "in a ternary": """
        def f(x):
            return (
                1 / 0
                if x
                else 2
            )
    """,
    "in a call over several lines": """
        def f(x):
            y = max(
                1,
                x.missing,
                key=None,
            )
            return y
    """,
    "in the right operand": """
        def f(x):
            return (
                x
                and x == 1
                and x / 0
            )
    """,
    "in an assertion": """
        def f(x):
            y = x
            assert y == 2, (
                "message"
            )
            return y
    """,
    "in with and try": """
        def f(x):
            import contextlib

            with contextlib.suppress(KeyError):
                try:
                    if x:
                        x = x / 0
                finally:
                    x = 2
            return x
    """,
    "in a handler": """
        def f(x):
            try:
                x = x.missing
            except AttributeError as error:
                if x:
                    raise KeyError("k") from error
            return x
    """,
    "in match": """
        def f(x):
            match x:
                case 0:
                    y = 1
                case int() if x > 0:
                    y = x.missing
            return y
    """,
    "in an f-string": """
        def f(x):
            return f"a {x} b {x.missing}"
    """,
    "in a store": """
        def f(x):
            y = [1]
            y[
                x
            ] = 3
            return y
    """,
    "an unbound variable": """
        def f(x):
            if x < 0:
                y = 1
            x = x + 1
            return y
    """,
    "after a break": """
        def f(x):
            for i in range(5):
                if i == x:
                    break
                x = x
            else:
                x = 5
            return x / 0
    """,
    "in a default and a decorator of an inner function": """
        def f(x):
            if x:
                def inner(y=x.missing):
                    return y
                x = inner()
            return x
    """,
}
