"""Models that nobody here wrote, from packages of PyPI, in dygraph and converted.

``python -m corpus.zoo`` builds each model small and with random weights, runs it in dygraph and
under a converter, and compares what both computed: evaluation, gradients, whole training steps,
and the program that was saved and loaded.

- ``model``     what is known of a model and of a package
- ``packages``  one file for each package: which models, how they are built, what goes in
- ``standins``  where packages are found, and what stands in for modules that no model needs
- ``compare``   what can be seen of a result, and how far two results are apart
- ``judge``     one model under one converter, stage by stage
- ``runner``    a process for each package, and from it one for each model
- ``page``      docs/guide/zoo.md, made from results.json
"""
