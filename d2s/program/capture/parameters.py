"""Parameters that the captured code makes: those of a layer that makes its parts when called.

if self.fc is None:                             the first call runs in dygraph, so that what is
    self.fc = nn.Linear(x.shape[-1], 8)         made is the user's, made once; the second one
return self.fc(x)                               finds it, and is captured

What every call makes and drops again, unread, is nothing to the program.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.trace import error_here, tentatively


class MakesParametersError(UnsupportedInGraphError):
    """The captured code is about to make a parameter: the call is one for dygraph."""


class Making:
    """What one capture does when a parameter is made.

    Args:
        again: the same call has made parameters in dygraph just before: those of this capture are
            made and must be gone when it ends.
    """

    def __init__(self, *, again: bool) -> None:
        self._again = again
        self._made: list[tuple[Callable[[], Any], Exception]] = []
        self._drawn: Any = None

    def told(self) -> None:
        """The code makes something that belongs to a layer for good.

        Raises:
            MakesParametersError: (D2S205) it is the first to do so.
        """
        if not self._again:
            raise _refusal()

    def parameter(self, make: Callable[[], Any]) -> Any:
        """A parameter, as ``make`` makes it in dygraph; ``None`` if none is wanted."""
        self.told()
        if self._drawn is None:
            self._drawn = paddle.get_rng_state()
        with bridge.outside_of_capture():
            made = make()
        if made is None:
            return None
        with tentatively():
            self._made.append((weakref.ref(made), _refusal()))
        return made

    def finish(self) -> None:
        """The generator is as it was; nothing that was made is left.

        Raises:
            MakesParametersError: (D2S205) something is.
        """
        if self._drawn is not None:
            paddle.set_rng_state(self._drawn)
        for made, refusal in self._made:
            if made() is not None:
                raise refusal


def _refusal() -> Exception:
    return error_here(
        MakesParametersError,
        "a layer with parameters, or a parameter, is made in a converted function; dygraph makes a "
        "new one on each call",
        "make it once, outside of the function, or on the first call: if self.fc is None: ...",
    )
