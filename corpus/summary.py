"""``python -m corpus.summary``: write what ``d2s run`` says of a program into the guide.

The program is ``examples/summary.py``; the block goes into both languages of the page of commands.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PROGRAM: Final = "examples/summary.py"
PAGES: Final = tuple(ROOT / "docs" / room / "commands.md" for room in ("guide", "zh/guide"))
_BLOCK: Final = re.compile(r"(?<=```text\n)d2s: .*?(?=```)", re.DOTALL)


def summary_in(said: str) -> str:
    """The summary alone, with the program as its folder calls it."""
    found = said[said.rindex("d2s: ") :]
    return found.replace(f"{ROOT}/examples/", "").replace("examples/", "")


def main() -> None:
    """Run the program, and write."""
    done = subprocess.run(
        [sys.executable, "-m", "d2s", "run", "--beside-paddle", PROGRAM],
        capture_output=True, text=True, check=True, cwd=ROOT,
        env={**os.environ, "D2S_CACHE_DIR": "0"},
    )  # fmt: skip
    text = summary_in(done.stderr)
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        page.write_text(_BLOCK.sub(lambda _: text, old), encoding="utf-8")


if __name__ == "__main__":
    main()
