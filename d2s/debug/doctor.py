"""``d2s doctor``: what is installed, what is set, what works here, and what is known not to.

Imports no Paddle itself: that is up to the probes (``d2s.debug.probes``), which run in a process of
their own, so that the report is there when Paddle is missing, crashes or hangs.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from d2s import __version__, config
from d2s.debug import probes
from d2s.markup.flow import counted

_PACKAGES: Final = (
    *("paddlepaddle", "paddlepaddle-gpu", "numpy", "gast", "beniget", "astor", "rich", "typer"),
    *("hypothesis", "paddlenlp", "ppdiffusers", "paddle2onnx"),
)
_NEEDED: Final = {"gast": "0.7", "beniget": "0.5", "astor": "0.8"}
"""Packages and the minor version that d2s is written against."""

_PYTHONS: Final = ((3, 10), (3, 13))
_VARIABLES: Final = ("D2S_", "FLAGS_", "GLOG_", "OMP_", "MKL_", "CUDA_VISIBLE", "PYTHONOPTIMIZE")
_LIMIT_S: Final = 300.0
"""Seconds that the probes have together."""


@dataclass(frozen=True)
class Probed:
    """What came of one probe.

    Attributes:
        name: what was tried.
        works: whether it did.
        detail: what happened instead.
        seconds: how long it took.
    """

    name: str
    works: bool
    detail: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Examination:
    """The report.

    Attributes:
        versions: what is installed.
        settings: options of d2s that are not at their defaults, and variables that matter.
        paddle: what Paddle says of itself; empty when it cannot be imported.
        cache: the folder of what is kept for later processes, and how much there is.
        probes: what works here.
        conflicts: what is known not to go together, each with its cure.
    """

    versions: Mapping[str, str]
    settings: Mapping[str, str]
    paddle: Mapping[str, Any]
    cache: Mapping[str, Any]
    probes: tuple[Probed, ...]
    conflicts: tuple[str, ...]

    @property
    def healthy(self) -> bool:
        """Whether everything works, and nothing conflicts."""
        return all(one.works for one in self.probes) and not self.conflicts

    def json(self) -> str:
        """For programs."""
        found = {"healthy": self.healthy, **asdict(self)}
        return json.dumps(found, indent=2) + "\n"

    def text(self) -> str:
        """For people, and for bug reports."""
        lines = [f"{name:18} {version}" for name, version in self.versions.items()]
        if self.paddle:
            device = self.paddle["device"]
            lines.append(f"{'device':18} {device}, default dtype {self.paddle['dtype']}")
        kept = f"{self.cache['entries']:,} entries, {self.cache['bytes'] / 1e6:.1f} MB"
        lines.append(f"{'cache':18} {self.cache['folder'] or 'off'}, {kept}")
        lines += ["", *(f"{name}={value}" for name, value in self.settings.items())]
        lines += ["" if self.settings else "settings: defaults", ""]
        for one in self.probes:
            lines.append(f"{'works ' if one.works else 'FAILS '} {one.name} ({one.seconds:.1f} s)")
            lines += [f"         {line}" for line in one.detail.splitlines()]
        lines += ["", *(f"conflict: {conflict}" for conflict in self.conflicts)]
        works = sum(one.works for one in self.probes)
        conflicts = counted(len(self.conflicts), "conflict")
        lines.append(f"{works} of {len(self.probes)} probes work, {conflicts}")
        text = "\n".join(lines)
        while "\n\n\n" in text:
            text = text.replace("\n\n\n", "\n\n")
        return text + "\n"


def examine(limit_s: float = _LIMIT_S) -> Examination:
    """Look at everything.

    Args:
        limit_s: seconds that the probes may take.
    """
    about, probed = _probe(limit_s)
    versions = _versions()
    cache, complaint = _cache()
    conflicts = (*_conflicts(versions, dict(os.environ)), *_with_paddle(about))
    if complaint:
        wanted = "name a folder that you may write to with D2S_CACHE_DIR, or 0"
        conflicts += (f"the cache {cache['folder']} keeps nothing: {complaint}; {wanted}",)
    return Examination(versions, _settings(), about, cache, tuple(probed), conflicts)


def _cache() -> tuple[dict[str, Any], str]:
    """What is kept on disk, and why nothing can be."""
    try:
        from d2s import disk_cache
    except ImportError:  # what is missing is among the conflicts
        return {"folder": None, "entries": 0, "bytes": 0}, ""
    return disk_cache.info(), disk_cache.complaint()


def _versions() -> dict[str, str]:
    found = {
        "d2s": __version__,
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "platform": platform.platform(),
    }
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _settings() -> dict[str, str]:
    """Options that are not at their defaults, and the variables that may have set them."""
    current, default = config.get(), config.Config()
    found = {
        f"option {field.name}": str(getattr(current, field.name))
        for field in fields(config.Config)
        if getattr(current, field.name) != getattr(default, field.name)
    }
    named = {key: value for key, value in sorted(os.environ.items()) if key.startswith(_VARIABLES)}
    return {**found, **named}


def _conflicts(versions: Mapping[str, str], environment: Mapping[str, str]) -> Iterator[str]:
    """What does not go together, as far as it can be seen without Paddle."""
    if "paddlepaddle" in versions and "paddlepaddle-gpu" in versions:
        yield "paddlepaddle and paddlepaddle-gpu are both installed; uninstall both, install one"
    for package, wanted in _NEEDED.items():
        version = versions.get(package, "nothing")
        if not f"{version}.".startswith(f"{wanted}."):
            yield f"{package} {version} is installed; d2s needs {package} {wanted}"
    if not _PYTHONS[0] <= sys.version_info[:2] <= _PYTHONS[1]:
        yield f"Python {platform.python_version()} is not tested; 3.10 to 3.13 are"
    if environment.get("PYTHONOPTIMIZE"):
        yield "PYTHONOPTIMIZE is set: Python leaves asserts out, d2s does not"
    if environment.get("FLAGS_enable_pir_api") in ("0", "false", "False"):
        yield "FLAGS_enable_pir_api is off: d2s captures programs of PIR; unset it"
    for name in ("paddle", "d2s"):
        for file in (Path(f"{name}.py"), Path(name) / "__init__.py"):
            if file.exists() and not _is_package(name, file):
                yield f"{file} in this folder hides the package {name}; give it another name"


def _is_package(name: str, file: Path) -> bool:
    """Whether a file is the package itself, as in a clone of d2s."""
    return name == "d2s" and file.resolve().parent == Path(__file__).resolve().parents[1]


def _with_paddle(about: Mapping[str, Any]) -> Iterator[str]:
    if not about:
        yield "Paddle cannot be imported: pip install 'd2s[cpu]', or paddlepaddle 3.x"
        return
    if about["paddle"] not in about["tried"]:
        tried = ", ".join(about["tried"])
        yield f"Paddle {about['paddle']} was not tried with d2s {__version__}; tried is {tried}"


def _probe(limit_s: float) -> tuple[dict[str, Any], list[Probed]]:
    """Run the probes in a process of their own."""
    with tempfile.TemporaryDirectory(prefix="d2s-doctor-") as folder:
        copy = Path(folder) / "probes_of_d2s.py"
        shutil.copyfile(probes.__file__, copy)
        root = str(Path(__file__).resolve().parents[2])  # the d2s that is asked, not another one
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        environment = {"GLOG_minloglevel": "3", **os.environ, "PYTHONPATH": path}
        try:
            done = subprocess.run(
                [sys.executable, "-W", "ignore", str(copy)],
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=limit_s,
                env=environment,
            )
            said, complaint, ended = done.stdout, done.stderr, _ended(done.returncode)
        except subprocess.TimeoutExpired as late:
            said, complaint = _text(late.stdout), _text(late.stderr)
            ended = f"no answer in {limit_s:.0f} seconds"
    return _understood(said, complaint, ended)


def _text(said: str | bytes | None) -> str:
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else said or ""


def _ended(status: int) -> str:
    if status == 0:
        return ""
    return f"the process ended with signal {-status}" if status < 0 else f"exit status {status}"


def _understood(said: str, complaint: str, ended: str) -> tuple[dict[str, Any], list[Probed]]:
    """What the lines of the probes say; the one that was going on has failed."""
    about: dict[str, Any] = {}
    found: list[Probed] = []
    going = "import of Paddle and d2s"
    for line in said.splitlines():
        if not line.startswith("{"):
            continue  # what Paddle prints
        facts = json.loads(line)
        if "paddle" in facts:
            about, going = facts, ""
        elif "begin" in facts:
            going = facts["begin"]
        else:
            detail = facts["detail"]
            found.append(Probed(facts["end"], not detail, detail, facts["seconds"]))
            going = ""
    if going or ended:
        last = complaint.strip().splitlines()[-3:]
        found.append(Probed(going or "the end of the process", False, "\n".join([ended, *last])))
    return about, found
