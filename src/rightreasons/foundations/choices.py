"""Values of options that a kernel checks and the command line lists, which must not load the kernel."""

from __future__ import annotations

TASKS = ("classification", "multiple_choice")
"""What a model does, and so which columns its items have."""

FEATURES = ("unigram", "bigram", "trigram", "length", "overlap", "negation")
"""Families of cues, of which "overlap" needs the prompts; see `cue_statistics`."""

TARGETS = ("probability", "logit")
"""Scores that attributions explain; see `integrated_gradients`, also for the next seven."""

BASELINES = ("auto", "zeros", "mean", "pad", "mask")

LAYERS = ("word_embeddings", "embeddings")
"""Where the path of integrated gradients runs: the table of words, or the output of the module of embeddings."""

EXPLAINED_LABELS = ("predicted", "gold")

UNITS = ("wordpiece", "word")

MERGES = ("absmax", "sum", "mean")

INTEGRATION_METHODS = ("adaptive", "gauss_legendre", "riemann_right")

REDUCTIONS = ("l2", "sum", "dot")

HEAD_ROUNDINGS = ("up", "nearest_plus_one")
"""How many tokens make the head of a label; see `lmi`."""

TOKEN_KINDS = ("rightreasons", "bihani2025")
"""Rules by which a token is a word, a stop word, punctuation or a piece; see `category_codes`."""

RANKINGS = ("value", "magnitude")

NEIGHBORS = ("same_class", "any")
"""Which words of the embedding table may replace a word; see `replacement_sources`."""

SCORING_METHODS = ("sum", "mean", "unconditional", "letters")
"""How a causal language model scores a choice; see `choose_causal`."""

PROTOCOL_NAMES = ("rightreasons", "bihani2025", "du2021")
"""Protocols by which shortcuts are found; see `protocol_of`."""
