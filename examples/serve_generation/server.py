"""The application, and a process for it: ``python -m examples.serve_generation.server``.

    python -m examples.serve_generation.server ENGINE FILE SECONDS

prints its port, serves 127.0.0.1, and ends after so many seconds at the latest.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import threading

import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from examples.letters import END, LETTERS, numbers, text
from examples.serve_generation.engine import ENGINES


def application(engine):
    """Two ways to ask: for the whole text, and for its letters as they come."""
    app = FastAPI()

    @app.get("/generate")
    async def generate(prompt: str):
        row = await asyncio.wrap_future(engine.ask(numbers(prompt)))
        return {"text": text(row), "tokens": len(row) - len(prompt)}

    @app.get("/stream")
    def stream(prompt: str):
        letters = (LETTERS[word] for word in engine.words(numbers(prompt)) if word != END)
        return StreamingResponse(letters, media_type="text/plain")

    return app


def main(engine, path, seconds):
    """Serve for so long."""
    server = uvicorn.Server(
        uvicorn.Config(application(ENGINES[engine](path)), log_level="error", lifespan="off")
    )
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        print(listening.getsockname()[1], flush=True)
        timer = threading.Timer(float(seconds), setattr, (server, "should_exit", True))
        timer.daemon = True
        timer.start()
        server.run(sockets=[listening])


if __name__ == "__main__":
    main(*sys.argv[1:])
