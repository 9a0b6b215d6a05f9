"""Logs of evaluation harnesses as columns of predictions, in the names that `predictions` looks for."""
