"""The page around: one file without links to others, light and dark, for screens of any width."""

from __future__ import annotations

import functools
import html
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""What a browser may load for the page: nothing but what is in it."""

_CONTROLS: Final = {
    **{code: 0xFFFD for code in range(32) if chr(code) not in "\t\n"},
    **dict.fromkeys(range(0x7F, 0xA0), 0xFFFD),
    **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD),
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}
"""What HTML has not, halves of pairs, and what turns the direction of the text behind it around."""


def escaped(text: object) -> str:
    r"""Any text as HTML, between tags or in a quoted attribute.

    >>> escaped('</script> & "x"')
    '&lt;/script&gt; &amp; &quot;x&quot;'
    """
    return html.escape(str(text).translate(_CONTROLS), quote=True)


@functools.cache
def _part(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def page(title: str, body: str) -> str:
    """A whole page.

    Args:
        title: a text.
        body: HTML.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escaped(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escaped(title)}</title>\n<style>\n{_part('style.css')}</style>\n</head>\n"
        f"<body>\n{body}\n<script>\n{_part('script.js')}</script>\n</body>\n</html>\n"
    )


def framed(whole: str, height: int = 480) -> str:
    """A page as a part of a notebook, which keeps its style to itself."""
    return (
        f'<iframe srcdoc="{html.escape(whole, quote=True)}" width="100%" height="{height}" '
        'sandbox="allow-scripts" style="border:1px solid #8884;border-radius:6px"></iframe>'
    )


def section(title: str, body: str, name: str = "") -> str:
    """A part of a page with a title; nothing where it has no contents."""
    if not body:
        return ""
    mark = f' id="{escaped(name)}"' if name else ""
    return f"<section{mark}>\n<h2>{escaped(title)}</h2>\n{body}\n</section>\n"
