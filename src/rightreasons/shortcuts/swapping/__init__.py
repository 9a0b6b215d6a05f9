"""Exchange something of a text for that of another label, with a matched control.

`segments` splits texts of any script into words, `training` counts the words of labeled texts and
lists those that predict a label, `edits`, `forms`, and `pairs` write the edited items, and
`duplicates` finds repeated texts.
"""
