"""A decoding loop behind HTTP: saved by d2s, served by FastAPI over Paddle Inference.

    pip install ".[examples]"
    python -m examples.serve_generation

``engine`` runs the loop (in dygraph, converted, or from the file), ``server`` is the application,
``load`` plays 32 clients, and ``__main__`` starts one server after the other and compares them.
Everything stays on 127.0.0.1, and a server ends by itself after a while.
"""
