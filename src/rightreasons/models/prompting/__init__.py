"""Prompts: from the items of a dataset to requests of a language model, and from its answers back to scores."""
