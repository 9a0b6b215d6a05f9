"""Scores and answers of a model in the columns of a file, and how they meet the labels."""
