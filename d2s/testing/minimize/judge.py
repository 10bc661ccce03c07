"""What a program shows: asked of a process that has imported Paddle, and forks for each one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from d2s.errors import NoInputsError

_LEAST: Final = 3.0
_MORE: Final = 20.0
"""A program gets so many times the seconds that the first one took, and no less than three."""


@dataclass(frozen=True)
class Subject:
    """What is cut down.

    Attributes:
        text: the text of the file.
        name: the dotted name of the function, method or layer in it.
        folder: where the modules that it imports are looked for first.
        package: the package of the file, for imports with dots.
        grad: compare gradients.
        made: the name is that of a class of layers, and an object of it is called.
    """

    text: str
    name: str
    folder: str
    package: str = ""
    grad: bool = True
    made: bool = False


@dataclass(frozen=True)
class Symptom:
    """What a program shows.

    Attributes:
        static: what d2s does: a code, ``differs in result``, ``hangs``, ``crashes with SIGSEGV``.
        dygraph: what dygraph does with the same calls: ``agrees``, or ``raises`` and a type.
        cause: behind a code, its cause without names and numbers.
    """

    static: str
    dygraph: str
    cause: str = ""


class Judge:
    """Runs programs, each in a process of its own.

    Args:
        subject: what they are made of.
        grad: compare gradients.
        limit: seconds that one may take.
    """

    def __init__(self, subject: Subject, grad: bool, limit: float) -> None:
        self._subject = subject
        self._grad = grad
        self._limit = limit
        self._folder = tempfile.TemporaryDirectory(prefix="d2s-minimize-")
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *error: object) -> None:
        self._end()
        self._folder.cleanup()

    def hurry(self, symptom: Symptom, seconds: float) -> None:
        """Give programs no longer than they can need, if the first took so many seconds."""
        if symptom.static != "hangs":
            self._limit = min(self._limit, max(_LEAST, _MORE * seconds))

    def symptom(self, text: str, wanted: Symptom | None = None) -> Symptom | None:
        """What a program shows; ``None`` if nothing is wrong, or it is no program to judge by.

        Args:
            text: the program.
            wanted: no more is looked at once it is known to be another symptom.
        """
        said = self._ask("program", text)
        if said is None or said == "agrees":
            return None
        static, _, cause = said.partition("\n")
        if wanted and (static, cause) != (wanted.static, wanted.cause):
            return None
        dygraph = self._ask("dygraph", text)
        if dygraph is None or not dygraph.startswith(("agrees", "raises")) or dygraph == static:
            return None
        return Symptom(static, dygraph, cause)

    def search(
        self, specs: Sequence[tuple[object, ...]], wanted: str, examples: int, seed: int
    ) -> str | None:
        """Python's text for calls that show something; ``None`` if none are found.

        Raises:
            NoInputsError: (D2S604) nothing says what a parameter takes.
        """
        request = {"specs": specs, "wanted": wanted, "examples": examples, "seed": seed}
        answer = self._answer(
            "search", self._subject.text, limit=self._limit * (examples + 1), **request
        )
        said, end = answer["said"], answer["end"]
        last = said[-1] if said else ""
        if last.startswith("error "):
            cause, _, cure = last.removeprefix("error D2S604 ").partition("\n")
            raise NoInputsError(cause, cure=cure)
        word, _, calls = last.partition(" ")
        return calls if word == "found" or (word == "try" and end) else None

    def _ask(self, what: str, text: str) -> str | None:
        """What is said of a program; ``None`` if it cannot be run at all."""
        answer = self._answer(what, text, limit=self._limit)
        if answer["end"]:
            return str(answer["end"])
        said = str(answer["said"][-1]) if answer["said"] else "invalid"
        return None if said.startswith(("invalid", "error ")) else said

    def _answer(self, what: str, text: str, **more: object) -> dict[str, Any]:
        request = {
            "what": what,
            "text": text,
            "file": str(Path(self._folder.name) / "smaller.py"),
            "folder": self._subject.folder,
            "package": self._subject.package,
            "name": self._subject.name,
            "grad": self._grad,
            **more,
        }
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        answer: dict[str, Any] = json.loads(process.stdout.readline())
        return answer

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            root = str(Path(__file__).resolve().parents[3])
            path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
            self._process = subprocess.Popen(
                [sys.executable, "-m", "d2s.testing.minimize.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,  # Ctrl-C is for us, not for it
            )
            assert self._process.stdout is not None
            self._process.stdout.readline()
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
            self._process = None
