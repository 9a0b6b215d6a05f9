"""Repeat the experiments of a paper with one command, and compare the results with its printed tables.

A recipe (`recipes/PAPER.yaml`) names the models, data sets, seeds and training of a paper at several
scales, its steps, and its tables. `runner.replicate` runs the steps, each of which is stored when it
is done; `tables.write_tables` writes TABLES.md from what is stored and from the printed figures
(`printed/PAPER.yaml`). The entry point is `replicate`.
"""

from rightreasons.core.public_api import make_facade

__getattr__, __dir__, __all__ = make_facade(__name__, __file__)
