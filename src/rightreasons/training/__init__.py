"""Trainer hooks, callbacks and fine-tuning: where data, models and analysis meet."""
