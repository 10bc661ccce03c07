"""Where figures come from: processor, load, versions, commit."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import paddle

from d2s import __version__

SAME: Final = ("cpu", "cores", "threads", "python", "paddle")
"""What two sets of figures must have in common to be compared."""


def environment() -> dict[str, Any]:
    """Where a figure that is measured now comes from."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS", "default"),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "paddle": paddle.__version__,
        "d2s": __version__,
        "commit": _commit(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def in_one_line(found: Mapping[str, Any]) -> str:
    """An environment as text."""
    return (
        f"{found['cpu']}, {found['cores']} cores (load {found['load']}, "
        f"OMP_NUM_THREADS {found['threads']}), Python {found['python']}, "
        f"Paddle {found['paddle']}, d2s {found['d2s']} (commit {found['commit']}), {found['time']}"
    )


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _commit() -> str:
    """The state of the text of d2s, where it is a clone; ``none`` where it is installed."""
    root = Path(__file__).resolve().parents[2]
    if _git(root, "rev-parse", "--show-toplevel") != str(root):  # the clone of something else
        return "none"
    return _git(root, "describe", "--always", "--dirty", "--exclude=*")


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()
