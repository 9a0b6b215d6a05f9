"""Fuzzing: every input ends in the right figure or one sentence."""
