"""The values that options may have, by which commands and functions name them."""

from __future__ import annotations

import string

MIN_ITEMS = 20
"""Fewer items than these decide no verdict."""


TASKS = ("classification", "multiple_choice")
"""What a model does, and so which columns its items have."""


FEATURES = ("unigram", "bigram", "trigram", "length", "overlap", "negation")
"""Families of cues, of which "overlap" needs the prompts; see `cue_statistics`."""


TARGETS = ("probability", "logit")
"""Scores that attributions explain; see `integrated_gradients`, also for the next ones."""


BASELINES = ("auto", "zeros", "mean", "pad")


LAYERS = ("word_embeddings", "embeddings")
"""Where the path of integrated gradients runs: the table of words, or the output of the module of embeddings."""


EXPLAINED_LABELS = ("predicted", "gold")


UNITS = ("wordpiece", "word")


INTEGRATION_METHODS = ("adaptive", "gauss_legendre", "riemann_right")


REDUCTIONS = ("l2", "sum")


HEAD_ROUNDINGS = ("up", "nearest_plus_one")
"""How many tokens make the head of a label; see `lmi`."""


TOKEN_KINDS = ("rightreasons", "bihani2025")
"""Rules by which a token is a word, a stop word, punctuation or a piece; see `assign_categories`."""


RANKINGS = ("value", "magnitude")


SCORING_METHODS = ("sum", "mean", "unconditional", "letters")
"""How a causal language model scores a choice; see `models.load_chooser`."""


PROTOCOL_NAMES = ("rightreasons", "bihani2025", "bihani2025_text", "du2021")
"""Protocols by which shortcuts are found; see `protocol_of`."""


LETTERS = string.ascii_uppercase


HARNESSES = ("lm-eval", "inspect")
"""The harnesses that a task can be written for."""
