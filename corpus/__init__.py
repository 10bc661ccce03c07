"""Real functions and models in plain dygraph, to hold converters against.

A case is one file, ``corpus/programs/<group>/<name>.py``. It imports paddle and nothing of d2s,
and nobody types in what it should give: the expected result is what dygraph gives for the same
inputs. Its name says what it shows and is its own among all groups.

    \"\"\"One sentence: what the program is.

    exercises: while on a tensor; compound condition
    rows: 10, 17
    \"\"\"
    import paddle

    def newton(x): ...

    def build():
        return newton

    def inputs():
        yield (paddle.to_tensor(2.0),)

``exercises`` names constructs, separated by semicolons; ``rows`` are the rows of the feature matrix
(``corpus/rows.py``) that the case proves: if the case fails, these rows fail.

``build()`` returns the function, the bound method or the ``nn.Layer`` to convert. It is called once
for dygraph and once for the converter, after the same ``paddle.seed``, so both start from equal
parameters.

``inputs()`` yields tuples of arguments. Between them they drive every path of the program: both
sides of every condition; no trip, one trip and many trips of every loop. Shapes are equal where the
paths allow it, so that one captured program has to serve several of them.

Settings, all optional, at module level:

``GRAD = False``
    do not compare gradients; a comment beside it says why
``MODES = ("train", "eval")``
    modes of a layer, visited in this order on the same object; default ``("train",)``
``STATE = ("h", "bn._mean")``
    attributes compared after each call, beside all buffers and parameters
``RTOL``, ``ATOL``
    tolerances for floating values; everything else must be equal
``INPUT_SPEC = lambda: [...]``
    convert with these InputSpecs
``ASSERT_STDOUT = True``
    compare the printed text too
``RAISES = {2: ValueError}``
    input 2 must raise this in dygraph; an exception that is not announced here is taken for a
    mistake in the case
``BEFORE = lambda index: ...``
    called before each call with the index of its input, to change what the program reads (a
    global, an attribute) between two calls
``OBSERVED = lambda: value``
    compared after each call: what the program changes outside of its arguments and its result

Run them with ``python -m corpus``; ``corpus.runner`` says what is compared.
"""
