"""Readings of generated replies: which answer, or which probability, a reply states.

`reading.ReplyReader` reads the replies to items, `answers` and `probabilities` read one text, and
`repair` asks a model about texts that cannot be read.
"""
