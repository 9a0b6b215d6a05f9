"""Logs of evaluation harnesses as columns: inspect_ai, lm-evaluation-harness, and recorded requests of audits."""
