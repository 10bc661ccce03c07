"""What d2s does, told on request: ``D2S_LOG=1`` names each capture with its reason."""

from __future__ import annotations

import logging
from typing import Final

from d2s import config

LOGGER: Final = logging.getLogger("d2s")


def capture(name: str, reason: str) -> None:
    """A program is captured."""
    _say("capture %s: %s", name, reason)


def kept(name: str, what: str, error: BaseException) -> None:
    """A more general capture has failed; a narrower one is made in its place."""
    reason = next(iter(str(error).strip().splitlines()), "")
    _say("%s: %s, because of %s: %s", name, what, type(error).__name__, reason)


def _say(message: str, *arguments: object) -> None:
    if config.get().log:
        if not LOGGER.handlers and not logging.getLogger().handlers:
            handler = logging.StreamHandler()
            handler.setFormatter(logging.Formatter("d2s: %(message)s"))
            LOGGER.addHandler(handler)
        LOGGER.setLevel(logging.INFO)
        LOGGER.info(message, *arguments)
