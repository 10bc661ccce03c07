"""Findings as text, for programs, for code scanning (SARIF), and for GitHub's annotations."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

from d2s import __version__
from d2s.diagnostics.catalogue import entry
from d2s.lint.findings import SEVERITIES, Finding

_SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"


_KINDS: Final = {"error": "", "warning": "warning: ", "note": "note: "}


def as_text(findings: Sequence[Finding]) -> str:
    """Place and message, cure and code for each, as errors of d2s have them."""
    return "".join(
        f"{found.place}: {_KINDS[found.severity]}{found.message}\n"
        f"  cure: {found.cure}  [{found.code}]\n"
        for found in findings
    )


def as_concise(findings: Sequence[Finding]) -> str:
    """One line for each."""
    return "".join(f"{found}\n" for found in findings)


def summary(findings: Sequence[Finding]) -> str:
    """How many there are of each severity.

    >>> summary([])
    'nothing found'
    """
    counts = Counter(found.severity for found in findings)
    words = [
        f"{counts[kind]} {kind}{'s' if counts[kind] > 1 else ''}"
        for kind in SEVERITIES
        if counts[kind]
    ]
    fixable = sum(bool(found.edits) for found in findings)
    fix = f"; --fix can mend {fixable}" if fixable else ""
    return (", ".join(words) or "nothing found") + fix


def as_json(findings: Sequence[Finding]) -> str:
    """For programs: a list."""
    return json.dumps([found.as_dict() for found in findings], indent=2) + "\n"


def as_github(findings: Sequence[Finding]) -> str:
    """Commands of GitHub's workflows, which it shows beside the lines."""
    kinds = {"note": "notice"}
    lines = [
        f"::{kinds.get(found.severity, found.severity)} file={_property(found.file)},"
        f"line={found.line},endLine={found.end_line or found.line},col={found.column + 1},"
        f"title={found.code}::{_data(f'{found.message}; cure: {found.cure}')}\n"
        for found in findings
    ]
    return "".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def as_sarif(findings: Sequence[Finding]) -> str:
    """SARIF 2.1.0, for code scanning."""
    codes = sorted({found.code for found in findings})
    tool = {
        "name": "d2s lint",
        "version": __version__,
        "rules": [_rule(code) for code in codes],
    }
    run = {
        "tool": {"driver": tool},
        "columnKind": "unicodeCodePoints",
        "results": [_result(found, codes) for found in findings],
    }
    return json.dumps({"version": "2.1.0", "$schema": _SARIF, "runs": [run]}, indent=2) + "\n"


def _rule(code: str) -> dict[str, Any]:
    known = entry(code)
    return {
        "id": code,
        "shortDescription": {"text": known.title},
        "fullDescription": {"text": known.cause},
        "help": {"text": known.cure},
    }


def _result(found: Finding, codes: list[str]) -> dict[str, Any]:
    region = {"startLine": found.line, "startColumn": found.column + 1}
    if found.end_line:
        region |= {"endLine": found.end_line, "endColumn": found.end_column + 1}
    place = {"artifactLocation": {"uri": _uri(found.file)}, "region": region}
    return {
        "ruleId": found.code,
        "ruleIndex": codes.index(found.code),
        "level": found.severity,
        "message": {"text": f"{found.message}. Cure: {found.cure}."},
        "locations": [{"physicalLocation": place}],
    }


def _uri(file: str) -> str:
    """A file as a reference to a URI: escaped, and absolute if its path is."""
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


FORMATS: Final[dict[str, Callable[[Sequence[Finding]], str]]] = {
    "text": as_text,
    "concise": as_concise,
    "json": as_json,
    "github": as_github,
    "sarif": as_sarif,
}
