"""Tables about answers: how sure their author was of each, and which of two a judge preferred."""
