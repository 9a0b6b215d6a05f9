from .by_difficulty import accuracy_by_difficulty as accuracy_by_difficulty
from .by_difficulty import flip_rates as flip_rates
from .contrast import contrast_consistency as contrast_consistency
from .contrast_sets import measure_contrast_sets as measure_contrast_sets
from .measure import measure_difficulty as measure_difficulty
from .ranking import data_map as data_map
from .ranking import distribution_overlap as distribution_overlap
from .ranking import paired_difficulty as paired_difficulty
from .substitutions import substitution_tests as substitution_tests

__all__ = [
    "accuracy_by_difficulty",
    "contrast_consistency",
    "data_map",
    "distribution_overlap",
    "flip_rates",
    "measure_contrast_sets",
    "measure_difficulty",
    "paired_difficulty",
    "substitution_tests",
]
