"""Scores and answers of a model in the columns of a file, and how they are matched with the labels."""
