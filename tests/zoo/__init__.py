"""Every family of models that the installed transformers offers, tiny, compared with one item at a time.

`make -C benchmarks zoo` runs all of it and writes docs/evidence/models.md; test_zoo.py runs a family per mechanism.
"""
