"""Remedies for words that are no reasons, on planted words in natural texts."""
