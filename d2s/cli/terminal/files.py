"""Files that a command writes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from d2s.errors import OutputFileError


def check(*outputs: Path | None, reads: Iterable[str | Path] = ()) -> None:
    """Refuse an output before the work for it begins.

    Args:
        outputs: Where the command is asked to write; None for an option that is not there.
        reads: What the command is about: files, or targets as ``FILE.py:NAME``.

    Raises:
        OutputFileError: One is not a file, lies in no directory, or is what the command reads.
    """
    sources = [
        os.path.realpath(part)
        for each in reads
        for part in (str(each), str(each).rpartition(":")[0])
        if os.path.isfile(part)  # noqa: PTH113 (False for a name that is too long, as a target may be)
    ]
    for path in outputs:
        if path is None:
            continue
        real = _file(path)
        if str(real) in sources:
            raise OutputFileError(
                f"{path} is the file that the command reads, and would be lost",
                cure="name another file",
            )
        if not real.parent.is_dir():
            kind = "is not a directory" if real.parent.exists() else "does not exist"
            raise OutputFileError(
                f"{path} cannot be written: {real.parent} {kind}",
                cure="name a file in a directory that exists and that you may write to",
            )


def _file(path: Path) -> Path:
    """Where a file lies, or is to lie; a link stays a link."""
    real = Path(os.path.realpath(path))
    if real.exists() and not real.is_file():
        kind = "directory" if real.is_dir() else "device, not a file"
        raise OutputFileError(f"{path} is a {kind}", cure="name a file")
    return real


def write(path: Path, text: str) -> None:
    """Write a file in one step: whoever reads it sees the old text or the new, never a part.

    Args:
        path: The file. Its permissions stay what they are.
        text: The new text.

    Raises:
        OutputFileError: It cannot be written. The old file, if there was one, is unharmed.
    """
    real = _file(path)
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
        temporary = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        temporary.chmod(real.stat().st_mode & 0o777 if real.exists() else _new_file_mode())
        temporary.replace(real)
        temporary = None
    except OSError as error:
        raise OutputFileError(
            f"{path} cannot be written: {error.strerror or error}",
            cure="name a file in a directory that exists and that you may write to",
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _new_file_mode() -> int:
    """What ``open`` would give a new file. Python can ask for the mask only by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return 0o666 & ~mask
