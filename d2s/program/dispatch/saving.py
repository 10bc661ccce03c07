"""``paddle.jit.save`` and ``load``: what they are asked for, and errors in words for the user."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.blame import is_defect
from d2s.errors import ArgumentsError, D2SError, LoadError, SaveError
from d2s.syntax.source import kind_of

SAVING: Final = (
    *("output_spec", "with_hook", "combine_params", "clip_extra", "skip_forward"),
    *("input_names_after_prune", "skip_prune_program", "separate_parameters"),
)
"""The options of ``save`` besides ``input_spec``."""

LOADING: Final = ("model_filename", "params_filename")
"""The options of ``load``."""


def path_of(path: object) -> str:
    """A path as text.

    Raises:
        ArgumentsError: (D2S301) it is none.
    """
    if isinstance(path, str | os.PathLike):
        return str(os.fspath(path))
    raise ArgumentsError(
        f"the path is {kind_of(path)}", cure="give a text or a pathlib.Path, without suffix"
    )


def saved(function: Any, path: str, options: dict[str, Any]) -> None:
    """Save a converted function or layer.

    Args:
        function: it; or what ``load`` has given.
        path: where to, without suffix.
        options: as the user gave them, and ``input_spec``.

    Raises:
        SaveError: (D2S401) Paddle does not save it.
        ArgumentsError: (D2S301) an option is unknown.
    """
    _check_names("save", {*options} - {"input_spec"}, ("input_spec", *SAVING))
    given = paddles_options(getattr(function, "forward", function), options)
    try:
        paddle.jit.save(function, path, **given)
    except D2SError:
        raise
    except (ValueError, RuntimeError, OSError) as error:
        if not isinstance(error, ValueError) and not is_defect(error):
            raise  # of the function that is saved
        cure = "check that the path names a file and that the result uses every argument"
        if "to save variables" in str(error) or isinstance(error, OSError):
            cure = "give a path whose folder can be written to"
        raise SaveError(f"Paddle cannot save this program ({_reason(error)})", cure=cure) from error


def loaded(path: str, options: dict[str, Any]) -> Any:
    """What ``paddle.jit.load`` makes of a saved program.

    Raises:
        LoadError: (D2S402) there is none, or a part of it is missing or is something else.
        ArgumentsError: (D2S301) an option is unknown.
    """
    _check_names("load", {*options}, LOADING)
    named = options.get("model_filename")
    files = [path + ".json", path + ".pdmodel"] if named is None else [str(Path(path, named))]
    if not any(map(os.path.exists, files)):
        raise LoadError(
            f"there is no saved program at {path!r}",
            cure="pass the path that was given to save, without suffix",
        )
    whole = "save it again, and keep the files of one save together"
    try:
        layer = paddle.jit.load(path, **options)
    except (ValueError, RuntimeError, OSError) as error:
        raise LoadError(f"Paddle cannot load {path!r} ({_reason(error)})", cure=whole) from error
    wanted = sum(len(each.parameters) for each in bridge.saved_programs(layer).values())
    if wanted and not layer.state_dict():
        raise LoadError(f"the program at {path!r} has lost its parameters", cure=whole)
    return layer


def _check_names(function: str, given: set[str], known: tuple[str, ...]) -> None:
    for name in sorted(given - {*known}):
        raise ArgumentsError(
            f"{function} has no option {name!r}", cure=f"the options are {', '.join(known)}"
        )


def _reason(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


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
