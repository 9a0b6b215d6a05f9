from .predictions import read_predictions as read_predictions
from .reading import as_table as as_table
from .resolve import resolve as resolve
from .tables import open_dataset as open_dataset
from .tables import open_multiple_choice as open_multiple_choice
from .tables import open_questions as open_questions

__all__ = [
    "as_table",
    "open_dataset",
    "open_multiple_choice",
    "open_questions",
    "read_predictions",
    "resolve",
]
