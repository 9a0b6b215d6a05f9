"""Roles of columns that no heading identifies, from their cells: labels, answers, scores, and choices."""
