"""The section about superficial cues, and its plots."""
