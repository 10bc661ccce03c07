"""Every block of Python of the documentation runs, in English and in Chinese.

The blocks of a page run one after the other and share their names, as a reader takes them; each is
a file, because d2s reads source text.  What a page takes for granted stands in ``GIVEN``.
"""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from typing import Any

import paddle
import pytest

import d2s
from tests.docs.pages import DOCS, ROOT, python

_IMPORTS = "import paddle\nimport d2s\nfrom paddle.static import InputSpec\n"
_NET = _IMPORTS + "net, x = paddle.nn.Linear(8, 8), paddle.ones([2, 8])\n"
GIVEN: dict[str, str] = {
    "README.md": "from examples.shrink import model\nx = model.linear.weight.detach()\n",
    "index.md": _IMPORTS,
    "commands.md": _IMPORTS + "open('their_training.py', 'w').close()\n",
    "control-flow.md": _IMPORTS,
    "decoding.md": _IMPORTS
    + """
import queue
from examples.tiny_decoder import Decoder

model = Decoder(end=-1)  # it goes on to the end
model.eval()
prompt = paddle.ones([2, 5], "int64")
words, steps, token = queue.Queue(), 2, paddle.to_tensor([1])
start, longest = paddle.to_tensor(0), 64
k = paddle.ones([2, 4, 45, 16])
keys, scores = paddle.zeros([2, 4, longest, 16]), paddle.zeros([2, 4, 45, longest])
""",
    "errors.md": _IMPORTS
    + """
class Net(paddle.nn.Layer):
    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
        return x


net, x = Net(), paddle.ones([2])
step = net
""",
    "lint.md": _NET,
    "self-check.md": _NET,
    "quickstart.md": "open('my_metrics.py', 'w').close()\n",
    "testing.md": _NET
    + """
from pathlib import Path

short, long = paddle.ones([1]), paddle.ones([3])
Path("net.py").write_text(
    "import paddle\\ndef clipped(x: paddle.Tensor, limit: float = 1.0): return x"
)


def my_function(x, index):
    return x.gather(index % 3)
""",
}
"""By the name of the page: what its blocks take for granted."""

RAISES: dict[tuple[str, int], type[BaseException]] = {("debugging.md", 1): IndexError}
"""By page and block: what the page says that it raises."""

PAGES = [
    page
    for page in [*sorted(ROOT.glob("README*.md")), *sorted(DOCS.rglob("*.md"))]
    if "errors" not in page.relative_to(ROOT).parts  # tests/unit/diagnostics runs them
    and "decisions" not in page.parts
    and python(page)
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("D2S_FULL_GRAPH", raising=False)
    monkeypatch.setattr(sys, "breakpointhook", lambda: None)
    paddle.seed(0)
    names: dict[str, Any] = {"__name__": "page"}
    name = page.name.replace(".zh-CN", "")
    with d2s.options(full_graph=False):
        for number, text in enumerate([GIVEN.get(name, ""), *python(page)]):
            file = tmp_path / f"block_{number}.py"
            file.write_text(text, encoding="utf-8")
            linecache.checkcache(str(file))
            code = compile(text, str(file), "exec")
            if (name, number) in RAISES:
                with pytest.raises(RAISES[name, number]):
                    exec(code, names)
            else:
                exec(code, names)
