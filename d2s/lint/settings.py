"""What is looked for: options of the command over ``[tool.d2s.lint]`` in ``pyproject.toml``."""

from __future__ import annotations

import fnmatch
import importlib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from d2s.errors import LintSettingsError

_FILE: Final = "pyproject.toml"


@dataclass(frozen=True)
class Settings:
    """What is looked for.

    Attributes:
        select: codes, or beginnings of codes; all when empty.
        ignore: codes, or beginnings of codes, that are left out.
        exclude: patterns of paths that are left out when a folder is searched.
        converters: names of your own that stand for ``to_static``, such as ``mylib.static``.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    converters: tuple[str, ...] = ()

    def wants(self, code: str) -> bool:
        """Whether a code is looked for.

        >>> Settings(select=("D2S2",), ignore=("D2S208",)).wants("D2S205")
        True
        """
        chosen = not self.select or code.startswith(self.select)
        return chosen and not (self.ignore and code.startswith(self.ignore))

    def excludes(self, path: Path) -> bool:
        """Whether a file is left out."""
        text = path.as_posix()
        return any(
            fnmatch.fnmatch(text, pattern)
            or fnmatch.fnmatch(f"/{text}", f"*/{pattern.strip('/')}/*")
            for pattern in self.exclude
        )

    def changed(self, **options: tuple[str, ...] | None) -> Settings:
        """The same with the options that were given."""
        given = {name: _codes(name, value) for name, value in options.items() if value}
        return replace(self, **given)


def read(folder: Path) -> Settings:
    """The settings of the project that a folder is in.

    Raises:
        LintSettingsError: (D2S508) the file cannot be read, or has settings that there are not.
    """
    for place in [folder, *folder.parents]:
        file = place / _FILE
        if file.is_file():
            table = _table(file)
            if table is not None:
                return _understood(file, table)
    return Settings()


def _table(file: Path) -> dict[str, Any] | None:
    text = file.read_text(encoding="utf-8", errors="replace")
    if "tool.d2s" not in text:
        return None
    try:
        toml: Any = importlib.import_module("tomllib")
    except ModuleNotFoundError:  # Python 3.10
        toml = importlib.import_module("tomli")
    try:
        table = toml.loads(text)["tool"]["d2s"]["lint"]
    except KeyError:
        return None
    except ValueError as error:
        raise LintSettingsError(f"this is not TOML: {error}", file=str(file)) from error
    return table if isinstance(table, dict) else {"": table}


def _understood(file: Path, table: dict[str, Any]) -> Settings:
    known = [field.name for field in fields(Settings)]
    for name, value in table.items():
        if name not in known:
            raise LintSettingsError(
                f"[tool.d2s.lint] has no setting {name!r}",
                cure=f"the settings are {', '.join(known)}",
                file=str(file),
            )
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise LintSettingsError(
                f"{name} of [tool.d2s.lint] is not a list of texts",
                cure=f'write {name} = ["..."]',
                file=str(file),
            )
    given = {name: _codes(name, tuple(value)) for name, value in table.items()}
    return replace(Settings(), **given)


def _codes(name: str, values: tuple[str, ...]) -> tuple[str, ...]:
    """The values of a setting, codes in upper case; several may stand in one, with commas."""
    split = tuple(part.strip() for value in values for part in value.split(",") if part.strip())
    if name not in ("select", "ignore"):
        return split
    found = tuple(f"D2S{part}" if part.isdigit() else part.upper() for part in split)
    for code in found:
        if not code.startswith("D2S"[: len(code)]):
            raise LintSettingsError(
                f"{name} has {code!r}, which no code begins with",
                cure="write codes or beginnings of codes, such as D2S205 or D2S7",
            )
    return found
