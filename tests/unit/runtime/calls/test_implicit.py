"""Which methods of the user's classes are converted where Python calls them (rules A1, E2)."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from tests.helpers import assert_same, function_of, tensor


@pytest.mark.parametrize("name", ["__instancecheck__", "__sizeof__", "plain"])
def test_a_method_that_stays_the_class_s_own(name: str) -> None:
    """A1: what Python needs as it is, or no operator calls, is not replaced during a capture."""

    class Thing:
        def plain(self, *_: Any) -> bool:
            return True

        def touch(self) -> int:
            return 1

    def own(self: Any, *given: Any) -> Any:
        return getattr(object, name)(self, *given) if hasattr(object, name) else True

    if name != "plain":
        setattr(Thing, name, own)
    before = vars(Thing)[name]

    def f(x, thing):
        return x + thing.touch(), vars(type(thing))[name] is before

    assert_same(f, (tensor(1.0), Thing()), grad=False)


def test_a_class_of_a_module_without_a_file() -> None:
    """E2: the classes of a notebook, or of ``python`` at the prompt, are the user's."""
    home = "d2s_prompt_of_a_test"
    sys.modules[home] = types.ModuleType(home)
    try:
        kind = function_of(
            """
            class Signed:
                @property
                def sign(self):
                    if self.x.sum() > 0:
                        return self.x
                    return -self.x
            """,
            __name__=home,
        )
        assert kind.__module__ == home

        def f(x):
            thing = kind()
            thing.x = x
            return thing.sign

        assert_same(f, tensor(1.0, 2.0), tensor(-1.0, 0.5))
    finally:
        del sys.modules[home]
