"""An entry of the catalogue of error codes, laid out for a terminal."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from d2s.diagnostics.catalogue import Block, Entry


def show(found: Entry) -> None:
    """Print an entry on the terminal."""
    Console(highlight=False).print(laid_out(found))


def laid_out(found: Entry) -> RenderableType:
    """An entry for a terminal."""
    parts: list[RenderableType] = [
        Text.assemble((found.code, "bold cyan"), "  ", (found.title, "bold")),
        "",
        Markdown(found.cause),
        *_section("Example", _code(found.example)),
        *_section("Cure", Markdown(found.cure)),
    ]
    if found.instead is not None:
        parts += _section("Instead", _code(found.instead))
    if found.see:
        links = [Text(f"{link.text}: docs/guide/{link.target}") for link in found.see]
        parts += _section("See", Group(*links))
    return Group(*parts)


def _section(title: str, body: RenderableType) -> list[RenderableType]:
    return ["", Text(title, "bold green"), body]


def _code(block: Block) -> RenderableType:
    language = "bash" if block.language == "sh" else block.language
    text = Syntax(block.text.rstrip("\n"), language, theme="ansi_dark", word_wrap=True)
    return Padding(text, (0, 0, 0, 2))
