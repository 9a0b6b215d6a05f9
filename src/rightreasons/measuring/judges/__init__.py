"""Judges of pairs: a chooser with two candidates, and what else than quality decides for it."""
