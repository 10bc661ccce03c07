"""What ``paddle.jit.save`` is asked for, in words that hold for the program that it saves."""

from __future__ import annotations

from typing import Any

from d2s import paddle_bridge as bridge
from d2s.errors import SaveError


def paddles_options(function: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options of ``d2s.save`` as ``paddle.jit.save`` takes them.

    Args:
        function: the converted function whose outputs ``output_spec`` selects.
        options: as the user gave them.

    Raises:
        SaveError: (D2S401) conversion is switched off; ``output_spec`` names what is no output, or
            changes their order.
    """
    translator = getattr(function, "_program_trans", None)
    if translator is not None and not translator.enable_to_static:
        raise SaveError(
            "paddle.jit.enable_to_static(False) is in force, under which nothing has a program",
            cure="call paddle.jit.enable_to_static(True) before save",
        )
    # Paddle would take out what no result depends on: Print and Assert.
    named = options.get("input_names_after_prune")
    made = {"skip_prune_program": named is None, **options}
    if named is not None and options["input_spec"] is None:
        made["input_spec"] = function.function_spec.input_spec
    wanted = options.get("output_spec")
    if wanted is None:
        return made
    known = list(function.outputs) if any(map(bridge.is_value, wanted)) else []
    positions = [_position(each, known) for each in wanted]
    count = len(known) or None
    if positions == sorted(set(positions)):
        everything = count is not None and len(positions) == count
        return {**made, "output_spec": None if everything else positions}
    raise SaveError(
        f"output_spec asks for the outputs {positions}, and Paddle saves them in the order of the "
        "function",
        cure="ask for them in that order, each once, or return them in the order wanted",
    )


def _position(wanted: Any, known: list[Any]) -> int:
    """Which output ``wanted`` is: a position, or a value of the program that was captured last."""
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        return wanted
    for position, value in enumerate(known):
        if bridge.is_value(wanted) and value.is_same(wanted):
            return position
    raise SaveError(
        f"output_spec has an entry that is no output of the function: {type(wanted).__name__}",
        cure="give values of forward.outputs, or positions: output_spec=[0]",
    )
