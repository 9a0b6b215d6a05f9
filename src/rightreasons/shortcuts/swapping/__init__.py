"""Exchange a feature of a text for that of another label, next to a matched control.

`segments` splits texts of any script into words. `training` counts the words of labeled texts and
lists those that predict a label; `exclusive` and `own_list` make two more lists, and `pairing` pairs
the words of a list. `edits`, `forms`, and `pairs` write the edited items, `naming` names a part of
the form, and `duplicates` finds repeated texts.
"""
