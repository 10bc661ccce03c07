"""What answers: one thread that takes requests together whose prompts have one length."""

from __future__ import annotations

import logging
import queue
import threading
from concurrent.futures import Future

import numpy as np

STEPS = 40
BATCH, PATIENCE_S = 32, 0.002
END = object()


class Engine:
    """Requests in, rows of words out; at most ``BATCH`` of one length in a call of ``generate``.

    Args:
        generate: from ids [batch, length] to ids with what was written behind them, as arrays.
        stream: calls its second argument for each new word of one prompt, if it can.
    """

    def __init__(self, generate, stream=None):
        self._generate, self._stream = generate, stream
        self._asked = queue.Queue()
        threading.Thread(target=self._work, daemon=True).start()

    def ask(self, ids):
        """A future of all words for one prompt."""
        future = Future()
        self._asked.put((tuple(ids), future))
        return future

    def words(self, ids):
        """The new words of one prompt, one by one, while they are written."""
        if self._stream is None:
            raise ValueError("only the converted function streams: a file cannot call Python")
        said = queue.Queue()
        self._asked.put((tuple(ids), said))
        return iter(said.get, END)

    def _work(self):
        waiting = []
        while True:
            if not waiting:
                waiting.append(self._asked.get())
            try:
                while True:
                    waiting.append(self._asked.get(timeout=PATIENCE_S))
            except queue.Empty:
                pass
            ids, to = waiting[0]
            if isinstance(to, queue.Queue):
                del waiting[0]
                self._tell(ids, to)
                continue
            alike = [i for i, (other, to) in enumerate(waiting)
                     if len(other) == len(ids) and isinstance(to, Future)][:BATCH]  # fmt: skip
            self._answer([waiting[i] for i in alike])
            waiting = [each for i, each in enumerate(waiting) if i not in set(alike)]

    def _answer(self, together):
        try:
            rows = self._generate(np.array([ids for ids, _ in together], "int64"))
            for row, (_, future) in zip(rows, together, strict=True):
                future.set_result(row)
        except Exception as error:  # the clients hear of it; the others go on
            for _, future in together:
                future.set_exception(error)

    def _tell(self, ids, said):
        try:
            self._stream(np.array([ids], "int64"), said.put)
        except Exception:  # this client gets fewer words; the others go on
            logging.exception("a stream has failed")
        finally:
            said.put(END)


def by_inference(path):
    """The saved file; this process knows neither d2s nor the model."""
    from examples.served import open_predictor, predict

    predictor = open_predictor(path)
    return Engine(lambda ids: predict(predictor, ids)[0])


def by_dygraph(path):
    """The model as it was written."""
    import paddle

    model = _model(path)
    return Engine(lambda ids: model.generate(paddle.to_tensor(ids), STEPS).numpy())


def by_d2s(path):
    """The converted function, which can say each word when it is there."""
    import paddle

    import d2s

    model = _model(path)
    generate = d2s.to_static(
        model.generate, [paddle.static.InputSpec([None, None], "int64"), STEPS], full_graph=True
    )
    listener = None

    @d2s.host
    def tell(token):
        listener(token.item())

    @d2s.to_static(full_graph=True)
    @paddle.no_grad()
    def aloud(ids, steps):
        token, caches = ids, None
        for _ in range(steps):
            scores, caches = model(token, caches)
            token = scores[:, -1].argmax(-1).unsqueeze(1)
            tell(token)  # on each run, in its order
            if token == model.end:
                break

    def stream(ids, put):
        nonlocal listener
        listener = put
        aloud(paddle.to_tensor(ids), STEPS)

    return Engine(lambda ids: generate(paddle.to_tensor(ids), STEPS).numpy(), stream)


def _model(path):
    import paddle

    from examples.proverbs import END, LETTERS
    from examples.tiny_decoder import Decoder

    model = Decoder(words=len(LETTERS), end=END)
    model.set_state_dict(paddle.load(f"{path}.pdparams"))
    model.eval()
    return model


ENGINES = {"dygraph": by_dygraph, "d2s": by_d2s, "inference": by_inference}
