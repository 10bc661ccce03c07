"""``python -m corpus.screenshot``: the pictures of the documentation, light and dark.

A report of a small model, and the dump and the program of the README's example, drawn by Chromium.
Times beside dygraph are left out: a picture is no benchmark.  Needs ``chromium`` and Pillow, which
Matplotlib brings along.  Ends with 1 where there is no browser, or a picture is larger than it
should be.
"""

from __future__ import annotations

import os

os.environ.setdefault("GLOG_minloglevel", "2")

import html
import io
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

import paddle
import paddle.nn.functional as F

import d2s
from d2s.markup.flow import picture
from d2s.markup.page import page
from examples.shrink import Shrink

FOLDER: Final = Path(__file__).resolve().parents[1] / "docs" / "guide" / "pictures"
SCHEMES: Final = {"light": [], "dark": ["--blink-settings=preferredColorScheme=0"]}
LARGEST: Final = 200_000
"""The most bytes of a picture."""


class Attention(paddle.nn.Layer):
    """What the report is about."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.query = paddle.nn.Linear(width, width)
        self.key = paddle.nn.Linear(width, width)
        self.value = paddle.nn.Linear(width, width)

    def scores(self, x: paddle.Tensor) -> paddle.Tensor:
        return self.query(x) @ self.key(x).transpose([1, 0]) / x.shape[-1] ** 0.5

    def forward(self, x, rounds=2):
        for _ in range(rounds):
            weights = F.softmax(self.scores(x))
            x = x + weights @ self.value(x)
        while x.abs().max() > 1:
            x = x * 0.5
        if x.mean() > 0:
            x = x - x.mean()
        else:
            print("below zero:", x.mean())
        return x


def report() -> str:
    """The report as a page."""
    paddle.seed(7)
    return replace(
        d2s.report(Attention(), paddle.randn([128, 64]), profile=True), timing=None
    ).html()


def dump() -> str:
    """The README's example, and what it is rewritten to, as a notebook shows it."""
    shown = d2s.dump(Shrink.forward, file=io.StringIO())._repr_html_()
    (text,) = re.findall(r'srcdoc="([^"]*)"', shown)
    return html.unescape(text)


def program() -> str:
    """The branches and loops of its program."""
    found = d2s.explain(Shrink(), paddle.randn([16, 8]))
    return page("program", picture(found.programs[0].flow, "control flow"))


PICTURES: Final = {
    "report": (report, (1200, 800)),
    "dump": (dump, (1200, 560)),
    "program": (program, (500, 300)),
}
"""By name: what is shown, and the size of the picture."""


def draw(
    browser: str, source: Path, target: Path, size: tuple[int, int], options: list[str]
) -> None:
    """Let a browser draw a page into a file, with few colours."""
    from PIL import Image

    width, height = size
    command = [
        browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        f"--user-data-dir={source.parent / 'profile'}", f"--window-size={width},{height}",
        f"--screenshot={target}", *options, source.as_uri(),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    with Image.open(target) as drawn:
        small = drawn.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    small.save(target, optimize=True)


def main() -> int:
    """Draw each picture in both schemes."""
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
    if browser is None:
        print("no Chromium is installed", file=sys.stderr)
        return 1
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, (content, size) in PICTURES.items():
            source = Path(folder, f"{name}.html")
            source.write_text(content(), encoding="utf-8")
            for scheme, options in SCHEMES.items():
                target = FOLDER / f"{name}-{scheme}.png"
                draw(browser, source, target, size, options)
                print(f"{target}: {target.stat().st_size} bytes")
                if target.stat().st_size > LARGEST:
                    return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
