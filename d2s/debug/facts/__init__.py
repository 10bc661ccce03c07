"""What is known of a converted function, gathered once, for a terminal, a page and programs.

===============  ==============================================================================
``evidence``     what programs and the notes of their captures say of each line
``constructs``   what became of each construct of a function, from its tree and the evidence
``flow``         the control flow of a program
``hints``        warnings, and what costs
``measuring``    calls in dygraph and as programs, after which everything is as it was
``gathering``    all of that together: an ``Explanation``
``model``        the facts as plain data
``words``        shares, verdicts and times, each in one phrase
``text``         as text
``document``     as a page
``explanation``  the facts, and how they are shown
===============  ==============================================================================
"""
