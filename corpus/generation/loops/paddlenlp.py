"""``generate()`` of PaddleNLP's language models: greedy, sampling, beam search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle
from paddle import nn

from corpus.generation.model import Loop, of_any_prompt, prompts
from corpus.zoo.judge import quiet, seed
from corpus.zoo.model import words
from corpus.zoo.packages.paddlenlp import ENCODER_DECODER, SMALL, T5, builder

NEW = 6
"""So many tokens at most."""

STRATEGIES: dict[str, dict[str, Any]] = {
    "greedy": {"decode_strategy": "greedy_search"},
    # So sharp that what is drawn is known; tests/semantics/test_generation.py looks at the
    # distribution.
    "sampling": {"decode_strategy": "sampling", "top_k": 5, "top_p": 0.9, "temperature": 1e-4},
    "beam": {"decode_strategy": "beam_search", "num_beams": 3, "length_penalty": 0.8},
}
DECODERS = {
    "gpt": "ForCausalLM",
    "llama": "ForCausalLM",
    "qwen": "ForCausalLM",
    "qwen2": "ForCausalLM",
    "opt": "ForCausalLM",
    "bloom": "ForCausalLM",
    "mistral": "ForCausalLM",
    "gemma": "ForCausalLM",
    "chatglm_v2": "ForCausalLM",
    "codegen": "ForCausalLM",
    "gptj": "ForCausalLM",
    "rw": "ForCausalLM",
    "mamba": "ForCausalLM",
    "ctrl": "LMHeadModel",
    "xlnet": "LMHeadModel",
    "unified_transformer": "LMHeadModel",
    "unimo": "LMHeadModel",
}
MASKED = words("llama qwen2 mistral gemma chatglm_v2")
"""Models that take the mask of a tokenizer, one number for each word."""

PAIRS = {
    "bart": ENCODER_DECODER,
    "mbart": ENCODER_DECODER,
    "pegasus": ENCODER_DECODER,
    "t5": T5,
    "mt5": T5,
}


def _model(build: Callable[[], Any]) -> Any:
    """The model with weights so large that it says different words."""
    seed(7)
    with paddle.utils.unique_name.guard():
        model = build()
    quiet(model)
    with paddle.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.set_value(0.3 * paddle.randn(parameter.shape, parameter.dtype))
    model.eval()
    return model


class _Generator(nn.Layer):  # type: ignore[misc]
    """What a user writes: a layer, so that its parameters can be saved."""

    def __init__(self, model: Any, masked: bool, options: dict[str, Any]) -> None:
        super().__init__()
        self.model, self.masked, self.options = model, masked, options

    def generate(self, input_ids: Any) -> Any:
        if not self.masked:
            return self.model.generate(input_ids, **self.options)
        mask = paddle.ones_like(input_ids)
        return self.model.generate(input_ids, attention_mask=mask, **self.options)


def _make(module: str, build: Callable[[], Any], strategy: str) -> Callable[[], Callable[..., Any]]:
    def make() -> Callable[..., Any]:
        model = _model(build)
        plain = {"max_new_tokens": NEW, "bos_token_id": 1, "pad_token_id": 0}
        (first, *_) = prompts()
        with paddle.no_grad():
            masked = module in MASKED
            tokens, _ = _Generator(model, masked, {**plain, "eos_token_id": 2}).generate(*first)
        # A word that it says is its end, so that rows end at different trips.
        end = next((int(t) for t in tokens[0, 2:] if int(t) > 2), 2)
        options = {**plain, "eos_token_id": end, **STRATEGIES[strategy]}
        return _Generator(model, masked, options).generate

    return make


def loops() -> list[Loop]:
    """Each architecture with each strategy."""
    builders = {module: builder(module, ending, SMALL) for module, ending in DECODERS.items()}
    for module, settings in PAIRS.items():
        builders[module] = builder(module, "ForConditionalGeneration", settings)
    failing = {("mamba", "beam"), ("ctrl", "beam")}  # in dygraph, with Paddle 3.3
    return [
        Loop(f"{module} {strategy}", _make(module, build, strategy), prompts, of_any_prompt())
        for module, build in builders.items()
        for strategy in STRATEGIES
        if (module, strategy) not in failing
    ]
