"""``d2s lint``: what a conversion will refuse, do once, or leave behind, found in the text alone.

Nothing of the user's is imported, and no Paddle.  ``modules`` reads a file and finds the functions
that are converted; ``follow`` goes through them with a rough idea of what each value is (in
``values``, ``hints`` and ``tables``), and through what they call in the same file (``expressions``,
``calls``); ``rules`` and ``outside`` say what will not work there.  A finding has the code of the
error that the conversion raises (or D2S701, D2S702), so that ``d2s explain`` explains it.
"""
