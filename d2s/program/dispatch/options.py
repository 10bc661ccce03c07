"""The options of ``to_static``: those of d2s, and Paddle's, which are honoured or told of.

Paddle's ``build_strategy`` and ``backend`` say how Paddle is to compile a program.  d2s prepares
its programs itself, so it says once, for each function, what it leaves out (D2S312).
"""

from __future__ import annotations

import warnings
from typing import Any, Final

import paddle

from d2s import config
from d2s.diagnostics.location import user_level
from d2s.errors import ArgumentsError, IgnoredOptionWarning

_FLAGS: Final = (True, False, None)
_ALLOWED: Final[dict[str, tuple[Any, ...]]] = {"full_graph": _FLAGS, "property": _FLAGS}
_BACKENDS: Final = ("CINN", "PCC")

NAMES: Final = ("full_graph", "build_strategy", "backend", "property", "check")
"""The options besides ``input_spec``."""


def kept_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options that d2s honours, without those that say what is the default.

    Args:
        options: as they were given; ``check`` is the caller's to look at.

    Raises:
        ArgumentsError: (D2S301) one is unknown, or has a value that no version of Paddle takes.
    """
    for name, value in options.items():
        if name not in NAMES:
            raise ArgumentsError(
                f"to_static has no option {name!r}",
                cure=f"the options are input_spec, {', '.join(NAMES)}",
            )
        if name in _ALLOWED and not any(value is allowed for allowed in _ALLOWED[name]):
            raise _unsupported(name, value, "or ".join(f"{each!r} " for each in _FLAGS).strip())
    ignored = [*_of_strategy(options.get("build_strategy")), *_of_backend(options.get("backend"))]
    if ignored:
        warnings.warn(
            f"to_static ignores {' and '.join(ignored)}: d2s prepares its programs itself, and "
            f"runs them with Paddle's executor  [{IgnoredOptionWarning.code}]",
            IgnoredOptionWarning,
            stacklevel=user_level(),
        )
    return {
        name: value
        for name, value in options.items()
        if name not in ("build_strategy", "backend") and value is not None
    }


def is_whole(options: dict[str, Any]) -> bool:
    """Whether these options of ``to_static`` refuse a function that cannot be one program."""
    wanted = options.get("full_graph")
    return config.get().full_graph if wanted is None else bool(wanted)


def _of_strategy(strategy: Any) -> list[str]:
    """What of a ``BuildStrategy`` is ignored: the fields that are not as they are by default."""
    if strategy is None:
        return []
    if not isinstance(strategy, paddle.static.BuildStrategy):
        raise _unsupported("build_strategy", strategy, "None or a paddle.static.BuildStrategy")
    default = paddle.static.BuildStrategy()
    fields = [name for name in dir(default) if not name.startswith("_")]
    changed = [
        name
        for name in fields
        if not callable(getattr(default, name))
        and repr(getattr(strategy, name)) != repr(getattr(default, name))
    ]
    return [f"build_strategy ({', '.join(changed)})"] if changed else []


def _of_backend(backend: Any) -> list[str]:
    """What of a backend is ignored: the compilers that Paddle may have, CINN and PCC."""
    name = getattr(backend, "name", backend)  # Paddle's own enumeration has names
    if name is None or name == "PHI":
        return []
    if not isinstance(name, str) or name.upper() not in _BACKENDS:
        raise _unsupported("backend", backend, "None or 'CINN'")
    return [f"backend={name!r}"]


def _unsupported(name: str, value: Any, instead: str) -> ArgumentsError:
    return ArgumentsError(
        f"to_static does not support {name}={value!r}",
        cure=f"leave {name} out, or give {instead}",
    )
