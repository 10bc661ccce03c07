"""Arrays of NumPy that the run decides: ``x.numpy()`` of a tensor of the program (rule E5).

A :class:`~d2s.runtime.python.arrays.array.Array` stands for what NumPy has there: a value of the
program holds its contents, and what an operation gives is asked of NumPy itself, on samples of the
same dtype and shape.  What Paddle says exactly the same is an operation of the program (indexing,
comparisons, sums and products of two arrays, casts); every other function of NumPy is called by
each run.

::

    a = x.numpy()               a copy of x, without gradient
    a[0] > 0, a * 2, int(a[0])  operations of the program
    np.cumsum(a), a.std()       NumPy, called with the contents of ``a`` on the run
    b = a[1:]; b[0] = 5         ``a`` has the 5, too

A function may write into an array: the array then has other contents, which a branch or loop hands
on as it does the attributes of an object.  What is a view of what is noted beside the arrays.

===============  ==================================================================================
``contents``     what an array of the run holds, and how it looks to NumPy
``views``        arrays that share their memory
``keys``         indices of arrays
``ufuncs``       what NumPy does with numbers, as operations of the program
``functions``    functions of NumPy that are operations of the program
``numpy_calls``  functions of NumPy that each run calls
``array``        the array as the user's code sees it
===============  ==================================================================================
"""
