"""Tasks and metrics for other tools: inspect_ai, lm-evaluation-harness, lighteval, and Evidently."""
