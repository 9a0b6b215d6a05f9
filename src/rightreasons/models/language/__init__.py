"""Language models in this process: likelihoods of continuations, and generated text.

`causal` and `bidirectional` define the kinds of models, `likelihood_runs` scores the choices of a
dataset, and `generation` writes answers. All of them batch items by the strategy of a trial.
"""
