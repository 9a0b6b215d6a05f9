"""Runs over the items of a dataset: result columns, processes, and progress bars."""
