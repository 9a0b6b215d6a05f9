"""Acknowledgments of hints, and how many of them the words of `reasons` and its test of texts miss."""
