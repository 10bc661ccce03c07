"""How fast a function is, beside dygraph and Paddle's own converters: the protocol of all figures.

``d2s bench`` measures a user's function by it, ``python -m benchmarks`` the scenarios of d2s.  What
happens to one function, in this order:

1. Each peer gets a process of its own, with a function object that no other peer has seen.  So no
   cache is shared, a crash is a verdict, and a peer that does not come back is stopped.
2. The first call is timed by itself: it pays for conversion, capture and whatever is built.
3. The results of the first call and of a warm call, with gradients and parameters where there are
   some, are compared with dygraph's.  A peer that computes something else is ``wrong`` and is not
   timed: how fast a wrong answer comes does not matter.  A peer that raises ``fails``.
4. Warm calls choose how many calls make a round of some tens of milliseconds.
5. Rounds are interleaved, one of each peer in turn, while the others wait: what else the machine
   does hits all of them alike.  Garbage collection is off inside a round.
6. Reported are the best and the median round and the spread (the middle half of the rounds, as a
   part of the median).  Ratios are of best rounds, because noise only ever adds time.

A call is what a user would write: arguments are tensors that exist already, and a training step
ends when the gradients are cleared.  Nothing here judges a figure.

- ``work``: what is called, and what its call computes;
- ``values``: results as arrays, and the first difference of two;
- ``rounds``: the clock: first call, calls of a round, rounds;
- ``peers``: the processes, their verdicts, the order of the rounds;
- ``environment``: where figures come from, in one line;
- ``texts``: figures as text.
"""
