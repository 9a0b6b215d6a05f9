"""The changed versions of one text, for the tests of perturbations."""

from rightreasons.datasets.perturbing.edits import changes


def perturb_text(text, perturbation, *, item_id=None, seed=0, **options):
    """Return the changed texts; None where the perturbation does not apply."""
    made = changes((text,), perturbation, item_id=text if item_id is None else item_id, seed=seed, **options)
    return [change.texts[0] for change in made] or None
