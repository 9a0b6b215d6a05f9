"""Behavioral suites: their files, their checks and corrections, and those that CheckList released."""
