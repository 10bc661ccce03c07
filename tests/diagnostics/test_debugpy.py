"""debugpy, the debugger of VS Code and PyCharm's like, on converted code: break, step, watch.

Speaks the Debug Adapter Protocol with it over a socket, as an editor does.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """\
import paddle

import d2s


def scaled(x, factor):
    if x.sum() > 0:
        y = x * factor
        y = y + 1
    else:
        y = x - 1
    return y


@d2s.to_static
def model(x):
    total = x
    for step in range(2):
        total = scaled(total, step + 1)
    return total


@d2s.to_static
def shrink(x):
    while x.max() > 1:
        x = x * 0.5
        breakpoint()
    return x


print(model(paddle.ones([2])).tolist())
with d2s.debug_on_run():
    print(shrink(paddle.to_tensor([3.0, 4.0])).tolist())
"""
BRANCH, CALL, LOOP = 8, 19, 27


class Editor:
    """The side of the editor: requests, and the events that come."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self._file = self._socket.makefile("rb")
        self._number = 0
        self._events: list[dict[str, Any]] = []

    def send(self, command: str, **arguments: Any) -> int:
        self._number += 1
        body = json.dumps(
            {"seq": self._number, "type": "request", "command": command, "arguments": arguments}
        ).encode()
        self._socket.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        return self._number

    def _read(self) -> dict[str, Any]:
        length = 0
        while line := self._file.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        message: dict[str, Any] = json.loads(self._file.read(length))
        return message

    def answer(self, number: int) -> dict[str, Any]:
        """The body of the response to a request; events that come before it are kept."""
        while True:
            message = self._read()
            if message["type"] == "event":
                self._events.append(message)
            elif message["type"] == "response" and message["request_seq"] == number:
                assert message["success"], message
                return message.get("body") or {}

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        return self.answer(self.send(command, **arguments))

    def event(self, name: str) -> dict[str, Any]:
        while True:
            for message in self._events:
                if message["event"] == name:
                    self._events.remove(message)
                    return message.get("body") or {}
            message = self._read()
            if message["type"] == "event":
                self._events.append(message)

    def stopped(self) -> tuple[int, list[dict[str, Any]]]:
        """The thread that has stopped, and its stack, the innermost frame first."""
        thread = self.event("stopped")["threadId"]
        return thread, self.ask("stackTrace", threadId=thread)["stackFrames"]

    def value(self, expression: str, frame: dict[str, Any]) -> str:
        found = self.ask("evaluate", expression=expression, frameId=frame["id"], context="watch")
        return str(found["result"])

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    """An editor that is attached to the program, before its first line."""
    (tmp_path / "net.py").write_text(PROGRAM, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    process = subprocess.Popen(
        [sys.executable, "-Xfrozen_modules=off", "-m", "debugpy", "--listen", str(port),
         "--wait-for-client", "net.py"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "GLOG_minloglevel": "3"},
    )  # fmt: skip
    found: Editor | None = None
    end = time.monotonic() + 60
    while found is None:
        try:
            found = Editor(port)
        except OSError:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.2)
    found.ask("initialize", adapterID="test", clientID="test", pathFormat="path")
    attach = found.send(
        "attach", justMyCode=True, rules=[{"path": f"{ROOT}/d2s", "include": False}]
    )
    found.event("initialized")
    net = {"path": str(tmp_path / "net.py")}
    lines = found.ask("setBreakpoints", source=net, breakpoints=[{"line": BRANCH}])
    assert all(each["verified"] for each in lines["breakpoints"])
    found.ask("configurationDone")
    found.answer(attach)
    yield found
    found.close()
    process.kill()
    process.wait()


def places(stack: list[dict[str, Any]]) -> list[tuple[int, str]]:
    """Line and function of the frames that are not greyed out."""
    return [
        (frame["line"], frame["name"])
        for frame in stack
        if frame.get("presentationHint") != "subtle" and "source" in frame
    ]


def test_break_step_and_watch(editor: Editor) -> None:
    """F2: in the branch of a function that is captured, and inside of a program that runs."""
    thread, stack = editor.stopped()
    assert places(stack)[0] == (BRANCH, "scaled")
    assert (CALL, "model") in places(stack)
    assert all("net.py" in frame["source"]["path"] for frame in stack if places([frame]))
    assert editor.value("factor", stack[0]) == "1"
    assert editor.value("list(x.shape)", stack[0]) == "[2]"
    editor.ask("next", threadId=thread)
    thread, stack = editor.stopped()
    assert places(stack)[0] == (BRANCH + 1, "scaled")
    editor.ask("stepOut", threadId=thread)
    thread, stack = editor.stopped()
    assert places(stack)[0][1] in ("scaled", "model")
    editor.ask("continue", threadId=thread)
    thread, stack = editor.stopped()
    assert places(stack)[0] == (BRANCH, "scaled")
    assert editor.value("factor", stack[0]) == "2"
    values = []
    for _ in range(2):  # breakpoint() in the loop of the program, once in each trip
        editor.ask("continue", threadId=thread)
        thread, stack = editor.stopped()
        top = next(frame for frame in stack if frame["name"] == "shrink")
        assert top["line"] == LOOP - 2  # what comes behind the last line of the loop
        values.append(editor.value("x.tolist()", top))
    assert values == ["[1.5, 2.0]", "[0.75, 1.0]"]
    editor.ask("continue", threadId=thread)
    editor.event("terminated")
