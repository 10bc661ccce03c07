"""``d2s lint``: check files, mend what is certain, write what was found."""

from __future__ import annotations

import difflib
import io
import tokenize
from collections.abc import Sequence
from pathlib import Path

import typer

from d2s.cli.terminal.files import check, write
from d2s.cli.terminal.progress import working
from d2s.errors import TargetError
from d2s.lint import report, settings
from d2s.lint.check import check_text, files_in, fixed
from d2s.lint.findings import Finding
from d2s.lint.settings import Settings


def lint(
    paths: Sequence[Path],
    *,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    converters: tuple[str, ...],
    fix: bool,
    form: str,
    output: Path | None,
) -> None:
    """What the command does; ``d2s.cli.commands`` says what its options mean."""
    if form not in report.FORMATS:
        close = difflib.get_close_matches(form, report.FORMATS, 1) or report.FORMATS
        raise typer.BadParameter(f"--format is {form!r}; choose {' or '.join(close)}")
    for path in paths:
        if not path.exists():
            raise TargetError(f"there is no file {path}", cure="name files or folders")
        if path.is_dir() and next(path.rglob("*.py"), None) is None:
            raise TargetError(f"there is no Python file in {path}", cure="name files or folders")
    folder = paths[0].resolve()
    wanted = settings.read(folder if folder.is_dir() else folder.parent)
    wanted = wanted.changed(select=select, ignore=ignore, converters=converters)
    if output is not None and output.exists():
        check(output, reads=files_in(paths, wanted))
    with working("checking"):
        findings = _findings(paths, wanted, fix=fix)
    text = report.FORMATS[form](findings)
    if output is not None:
        write(output, text)
    else:
        typer.echo(text, nl=False)
    if form in ("text", "concise"):
        typer.echo(report.summary(findings), err=True)
    if findings:
        raise typer.Exit(1)


def _findings(paths: Sequence[Path], wanted: Settings, *, fix: bool) -> list[Finding]:
    found: list[Finding] = []
    for path in files_in(paths, wanted):
        try:
            source = path.read_bytes()
        except OSError as error:
            raise TargetError(
                f"{path} cannot be read: {error.strerror or error}", cure="check its permissions"
            ) from error
        named = path in paths
        here = check_text(source, str(path), wanted, named=named)
        text = _text(source)
        if fix and text is not None and any(one.edits for one in here):
            write(path, fixed(text, here))
            here = check_text(path.read_bytes(), str(path), wanted, named=named)
        found += here
    return found


def _text(source: bytes) -> str | None:
    """What ``write`` would give back byte for byte; None for a file in another encoding."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        return source.decode() if encoding == "utf-8" else None
    except (SyntaxError, UnicodeDecodeError):
        return None
