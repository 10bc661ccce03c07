"""The page of ``d2s.report`` in Chromium: links by hover, light and dark, a phone, hostile text."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import paddle
import pytest

import d2s

BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="needs Chromium, which pip cannot install: apt-get install chromium"
)

ASKED = """
<script>
var said = {};
function on(row) { row.dispatchEvent(new MouseEvent("mouseover", { bubbles: true })); }
function marked(where) {
  return Array.from(document.querySelectorAll(where + " .on")).map(function (one) {
    return one.textContent.trim();
  });
}
function row(where, text) {
  return Array.from(document.querySelectorAll(where + " .row")).find(function (one) {
    return one.textContent.includes(text);
  });
}
on(row(".own", "x = x * 0.5"));
said.fromOwn = { made: marked(".made"), flow: marked(".flow").length };
on(row(".made", "x = x * 0.5"));
said.fromMade = { own: marked(".own") };
said.title = document.title;
said.width = innerWidth;
said.colour = getComputedStyle(document.body).backgroundColor;
said.foreign = document.querySelectorAll("img, [src], link, b[data-own]").length;
said.beside = document.querySelector(".made").getBoundingClientRect().left >= innerWidth / 2 - 20;
said.tooWide = document.documentElement.scrollWidth > innerWidth;
parent.postMessage(JSON.stringify(said), "*");
</script>
"""
AROUND = """<!DOCTYPE html><meta charset="utf-8"><body><pre id="said"></pre><script>
addEventListener("message", function (event) {
  document.getElementById("said").textContent += event.data + "\\n";
});
</script><iframe width="360" height="700" srcdoc="%s"></iframe>
<iframe width="1200" height="700" srcdoc="%s"></iframe>"""


def hostile(x, text="</script><img src=x onerror=\"document.title='broken'\">"):
    """</iframe></style><script>document.title = 'broken'</script> &amp; ]]> -->"""
    while x.abs().max() > 1:
        x = x * 0.5
    print("<b data-own>", text, "a line that is wider than any screen for which a page is made", x)
    return x


@pytest.fixture(scope="module")
def page() -> str:
    return d2s.report(hostile, paddle.to_tensor([3.0, 4.0])).html()


@pytest.mark.parametrize("scheme", [1, 0], ids=["light", "dark"])
def test_in_a_browser(page: str, scheme: int, tmp_path: Path) -> None:
    """It runs nothing of the user's text, and marks what belongs together, at any width."""
    framed = html.escape(page.replace("</body>", ASKED + "</body>"))
    file = tmp_path / "around.html"
    file.write_text(AROUND % (framed, framed), encoding="utf-8")
    done = subprocess.run(
        [
            str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom",
            f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1300,1500",
            f"--blink-settings=preferredColorScheme={scheme}", "--virtual-time-budget=5000",
            file.as_uri(),
        ],
        capture_output=True, check=True, timeout=120, encoding="utf-8",
    )  # fmt: skip
    said = re.search(r'<pre id="said">(.*?)</pre>', done.stdout, re.DOTALL)
    assert said is not None
    told = map(json.loads, html.unescape(said[1]).strip().splitlines())
    phone, desk = sorted(told, key=lambda found: found["width"])  # either may be the first to tell
    for found in (phone, desk):
        assert [text for text in found["fromOwn"]["made"] if "x = x * 0.5" in text]
        assert found["fromOwn"]["flow"] > 0
        assert [text for text in found["fromMade"]["own"] if "x = x * 0.5" in text]
        assert found["title"] == "hostile - d2s"
        assert found["foreign"] == 0
        assert not found["tooWide"]
        assert sum(map(int, re.findall(r"\d+", found["colour"])[:3])) > 600 or not scheme
        assert sum(map(int, re.findall(r"\d+", found["colour"])[:3])) < 150 or scheme
    assert desk["beside"]
    assert not phone["beside"]
