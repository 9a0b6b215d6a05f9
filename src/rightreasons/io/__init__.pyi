from .judged import read_confidence as read_confidence
from .judged import read_judgments as read_judgments
from .judged import read_rating_sheets as read_rating_sheets
from .judged import write_rating_sheets as write_rating_sheets
from .predictions import read_predictions as read_predictions
from .reading import as_table as as_table
from .resolve import resolve as resolve
from .suite_answers import read_suite_answers as read_suite_answers
from .tables import open_dataset as open_dataset
from .tables import open_multiple_choice as open_multiple_choice
from .tables import open_questions as open_questions

__all__ = [
    "as_table",
    "open_dataset",
    "open_multiple_choice",
    "open_questions",
    "read_confidence",
    "read_judgments",
    "read_predictions",
    "read_rating_sheets",
    "read_suite_answers",
    "resolve",
    "write_rating_sheets",
]
