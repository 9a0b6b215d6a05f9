"""The section about behavioral suites, its plots, and a page of its own."""
