"""Language models that read what they are asked from both sides: encoder-decoders and masked language models.

They are asked through a prompt, as causal language models are. Batches hold sequences of one length, so that there is
no padding to read, or one sequence where a trial finds that others change it.
"""
