"""Confidence as data: where it comes from, and which source of it knows best when the answers are right."""
