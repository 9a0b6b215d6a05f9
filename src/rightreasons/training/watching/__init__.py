"""Callbacks that watch a model while it trains."""
