"""Names of Paddle, NumPy and the standard library, by what becomes of them in a program."""

from __future__ import annotations

from typing import Final

from d2s.lint.reading.values import ARRAY, PLAIN, TENSOR, TENSORS, UNKNOWN, Kind, Value


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CONVERTERS: Final = _words(
    "d2s.to_static d2s.api.to_static paddle.jit.to_static paddle.jit.api.to_static"
)
SKIPPERS: Final = _words("d2s.not_to_static paddle.jit.not_to_static")
LAYERS: Final = _words("paddle.nn.Layer paddle.nn.layer.Layer paddle.nn.layer.layers.Layer")

NO_LAYERS: Final = _words(
    "object ABC Protocol Generic PyLayer LegacyPyLayer Exception Enum NamedTuple TypedDict dict "
    "list Dataset Tokenizer Module"
)
"""Classes of other files that are no layers, also when they have a ``forward``."""

OF_TENSORS_ONLY: Final = _words(
    "abs add astype cast clip cosine_similarity cumsum detach exp expand expand_as flatten "
    "item log matmul mean max min multiply norm numel numpy permute pow reshape rsqrt sigmoid "
    "sqrt square squeeze std stop_gradient sum tanh tile tolist transpose unsqueeze unbind var "
    "backward argmax argmin topk scale_ add_ subtract floor divide all any gather index_select"
)
"""Attributes that say of a parameter that it is a tensor; arrays of NumPy become tensors."""

DTYPES: Final = _words(
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"
)

OF_CONTAINERS: Final = _words(
    "append items keys values get pop extend update popleft setdefault copy insert index count"
)

PLAIN_OF_TENSORS: Final = _words(
    "dtype name ndim place persistable stop_gradient is_leaf dim ndimension rank element_size "
    "is_floating_point is_integer is_complex is_sparse is_contiguous get_shape strides size"
)
MANY_OF_TENSORS: Final = _words("split chunk unbind unstack topk sort_with_index tensor_split")
NUMPY_OF_TENSORS: Final = _words("numpy tolist __array__")

_PLAIN_OF_PADDLE: Final = _words(
    "in_dynamic_mode in_dygraph_mode is_tensor is_floating_point is_integer is_complex rank "
    "get_flags set_flags get_default_dtype set_default_dtype get_device set_device seed no_grad "
    "enable_grad set_grad_enabled is_grad_enabled device_count InputSpec ParamAttr dtype iinfo "
    "finfo broadcast_shape in_static_mode summary flops CPUPlace CUDAPlace save"
)
_MANY_OF_PADDLE: Final = _words(
    "split chunk unbind unstack meshgrid broadcast_tensors tensor_split hsplit vsplit dsplit topk "
    "kthvalue mode qr svd eigh eig slogdet lu lstsq unique_consecutive grad histogramdd "
    "nanmedian cummax cummin max_pool2d_with_index ctc_align frexp"
)
"""Functions that give several tensors, or may."""

_UNSURE_OF_PADDLE: Final = _words("unique nonzero where median load")
_TENSOR_ROOMS: Final = ("", "nn.functional", "linalg", "fft", "signal", "tensor", "special", "nn.F")

PARAMETRIC: Final = _words(
    "Linear Conv1D Conv2D Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose Embedding "
    "BatchNorm BatchNorm1D BatchNorm2D BatchNorm3D LayerNorm GroupNorm InstanceNorm2D PReLU "
    "Bilinear LSTM GRU SimpleRNN LSTMCell GRUCell SimpleRNNCell MultiHeadAttention Transformer "
    "TransformerEncoderLayer TransformerDecoderLayer SyncBatchNorm"
)
"""Layers of Paddle with parameters."""

_SEVERAL_FROM: Final = _words("LSTM GRU SimpleRNN RNN BiRNN LSTMCell GRUCell SimpleRNNCell")

DYGRAPH_ONLY: Final = _words("paddle.histogram_bin_edges paddle.as_strided")

WITHOUT_SECOND: Final = _words("paddle.acos paddle.bmm")
"""Functions whose gradient has no gradient in Paddle."""

NOT_DRAWN: Final = _words("bytes randbytes getstate setstate get_state set_state")
"""Methods of generators that no run can call: they give what no program has."""

GENERATORS: Final = _words(
    "numpy.random.RandomState numpy.random.default_rng numpy.random.Generator random.Random"
)
"""Their methods are those of the modules, unless a converted function makes them of a seed."""

STALE: Final = {
    **dict.fromkeys(
        _words("time.localtime time.gmtime time.strftime"),
        "the time",
    ),
    **dict.fromkeys(_words("os.getenv os.environ.get os.environ"), "the environment"),
    **dict.fromkeys(
        _words(
            "os.listdir os.scandir os.path.exists os.path.isfile os.path.getmtime os.stat "
            "glob.glob json.load pickle.load yaml.safe_load numpy.load numpy.loadtxt"
        ),
        "what the files hold",
    ),
    **dict.fromkeys(_words("os.getpid os.getcwd psutil.virtual_memory"), "the value"),
    **dict.fromkeys(_words("paddle.get_flags"), "the flag"),
    "input": "what was typed",
}
"""What is asked for once, while the function is captured; with a word for it."""

EACH_CALL: Final = _words(
    "time.time time.time_ns time.perf_counter time.perf_counter_ns time.monotonic "
    "time.process_time time.ctime time.sleep datetime.datetime.now datetime.datetime.utcnow "
    "datetime.datetime.today datetime.date.today uuid.uuid1 uuid.uuid4 secrets.token_hex "
    "os.urandom os.remove os.unlink os.rename os.replace os.makedirs os.mkdir os.rmdir os.system "
    "shutil.rmtree shutil.copy shutil.copyfile shutil.move subprocess.run subprocess.call "
    "subprocess.check_call subprocess.check_output subprocess.Popen numpy.save numpy.savez "
    "numpy.savetxt urllib.request.urlopen"
)
"""What happens on each call, so that no program can do it; see ``runtime.host.world``."""

ONCE: Final = _words(
    "json.dump pickle.dump sys.stdout.flush sys.stderr.flush gc.collect requests.get "
    "requests.post matplotlib.pyplot.savefig matplotlib.pyplot.plot matplotlib.pyplot.show"
)
"""What is done once, while the function is captured."""

NEEDS_VALUES: Final = {
    "json.dumps": "D2S208",
    "json.dump": "D2S208",
    "pickle.dumps": "D2S208",
    "pickle.dump": "D2S208",
    "paddle.save": "D2S902",
}
"""What wants the values of a tensor, and fails with the code."""

COMPARING: Final = _words("bisect.insort bisect.insort_left bisect.insort_right")

PLAIN_CALLS: Final = _words(
    "isinstance issubclass hasattr callable type id len repr str format hash print ord chr vars "
    "dir super getattr setattr round open"
)

_NUMPY_PLAIN: Final = _words("random float32 float64 int32 int64 bool_ dtype finfo iinfo")


def of_named(dotted: str, arguments: list[Value]) -> Value:
    """What a call of something of another module gives."""
    head, _, rest = dotted.partition(".")
    last = dotted.rpartition(".")[2]
    if dotted in GENERATORS:
        return Value(Kind.NAMED, name=f"{head}.random".replace("random.random", "random"))
    if head == "numpy":
        return ARRAY if any(value.decided for value in arguments) else PLAIN
    if dotted == "collections.deque":
        return Value(Kind.MANY, arguments[0].item if arguments else None)
    if head in ("collections", "itertools", "functools", "random", "math", "time", "os"):
        decided = any(value.holds_decided for value in arguments)
        return UNKNOWN if decided or head in ("itertools", "functools") else PLAIN
    if head != "paddle":
        return UNKNOWN
    return _of_paddle(rest.rpartition(".")[0], last)


def _of_paddle(room: str, last: str) -> Value:
    if last[:1].isupper():
        if room.startswith("nn"):
            return Value(Kind.LAYER, TENSORS if last in _SEVERAL_FROM else TENSOR, last)
        return Value(Kind.OPTIMIZER) if room.startswith("optimizer") else UNKNOWN
    if room not in _TENSOR_ROOMS or last in _UNSURE_OF_PADDLE:
        return UNKNOWN
    if last in _PLAIN_OF_PADDLE or last.startswith(("is_", "set_", "get_")):
        return PLAIN
    return TENSORS if last in _MANY_OF_PADDLE else TENSOR
