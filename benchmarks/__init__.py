"""How fast converted functions run, beside dygraph, Paddle's own converters and programs by hand.

``python -m benchmarks`` runs every scenario of ``benchmarks.scenarios`` and prints a table.

The protocol, in the order in which things happen to one scenario:

1. Each peer gets a process of its own, with a function object that no other peer has seen. So no
   cache is shared, a crash is a verdict, and a peer that does not come back is stopped after
   ``--limit`` seconds.
2. The first call is timed by itself: it pays for conversion, capture and whatever is compiled.
3. The results, and the gradients if the scenario has them, of the first call and of a warm call are
   compared with dygraph's. A peer that computes something else is ``wrong`` and is not timed: how
   fast a wrong answer comes does not matter. A peer that raises ``fails``.
4. Warm calls choose how many calls make a round of some tens of milliseconds.
5. Rounds are interleaved, one of each peer in turn, while the others wait: what else the machine
   does hits all of them alike. Garbage collection is off inside a round.
6. Reported are the best and the median round and the spread (the middle half of the rounds, as a
   part of the median). Ratios are of best rounds, because noise only ever adds time.

A call is what a user would write: arguments are tensors that exist already, and a training step
ends with ``backward()`` and clearing the gradients. The program by hand is fed with the NumPy
arrays of the same values and gives back tensors.

Nothing here asserts a figure. The environment is recorded with the figures; compare two files only
if their environments are equal.
"""
