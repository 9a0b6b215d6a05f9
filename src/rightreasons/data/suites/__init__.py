"""Behavioral suites: cases, templates, an editor, and the files that hold them."""
