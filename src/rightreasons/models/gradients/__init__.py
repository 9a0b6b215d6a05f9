"""Gradients of predictions with respect to input embeddings.

`attribution` computes integrated gradients, `fisher` and `choice_fisher` Fisher information, and
`sensitivity` the share of each word in the gradient of a score.
"""
