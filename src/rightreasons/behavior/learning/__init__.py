"""Training on behavioral suites: items and losses, plans of runs, and the scores of these runs."""
