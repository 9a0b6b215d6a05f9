"""Runs over many items: batches, processes, a resumable store, fingerprints."""
