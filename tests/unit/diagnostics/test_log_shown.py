"""``D2S_LOG`` alone shows what is told, where nobody has set up logging."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import d2s
from d2s import config
from tests.helpers import tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)


def branchy(x):
    if x.sum() > 0:
        return x * 2
    return -x


def test_the_log_is_shown_where_nobody_has_set_up_logging(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """``D2S_LOG=1`` alone is enough to see each capture, once."""
    ours = logging.getLogger("d2s")
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(ours, "handlers", [])
    monkeypatch.setattr(ours, "level", ours.level)
    monkeypatch.setattr(ours, "propagate", True)
    with config.options(log=True):
        static = d2s.to_static(branchy)
        static(PLUS)
        static(tensor(1.0, 2.0, 3.0))
    lines = [line for line in capsys.readouterr().err.splitlines() if "captured in" in line]
    assert len(lines) == 2
    assert all(line.startswith("d2s.capture: branchy (") for line in lines)
