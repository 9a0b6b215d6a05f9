"""Each word left out, one at a time, and the scorer asked again: what predictions rest on, without gradients."""
