"""The section about shortcuts, and its plots."""
