"""Allowed values of options, shared by functions and commands.

They are kept apart from the functions that use them, so that a command can list them without
importing torch or numpy.
"""

from __future__ import annotations

import string

MIN_ITEMS = 20
"""Smallest number of items on which a verdict may rest."""

LETTERS = string.ascii_uppercase
"""Letters that stand for the choices of an item, in order."""

TASKS = ("classification", "multiple_choice")
"""Tasks of a model, which determine the columns of its items."""

FEATURES = ("unigram", "bigram", "trigram", "length", "overlap", "negation")
"""Families of cues; see `cue_statistics`. Only "overlap" needs the prompts."""

TARGETS = ("probability", "logit")
"""Scores that attributions explain; see `integrated_gradients`."""

BASELINES = (
    # Zeros, unless zero is singular for the model: then the mean.
    "auto",
    "zeros",
    # The mean embedding of the vocabulary.
    "mean",
    # The embedding of the padding token.
    "pad",
)
"""Inputs at which the path of integrated gradients begins."""

LAYERS = ("word_embeddings", "embeddings")
"""Ends of the path of integrated gradients: the word embeddings, or all embeddings together."""

EXPLAINED_LABELS = ("predicted", "gold")
"""Labels whose score is attributed."""

UNITS = ("wordpiece", "word")
"""Units to which scores are attributed."""

INTEGRATION_METHODS = ("adaptive", "gauss_legendre", "riemann_right")
"""Rules by which integrated gradients are integrated."""

REDUCTIONS = ("l2", "sum")
"""Reductions of the attributions of an embedding to one number."""

HEAD_ROUNDINGS = ("up", "nearest_plus_one")
"""Roundings of the number of tokens in the head of a label; see `lmi`."""

TOKEN_KINDS = ("rightreasons", "bihani2025")
"""Rules that classify tokens as words, stop words, punctuation or pieces; see `assign_categories`.
"""

RANKINGS = ("value", "magnitude")
"""Orders of attributions: with their sign, or without it."""

SCORING_METHODS = ("sum", "mean", "unconditional", "letters")
"""Methods by which a causal language model scores a choice; see `models.load_chooser`."""

PROTOCOL_NAMES = ("rightreasons", "bihani2025", "bihani2025_text", "du2021")
"""Protocols by which shortcuts are found; see `get_protocol`."""

HARNESSES = ("lm-eval", "inspect", "lighteval")
"""Harnesses for which a task can be written."""

# The other questions change texts, ask for gradients, or read what is stored.
HARNESS_QUESTIONS = ("probes", "reasons", "ways")
"""Questions whose requests a harness can be sent."""
