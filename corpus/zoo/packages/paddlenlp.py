"""Language models of PaddleNLP, each from a small configuration."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import paddle

from corpus.zoo.model import Inputs, Model, Package, image, tokens, words

WORDS = 100
SMALL: dict[str, Any] = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "type_vocab_size": 2,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "seq_length": 64,
    "max_sequence_length": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
"""What most configurations know; the others ignore it."""

ENCODER_DECODER: dict[str, Any] = {
    **SMALL,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "num_encoder_attention_heads": 4,
    "num_decoder_attention_heads": 4,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
}
T5: dict[str, Any] = {
    "vocab_size": WORDS,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 64,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 4,
    "dropout_rate": 0.0,
    "relative_attention_num_buckets": 8,
}
MOE = {
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "num_local_experts": 4,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "num_key_value_heads": 2,
}
VISION = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "image_size": 32,
    "patch_size": 8,
    "projection_dim": 16,
}
TEXT = {**SMALL, "projection_dim": 16}

ENCODERS = {
    "bert": "Model ForMaskedLM ForQuestionAnswering ForTokenClassification ForPretraining",
    "albert": "Model ForSequenceClassification",
    "roberta": "Model ForCausalLM",
    "ernie": "Model ForMaskedLM ForMultipleChoice",
    "ernie_m": "Model ForSequenceClassification",
    "ernie_gram": "Model",
    "ernie_doc": "Model",
    "ernie_ctm": "Model",
    "electra": "Model Discriminator",
    "distilbert": "Model",
    "tinybert": "Model",
    "ppminilm": "Model",
    "nezha": "Model",
    "mpnet": "Model",
    "roformer": "Model",
    "roformerv2": "Model",
    "rembert": "Model",
    "mobilebert": "Model",
    "megatronbert": "Model",
    "squeezebert": "Model",
    "convbert": "Model",
    "xlnet": "Model LMHeadModel",
    "xlm": "Model",
    "fnet": "Model",
    "funnel": "Model",
    "nystromformer": "Model",
    "bigbird": "Model",
    "reformer": "Model",
    "deberta": "Model",
    "deberta_v2": "Model",
    "gau_alpha": "Model",
    "luke": "Model",
    "layoutlm": "Model",
    "ctrl": "Model LMHeadModel",
    "gpt": "Model ForCausalLM",
    "opt": "Model ForCausalLM",
    "llama": "Model ForCausalLM",
    "qwen": "Model ForCausalLM",
    "qwen2": "Model ForCausalLM",
    "qwen2_moe": "Model",
    "mistral": "Model",
    "mixtral": "Model",
    "gemma": "Model",
    "bloom": "Model ForCausalLM",
    "chatglm": "Model",
    "chatglm_v2": "Model",
    "codegen": "Model",
    "gptj": "Model",
    "glm": "Model",
    "mamba": "Model",
    "jamba": "Model",
    "deepseek_v2": "Model",
    "yuan": "Model",
    "rw": "Model",
    "unified_transformer": "Model",
    "unimo": "Model",
    "chinesebert": "Model",
}
"""Module -> endings of the classes; the input is a batch of word numbers."""

PREFIXES = {
    "gpt": "GPT",
    "opt": "OPT",
    "xlnet": "XLNet",
    "xlm": "XLM",
    "fnet": "FNet",
    "ctrl": "CTRL",
    "mpnet": "MPNet",
    "ppminilm": "PPMiniLM",
    "ernie_m": "ErnieM",
    "ernie_gram": "ErnieGram",
    "ernie_doc": "ErnieDoc",
    "ernie_ctm": "ErnieCtm",
    "distilbert": "DistilBert",
    "tinybert": "TinyBert",
    "nezha": "NeZha",
    "roformer": "RoFormer",
    "roformerv2": "RoFormerv2",
    "rembert": "RemBert",
    "mobilebert": "MobileBert",
    "megatronbert": "MegatronBert",
    "squeezebert": "SqueezeBert",
    "convbert": "ConvBert",
    "bigbird": "BigBird",
    "deberta_v2": "DebertaV2",
    "gau_alpha": "GAUAlpha",
    "layoutlm": "LayoutLM",
    "qwen": "QWen",
    "qwen2_moe": "Qwen2Moe",
    "chatglm": "ChatGLM",
    "chatglm_v2": "ChatGLMv2",
    "codegen": "CodeGen",
    "gptj": "GPTJ",
    "glm": "GLM",
    "deepseek_v2": "DeepseekV2",
    "rw": "RW",
    "unified_transformer": "UnifiedTransformer",
    "unimo": "UNIMO",
    "chinesebert": "ChineseBert",
    "mbart": "MBart",
    "t5": "T5",
    "mt5": "MT5",
    "blenderbot_small": "BlenderbotSmall",
    "prophetnet": "ProphetNet",
    "clip": "CLIP",
    "chineseclip": "ChineseCLIP",
    "bit": "Bit",
    "ernie_vil": "ErnieViL",
    "blip": "Blip",
    "dpt": "DPT",
}
"""How the classes of a module begin, where it is not the module's name with a capital."""

GPT2: dict[str, Any] = {
    "vocab_size": WORDS,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 64,
    "n_ctx": 64,
    "rotary_dim": 4,
    "dff": 64,
    "resid_pdrop": 0.0,
    "embd_pdrop": 0.0,
    "attn_pdrop": 0.0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
OWN: dict[str, dict[str, Any]] = {
    "ctrl": GPT2,
    "codegen": GPT2,
    "gptj": GPT2,
    "xlm": {"vocab_size": WORDS, "emb_dim": 32, "n_layers": 2, "n_heads": 4, "dropout": 0.0},
    "xlnet": {"vocab_size": WORDS, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64},
    "funnel": {
        "vocab_size": WORDS,
        "block_sizes": [1, 1],
        "d_model": 32,
        "n_head": 4,
        "d_head": 8,
        "d_inner": 64,
    },
}
"""Configurations that do not know the names of ``SMALL``."""

SETTINGS: dict[str, dict[str, Any]] = {
    "luke": {"entity_vocab_size": 50, "entity_emb_size": 16},
    "opt": {"word_embed_proj_dim": 32},
    "bloom": {"n_layer": 2, "n_head": 4},
    "rw": {"n_layer": 2, "n_head": 4},
    "glm": {"num_layers": 2},
    "chatglm": {
        "inner_hidden_size": 64,
        "bos_token_id": 5,
        "gmask_token_id": 6,
        "mask_token_id": 7,
    },
    "chatglm_v2": {"ffn_hidden_size": 64, "kv_channels": 8},
    "gemma": {"head_dim": 8, "num_key_value_heads": 4},
    "mistral": {"num_key_value_heads": 2},
    "mixtral": MOE,
    "qwen2": {"num_key_value_heads": 2},
    "qwen2_moe": MOE,
    "qwen": {"kv_channels": 8},
    "jamba": {**MOE, "attn_layer_period": 2, "attn_layer_offset": 1, "use_mamba_kernels": False},
    "deepseek_v2": {
        **MOE,
        "num_key_value_heads": 4,
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "kv_lora_rank": 8,
        "q_lora_rank": 8,
        "qk_rope_head_dim": 4,
        "qk_nope_head_dim": 4,
        "v_head_dim": 8,
        "first_k_dense_replace": 1,
        "topk_method": "greedy",
    },
    "mobilebert": {"embedding_size": 16, "true_hidden_size": 16, "intra_bottleneck_size": 16},
    "prophetnet": {"decoder_start_token_id": 1},
    "unimo": {"unk_token_id": 3, "mask_token_id": 3},
    "unified_transformer": {"mask_token_id": 3},
    "ernie_gram": {"embedding_size": 32},
    "squeezebert": {"embedding_size": 32, "q_groups": 1, "k_groups": 1, "v_groups": 1},
    "nezha": {"use_relative_position": True, "max_relative_position": 8, "layer_norm_eps": 1e-12},
    "reformer": {
        "attn_layers": ["local", "lsh"],
        "axial_pos_embds_dim": [16, 16],
        "axial_pos_shape": [4, 2],
        "attention_head_size": 8,
        "feed_forward_size": 32,
        "lsh_attn_chunk_length": 4,
        "local_attn_chunk_length": 4,
        "num_buckets": 2,
        "num_hashes": 1,
        "is_decoder": True,
    },
}
"""What a module's configuration needs besides ``SMALL``."""


def _classes(module: str) -> Any:
    return importlib.import_module(f"paddlenlp.transformers.{module}.modeling")


def _config(module: str, name: str, settings: dict[str, Any]) -> Any:
    found = importlib.import_module(f"paddlenlp.transformers.{module}.configuration")
    return getattr(found, name)(**settings)


def builder(module: str, ending: str, settings: dict[str, Any]) -> Callable[[], Any]:
    """How a class of a module is built from ``settings`` and what the module needs besides."""
    prefix = PREFIXES.get(module, module.capitalize())
    ready = OWN.get(module) or {**settings, **SETTINGS.get(module, {})}

    def build() -> Any:
        config = _config(module, f"{prefix}Config", ready)
        return getattr(_classes(module), prefix + ending)(config)

    return build


def _sentences(module: str) -> Inputs:
    return tokens(WORDS)


def _pair() -> tuple[Any, ...]:
    """Words in and words out; the mask between them is left open."""
    words = paddle.randint(4, WORDS, [2, 8])
    return words, None, paddle.randint(4, WORDS, [2, 6])


def models() -> list[Model]:
    """Encoders, decoders, and those that are both."""
    made = []
    for module, endings in ENCODERS.items():
        for ending in endings.split():
            prefix = PREFIXES.get(module, module.capitalize())
            build = builder(module, ending, SMALL)
            made.append(Model(prefix + ending, build, _sentences(module)))
    for module in ("bart", "mbart", "blenderbot", "blenderbot_small", "pegasus", "prophetnet"):
        prefix = PREFIXES.get(module, module.capitalize())
        made.append(Model(prefix + "Model", builder(module, "Model", ENCODER_DECODER), _pair))
    for module in ("t5", "mt5"):
        made.append(Model(f"{PREFIXES[module]}Model", builder(module, "Model", T5), _pair))
    made.append(Model("CLIPVisionModel", _clip("Vision"), image(32)))
    made.append(Model("CLIPTextModel", _clip("Text"), tokens(WORDS)))
    made.append(Model("CLIPModel", _clip(""), _words_and_image))
    return made


def _words_and_image() -> tuple[Any, ...]:
    return paddle.randint(4, WORDS, [2, 8]), paddle.randn([2, 3, 32, 32])


def _clip(kind: str) -> Callable[[], Any]:
    def build() -> Any:
        if kind == "":
            settings = {"text_config": TEXT, "vision_config": VISION, "projection_dim": 16}
        else:
            settings = VISION if kind == "Vision" else TEXT
        return getattr(_classes("clip"), f"CLIP{kind}Model")(
            _config("clip", f"CLIP{kind}Config", settings)
        )

    return build


PACKAGE = Package(
    name="paddlenlp",
    pins=("paddlenlp==3.0.0b4",),
    roots=("paddlenlp",),
    modules=("paddlenlp.transformers",),
    absent=words(
        "aistudio_sdk datasets jieba multiprocess sentencepiece seqeval visualdl tiktoken rouge "
        "paddle2onnx fastapi uvicorn"
    ),
    models=models,
)
