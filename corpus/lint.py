"""``python -m corpus.lint``: hold ``d2s lint`` against what conversion does with the same programs.

Every program of the corpus has a verdict of its own run: right, or refused with a code. A finding
that says "refused" in a program that is right is false; a program that is refused has to have a
finding with its code. The examples of the error catalogue, and the failing programs that no static
program can do, count as refused programs. Nothing is run here.

``--show`` lists what is false and what is missed; ``--packages FOLDER`` checks unpacked packages as
well, against ``corpus/lint_packages.json``, where each finding was judged; ``--page`` writes the
counts into ``docs/guide/lint.md``.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import d2s.errors
from corpus.failures.failure import load, paths
from corpus.language import Language, Text, page_in, write
from corpus.language import table as head
from d2s.diagnostics.catalogue import codes, entry
from d2s.lint.check import check_text, files_in
from d2s.lint.findings import Finding
from d2s.lint.settings import Settings

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "guide" / "lint.md"
JUDGED = HERE / "lint_packages.json"
BEGIN, END = "<!-- counts: begin -->\n", "<!-- counts: end -->\n"
_STATIC = ("D2S2", "D2S304", "D2S307")
"""Codes that the text of a program can lead to; the others are about calls, files and commands."""

_KINDS = {
    name: kind.code
    for name, kind in inspect.getmembers(d2s.errors, inspect.isclass)
    if hasattr(kind, "code")
}


@dataclass(frozen=True)
class Judged:
    """A program, what became of it, and what lint says.

    Attributes:
        name: its name.
        code: the code it is refused with; empty when it is right.
        findings: what lint says of it.
    """

    name: str
    code: str
    findings: tuple[Finding, ...]

    @property
    def found(self) -> bool:
        """Whether lint foresees the refusal."""
        return any(one.code == self.code for one in self.findings)


@dataclass
class Tally:
    """What a group of programs comes to."""

    name: Text
    judged: list[Judged] = field(default_factory=list)

    @property
    def refused(self) -> list[Judged]:
        """The programs that are refused."""
        return [one for one in self.judged if one.code]

    @property
    def missed(self) -> list[Judged]:
        """Those that lint says nothing of, or something else."""
        return [one for one in self.refused if not one.found]

    @property
    def said(self) -> list[Finding]:
        """The findings that say that a program is refused."""
        return [f for one in self.judged for f in one.findings if f.severity == "error"]

    @property
    def false(self) -> list[Finding]:
        """Those of them in programs that are right."""
        return [
            f for one in self.judged if not one.code for f in one.findings if f.severity == "error"
        ]


# -- the groups -----------------------------------------------------------------------------------


class _Calls(ast.NodeTransformer):
    """Writes a case so that lint sees what is converted, and with what it is called."""

    def __init__(self) -> None:
        self.inside = ""
        self.target: ast.expr | None = None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if node.name in ("build", "inputs"):
            self.inside = node.name
            self.generic_visit(node)
            self.inside = ""
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        if self.inside == "build" and node.value is not None:
            self.target = node.value
            node.value = ast.Call(ast.Name("_convert", ast.Load()), [node.value], [])
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        if self.inside == "inputs" and isinstance(node.value, ast.Yield) and self.target:
            given = node.value.value
            arguments = given.elts if isinstance(given, ast.Tuple) else [ast.Starred(given)]
            node.value = ast.Call(self.target, arguments, [])
        return node


def cases() -> Tally:
    """The programs of ``corpus/programs``, with the verdicts of the last run."""
    recorded = json.loads((HERE / "results" / "d2s.json").read_text())["cases"]
    tally = Tally(Text("programs of the corpus", "语料的程序"))
    for path in sorted((HERE / "programs").rglob("*.py")):
        if path.stem not in recorded:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        tree = ast.fix_missing_locations(_Calls().visit(tree))
        text = "from d2s import to_static as _convert\n" + ast.unparse(tree)
        code = recorded[path.stem]["verdict"].partition("refused ")[2]
        tally.judged.append(Judged(path.stem, code, tuple(check_text(text, path.stem))))
    return tally


def examples() -> Tally:
    """The examples of the error catalogue, and what it advises instead."""
    tally = Tally(Text("examples of the error catalogue", "错误目录的示例"))
    for code in codes():
        found = entry(code)
        if not code.startswith(_STATIC) or found.example.language != "python":
            continue
        text = found.example.text
        tally.judged.append(Judged(code, code, tuple(check_text(text, code))))
        if found.instead is not None:
            text = found.instead.text
            tally.judged.append(Judged(f"{code} instead", "", tuple(check_text(text, code))))
    return tally


def rules() -> Tally:
    """The failing programs of ``corpus/failures`` that no static program can do."""
    tally = Tally(Text("programs that no static program can do", "任何静态程序都做不到的程序"))
    settings = Settings(converters=("to_static",))
    for name, path in paths().items():
        if path.parent.name == "rules":
            findings = check_text(path.read_bytes(), name, settings)
            tally.judged.append(Judged(name, load(name).code, tuple(findings)))
    return tally


def realistic(every: int = 1) -> Tally:
    """The realistic programs that were right, or refused, when they were last run.

    Args:
        every: of so many files one is read.
    """
    recorded = json.loads((HERE / "realistic" / "verdicts.json").read_text())
    tally = Tally(Text("realistic programs", "真实程序"))
    settings = Settings(converters=("convert",))
    for path in sorted((HERE / "realistic" / "programs").glob("*.py"))[::every]:
        text = path.read_text(encoding="utf-8")
        findings = check_text(text, path.stem, settings)
        for name, verdict, inner in _programs(text, recorded, findings):
            if verdict in ("right", "gradient flag", "refused"):
                tally.judged.append(Judged(name, _code_in(recorded[name][1]), inner))
    return tally


def _code_in(detail: str) -> str:
    """The code of the error that a verdict names by its class."""
    return next((code for kind, code in _KINDS.items() if f": {kind}: " in detail), "")


def _programs(
    text: str, recorded: dict[str, list[str]], findings: list[Finding]
) -> Iterator[tuple[str, str, tuple[Finding, ...]]]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name in recorded:
            last = node.end_lineno or node.lineno
            inner = tuple(one for one in findings if node.lineno <= one.line <= last)
            yield node.name, recorded[node.name][0], inner


# -- packages -------------------------------------------------------------------------------------


def packages(folder: Path) -> dict[str, Any]:
    """What lint says of unpacked packages, one folder each, with the judgements that there are."""
    judged = json.loads(JUDGED.read_text(encoding="utf-8"))["findings"] if JUDGED.exists() else {}
    found: dict[str, Any] = {"packages": {}, "findings": {}}
    for package in sorted(path for path in folder.iterdir() if path.is_dir()):
        files = list(files_in([package], Settings()))
        count = 0
        for path in files:
            for one in check_text(path.read_bytes(), path.relative_to(folder).as_posix()):
                key = f"{one.file}:{one.line}:{one.column} {one.code}"
                found["findings"][key] = judged.get(key, "not judged")
                count += 1
        found["packages"][package.name] = {"files": len(files), "findings": count}
    return found


# -- the page -------------------------------------------------------------------------------------


_GROUPS = (
    Text("programs", "程序"),
    Text("number", "数目"),
    Text("refused", "被拒绝"),
    Text("foreseen", "已预见"),
    Text("errors", "error 数"),
    Text("false", "误报"),
)
_PACKAGES = (
    Text("package", "包"),
    Text("files", "文件数"),
    Text("findings", "结果数"),
    Text("confirmed", "经确认"),
)


def table(groups: Sequence[Tally], language: Language) -> str:
    """The counts, as the page shows them."""
    lines = head(_GROUPS, language)
    for one in groups:
        foreseen = len(one.refused) - len(one.missed)
        lines.append(
            f"| {one.name[language]} | {len(one.judged)} | {len(one.refused)} | {foreseen} "
            f"| {len(one.said)} | {len(one.false)} |"
        )
    found = json.loads(JUDGED.read_text(encoding="utf-8"))
    lines += ["", *head(_PACKAGES, language)]
    for name, counts in found["packages"].items():
        verdicts = [v for key, v in found["findings"].items() if key.startswith(f"{name}/")]
        confirmed = verdicts.count("confirmed")
        lines.append(f"| {name} | {counts['files']} | {counts['findings']} | {confirmed} |")
    return "\n".join(lines) + "\n"


def tallies(every: int = 1) -> list[Tally]:
    """All groups of programs; of so many files of realistic programs one."""
    return [cases(), examples(), rules(), realistic(every)]


def main() -> None:
    """Measure, and say what came out."""
    parser = argparse.ArgumentParser(prog="python -m corpus.lint")
    parser.add_argument("--show", action="store_true", help="list what is false or missed")
    parser.add_argument("--packages", type=Path, help="a folder with unpacked packages")
    parser.add_argument("--page", action="store_true", help="write the counts into the guide")
    arguments = parser.parse_args()
    if arguments.packages is not None:
        found = packages(arguments.packages)
        JUDGED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    groups = tallies()
    print(table(groups, "en"), end="")
    for tally in groups if arguments.show else ():
        for one in tally.missed:
            print(f"  missed {one.name} {one.code}; said {[f.code for f in one.findings]}")
        for finding in tally.false:
            print(f"  false  {finding}")
    if arguments.page:
        write(PAGE, lambda language: _page(groups, language))


def _page(groups: Sequence[Tally], language: Language) -> str:
    before, rest = page_in(language, PAGE).read_text(encoding="utf-8").split(BEGIN)
    return f"{before}{BEGIN}\n{table(groups, language)}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    main()
