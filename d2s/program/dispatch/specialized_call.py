"""A call like the last one, in as few steps as Python allows.

A small program runs for as long as Python takes for some hundred bytecodes that it has not run for
a while: each function that a call goes through counts, each loop.  So a call that comes again gets
a function of its own, written for it.  It asks what the long way asks (``signature``, ``quick``,
``programs``, ``execute``) without a loop, and knows the answers::

    f(x)    ->    def warm(args, kwargs, training):
                      if len(args) != 1 or kwargs:
                          return another
                      a0, = args
                      if not (
                          type(a0) is v0
                          and a0.dtype is v1
                          and a0.shape == v2
                          ...
                      ):
                          return another
                      ...
                      outputs, scope = run(tensors, read)
                      return outputs[0]

Each room writes the part that stands for what it does the long way.  It never says why a call is
another one; the long way finds out.  What it runs is what the long way would run.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, Final

from d2s import config
from d2s import paddle_bridge as bridge
from d2s.program.dispatch.entry import CLOCK
from d2s.program.dispatch.recent_calls import Known, WarmCall

ANOTHER: Final = object()
"""What is given back where the call is another one."""


class Names:
    """The things that a text speaks of, by the names that it has for them."""

    def __init__(self) -> None:
        self.things: dict[str, Any] = {}

    def of(self, thing: Any) -> str:
        """A name for one more."""
        name = f"v{len(self.things)}"
        self.things[name] = thing
        return name


def warm_call(
    function: Callable[..., Any], known: Known, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> WarmCall:
    """What runs calls like this one.

    Args:
        function: what is called.
        known: what is known of this call; the guards of its program hold.
        args, kwargs: as the user passes them.
    """
    names = Names()
    text = "\n".join(_lines(function, known, args, kwargs, names.of))
    scope: dict[str, Any] = {"__name__": __name__}  # what is raised there is raised here
    exec(_compiled(f"def make({', '.join(names.things)}):\n{text}\n    return warm"), scope)
    made: WarmCall = scope["make"](**names.things)
    return made


@functools.lru_cache(maxsize=256)
def _compiled(text: str) -> types.CodeType:
    """Most calls have one of a few texts; what differs are the things in them."""
    return compile(text, f"{__file__}:a call", "exec", dont_inherit=True)


def _lines(
    function: Callable[..., Any],
    known: Known,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: Callable[[Any], str],
) -> list[str]:
    another, entry, runner = name(ANOTHER), known.entry, known.entry.runner
    here = [f"a{index}" for index in range(len(args) + len(kwargs))]
    things = dict(zip(here, (*args, *kwargs.values()), strict=True))
    tensors = [each for each, thing in things.items() if isinstance(thing, bridge.EagerTensor)]
    asked = [_is_like(each, thing, name) for each, thing in things.items()]
    if len(tensors) > 1:
        asked.append(f"len({{{', '.join(f'id({each})' for each in tensors)}}}) == {len(tensors)}")
    if known.order is not None:
        tensors = [tensors[position] for position in known.order]
    trains, debugs, *paddles = known.parts[0]
    defaults = getattr(function, "__defaults__", None)
    asked += [
        *(
            [f"{name(function)}.__defaults__ is {name(defaults)}"]
            if hasattr(function, "__defaults__")
            else []
        ),
        f"training == {name(trains)}",
        f"{name(config.get)}().debug_on_run is {debugs}",
        *bridge.modes_are(tuple(paddles), name),
        runner.is_fresh(name),
    ]
    same_names = f"tuple(kwargs) == {name(tuple(kwargs))}" if kwargs else "not kwargs"
    return [
        "    def warm(args, kwargs, training):",
        f"        if not (len(args) == {len(args)} and {same_names}):",
        f"            return {another}",
        f"        [{', '.join(here[: len(args)])}] = args",
        *([f"        [{', '.join(here[len(args) :])}] = kwargs.values()"] if kwargs else []),
        "        if not (",
        "            " + "\n            and ".join(asked),
        "        ):",
        f"            return {another}",
        f"        {name(entry)}.used = {name(CLOCK)}.__next__()",
        f"        tensors = [{', '.join(tensors)}]",
        *(" " * 8 + line for line in runner.in_short(name, another if entry.fallible else None)),
    ]


def _is_like(here: str, thing: Any, name: Callable[[Any], str]) -> str:
    """Whether an argument is of the kind that a key says."""
    asked = [f"type({here}) is {name(type(thing))}"]
    if isinstance(thing, bridge.EagerTensor):
        alike = "is" if thing.dtype is thing.dtype else "=="  # before Paddle 3.3
        asked += [
            f"{here}.dtype {alike} {name(thing.dtype)}",
            f"{here}.shape == {name(thing.shape)}",
            f"{here}.stop_gradient is {thing.stop_gradient}",
            f"{here}.is_dense()",
        ]
    elif type(thing) is float:
        asked.append(f"{here}.hex() == {name(thing.hex())}")
    else:
        asked.append(f"{here} == {name(thing)}")
    return " and ".join(asked)
