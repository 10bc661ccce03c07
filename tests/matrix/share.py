"""A plugin of pytest: ``--share K/N`` runs every N-th test or so, the K-th of such shares.

A test is in the share that its name says, whichever Paddle runs it.
"""

from __future__ import annotations

import zlib
from typing import Any

import pytest


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--share", default="0/1", metavar="K/N", help="run the K-th of N shares")


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    share, of = map(int, config.getoption("--share").split("/"))
    if not 0 <= share < of:
        raise pytest.UsageError(f"--share {share}/{of}: the first number counts from 0")
    kept = [item for item in items if zlib.crc32(item.nodeid.encode()) % of == share]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept
