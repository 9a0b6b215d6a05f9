"""The section about difficulty, and its plots."""
