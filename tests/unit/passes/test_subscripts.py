"""Stores to items keep Python's order and containers (rules A1, B4)."""

from __future__ import annotations

import d2s
from tests.helpers import function_of


def test_targets_behind_a_store_wait_for_it() -> None:
    """A1: targets are bound from left to right; the key of a store is not the next target."""
    function = function_of("""
        def f(xs, i):
            xs[i], i = 9, 1
            a, *xs[0:1], (xs[i], b) = 1, 2, 3, (4, 5)
            return xs, i, a, b
    """)
    assert d2s.convert(function)([1, 2, 3], 0) == function([1, 2, 3], 0)


def test_a_container_inside_of_another_is_stored_into_once() -> None:
    """A1: value, container and key are evaluated once, in this order; nothing is stored back."""
    log: list[str] = []

    class Noisy(dict):  # type: ignore[type-arg]
        def __getitem__(self, key: str) -> object:
            log.append(f"get {key}")
            return super().__getitem__(key)

        def __setitem__(self, key: str, value: object) -> None:
            log.append(f"set {key}")
            super().__setitem__(key, value)

    def t(tag: str) -> str:
        log.append(tag)
        return tag

    function = function_of(
        """
        def f(table):
            table[t("a")][t("b")] = t("value")
            table["a"]["c"] = table["d"] = 3
            return table
        """,
        "f",
        t=t,
    )
    seen = []
    for which in (function, d2s.convert(function)):
        log.clear()
        seen.append((which(Noisy(a=Noisy())), list(log)))
    assert seen[0] == seen[1]
    assert seen[0][1][:5] == ["value", "a", "get a", "b", "set b"]


def test_a_starred_target_waits_too() -> None:
    """A1: ``*i`` is bound behind the store to ``xs[i]``; a starred item is stored into."""
    function = function_of("""
        def f(xs, i):
            xs[i], *i = 9, 1, 2
            *xs[1], b = 3, 4, 5
            return xs, i, b
    """)
    assert d2s.convert(function)([1, 2, 3], 0) == function([1, 2, 3], 0)
