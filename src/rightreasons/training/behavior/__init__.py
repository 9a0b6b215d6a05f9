"""Behavioral learning (BeLUGA): plans, runs, losses and methods."""
