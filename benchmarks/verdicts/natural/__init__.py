"""The verdict on shortcuts, tried on natural texts with cues that are drawn at random.

A case plants a cue into the texts of a real data set, so that it agrees with the label in most of
them, and audits a model that follows it to a known degree, or a model that does not. `corpora` reads
the data sets, `cues` draws what is planted, `readers` makes the models, `cases` lists every case, and
`python -m benchmarks.verdicts.natural` runs them and writes the table of docs/evidence/verdicts.md.
"""
