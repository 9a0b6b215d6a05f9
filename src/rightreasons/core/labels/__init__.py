"""Labels go by name: lists of class names are matched, and columns of labels become class ids.

Every reader, suite and model uses these functions, so that a label means the same class everywhere:

- `matching.match_labels` finds the class of each name in another list of names.
- `ids.resolve_labels` turns a column of values (numbers, words or a mixture) into ids.

A name is looked up as it is written, then without letter case, spaces, hyphens and underscores, if
that makes no two names equal. A number that is no name is a position, if it is beyond doubt which.
Everything else is refused, and the message holds both lists.
"""
