"""The section about the confusion probes, and its plots."""
