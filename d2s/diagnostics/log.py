"""What d2s does, told on request through Python's ``logging``: one event, one line.

There is a logger for each topic, below ``d2s``.  ``D2S_LOG=capture,guards`` asks for topics,
``D2S_LOG=1`` for all of them, ``D2S_LOG=passes:debug`` for more of one; :func:`set_log_level` does
it from Python; and the levels of the loggers may be set as those of any other.  Events happen when
something is converted or captured, never on a call that runs a program that there is.

    d2s.capture: net (net.py:4): captured in 0.12 s, 19 operations: x has shape [-1], had [2]

With ``D2S_LOG_JSON=1`` the line is an object with the same fields, for programs.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

from d2s import config
from d2s.errors import ArgumentsError

Topic = Literal["passes", "capture", "guards", "islands"]
Field = str | int | float | None | Sequence[str]

LOGGER: Final = logging.getLogger("d2s")
if LOGGER.level == logging.NOTSET:
    LOGGER.setLevel(logging.WARNING)  # Paddle asks for all that is said, for itself

TOPICS: Final[Mapping[str, logging.Logger]] = {
    "passes": logging.getLogger("d2s.passes"),
    "capture": logging.getLogger("d2s.capture"),
    "guards": logging.getLogger("d2s.guards"),
    "islands": logging.getLogger("d2s.islands"),
}
"""Functions that are converted; programs that are captured, or cannot be; what a call differs in
from those that there are programs for; functions that become several programs."""

LISTENERS: Final[list[Callable[[str, str, Mapping[str, Field]], None]]] = []
"""Are told the topic, the kind and the fields of each event, whatever the log is asked for."""

OFF: Final = logging.CRITICAL + 10

_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "off": OFF,
}
_PADDLES_FORMAT: Final = "[%(asctime)-15s] [%(levelname)8s] %(filename)s:%(lineno)s - %(message)s"
"""The import of Paddle gives the root logger a handler of this format, and the level INFO."""

_ALL: Final = ("1", "all", "true")
_NONE: Final = ("", "0", "false", "off")


def event(
    topic: Topic,
    kind: str,
    function: str,
    text: str,
    /,
    *,
    code: types.CodeType | None = None,
    level: int = logging.INFO,
    **fields: Field,
) -> None:
    """Tell of something, if somebody wants to know.

    Args:
        topic: what it belongs to.
        kind: what has happened, in one word.
        function: the name of the user's function.
        text: what there is to say of it, for a reader.
        code: the code of the function, for its place.
        level: one of ``logging``.
        **fields: the same, for a program.
    """
    for listener in LISTENERS:
        listener(topic, kind, fields)
    logger = TOPICS[topic]
    if not _wanted(logger, topic, level):
        return
    file, line = ("", 0) if code is None else (code.co_filename, code.co_firstlineno)
    place = f" ({file}:{line})" if file else ""
    record = logger.makeRecord(
        logger.name, level, file, line, "%s%s: %s", (function, place, text), None, function
    )
    where: dict[str, Field] = {"file": file, "line": line} if file else {}
    record.d2s = {"topic": topic, "event": kind, "function": function, **where, **fields}
    _show_somewhere()
    logger.handle(record)


def _wanted(logger: logging.Logger, topic: str, level: int) -> bool:
    """Whether an event is told: a level that is set on the topic's own logger has the last word."""
    if logger.isEnabledFor(level):
        return True
    asked = config.get().log
    return (
        asked not in (0, "0")
        and logger.level == logging.NOTSET
        and level >= _asked(str(asked)).get(topic, OFF)
        and logger.manager.disable < level
    )


def _asked(text: str) -> dict[str, int]:
    """The level of each topic that a text such as ``capture,passes:debug`` asks for."""
    if text.strip().lower() in (*_ALL, *_NONE):
        return dict.fromkeys(TOPICS, logging.INFO if text.strip().lower() in _ALL else OFF)
    found: dict[str, int] = {}
    for part in text.lower().split(","):
        name, _, level = part.strip().partition(":")
        for topic in TOPICS if name in _ALL else (name,):
            found[topic] = _LEVELS.get(level, logging.INFO)
    return found


def unknown_topics(text: str) -> list[str]:
    """What ``D2S_LOG`` names that is no topic and no level."""
    if text.strip().lower() in (*_ALL, *_NONE):
        return []
    parts = [part.strip().lower().partition(":") for part in text.split(",")]
    return [
        f"{name}{colon}{level}"
        for name, colon, level in parts
        if name not in (*TOPICS, *_ALL) or (colon and level not in _LEVELS)
    ]


class _Handler(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to what ``sys.stderr`` is at the moment, in one form or the other."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)

    def format(self, record: logging.LogRecord) -> str:
        """A line for a reader, or an object for a program."""
        told: dict[str, Field] = getattr(record, "d2s", {})
        if not config.get().log_json:
            return f"{record.name}: {record.getMessage()}"
        about: dict[str, Field] = told or {"topic": None, "message": record.getMessage()}
        head = {"time": _moment(record.created), "level": record.levelname.lower()}
        return json.dumps({**head, **about}, default=str)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        self.stream = sys.stderr
        super().emit(record)


def _moment(seconds: float) -> str:
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{moment}.{int(seconds % 1 * 1000):03}Z"


def _show_somewhere() -> None:
    """Let events be seen where nobody but Paddle has set up logging; as JSON, by us alone."""
    ours = [handler for handler in LOGGER.handlers if isinstance(handler, _Handler)]
    others = [handler for handler in LOGGER.handlers if handler not in ours]
    others += [handler for handler in logging.getLogger().handlers if not _is_paddles(handler)]
    wanted = config.get().log_json or not others
    if wanted and not ours:
        LOGGER.addHandler(_Handler())
        LOGGER.propagate = False
    elif ours and not wanted:
        LOGGER.handlers = [handler for handler in LOGGER.handlers if handler not in ours]
        LOGGER.propagate = True


def _is_paddles(handler: logging.Handler) -> bool:
    return getattr(handler.formatter, "_fmt", None) == _PADDLES_FORMAT


def set_log_level(level: int | str, *topics: str) -> None:
    """Say how much d2s tells of itself, from now on.

    It is told through Python's ``logging``, by the loggers ``d2s.passes``, ``d2s.capture``,
    ``d2s.guards`` and ``d2s.islands``; on stderr, where no logging has been set up.

    Args:
        level: ``"debug"``, ``"info"``, ``"warning"``, ``"error"`` or ``"off"``; or one of
            ``logging``.
        *topics: of what: ``"passes"``, ``"capture"``, ``"guards"``, ``"islands"``; all unless
            given.

    Raises:
        ArgumentsError: (D2S301) there is no such level or topic.

    Examples:
        >>> set_log_level("info", "capture", "guards")
        >>> set_log_level("off")
    """
    number = _LEVELS.get(level.lower()) if isinstance(level, str) else level
    if not isinstance(number, int) or isinstance(number, bool):
        raise ArgumentsError(
            f"there is no log level {level!r}", cure=f"the levels are {', '.join(_LEVELS)}"
        )
    for topic in topics:
        if topic not in TOPICS:
            raise ArgumentsError(
                f"d2s logs no topic {topic!r}", cure=f"the topics are {', '.join(TOPICS)}"
            )
    for topic in topics or TOPICS:
        TOPICS[topic].setLevel(number)


def _complain() -> None:
    """Say once what the environment asks for that there is not."""
    unknown = unknown_topics(str(config.get().log))
    if unknown:
        _show_somewhere()
        LOGGER.warning(
            "D2S_LOG: there is no topic %s; they are %s, each alone or as in capture:debug",
            ", ".join(map(repr, unknown)),
            ", ".join(TOPICS),
        )


_complain()
